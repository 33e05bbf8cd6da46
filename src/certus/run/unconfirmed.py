"""Leave out an error whose counterexample does not replay, so that an engine can search for another one.

Encodings leave some things open, and an engine may reach an error in their model that no execution of the
program reaches. The program without this error serves only to find counterexamples to others: they are
replayed on the program as the front end built it. A proof about it is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from certus.core import build
from certus.core.evidence import Trace, Unknown, Unsafe, Verdict
from certus.core.outcome import Outcome
from certus.core.program import Assume, Edge, Inspect, InspectBits, InspectHeap, Location, Procedure, Program
from certus.core.walk import variables
from certus.run.publish import INCOMPLETE

UNCONFIRMED: Final = INCOMPLETE | {"trace-needs-unmodelled-value"}


def unconfirmed_error(verdict: Verdict, outcome: Outcome) -> str | None:
    """Return the error of a counterexample that does not replay; None if there is none."""
    if not isinstance(verdict, Unsafe) or not isinstance(verdict.refutation, Trace):
        return None
    refused = isinstance(outcome.verdict, Unknown) and outcome.verdict.reason.code in UNCONFIRMED
    return verdict.refutation.error if refused else None


def without_error(program: Program, name: str) -> Program:
    """Return the program without the error site at a location. Where the answer to a question about memory
    leads to it, executions go on whatever the answer is; otherwise they end there."""
    site = program.location[name]
    procedure = program.procedures[site.procedure]
    asked = frozenset(_asked(procedure, site))
    edges = tuple(
        replace(edge, op=Assume(build.TRUE)) if edge.source in asked and edge.target is not site else edge
        for edge in procedure.edges
    )
    procedures = {**program.procedures, procedure.name: replace(procedure, edges=edges)}
    errors = tuple(each for each in program.errors if each.location is not site)
    return replace(program, procedures=procedures, errors=errors)


def _asked(procedure: Procedure, site: Location) -> Iterator[Location]:
    """Yield the locations where the answer to a question about memory decides whether control goes to a
    site."""
    for edge in procedure.predecessors.get(site, ()):
        before = procedure.predecessors.get(edge.source, ())
        if isinstance(edge.op, Assume) and len(before) == 1 and _answers(before[0], edge.op):
            yield edge.source


def _answers(edge: Edge, condition: Assume) -> bool:
    """Return whether an edge asks the question whose answer a condition is about."""
    question = edge.op
    return isinstance(question, Inspect | InspectBits | InspectHeap) and question.target in variables(
        condition.condition
    )
