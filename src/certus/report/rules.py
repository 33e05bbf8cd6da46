"""The kinds of violations there are, explained to those who are shown one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.core.challenge import UNDEFINED
from certus.core.outcome import Outcome
from certus.core.program import Program


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of violation: `claim` is what must hold, `failure` what is said of the text of a claim that
    does not, and `advice` what to do then."""

    id: str
    name: str
    claim: str
    failure: str
    advice: str

    @property
    def help(self) -> str:
        shown = _SHOWN.get(self.id, _COUNTEREXAMPLE)
        return f"{self.claim} {shown} {self.advice}".replace("  ", " ")


CLAUSES: Final = "check-sat"
_COUNTEREXAMPLE: Final = (
    "A result comes with an execution that violates this: it was replayed step by step on the program, from "
    "its inputs to the violation. Look first at the inputs and at the steps that matter; the others may be "
    "ignored."
)
_DERIVATION: Final = (
    "A result comes with a derivation of false, every step of which was evaluated again: it takes the clause "
    "with the given values, and its premises are the conclusions of earlier steps."
)
_SHOWN: Final = {CLAUSES: _DERIVATION, UNDEFINED: "A result names the inputs of one that does."}
_INPUTS: Final = "or say by an assumption which inputs are possible."
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
        f"Check the divisor before, {_INPUTS}",
    ),
    Rule(
        "overflow",
        "NoSignedOverflow",
        "The exact result of every signed operation fits its type; in C it is undefined otherwise.",
        "Not true: `{}`",
        f"Use a wider or an unsigned type, check the operands before, {_INPUTS}",
    ),
    Rule(
        UNDEFINED,
        "NoUndefinedBehaviour",
        "No execution that Certus tried meets undefined behaviour.",
        "{}",
        "The answer does not cover what follows such a statement: correct it first.",
    ),
    Rule(
        CLAUSES,
        "ClausesSatisfiable",
        "The Horn clauses have a model.",
        "The clauses have no model",
        "If they were to describe a program, it is not safe.",
    ),
)


def rules(outcome: Outcome) -> tuple[Rule, ...]:
    """The rules that the outcome is about, in the order of their names: those of the program's claims."""
    subject = outcome.subject
    kinds = {site.kind for site in subject.errors} if isinstance(subject, Program) else {CLAUSES}
    known = {rule.id: rule for rule in _RULES}
    kinds |= {UNDEFINED} if any(d.code == UNDEFINED for d in outcome.diagnostics) else set()
    return tuple(known.get(kind) or _other(kind) for kind in sorted(kinds))


def _other(kind: str) -> Rule:
    words = kind.replace("-", " ")
    name = "".join(word.capitalize() for word in words.split())
    return Rule(
        kind, name, f"No execution leads to: {words}.", "Violated: `{}`", f"Correct the program, {_INPUTS}"
    )
