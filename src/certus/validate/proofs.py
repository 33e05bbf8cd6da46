"""Checking proofs: every clause must be discharged by Bitwuzla, z3 or cvc5 and refuted by none.

All are asked. They share no translation (z3 gets terms through its C interface, Bitwuzla through its own,
cvc5 gets SMT-LIB text), so a bug in one shows as a disagreement. Where a clause is discharged already, those
who come later get about twice the time that was needed so far; what they cannot finish is not counted. z3
begins, and goes on after Bitwuzla where neither had an answer.

Bitwuzla takes machine integers as bit-vectors, and only these. To the others they are integers first, then
bit-vectors; for a moment the other way round if integers cannot represent an operation exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf

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
from certus.logic.bitwuzlasolver import BitwuzlaSolver
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

LONG = 60.0  # seconds, of which solvers have shares where there is no limit
SECOND_OPINION = 2.0  # the time for further opinions, as a multiple of what was needed before
AT_LEAST = 0.5  # seconds for them in any case
CHALLENGE = 0.2  # seconds of random runs, at most
MOMENT = 1.0  # seconds for bit-vectors before integers that only approximate

Check = Callable[[Sequence[Expr], Budget], Answer]
Opinion = Callable[[Sequence[Expr], Budget], Answer | None]  # None: nothing that this solver treats


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


def discharge(clauses: Sequence[Clause], *, budget: Budget, statistics: Statistics) -> dict[str, int]:
    """Ask all solvers for every clause; gives how many each discharged. Raises `Refused`."""
    hearing, z3 = _Hearing(clauses), _decided(_z3(statistics))
    easy = _decided(_z3(statistics), MOMENT)
    hearing.ask("z3", easy, _share(budget, 0.25))  # what is easy for integers can be endless for bits
    hearing.ask("bitwuzla", _bitwuzla(statistics), _share(budget, 0.5))
    hearing.ask("z3", z3, budget)
    hearing.ask("cvc5", _decided(_cvc5(statistics)), hearing.further(budget))
    for clause, said in zip(clauses, hearing.said, strict=True):
        refuting = [solver for solver, answer in said.items() if answer is Answer.SAT]
        if refuting:
            who = " and ".join(refuting)
            raise Refused("proof-refuted", f"{who} found a counterexample to the claim: {clause.title}")
        if Answer.UNSAT not in said.values():
            raise Refused("proof-not-checked", f"no solver could decide the claim: {clause.title}")
    return hearing.discharged()


class _Hearing:
    """What each solver said of each clause, and the time it took."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        self.said: list[dict[str, Answer]] = [{} for _ in clauses]
        self.spent = 0.0

    def ask(self, solver: str, opinion: Opinion, budget: Budget) -> None:
        """Clauses that nobody has discharged come first, and may take all the time there is. Who had an
        answer is not asked again, nor who had none where it is known by now."""
        start = time.monotonic()
        sure = [Answer.UNSAT in said.values() for said in self.said]
        further = self.further(budget)
        for known, limit in ((False, budget), (True, further)):
            for clause, said, settled in zip(self.clauses, self.said, sure, strict=True):
                done = solver in said and (settled or said[solver] is not Answer.UNKNOWN)
                if settled is known and not done:
                    answer = _within(opinion, clause.formulas, limit)
                    if answer is not None:
                        said[solver] = answer
        self.spent += time.monotonic() - start

    def further(self, budget: Budget) -> Budget:
        """The time for one more opinion."""
        limit, left = max(AT_LEAST, SECOND_OPINION * self.spent), budget.remaining()
        return Budget(limit if left is None else min(limit, left))

    def discharged(self) -> dict[str, int]:
        """By solver, how many clauses; solvers that treat none are left out."""
        counts: dict[str, int] = {}
        for said in self.said:
            for solver, answer in said.items():
                counts[solver] = counts.get(solver, 0) + (answer is Answer.UNSAT)
        return counts


def _share(budget: Budget, share: float) -> Budget:
    return Budget(LONG * share) if budget.remaining() is None else budget.part(share)


def _within(opinion: Opinion, formulas: Sequence[Expr], budget: Budget) -> Answer | None:
    """What a solver has no time left for is UNKNOWN."""
    try:
        budget.check()
        return opinion(formulas, budget)
    except BudgetExceeded as ended:
        if ended.limit != "time":
            raise
        return Answer.UNKNOWN


def _decided(check: Check, seconds: float = inf) -> Opinion:
    """`seconds`: how long it may take at most, for each clause."""
    return lambda formulas, budget: _decide(formulas, check, budget.part(1.0, at_most=seconds))


def _decide(formulas: Sequence[Expr], check: Check, budget: Budget) -> Answer:
    """Satisfiability, with machine integers as integers if that decides it.

    Where these only approximate (bits of variables), bit-vectors get a moment before: a model of an
    approximation is found in vain."""
    if _has_machine_integers(formulas):
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


def _has_machine_integers(formulas: Sequence[Expr]) -> bool:
    return any(isinstance(term.sort, MachineSort) for term in postorder(*formulas))


def discharged_by_z3(clause: Clause, *, budget: Budget, statistics: Statistics) -> bool:
    """Whether one solver finds a clause valid: enough for what a proof will repeat, not for a verdict."""
    budget.check()
    return _decide(clause.formulas, _z3(statistics), budget) is Answer.UNSAT


def _bitwuzla(statistics: Statistics) -> Opinion:
    def check(formulas: Sequence[Expr], budget: Budget) -> Answer | None:
        if not _has_machine_integers(formulas):
            return None
        solver = BitwuzlaSolver(statistics)
        solver.add(*formulas)
        if not solver.fits:
            return None
        answer = solver.check(budget=budget, purpose="validate.bits")
        return Answer.UNKNOWN if answer is Answer.SAT and not solver.exact else answer

    return check


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
