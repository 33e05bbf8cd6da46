"""A question asked several times: incrementally for a moment, then afresh, then over integers.

Machine integers are bits to Bitwuzla, and that is what it is best at. What does not fit there (numbers
without bound) goes to z3. An incremental solver answers most questions at once and keeps what it has learned,
but can lose itself in terms that a fresh one simplifies away. So a question that it does not answer with
little effort goes to fresh solvers, with all formulas asserted: one that goes down to single bits, and a z3
that solves equations and searches over terms. Neither is better than the other, so they take turns, each
longer than the one before; who answered last begins. Where the incremental one keeps failing at questions of
one purpose, it is asked less and less often.

Sums that bit-vectors make hard are often easy for integers: machine integers are tried as such
(`logic.integers`), for a moment, and less often where that fails; only that there is no model is believed.

Effort is counted in CPU time or in z3's own units, so who answers hardly depends on how busy the machine is.
z3 does not count all that it does: a part of the time that is left is the limit behind each limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Final, Literal

from certus.core.budget import Budget, until_out_of_time
from certus.core.errors import BudgetExceeded
from certus.core.evaluate import Datum
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.logic.bitwuzlasolver import BitwuzlaSolver
from certus.logic.bitwuzlaterms import BitwuzlaTerms
from certus.logic.integers import eliminate_machine
from certus.logic.solver import Answer
from certus.logic.units import propagated
from certus.logic.z3api import Z3Context
from certus.logic.z3solver import MOST_EFFORT, Z3Solver
from certus.logic.z3terms import Z3Terms

Z3_SECOND: Final = 3_000_000  # z3's units of effort in a second or so: mostly it is 2 to 5 million
PATIENCE: Final = 1.0  # seconds' worth of effort for the incremental solver
INTEGERS: Final = 1.0
TURN: Final = 1.5  # for the first turn of each solver
GROWTH: Final = 3
TERMS: Final = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "smt")

AnySolver = BitwuzlaSolver | Z3Solver
Role = Literal["bits", "terms", "integers"]


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
    """The `Solver` protocol on several solvers. `turns` is how many the fresh ones may have in all; None: as
    many as there is time for. `cores`: whether `core` will be asked for, which makes Bitwuzla slower."""

    def __init__(self, statistics: Statistics, *, cores: bool = False) -> None:
        self.turns: int | None = None
        self._statistics: Final = statistics
        self._levels: list[list[Expr]] = [[]]  # the asserted formulas
        self._bit_terms: Final = BitwuzlaTerms()
        self._first: AnySolver = BitwuzlaSolver(statistics, terms=self._bit_terms, cores=cores)
        self._answered: AnySolver = self._first  # the one whose answer is the last
        self._assumed: tuple[Expr, ...] = ()
        self._moments: Final[defaultdict[str, Pause]] = defaultdict(Pause)  # by purpose
        self._integers: Final[defaultdict[str, Pause]] = defaultdict(Pause)
        self._order: Final[list[Role]] = ["bits", "integers", "terms"]  # who answered last is the first

    @cached_property
    def _z3_terms(self) -> Z3Terms:
        return Z3Terms(Z3Context())

    # ---------------------------------------------------------------------------- the formulas

    def add(self, *formulas: Expr) -> None:
        self._levels[-1] += formulas
        self._first.add(*formulas)
        self._keep_fitting()

    def push(self) -> None:
        self._levels.append([])
        self._first.push()

    def pop(self) -> None:
        self._levels.pop()
        self._first.pop()

    def _keep_fitting(self, *assumptions: Expr) -> None:
        """z3 takes the place of Bitwuzla for good once a formula does not fit."""
        if isinstance(self._first, Z3Solver) or self._first.fits_with(assumptions):
            return
        self._first = Z3Solver(self._statistics, terms=self._z3_terms)
        for number, level in enumerate(self._levels):
            if number:
                self._first.push()
            self._first.add(*level)

    # ------------------------------------------------------------------------------- questions

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        self._keep_fitting(*assumptions)
        self._answered, self._assumed = self._first, tuple(assumptions)
        moment = self._moments[purpose]
        if moment.is_over():
            answer = _ask(self._first, budget.part(1 / 4), purpose, PATIENCE, assumptions)
            if moment.after(answer is not Answer.UNKNOWN):
                return answer
            budget.check()
        return self._in_turns((*self._formulas(), *assumptions), budget, purpose)

    def _formulas(self) -> Iterator[Expr]:
        return (formula for level in self._levels for formula in level)

    def _in_turns(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
        """The answer of the first that has one."""
        fresh: dict[Role, AnySolver] = {}
        racing, seconds, taken = list(self._order), TURN, 0
        while racing:
            for role in tuple(racing):
                if taken == self.turns:
                    return Answer.UNKNOWN
                taken += 1
                if role == "integers":
                    answer = self._over_integers(formulas, budget, purpose)
                    racing.remove(role)
                else:
                    solver = self._answered = fresh.get(role) or self._fresh(role, formulas)
                    fresh[role] = solver
                    part = budget.part(1 / 3, at_least=0.5)
                    answer = _ask(solver, part, f"{purpose}.fresh", seconds)
                    if not solver.was_ended:  # more effort does not help
                        racing.remove(role)
                if answer is not Answer.UNKNOWN:
                    self._order.sort(key=lambda other: other != role)
                    return answer
                budget.check()
            seconds *= GROWTH
        return Answer.UNKNOWN

    def _fresh(self, role: Role, formulas: Sequence[Expr]) -> AnySolver:
        """A solver with these formulas and no others: down to single bits, or over terms."""
        solver: AnySolver
        if role == "bits" and isinstance(self._first, BitwuzlaSolver):
            solver = BitwuzlaSolver(self._statistics, terms=self._bit_terms)
        else:
            tactics = TERMS if role == "terms" else ()
            solver = Z3Solver(self._statistics, terms=self._z3_terms, tactics=tactics)
        solver.add(*formulas)
        return solver

    def _over_integers(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
        """UNSAT if formulas with machine integers have no model even where some operations may give any
        result."""
        tries = self._integers[purpose]
        if not tries.is_over():
            return Answer.UNKNOWN
        part = budget.part(1 / 3)
        answer = Answer.UNKNOWN
        with until_out_of_time():
            encoded = eliminate_machine(propagated(formulas), budget=part)
            if encoded.symbols:
                solver = self._answered = Z3Solver(self._statistics, terms=self._z3_terms)
                solver.add(*encoded.formulas, *encoded.ranges)
                answer = _ask(solver, part, f"{purpose}.integers", INTEGERS)
        return answer if tries.after(answer is Answer.UNSAT) else Answer.UNKNOWN

    # --------------------------------------------------------------------------------- answers

    @property
    def was_easy(self) -> bool:
        """Whether the last question took but a moment."""
        return self._answered is self._first

    def value(self, term: Expr) -> Datum:
        return self._answered.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return self._answered.values(terms)

    def core(self) -> tuple[Expr, ...]:
        """The assumptions of an UNSAT: all of them if another than the first solver found it."""
        return self._first.core() if self._answered is self._first else self._assumed


def _ask(
    solver: AnySolver, budget: Budget, purpose: str, seconds: float, assumptions: Sequence[Expr] = ()
) -> Answer:
    """The answer after about so much work; unknown if the time is over before it began."""
    try:
        if isinstance(solver, BitwuzlaSolver):
            return solver.check(assumptions, budget=budget, purpose=purpose, seconds=seconds)
        effort = min(ceil(seconds * Z3_SECOND), MOST_EFFORT)
        return solver.check(assumptions, budget=budget, purpose=purpose, effort=effort)
    except BudgetExceeded as limit:
        if limit.limit != "time":
            raise
        return Answer.UNKNOWN
