"""z3 asked several times: incrementally for a moment, then over integers, then afresh.

The incremental core answers most questions at once and keeps what it has learned, but without
preprocessing it can lose itself in bit-vectors that a fresh solver simplifies away. So a question that it
does not answer within `PATIENCE` goes to fresh solvers, with all formulas asserted: one that solves equations
and searches over terms, and one with z3's own tactics, which goes down to single bits. Neither is better than
the other, so they take turns, each longer than the one before.

Sums that bit-vectors make hard are often easy for integers: machine integers are tried as such first
(`logic.integers`), for a second or so, and less often where that fails; only that there is no model is
believed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evaluate import Datum
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.logic.integers import eliminate_machine
from certus.logic.solver import Answer
from certus.logic.units import propagated
from certus.logic.z3api import Z3Context
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms

PATIENCE: Final = 0.3  # seconds for the incremental solver
TURN: Final = 1.5  # seconds for the first turn of each fresh solver
TERMS: Final = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "smt")
INTEGERS: Final = 1.0  # seconds for the integers, or as many as their encoding takes


@dataclass(slots=True)
class Pause:
    """What has failed is tried less and less often: after n failures in a row, 2**n - 1 times not."""

    failures: int = 0
    left: int = 0

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0

    def after(self, success: bool) -> bool:
        self.failures = 0 if success else self.failures + 1
        self.left = (1 << self.failures) - 1
        return success


class PatientSolver:
    """The `Solver` protocol on three z3 solvers."""

    def __init__(self, statistics: Statistics) -> None:
        terms = Z3Terms(Z3Context())
        self._incremental: Final = Z3Solver(statistics, terms=terms)
        self._over_terms: Final = Z3Solver(statistics, terms=terms, tactics=TERMS)
        self._over_bits: Final = Z3Solver(statistics, terms=terms)
        self._answered = self._incremental  # the one whose answer is the last
        self._assumed: tuple[Expr, ...] = ()
        self._pause = Pause()

    def add(self, *formulas: Expr) -> None:
        self._incremental.add(*formulas)

    def push(self) -> None:
        self._incremental.push()

    def pop(self) -> None:
        self._incremental.pop()

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        self._answered, self._assumed = self._incremental, tuple(assumptions)
        answer = _ask(self._incremental, assumptions, _part(budget, PATIENCE), purpose)
        if answer is not Answer.UNKNOWN:
            return answer
        budget.check()
        self._answered = self._over_bits
        formulas = (*self._incremental.formulas, *assumptions)
        if self._pause.is_over() and self._pause.after(self._impossible(formulas, budget, purpose)):
            return Answer.UNSAT
        return self._in_turns(formulas, budget, purpose)

    def _in_turns(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
        """The answer of the first fresh solver that has one."""
        racing = [self._over_terms, self._over_bits]
        for solver in racing:
            solver.reset()
            solver.add(*formulas)
        turn = TURN
        while racing:
            for solver in tuple(racing):
                start = time.monotonic()
                self._answered = solver
                answer = _ask(solver, (), _part(budget, turn), f"{purpose}.fresh")
                if answer is not Answer.UNKNOWN:
                    return answer
                budget.check()
                if time.monotonic() - start < turn / 2:
                    racing.remove(solver)  # not for lack of time
            turn *= 3
        return Answer.UNKNOWN

    def _impossible(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> bool:
        """Whether formulas with machine integers have no model even where some operations may give any
        result."""
        start = time.monotonic()
        encoded = eliminate_machine(propagated(formulas))
        if not encoded.symbols:
            return False
        spent = time.monotonic() - start
        self._over_bits.reset()
        self._over_bits.add(*encoded.formulas, *encoded.ranges)
        limit = _part(budget.part(1 / 3), max(INTEGERS, spent))
        return _ask(self._over_bits, (), limit, f"{purpose}.integers") is Answer.UNSAT

    def value(self, term: Expr) -> Datum:
        return self._answered.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return self._answered.values(terms)

    def core(self) -> tuple[Expr, ...]:
        """The assumptions of an UNSAT: all of them if the fresh solver found it, which cannot tell."""
        return self._incremental.core() if self._answered is self._incremental else self._assumed


def _part(budget: Budget, seconds: float) -> Budget:
    """So many seconds of a budget, or what is left of it."""
    left = budget.remaining()
    return Budget(seconds if left is None else min(seconds, left))


def _ask(solver: Z3Solver, assumptions: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
    """The answer, unknown if a moment is over before it began."""
    try:
        return solver.check(assumptions, budget=budget, purpose=purpose)
    except BudgetExceeded as limit:
        if limit.limit != "time":
            raise
        return Answer.UNKNOWN
