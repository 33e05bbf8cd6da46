"""The protocol of satisfiability solvers: engines use no other interface."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from certus.core.accounting import Budget
from certus.core.terms import Expr
from certus.core.values import Datum


class Answer(Enum):
    """Says whether formulas have a model. UNKNOWN: the solver gave up or ran out of time."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class Solver(Protocol):
    """A stack of formulas that can be checked for a model.

    Model and core belong to the last `check` until the next `add`, `push`, `pop` or `check`. Reading them
    later, or after another answer, raises `ValueError`."""

    def add(self, *formulas: Expr) -> None:
        """Assert formulas until the `pop` of the current level."""
        ...

    def push(self) -> None:
        """Start a level."""
        ...

    def pop(self) -> None:
        """End the current level and retract its formulas."""
        ...

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        """Return whether the asserted formulas and the assumptions are satisfiable together.

        UNKNOWN if the budget runs out during the query; raises `BudgetExceeded` if it ran out before.
        `purpose` names the query in statistics and logs."""
        ...

    def value(self, term: Expr) -> Datum:
        """Return the value of `term` in the model. Values that the model leaves open are fixed
        arbitrarily."""
        ...

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        """Return the values of several terms in the model."""
        ...

    def core(self) -> tuple[Expr, ...]:
        """Return assumptions, in their order, that are unsatisfiable together with the asserted formulas."""
        ...
