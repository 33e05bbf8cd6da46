"""An outcome about Horn clauses as CHC-COMP has it: `sat`, `unsat` or `unknown`, then what backs it.

A model is a list of SMT-LIB definitions. All else stands in comments, so that the text stays SMT-LIB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.core.horn import Model
from certus.core.outcome import Outcome
from certus.core.smtlib_horn import definition
from certus.core.verdict import Unknown
from certus.report.content import proof_of
from certus.report.diagnostics import PLAIN, render_diagnostic
from certus.report.text import Detail, check_lines, finding_lines, refutation_lines, statistics_lines

_WORDS: Final = {"HOLDS": "sat", "VIOLATED": "unsat", "UNKNOWN": "unknown"}


def render_clauses(outcome: Outcome, *, detail: Detail = "normal") -> str:
    """The report, without a final newline. A quiet one is a single word."""
    word = _WORDS[outcome.answer]
    if detail == "quiet":
        return word
    return "\n".join([word, *_evidence(outcome), *_comments(outcome, detail)])


def _evidence(outcome: Outcome) -> Iterator[str]:
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
    for told in outcome.diagnostics:
        lines += render_diagnostic(told, outcome.subject.source).splitlines()
    if detail == "verbose":
        lines += [*finding_lines(outcome), *statistics_lines(outcome)]
    yield from (f"; {line}".rstrip() for line in lines)
