"""z3 asked several times: incrementally for a moment, then over integers, then afresh.

The incremental core answers most questions at once and keeps what it has learned, but without
preprocessing it can lose itself in bit-vectors that a fresh solver simplifies away. So a question that it
does not answer with little effort goes to fresh solvers, with all formulas asserted: one that solves
equations and searches over terms, and one with z3's own tactics, which goes down to single bits. Neither is
better than the other, so they take turns, each longer than the one before; who answered last begins. Where
the incremental core keeps failing at questions of one purpose, it is asked less and less often.

Sums that bit-vectors make hard are often easy for integers: machine integers are tried as such first
(`logic.integers`), for a moment, and less often where that fails; only that there is no model is believed.

Effort is counted in z3's own units, so who answers does not depend on how busy the machine is. It does not
count all that z3 does: a part of the time that is left is the limit behind each limit.
"""

from __future__ import annotations

from collections import defaultdict
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
from certus.logic.z3solver import MOST_EFFORT, Z3Solver
from certus.logic.z3terms import Z3Terms

SECOND: Final = 3_000_000  # z3's units of effort in a second or so: mostly it is 2 to 5 million
PATIENCE: Final = SECOND // 3  # for the incremental solver
INTEGERS: Final = SECOND
TURN: Final = SECOND * 3 // 2  # for the first turn of each fresh solver
GROWTH: Final = 3
TERMS: Final = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "smt")


@dataclass(slots=True)
class Pause:
    """What has failed is tried less and less often: after n failures in a row, 2**n - 1 times not, or `most`
    times."""

    most: int = 1 << 20
    failures: int = 0
    left: int = 0

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0

    def after(self, success: bool) -> bool:
        self.failures = 0 if success else self.failures + 1
        self.left = min((1 << self.failures) - 1, self.most)
        return success


class PatientSolver:
    """The `Solver` protocol on three z3 solvers. `rounds` is how many turns each fresh solver may have; None:
    as many as there is time for."""

    def __init__(self, statistics: Statistics) -> None:
        self.rounds: int | None = None
        terms = Z3Terms(Z3Context())
        self._incremental: Final = Z3Solver(statistics, terms=terms)
        self._over_bits: Final = Z3Solver(statistics, terms=terms)
        self._fresh = [Z3Solver(statistics, terms=terms, tactics=TERMS), self._over_bits]
        self._answered = self._incremental  # the one whose answer is the last
        self._assumed: tuple[Expr, ...] = ()
        self._moments: Final[defaultdict[str, Pause]] = defaultdict(Pause)  # by purpose
        self._integers: Final[defaultdict[str, Pause]] = defaultdict(Pause)

    def add(self, *formulas: Expr) -> None:
        self._incremental.add(*formulas)

    def push(self) -> None:
        self._incremental.push()

    def pop(self) -> None:
        self._incremental.pop()

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        self._answered, self._assumed = self._incremental, tuple(assumptions)
        moment, integers = self._moments[purpose], self._integers[purpose]
        if moment.is_over():
            answer = _ask(self._incremental, budget.part(1 / 4), purpose, PATIENCE, assumptions)
            if moment.after(answer is not Answer.UNKNOWN):
                return answer
            budget.check()
        self._answered = self._over_bits
        formulas = (*self._incremental.formulas, *assumptions)
        if integers.is_over() and integers.after(self._impossible(formulas, budget, purpose)):
            return Answer.UNSAT
        return self._in_turns(formulas, budget, purpose)

    def _in_turns(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
        """The answer of the first fresh solver that has one."""
        for solver in self._fresh:
            solver.reset()
            solver.add(*formulas)
        racing, turn, past = self._fresh, TURN, 0
        while racing and past != self.rounds:
            for solver in racing:
                self._answered = solver
                answer = _ask(solver, budget.part(1 / 4, at_least=0.2), f"{purpose}.fresh", turn)
                if answer is not Answer.UNKNOWN:
                    self._fresh.sort(key=lambda other: other is not solver)
                    return answer
                budget.check()
            racing = [solver for solver in racing if solver.was_ended]  # else more effort does not help
            turn, past = min(turn * GROWTH, MOST_EFFORT), past + 1
        return Answer.UNKNOWN

    def _impossible(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> bool:
        """Whether formulas with machine integers have no model even where some operations may give any
        result."""
        encoded = eliminate_machine(propagated(formulas))
        if not encoded.symbols:
            return False
        self._over_bits.reset()
        self._over_bits.add(*encoded.formulas, *encoded.ranges)
        return _ask(self._over_bits, budget.part(1 / 3), f"{purpose}.integers", INTEGERS) is Answer.UNSAT

    @property
    def was_easy(self) -> bool:
        """Whether the last question took but a moment."""
        return self._answered is self._incremental

    def value(self, term: Expr) -> Datum:
        return self._answered.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return self._answered.values(terms)

    def core(self) -> tuple[Expr, ...]:
        """The assumptions of an UNSAT: all of them if the fresh solver found it, which cannot tell."""
        return self._incremental.core() if self.was_easy else self._assumed


def _ask(
    solver: Z3Solver, budget: Budget, purpose: str, effort: int, assumptions: Sequence[Expr] = ()
) -> Answer:
    """The answer, unknown if the time is over before it began."""
    try:
        return solver.check(assumptions, budget=budget, purpose=purpose, effort=effort)
    except BudgetExceeded as limit:
        if limit.limit != "time":
            raise
        return Answer.UNKNOWN
