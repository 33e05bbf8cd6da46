"""The kinds of violations, with explanations for users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.core.outcome import UNDEFINED, Outcome
from certus.core.program import Program


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of violation: `claim` must hold, `failure` is the message for a violated claim (`{}` stands
    for its text), and `advice` says what to do then. `cwe` are the entries of the Common Weakness Enumeration
    that violations are instances of."""

    id: str
    name: str
    claim: str
    failure: str
    advice: str
    cwe: tuple[int, ...] = ()

    @property
    def help(self) -> str:
        """Return the explanation of the rule."""
        shown = _SHOWN.get(self.id, _COUNTEREXAMPLE)
        return f"{self.claim} {shown} {self.advice}".replace("  ", " ")


CLAUSES: Final = "check-sat"
_COUNTEREXAMPLE: Final = (
    "Each result has an execution that violates this; Certus has replayed it step by step on the program. "
    "Start with its inputs and the steps that matter; you may ignore the others."
)
_DERIVATION: Final = (
    "Each result has a derivation of false; Certus has evaluated every step again. A step is a clause with "
    "values for its variables, and its premises are the conclusions of earlier steps."
)
_SHOWN: Final = {CLAUSES: _DERIVATION, UNDEFINED: "Each result names the inputs of an execution that does."}
_INPUTS: Final = "or restrict the inputs with __VERIFIER_assume."
_RULES: Final = (
    Rule(
        "assertion",
        "AssertionHolds",
        "An assertion holds whenever it is reached.",
        "The assertion `{}` is violated",
        f"Correct the program or the asserted condition, {_INPUTS}",
    ),
    Rule(
        "reach-error",
        "ErrorCallUnreachable",
        "The function that marks an error is never called.",
        "`{}` is called",
        f"Correct the program, {_INPUTS}",
    ),
    Rule(
        "error-label",
        "ErrorLabelUnreachable",
        "The label that marks an error is never reached.",
        "`{}` is reached",
        f"Correct the program, {_INPUTS}",
    ),
    Rule(
        "division-by-zero",
        "NoDivisionByZero",
        "No divisor is zero.",
        "Not true: `{}`",
        f"Test the divisor before the division, {_INPUTS}",
    ),
    Rule(
        "overflow",
        "NoSignedOverflow",
        "The exact result of every signed operation fits its type; in C it is undefined otherwise.",
        "Not true: `{}`",
        f"Use a wider or an unsigned type, test the operands before the operation, {_INPUTS}",
    ),
    Rule(
        "invalid-read",
        "ValidRead",
        "Every read is inside an object that exists.",
        "Not true: `{}`",
        f"Test indices and pointers before the access, keep the object as long as it is used, {_INPUTS}",
        (125, 416, 457, 476),
    ),
    Rule(
        "invalid-write",
        "ValidWrite",
        "Every write is inside an object that exists and may be written.",
        "Not true: `{}`",
        f"Test indices and pointers before the access, keep the object as long as it is used, {_INPUTS}",
        (416, 457, 476, 787),
    ),
    Rule(
        "invalid-free",
        "ValidFree",
        "Only null and the start of an object that exists on the heap are passed to `free` and `realloc`.",
        "Not true: `{}`",
        f"Free each object once, by the pointer that the allocation returned, {_INPUTS}",
        (415, 457, 590),
    ),
    Rule(
        "memory-leak",
        "NoLostMemory",
        "When the program ends, pointers lead to every object on the heap.",
        "Not true: `{}`",
        f"Free the object before its last pointer is lost, {_INPUTS}",
        (401,),
    ),
    Rule(
        "not-freed",
        "AllMemoryFreed",
        "When the program ends, every object on the heap is freed.",
        "Not true: `{}`",
        f"Free the object before the program ends, {_INPUTS}",
        (401,),
    ),
    Rule(
        "uninitialised-read",
        "InitialisedRead",
        "Every variable and all memory that is read has been written before.",
        "Not true: `{}`",
        f"Initialise the variable where it is declared, write the memory before it is read, {_INPUTS}",
        (457,),
    ),
    Rule(
        "shift",
        "ShiftDefined",
        "The amount of a shift is not negative and less than the width of the type, and a left shift of a "
        "signed number loses no bits; in C it is undefined otherwise.",
        "Not true: `{}`",
        f"Use an unsigned type, test the operands before the shift, {_INPUTS}",
    ),
    Rule(
        "float-cast-overflow",
        "FloatCastDefined",
        "An integer type holds every floating-point number that is converted to it; in C the conversion is "
        "undefined otherwise.",
        "Not true: `{}`",
        f"Test the number before the conversion, also for NaN, {_INPUTS}",
        (681,),
    ),
    Rule(
        "float-division-by-zero",
        "NoFloatDivisionByZero",
        "No divisor of a floating-point division is zero.",
        "Not true: `{}`",
        f"Test the divisor before the division, {_INPUTS}",
        (369,),
    ),
    Rule(
        UNDEFINED,
        "NoUndefinedBehaviour",
        "No execution that Certus tried meets undefined behaviour.",
        "{}",
        "The answer does not cover executions after such a statement: correct it first.",
    ),
    Rule(
        CLAUSES,
        "ClausesSatisfiable",
        "The Horn clauses have a model.",
        "The clauses have no model",
        "If the clauses describe a program, the program is not safe.",
    ),
)


def rules(outcome: Outcome) -> tuple[Rule, ...]:
    """Return the rules of an outcome, ordered by name: those of the program's check sites."""
    subject = outcome.subject
    kinds = {site.kind for site in subject.errors} if isinstance(subject, Program) else {CLAUSES}
    by_id = {rule.id: rule for rule in _RULES}
    diagnostics = (d for each in (outcome, *outcome.answers) for d in each.diagnostics)
    kinds |= {UNDEFINED} if any(d.code == UNDEFINED for d in diagnostics) else set()
    return tuple(by_id.get(kind) or _other(kind) for kind in sorted(kinds))


def _other(kind: str) -> Rule:
    words = kind.replace("-", " ")
    name = "".join(word.capitalize() for word in words.split())
    return Rule(
        kind, name, f"No execution leads to: {words}.", "Violated: `{}`", f"Correct the program, {_INPUTS}"
    )
