"""Check a proof: derive its clauses from the program, discharge them, challenge it by random runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution, Inductive, KInductive, Partitioned, Proof, Unrolling
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.logic.memory import lower_memory
from certus.validate.challenge import challenge
from certus.validate.clauses import proof_clauses
from certus.validate.discharge import discharge
from certus.validate.expansion import Refused
from certus.validate.regions import check_partition
from certus.validate.replay import check_execution
from certus.validate.ssa import Clause
from certus.validate.unrolled import unrolling_clauses

CHALLENGE = 0.2  # seconds of random runs, at most


def clauses_of(program: Program, proof: Proof, budget: Budget, statistics: Statistics) -> list[Clause]:
    """What must be valid for `proof` to prove `program`; raises `Refused` if it cannot be a proof."""
    if isinstance(proof, Unrolling):
        return list(unrolling_clauses(program, proof, budget, statistics))
    if isinstance(proof, Inductive | KInductive):
        return list(proof_clauses(program, proof))
    if isinstance(proof, Partitioned) and not isinstance(proof.proof, Partitioned):
        wrong = check_partition(program, proof.partition)
        if wrong is not None:
            raise Refused(wrong.code, wrong.message)
        return clauses_of(lower_memory(program, proof.partition), proof.proof, budget, statistics)
    raise Refused("proof-malformed", f"{type(proof).__name__} is no proof about a program")


def check_proof(
    program: Program,
    proof: Proof,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: Callable[[ProofCheck], None] | None = None,
) -> ProofCheck | Diagnostic:
    """Check a proof on the program as the front end gave it: how it went, or why it is refused.

    `on_sufficient` is called once every clause is discharged by `solvers` of the solvers and random runs have
    not contradicted the proof: after that, further opinions can only refute it."""
    if isinstance(proof, Execution):
        refused = check_execution(program, proof, budget)
        return refused or ProofCheck(0, {}, 1)
    runs = 0

    def settled(check: ProofCheck) -> None:
        nonlocal runs
        runs = _challenged(program, proof, budget, statistics)
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
        return refused.diagnostic
    return replace(check, runs=runs)


def _challenged(program: Program, proof: Proof, budget: Budget, statistics: Statistics) -> int:
    """Run the program on random inputs and return how often; raises `Refused` for a contradiction."""
    left = budget.remaining()
    with statistics.timed("validate.challenge"):
        seconds = CHALLENGE if left is None else min(CHALLENGE, left / 4)
        result = challenge(program, proof, seconds=seconds)
    told = result.contradiction
    if told is not None:
        raise Refused(told.code, told.message, span=told.span, hint=told.hint)
    return result.runs
