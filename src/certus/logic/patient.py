"""z3 asked up to three times: incrementally for a moment, then over integers, then afresh.

The incremental core answers most questions at once and keeps what it has learned, but without z3's
tactics it can lose itself in bit-vectors that a fresh solver simplifies away. So a question that it does
not answer within `PATIENCE` goes to a fresh solver, with all formulas asserted. Sums that bit-vectors make
hard are often easy for integers: machine integers are tried as such first (`logic.integers`), for a second
or so; only that there is no model is believed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from certus.core.budget import Budget
from certus.core.evaluate import Datum
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.logic.integers import eliminate_machine
from certus.logic.solver import Answer
from certus.logic.units import propagated
from certus.logic.z3solver import Z3Solver

PATIENCE: Final = 0.3  # seconds for the incremental solver
INTEGERS: Final = 1.0  # seconds for the integers, or as many as their encoding takes


class PatientSolver:
    """The `Solver` protocol on two z3 solvers."""

    def __init__(self, statistics: Statistics) -> None:
        self._incremental: Final = Z3Solver(statistics)
        self._fresh: Final = Z3Solver(statistics)
        self._answered = self._incremental  # the one whose answer is the last
        self._assumed: tuple[Expr, ...] = ()

    def add(self, *formulas: Expr) -> None:
        self._incremental.add(*formulas)

    def push(self) -> None:
        self._incremental.push()

    def pop(self) -> None:
        self._incremental.pop()

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        left = budget.remaining()
        moment = Budget(PATIENCE if left is None else min(PATIENCE, left))
        self._answered, self._assumed = self._incremental, tuple(assumptions)
        answer = self._incremental.check(assumptions, budget=moment, purpose=purpose)
        if answer is not Answer.UNKNOWN:
            return answer
        budget.check()
        self._answered = self._fresh
        formulas = (*self._incremental.formulas, *assumptions)
        if self._impossible(formulas, budget, purpose):
            return Answer.UNSAT
        self._fresh.reset()
        self._fresh.add(*formulas)
        return self._fresh.check(budget=budget, purpose=f"{purpose}.fresh")

    def _impossible(self, formulas: Sequence[Expr], budget: Budget, purpose: str) -> bool:
        """Whether formulas with machine integers have no model even where some operations may give any
        result."""
        start = time.monotonic()
        encoded = eliminate_machine(propagated(formulas))
        if not encoded.symbols:
            return False
        spent = time.monotonic() - start
        left = budget.remaining()
        moment = max(INTEGERS, spent)
        self._fresh.reset()
        self._fresh.add(*encoded.formulas, *encoded.ranges)
        limit = Budget(moment if left is None else min(moment, left / 3))
        return self._fresh.check(budget=limit, purpose=f"{purpose}.integers") is Answer.UNSAT

    def value(self, term: Expr) -> Datum:
        return self._answered.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return self._answered.values(terms)

    def core(self) -> tuple[Expr, ...]:
        """The assumptions of an UNSAT: all of them if the fresh solver found it, which cannot tell."""
        return self._incremental.core() if self._answered is self._incremental else self._assumed
