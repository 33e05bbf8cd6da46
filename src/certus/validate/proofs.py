"""Checking proofs: every clause must be discharged by z3 or cvc5 and refuted by neither.

z3 gets terms through its C interface, cvc5 gets SMT-LIB text, so a bug in one translation shows as
a disagreement. cvc5 may take about twice the time z3 took; what it cannot finish is not counted.
Machine integers are tried as integers first, then as bit-vectors; for a moment the other way round if
integers cannot represent an operation exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Inductive, KInductive, Partitioned, Proof, Unrolling
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.sorts import MachineSort
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import postorder
from certus.logic.cvc5solver import Cvc5Solver
from certus.logic.integers import eliminate_machine
from certus.logic.memory import lower_memory
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver
from certus.validate.challenge import challenge
from certus.validate.clauses import proof_clauses
from certus.validate.expansion import Refused
from certus.validate.regions import check_partition
from certus.validate.replay import check_execution
from certus.validate.ssa import Clause
from certus.validate.unrolled import unrolling_clauses

SECOND_OPINION = 2.0  # cvc5's share of time, as a multiple of z3's
AT_LEAST = 0.5  # seconds for cvc5 in any case
CHALLENGE = 0.2  # seconds of random runs, at most
MOMENT = 1.0  # seconds for bit-vectors before integers that only approximate

Check = Callable[[Sequence[Expr], Budget], Answer]


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
) -> ProofCheck | Diagnostic:
    """Check a proof on the program as the front end gave it: how it went, or why it is refused."""
    if isinstance(proof, Execution):
        refused = check_execution(program, proof, budget)
        return refused or ProofCheck(0, {}, 1)
    try:
        with statistics.timed("validate.clauses"):
            clauses = clauses_of(program, proof, budget, statistics)
        discharged = discharge(clauses, budget=budget, statistics=statistics)
    except Refused as refused:
        return refused.diagnostic
    with statistics.timed("validate.challenge"):
        result = challenge(program, proof, seconds=CHALLENGE)
    if result.contradiction is not None:
        return result.contradiction
    return ProofCheck(len(clauses), discharged, result.runs)


@dataclass(frozen=True, slots=True)
class _Opinion:
    """What a solver said of each clause."""

    solver: str
    answers: tuple[Answer, ...]

    @property
    def discharged(self) -> int:
        return sum(1 for answer in self.answers if answer is Answer.UNSAT)


def discharge(clauses: Sequence[Clause], *, budget: Budget, statistics: Statistics) -> dict[str, int]:
    """Ask both solvers for every clause; gives how many each discharged. Raises `Refused`."""
    start = time.monotonic()
    first = _ask("z3", clauses, _z3(statistics), budget)
    spent = time.monotonic() - start
    limit = max(AT_LEAST, SECOND_OPINION * spent)
    left = budget.remaining()
    second = _ask("cvc5", clauses, _cvc5(statistics), Budget(limit if left is None else min(limit, left)))
    for clause, *answers in zip(clauses, first.answers, second.answers, strict=True):
        if Answer.SAT in answers:
            who = " and ".join(
                o.solver for o, a in zip((first, second), answers, strict=True) if a is Answer.SAT
            )
            raise Refused("proof-refuted", f"{who} found a counterexample to the claim: {clause.title}")
        if Answer.UNSAT not in answers:
            raise Refused("proof-not-checked", f"no solver could decide the claim: {clause.title}")
    return {opinion.solver: opinion.discharged for opinion in (first, second)}


def _ask(solver: str, clauses: Iterable[Clause], check: Check, budget: Budget) -> _Opinion:
    """One solver on every clause; what it has no time left for is UNKNOWN."""
    answers: list[Answer] = []
    for clause in clauses:
        try:
            answers.append(_decide(clause.formulas, check, budget))
        except BudgetExceeded as ended:
            if ended.limit != "time":
                raise
            answers.append(Answer.UNKNOWN)
    return _Opinion(solver, tuple(answers))


def _decide(formulas: tuple[Expr, ...], check: Check, budget: Budget) -> Answer:
    """Satisfiability, with machine integers as integers if that decides it.

    Where these only approximate (bits of variables), bit-vectors get a moment before: a model of an
    approximation is found in vain."""
    if any(isinstance(term.sort, MachineSort) for term in postorder(*formulas)):
        encoded = eliminate_machine(formulas, style="mod")
        if not encoded.exact:
            left = budget.remaining()
            answer = check(formulas, Budget(MOMENT if left is None else min(MOMENT, left / 4)))
            if answer is not Answer.UNKNOWN:
                return answer
        answer = check((*encoded.formulas, *encoded.ranges), budget.part(0.5))
        if answer is Answer.UNSAT or (answer is Answer.SAT and encoded.exact):
            return answer
    return check(formulas, budget)


def discharged_by_z3(clause: Clause, *, budget: Budget, statistics: Statistics) -> bool:
    """Whether one solver finds a clause valid: enough for what a proof will repeat, not for a verdict."""
    budget.check()
    return _decide(clause.formulas, _z3(statistics), budget) is Answer.UNSAT


def _z3(statistics: Statistics) -> Check:
    def check(formulas: Sequence[Expr], budget: Budget) -> Answer:
        solver = Z3Solver(statistics)
        solver.add(*formulas)
        return solver.check(budget=budget, purpose="validate")

    return check


def _cvc5(statistics: Statistics) -> Check:
    solver = Cvc5Solver(statistics)

    def check(formulas: Sequence[Expr], budget: Budget) -> Answer:
        return solver.check_formulas(formulas, budget=budget, purpose="validate.second")

    return check
