"""What every satisfiability solver can do: the protocol engines are written against."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from certus.core.budget import Budget
from certus.core.evaluate import Datum
from certus.core.terms import Expr


class Answer(Enum):
    """Whether formulas have a model. UNKNOWN: the solver gave up or its time was over."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class Solver(Protocol):
    """A stack of formulas that can be asked for a model.

    Model and core belong to the last `check` and are gone with the next `add`, `push`, `pop` or
    `check`: asking for them then, or after another answer, is a `ValueError`."""

    def add(self, *formulas: Expr) -> None:
        """Assert formulas until the `pop` of the present level."""
        ...

    def push(self) -> None: ...

    def pop(self) -> None: ...

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        """Are the asserted formulas and the assumptions satisfiable together?

        UNKNOWN when the budget runs out meanwhile; `BudgetExceeded` if it had run out before.
        `purpose` names the query in statistics and logs."""
        ...

    def value(self, term: Expr) -> Datum:
        """The value of `term` in the model; what the model leaves open gets some fixed value."""
        ...

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]: ...

    def core(self) -> tuple[Expr, ...]:
        """Assumptions (in their order) that are unsatisfiable together with the asserted formulas."""
        ...
