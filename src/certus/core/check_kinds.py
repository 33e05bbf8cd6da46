"""The kinds of checks that the default question about a C program consists of (ADR 16).

Without `--property` Certus asks for all of them at once, and answers each. An execution ends at its first
error, of whatever kind, so a kind is judged on executions without an earlier error of another kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A kind of checks. `name` is its name for `--checks`, and `property` the property that asks for it alone
    (empty: there is none). `errors` are the kinds of its error sites (`core.program.ErrorSite`). `claim` says
    what holds if no execution violates it, and `missing` what a program lacks that has nothing to check.
    Kinds that are not `usual` are checked only if they are named."""

    name: str
    property: str
    errors: tuple[str, ...]
    claim: str
    missing: str
    usual: bool = True


ASSERT: Final = "assert"
KINDS: Final = {
    kind.name: kind
    for kind in (
        CheckKind(
            ASSERT,
            "unreach-call",
            ("assertion", "reach-error", "error-label"),
            "no assertion fails and no error function is called",
            "no assertion or error call",
        ),
        CheckKind(
            "memory",
            "valid-memsafety",
            ("invalid-read", "invalid-write", "invalid-free", "memory-leak"),
            "memory accesses are valid, and no memory is lost",
            "no memory access that could be invalid",
        ),
        CheckKind(
            "overflow",
            "no-overflow",
            ("overflow",),
            "no signed arithmetic overflows",
            "no signed arithmetic that could overflow",
        ),
        CheckKind(
            "division",
            "no-div-zero",
            ("division-by-zero",),
            "no integer is divided by zero",
            "no division that could be by zero",
        ),
        CheckKind(
            "shift",
            "",
            ("shift",),
            "no shift has an invalid amount or loses bits of a signed number",
            "no shift that could be invalid",
        ),
        CheckKind(
            "float-cast",
            "float-cast-overflow",
            ("float-cast-overflow",),
            "no floating-point number is converted to an integer type that cannot hold it",
            "no conversion from floating point to an integer type",
            usual=False,
        ),
        CheckKind(
            "float-divide",
            "float-divide-by-zero",
            ("float-division-by-zero",),
            "no floating-point number is divided by zero",
            "no floating-point division that could be by zero",
            usual=False,
        ),
    )
}


def kind_of_error(error: str, kinds: Iterable[str]) -> str:
    """Return which of `kinds` an error site of the kind `error` belongs to."""
    return next(name for name in kinds if error in KINDS[name].errors)


def error_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Return the kinds of error sites of some kinds of checks."""
    return frozenset(error for name in kinds for error in KINDS[name].errors)


CLAIMS: Final = {  # the claims of error sites in operations, by their kind; `{}` is the operation
    "overflow": "{} does not overflow",
    "division-by-zero": "the divisor of {} is not 0",
    "shift": "the shift {} is defined",
    "array-bounds": "the index of {} is within the array",
    "float-cast-overflow": "the conversion in {} is in range",
    "float-division-by-zero": "the divisor of {} is not 0",
}


def operation_of(error: str, claim: str) -> str:
    """Return the operation that a claim of this kind is about; the whole claim if it has another form."""
    before, braces, after = CLAIMS.get(error, "").partition("{}")
    if braces and claim.startswith(before) and claim.endswith(after):
        return claim[len(before) : len(claim) - len(after)]
    return claim
