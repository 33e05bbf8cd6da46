"""What a HOLDS does not say: assertions that no execution reaches, assumptions that none passes.

To show that a location is never reached, the proof is checked again with that location as the only
error: whatever proves the program also proves this, or it stays open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Proof
from certus.core.program import Assume, Edge, ErrorSite, Location, Program
from certus.core.statistics import Statistics
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver
from certus.validate.challenge import challenge
from certus.validate.expansion import Refused
from certus.validate.proofs import clauses_of

SITES = 50  # the most locations asked about


def vacuous(
    program: Program, proof: Proof, *, budget: Budget, statistics: Statistics
) -> tuple[Diagnostic, ...]:
    """Notes on claims that are true only because nothing comes to them."""
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
    """The edges of assumptions: the only way on from where they stand."""
    for procedure in program.procedures.values():
        for edges in procedure.successors.values():
            if len(edges) == 1 and isinstance(edges[0].op, Assume) and "assume" in _called(edges[0].text):
                yield edges[0]


def _called(text: str) -> str:
    """What stands before the first parenthesis."""
    return text.partition("(")[0]


def _unreachable(
    program: Program, proof: Proof, location: Location, budget: Budget, statistics: Statistics
) -> bool:
    """Whether the proof shows that no execution comes to the location."""
    if location is program.entry:
        return False  # errors are looked for behind edges
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
