"""Render an outcome about Horn clauses as text: `sat`, `unsat` or `unknown`, then comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.core.evidence import Unknown
from certus.core.horn import Model
from certus.core.outcome import Outcome
from certus.report.outcome_view import proof_of
from certus.report.text import (
    PLAIN,
    Detail,
    check_lines,
    finding_lines,
    refutation_lines,
    render_diagnostic,
    statistics_lines,
)

_ANSWERS: Final = {"HOLDS": "sat", "VIOLATED": "unsat", "UNKNOWN": "unknown"}


def render_clauses(outcome: Outcome, *, detail: Detail = "normal") -> str:
    """Render an outcome about Horn clauses as in CHC-COMP: `sat`, `unsat` or `unknown`, then the evidence. A
    model is a list of SMT-LIB definitions, and the rest is in comments, so that the text stays SMT-LIB. A
    quiet report is a single word."""
    word = _ANSWERS[outcome.answer]
    if detail == "quiet":
        return word
    return "\n".join([word, *_model(outcome), *_comments(outcome, detail)])


def _model(outcome: Outcome) -> Iterator[str]:
    from certus.codec.smtlib_horn import definition

    proof = proof_of(outcome)
    if isinstance(proof, Model):
        yield "("
        for relation, (parameters, formula) in proof.relations.items():
            yield f"  {definition(relation, parameters, formula)}"
        yield ")"


def _comments(outcome: Outcome, detail: Detail) -> Iterator[str]:
    verdict = outcome.verdict
    lines: list[str] = []
    if isinstance(verdict, Unknown):
        lines += render_diagnostic(verdict.reason, outcome.subject.source, label="unknown").splitlines()
    lines += refutation_lines(outcome, PLAIN)
    lines += check_lines(outcome)
    for diagnostic in outcome.diagnostics:
        lines += render_diagnostic(diagnostic, outcome.subject.source).splitlines()
    if detail == "verbose":
        lines += [*finding_lines(outcome), *statistics_lines(outcome)]
    yield from (f"; {line}".rstrip() for line in lines)
