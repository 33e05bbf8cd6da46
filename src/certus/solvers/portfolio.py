"""Decide each query with several solvers in turn: an incremental one first, then fresh ones.

The incremental solver is Bitwuzla, the fastest on machine integers, or z3 once a formula has unbounded
numbers. It answers most queries at once and keeps what it has learned, but can get stuck on terms that a
fresh solver simplifies away. A query that it does not answer with little effort goes to fresh solvers with
all formulas asserted: one that bit-blasts, and a z3 that solves equations and searches over terms. They take
turns, each longer than the one before; the solver that answered last goes first. If the incremental solver
keeps failing at queries of one purpose, it is tried less and less often.

Sums that are hard for bit-vectors are often easy for integers. So z3 also gets one short turn on machine
integers encoded as mathematical ones (`encoding.integers`), less often where that fails. That encoding
over-approximates, so only its UNSAT counts.

Effort is measured in CPU time or in z3's own units, so the load of the machine hardly influences which solver
answers. z3 does not count all its work: a part of the remaining time is a second limit for each turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Final, Literal

from certus.core.accounting import Budget, Statistics, until_out_of_time
from certus.core.errors import BudgetExceeded
from certus.core.solver import Answer
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.encoding.integers import eliminate_machine
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.bitwuzla.terms import BitwuzlaTerms
from certus.solvers.unit_propagation import propagated
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.solver import MOST_EFFORT, Z3Solver
from certus.solvers.z3.terms import Z3Terms

Z3_SECOND: Final = 3_000_000  # z3's units of effort in about a second: mostly 2 to 5 million
PATIENCE: Final = 1.0  # effort of the incremental solver, in seconds
FLOAT_PATIENCE: Final = 8.0  # and for floating point, where the translation alone may take seconds
FLOAT_TERMS: Final = 1 / 3  # part of a turn that z3 has for floating point
INTEGERS: Final = 1.0  # effort of the turn on integers, in seconds
TURN: Final = 1.5  # effort of the first turn of each fresh solver, in seconds
GROWTH: Final = 3  # factor from one round of turns to the next
TERMS: Final = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "smt")

AnySolver = BitwuzlaSolver | Z3Solver
Role = Literal["bits", "terms", "integers"]


@dataclass(slots=True)
class Backoff:
    """An exponential back-off: after n failures in a row, 2**n - 1 attempts are skipped, at most `most`."""

    most: int = 1 << 20
    failures: int = 0
    left: int = 0

    def is_over(self) -> bool:
        """Tell whether the next attempt is due, and count it as skipped if not."""
        self.left -= 1
        return self.left < 0

    def record(self, success: bool) -> bool:
        """Record the result of an attempt, and return it."""
        self.failures = 0 if success else self.failures + 1
        self.left = min((1 << self.failures) - 1, self.most)
        return success


class SolverPortfolio:
    """A `Solver` that combines several. `turns` limits the turns of fresh solvers for one query (None: only
    the budget does). `cores`: whether `core` will be called, which makes Bitwuzla slower."""

    def __init__(self, statistics: Statistics, *, cores: bool = False) -> None:
        self.turns: int | None = None
        self._statistics: Final = statistics
        self._levels: list[list[Expr]] = [[]]  # the asserted formulas
        self._bit_terms: Final = BitwuzlaTerms()
        self._first: AnySolver = BitwuzlaSolver(statistics, terms=self._bit_terms, cores=cores)
        self._answered: AnySolver = self._first  # the solver of the last answer
        self._assumed: tuple[Expr, ...] = ()
        self._incremental: Final[defaultdict[str, Backoff]] = defaultdict(Backoff)
        self._integers: Final[defaultdict[str, Backoff]] = defaultdict(Backoff)
        self._order: Final[list[Role]] = ["bits", "integers", "terms"]  # the last to answer goes first

    @cached_property
    def _z3_terms(self) -> Z3Terms:
        return Z3Terms(Z3Context())

    @property
    def _has_floats(self) -> bool:
        """Return whether a formula so far computes with floating-point numbers."""
        return self._bit_terms.floats is not None

    # ------------------------------------------------------------------------------- formulas

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
        """Replace Bitwuzla by z3 for good once a formula does not fit."""
        if isinstance(self._first, Z3Solver) or self._first.fits_with(assumptions):
            return
        self._first = Z3Solver(self._statistics, terms=self._z3_terms)
        for number, level in enumerate(self._levels):
            if number:
                self._first.push()
            self._first.add(*level)

    # --------------------------------------------------------------------------------- queries

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        self._keep_fitting(*assumptions)
        self._answered, self._assumed = self._first, tuple(assumptions)
        attempts = self._incremental[purpose]
        if attempts.is_over():
            patience = FLOAT_PATIENCE if self._has_floats else PATIENCE
            part = budget.part(1 / 2 if self._has_floats else 1 / 4)
            answer = _ask(self._first, part, purpose, patience, assumptions)
            if attempts.record(answer is not Answer.UNKNOWN):
                return answer
            budget.check()
        return self._in_turns(tuple(assumptions), budget, purpose)

    def _formulas(self) -> Iterator[Expr]:
        return (formula for level in self._levels for formula in level)

    def _in_turns(self, assumptions: tuple[Expr, ...], budget: Budget, purpose: str) -> Answer:
        """Run solvers in turns and return the first answer other than UNKNOWN."""
        formulas = (*self._formulas(), *assumptions)
        solvers: dict[Role, AnySolver] = {}
        racing, seconds, taken = list(self._order), TURN, 0
        if self._has_floats:
            racing.remove("integers")  # which know nothing of floating point
        while racing:
            for role in tuple(racing):
                if taken == self.turns:
                    return Answer.UNKNOWN
                taken += 1
                if role == "integers":
                    answer = self._over_integers(formulas, budget, purpose)
                    racing.remove(role)
                else:
                    continues = (
                        role == "bits" and self._has_floats and isinstance(self._first, BitwuzlaSolver)
                    )
                    if role not in solvers:
                        solvers[role] = self._first if continues else self._fresh(role, formulas)
                    solver = self._answered = solvers[role]
                    part = budget.part(1 / 3, at_least=0.5)
                    effort = seconds * FLOAT_TERMS if self._has_floats and role == "terms" else seconds
                    assumed = assumptions if continues else ()
                    answer = _ask(solver, part, f"{purpose}.fresh", effort, assumed)
                    if not solver.was_ended:  # more effort does not help
                        racing.remove(role)
                if answer is not Answer.UNKNOWN:
                    self._order.sort(key=lambda other: other != role)
                    return answer
                budget.check()
            seconds *= GROWTH
        return Answer.UNKNOWN

    def _fresh(self, role: Role, formulas: Sequence[Expr]) -> AnySolver:
        """Create a solver with these formulas, which bit-blasts or searches over terms."""
        solver: AnySolver
        if role == "bits" and isinstance(self._first, BitwuzlaSolver):
            solver = BitwuzlaSolver(self._statistics, terms=self._bit_terms)
        else:
            tactics = TERMS if role == "terms" else ()
            solver = Z3Solver(self._statistics, terms=self._z3_terms, tactics=tactics)
        solver.add(*formulas)
        return solver

    def _over_integers(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> Answer:
        """Return UNSAT if the integer encoding, which lets some operations give any result, has no model."""
        attempts = self._integers[purpose]
        if not attempts.is_over():
            return Answer.UNKNOWN
        part = budget.part(1 / 3)
        answer = Answer.UNKNOWN
        with until_out_of_time():
            encoded = eliminate_machine(propagated(formulas), budget=part)
            if encoded.symbols:
                solver = self._answered = Z3Solver(self._statistics, terms=self._z3_terms)
                solver.add(*encoded.formulas, *encoded.ranges)
                answer = _ask(solver, part, f"{purpose}.integers", INTEGERS)
        return answer if attempts.record(answer is Answer.UNSAT) else Answer.UNKNOWN

    # --------------------------------------------------------------------------------- answers

    @property
    def was_easy(self) -> bool:
        """Tell whether the incremental solver answered the last query."""
        return self._answered is self._first

    def value(self, term: Expr) -> Datum:
        return self._answered.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return self._answered.values(terms)

    def core(self) -> tuple[Expr, ...]:
        """Return assumptions that are unsatisfiable: all of them if a fresh solver answered."""
        return self._first.core() if self._answered is self._first else self._assumed


def _ask(
    solver: AnySolver, budget: Budget, purpose: str, seconds: float, assumptions: Sequence[Expr] = ()
) -> Answer:
    """Check with about this much effort; UNKNOWN if the time budget is already used up."""
    try:
        if isinstance(solver, BitwuzlaSolver):
            return solver.check(assumptions, budget=budget, purpose=purpose, seconds=seconds)
        effort = min(ceil(seconds * Z3_SECOND), MOST_EFFORT)
        return solver.check(assumptions, budget=budget, purpose=purpose, effort=effort)
    except BudgetExceeded as limit:
        if limit.limit != "time":
            raise
        return Answer.UNKNOWN
