"""Names that programs, questions and answers share: functions for verifiers, kinds of checks, properties.

The meaning of some functions is a convention among verifiers: assumptions, assertions, inputs. The front end
models these functions, and the harness of compiled programs defines them.

The default question about a C program consists of several kinds of checks (ADR 16). Without `--property`
Certus asks for all of them at once, and answers each. An execution ends at its first error, of whatever kind,
so a kind is judged on executions without an earlier error of another kind.

A property of several parts (valid-memsafety) is violated by a memory error of any part; an answer names the
part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported

# The execution continues only if the first argument is not 0.
ASSUMING: Final = (
    *("__VERIFIER_assume", "assume", "verifier_assume", "assume_abort_if_not", "assume_cycle_if_not"),
    *("__CPROVER_assume", "__ESBMC_assume", "klee_assume", "__llbmc_assume", "__LLBMC_assume"),
)
# An error if the first argument is 0.
ASSERTING: Final = (
    *("assert", "__VERIFIER_assert", "verifier_assert", "sassert"),
    *("__CPROVER_assert", "__ESBMC_assert", "klee_assert", "__llbmc_assert", "__LLBMC_assert"),
)
_INPUTS: Final = (
    *("__VERIFIER_nondet", "__CPROVER_nondet_", "__ESBMC_nondet_", "__SMACK_nondet_", "nondet_"),
    *("klee_int", "klee_char", "klee_short", "klee_long"),
)
# The input that decides whether an allocation fails, if allocations may fail: each asks for it once.
ALLOCATION_FAILS: Final = "$allocation fails"
# How the front end describes `argc`, the objects that the arguments of the program lie in, and the inputs
# that they consist of: for each argument its length, then its characters.
ARGUMENT: Final = "is an argument of the program"
ARGUMENT_OBJECT: Final = "an argument"
ARGUMENT_LENGTH: Final = "$argv length"
ARGUMENT_BYTE: Final = "$argv byte"
# The inputs of a function of the `scanf` family that a harness can supply: the number of conversions, with
# the function's name behind the prefix, and each number that it reads.
SCAN: Final = "$scan "
SCANNED: Final = "$scanned"
# The text of a step whose behaviour is undefined, which ends the execution; the cause follows.
UNDEFINED_STEP: Final = "undefined: "
NO_FUNCTION: Final = "a call through a pointer that is not a function of this type"
OTHER_TYPE: Final = "a call through a null pointer or of a function of another type"
# Prefixes of functions that have a meaning for some verifier, but are not modelled.
RESERVED: Final = (
    *("__VERIFIER_", "__CPROVER_", "__ESBMC_", "__SMACK_", "__SEAHORN_", "__SEA_", "__DIVINE_", "__BLAST_"),
    *("__llbmc_", "__LLBMC_", "klee_", "static_assert", "__assume"),
)
# Prefixes of functions that only compilers define.
BUILTIN: Final = ("__builtin_", "__sync_", "__atomic_", "__c11_", "__opencl_", "__scoped_")


def is_input(name: str) -> bool:
    """Return whether a function without a body only returns an input of the program."""
    return name.startswith(_INPUTS)


def has_meaning(name: str) -> bool:
    """Return whether a function without a body is an input, an assumption or an assertion."""
    return is_input(name) or name in ASSUMING or name in ASSERTING


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
UNINITIALISED: Final = "uninitialised-read"
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
        CheckKind(
            "uninitialised",
            "no-uninitialised-read",
            (UNINITIALISED,),
            "no variable or memory is read before it is written",
            "no read of a variable or of memory that could be without a value",
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
    UNINITIALISED: "{} has been initialised",
}


def operation_of(error: str, claim: str) -> str:
    """Return the operation that a claim of this kind is about; the whole claim if it has another form."""
    before, braces, after = CLAIMS.get(error, "").partition("{}")
    if braces and claim.startswith(before) and claim.endswith(after):
        return claim[len(before) : len(claim) - len(after)]
    return claim


READ: Final = "invalid-read"
WRITE: Final = "invalid-write"
FREE: Final = "invalid-free"
LEAK: Final = "memory-leak"
NOT_FREED: Final = "not-freed"
ELEMENT: Final = "the vector has the element "  # a claim about an access to no memory

PART_OF_KIND: Final[Mapping[str, str]] = {
    READ: "valid-deref",
    WRITE: "valid-deref",
    FREE: "valid-free",
    LEAK: "valid-memtrack",
    NOT_FREED: "valid-memcleanup",
}
_SAFETY: Final = ("valid-deref", "valid-free", "valid-memtrack")
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "valid-memsafety": _SAFETY,
    "memory": _SAFETY,  # the kind of checks
}


_READING: Final = frozenset(("uninitialised", "no-uninitialised-read"))  # the kind of checks, the property


def kinds_of(property_name: str) -> frozenset[str]:
    """Return the kinds of memory errors that violate a property, or one of several kinds of checks that are
    separated by commas; none for other properties."""
    names = property_name.split(",")
    parts = [part for name in names for part in PARTS.get(name, (name,))]
    read = {UNINITIALISED} if not _READING.isdisjoint(names) else set()
    return frozenset((*(kind for kind, part in PART_OF_KIND.items() if part in parts), *read))


def part_of(property_name: str, kind: str) -> str | None:
    """Return the part of a property that an error of this kind violates; None if it has no parts."""
    parted = any(name in PARTS for name in property_name.split(","))
    return PART_OF_KIND.get(kind) if parted else None


# -------------------------------------------------------------------------------------- properties

UNREACH_CALL: Final = "unreach-call"
CHECK_SAT: Final = "check-sat"  # of Horn clauses
MEMORY_SAFETY: Final = "valid-memsafety"
SUPPORTED: Final = (
    *(UNREACH_CALL, "no-overflow", "no-div-zero", MEMORY_SAFETY, *_SAFETY, "valid-memcleanup"),
    *("array-bounds", "float-cast-overflow", "float-divide-by-zero", "no-uninitialised-read"),
)
FORMULAS: Final = {  # the formula of a property in a property file: the name of the property
    "G ! overflow": "no-overflow",
    "G ! div-zero": "no-div-zero",
    "F end": "termination",
    "G sat": CHECK_SAT,
    "G ! data-race": "no-data-race",
    "G ! label(ERROR)": "unreach-label",
    "G valid-memcleanup": "valid-memcleanup",
    **{f"G {name}": name for name in _SAFETY},
}
KNOWN: Final = (*SUPPORTED, *dict.fromkeys(n for n in FORMULAS.values() if n not in SUPPORTED))


@dataclass(frozen=True, slots=True)
class Property:
    """A property. `function` is the error function if a property file names one; otherwise `unreach-call`
    refers to all the usual ones (`reach_error`, `__VERIFIER_error`, a failing `assert`). The default question
    about C programs has the kinds of checks `kinds`, and `name` lists them."""

    name: str = UNREACH_CALL
    function: str | None = None
    kinds: tuple[str, ...] = ()


def default_kinds() -> tuple[str, ...]:
    """Return the kinds of checks of the default question."""
    return tuple(kind.name for kind in KINDS.values() if kind.usual)


def property_of_kinds(names: Sequence[str]) -> Property:
    """Return the question for several kinds of checks. Raises `InputError` for names that do not exist."""
    choices = f"Choose from: {', '.join(KINDS)}."
    for name in names:
        if name not in KINDS:
            message = f"There is no kind of checks `{name}`."
            raise InputError([Diagnostic("usage", message, hint=choices)])
    kinds = tuple(name for name in KINDS if name in names)
    if not kinds:
        raise InputError([Diagnostic("usage", "--checks names no kind of checks.", hint=choices)])
    return Property(",".join(kinds), kinds=kinds)


def check_line(wanted: Property) -> str:
    """Return the property as in a property file: a line, or one for each of its parts."""
    if wanted.name in PARTS:
        return "\n".join(check_line(Property(part)) for part in PARTS[wanted.name])
    formulas = {name: formula for formula, name in FORMULAS.items()}
    formula = formulas.get(wanted.name, f"G {wanted.name}")
    if wanted.name == UNREACH_CALL:
        formula = f"G ! call({wanted.function or 'reach_error'}())"
    return f"CHECK( init(main()), LTL({formula}) )"


def check_supported(wanted: Property, span: Span | None = None) -> None:
    """Raise `Unsupported` for a property that Certus recognises but cannot verify."""
    if not wanted.kinds and wanted.name not in SUPPORTED:
        message = f"The property {wanted.name} is not supported yet."
        hint = f"Supported: {', '.join(SUPPORTED)}."
        raise Unsupported(Diagnostic("unsupported-property", message, span=span, hint=hint))
