"""Check a proof: derive its obligations from the program, discharge them, and try to contradict it.

This module only combines independent checks. Every check must pass; each can refuse the proof by `Refused`.

`vacuous` explains a HOLDS: it notes assertions that no execution reaches, and assumptions that no execution
passes. To show that a location is never reached, the proof is checked again with that location as the only
error. If this fails there is no note.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from certus.check.proofs.clauses import proof_clauses
from certus.check.proofs.discharge import discharge
from certus.check.proofs.expansion import Refused
from certus.check.proofs.partition import check_partition
from certus.check.proofs.random_runs import challenge
from certus.check.proofs.ssa import Clause
from certus.check.proofs.unrolled import unrolling_clauses
from certus.check.replay.replay import check_execution
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Inductive, KInductive, Partitioned, Proof, Unrolling
from certus.core.outcome import ProofCheck
from certus.core.program import Assume, Edge, ErrorSite, Location, Program
from certus.core.solver import Answer
from certus.encoding.memory import MemoryLowering
from certus.solvers.z3.solver import Z3Solver

CHALLENGE = 0.2  # seconds of random runs, at most


def clauses_of(program: Program, proof: Proof, budget: Budget, statistics: Statistics) -> list[Clause]:
    """Return the obligations that make `proof` a proof of `program`; raises `Refused` if it cannot be one."""
    if isinstance(proof, Unrolling):
        return list(unrolling_clauses(program, proof, budget, statistics))
    if isinstance(proof, Inductive | KInductive):
        return list(proof_clauses(program, proof))
    if isinstance(proof, Partitioned) and not isinstance(proof.proof, Partitioned):
        mistake = check_partition(program, proof.partition)
        if mistake is not None:
            raise Refused(mistake.code, mistake.message)
        lowering = MemoryLowering(program, proof.partition)
        lowered = lowering.program()
        inner = proof.proof
        if not isinstance(inner, Inductive | KInductive):
            return clauses_of(lowered, inner, budget, statistics)
        from certus.check.proofs.leaks import leak_clauses, with_tracked

        if isinstance(inner, Inductive):
            inner = with_tracked(lowering, lowered, inner)
        return [*proof_clauses(lowered, inner), *leak_clauses(lowering, lowered, inner)]
    raise Refused("proof-malformed", f"{type(proof).__name__} is not a proof about a program")


def check_proof(
    program: Program,
    proof: Proof,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: Callable[[ProofCheck], None] | None = None,
) -> ProofCheck | Diagnostic:
    """Check a proof on the program as the front end built it; return the result, or why it is refused.

    `on_sufficient` is called once each obligation is discharged by `solvers` of the solvers and no random run
    has contradicted the proof: from then on the remaining solvers can only refute it."""
    if isinstance(proof, Execution):
        refused = check_execution(program, proof, budget)
        return refused or ProofCheck(0, {}, 1)
    runs = 0

    def settled(check: ProofCheck) -> None:
        nonlocal runs
        runs = _survived_runs(program, proof, budget, statistics)
        if on_sufficient is not None:
            on_sufficient(replace(check, runs=runs))

    start = time.monotonic()
    try:
        with statistics.timed("validate.clauses"):
            clauses = clauses_of(program, proof, budget, statistics)
        check = discharge(
            clauses,
            budget=budget,
            statistics=statistics,
            solvers=solvers,
            on_settled=settled,
            size_seconds=time.monotonic() - start,
        )
    except Refused as refused:
        from certus.check.proofs.leaks import explained

        return explained(program, proof, refused.diagnostic)
    return replace(check, runs=runs)


def _survived_runs(program: Program, proof: Proof, budget: Budget, statistics: Statistics) -> int:
    """Run the program on random inputs; return the number of runs. Raises `Refused` for a contradiction."""
    left = budget.remaining()
    with statistics.timed("validate.challenge"):
        seconds = CHALLENGE if left is None else min(CHALLENGE, left / 4)
        result = challenge(program, proof, seconds=seconds)
    reason = result.contradiction
    if reason is not None:
        raise Refused(reason.code, reason.message, span=reason.span, hint=reason.hint)
    return result.runs


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
