"""Note assertions that no execution reaches, and assumptions that no execution passes.

A HOLDS with such an assertion may say less than its reader expects. To show that a location is never reached,
the proof is checked again with that location as the only error. If this fails there is no note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from certus.check.proofs.check import clauses_of
from certus.check.proofs.expansion import Refused
from certus.check.proofs.random_runs import challenge
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Proof
from certus.core.program import Assume, Edge, ErrorSite, Location, Program
from certus.core.solver import Answer
from certus.core.statistics import Statistics
from certus.solvers.z3.solver import Z3Solver

SITES = 50  # the most notes


def vacuous(
    program: Program, proof: Proof, *, budget: Budget, statistics: Statistics
) -> tuple[Diagnostic, ...]:
    """Return notes on claims that hold only because no execution reaches them."""
    if isinstance(proof, Execution):
        return ()
    reached = frozenset(challenge(program, proof, seconds=0.02).reached)
    notes: list[Diagnostic] = []
    try:
        for site in program.errors:
            if site.kind != "assertion" or site.start is None:
                continue
            if site.location.name in reached or len(notes) >= SITES:
                continue
            if _unreachable(program, proof, site.start, budget, statistics):
                message = f"no execution reaches: {site.text}"
                notes.append(_note("unreachable-assertion", message, site.span))
        for edge in _assumptions(program):
            if len(notes) >= SITES:
                break
            if _unreachable(program, proof, edge.target, budget, statistics) and not _unreachable(
                program, proof, edge.source, budget, statistics
            ):
                notes.append(
                    _note("contradictory-assumption", f"no execution passes: {edge.text}", edge.span)
                )
    except BudgetExceeded:
        pass
    return tuple(notes)


def _assumptions(program: Program) -> Iterator[Edge]:
    """Yield the edges of assumptions: each is the only edge from its source."""
    for procedure in program.procedures.values():
        for edges in procedure.successors.values():
            called = edges[0].text.partition("(")[0] if len(edges) == 1 else ""
            if "assume" in called and isinstance(edges[0].op, Assume):
                yield edges[0]


def _unreachable(
    program: Program, proof: Proof, location: Location, budget: Budget, statistics: Statistics
) -> bool:
    """Return whether the proof shows that no execution reaches the location."""
    budget.check()
    site = ErrorSite(location, "reached", location.span, "")
    try:
        clauses = clauses_of(replace(program, errors=(site,)), proof, budget, statistics)
    except Refused:
        return False
    for clause in clauses:
        solver = Z3Solver(statistics)
        solver.add(*clause.formulas)
        if solver.check(budget=budget, purpose="validate.vacuity") is not Answer.UNSAT:
            return False
    return True


def _note(code: str, message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(code, message, Severity.NOTE, span=span)
