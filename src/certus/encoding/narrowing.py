"""Refine ranges by unsatisfiable cores (Zaks et al. 2006, section 5.2): try small numbers first.

A query about an unrolled program gets provisional constraints: every machine integer with a symbol of its own
fits into few bits. Several widths are required at once, each by a literal. A model is also a model without
the constraints. If there is none, the core says which of them were used: these are relaxed to the next width
that was not used (only to the next, if the solver has no cores and names them all), and the query is
repeated. A core without any of them answers the original query.

The remaining constraints belong to one query at one bound: they are not facts about the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core import build
from certus.core.accounting import Budget
from certus.core.solver import Answer, Solver
from certus.core.terms import Expr, MachineSort

WIDTHS: Final = (4, 8, 16)  # the bits to try, sign included


class Narrowing:
    """Queries with provisional widths to one solver. `rounds` counts the queries."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.rounds = 0
        # By symbol, the literals that still apply, the least width first.
        self._literals: dict[Expr, list[Expr]] = {}

    def cover(self, symbols: Sequence[Expr]) -> None:
        """Add provisional widths for more machine integers."""
        for x in symbols:
            if x in self._literals or not isinstance(x.sort, MachineSort):
                continue
            self._literals[x] = []
            for width in WIDTHS:
                if width < x.sort.width:
                    literal = build.var(f"narrow@{x.name}@{width}", build.TRUE.sort)
                    self.solver.add(build.implies(literal, fits(x, width)))
                    self._literals[x].append(literal)

    def check(self, assumptions: Sequence[Expr], *, budget: Budget, purpose: str) -> Answer:
        """Return the answer to the query without the constraints."""
        owner = {literal: x for x, literals in self._literals.items() for literal in literals}
        while True:
            budget.check()
            self.rounds += 1
            small = [literal for literals in self._literals.values() for literal in literals]
            answer = self.solver.check([*assumptions, *small], budget=budget, purpose=purpose)
            if answer is not Answer.UNSAT:
                return answer
            used = [each for each in self.solver.core() if each in owner]
            if not used:
                return Answer.UNSAT
            if len(used) == len(small):
                used = [literals[0] for literals in self._literals.values() if literals]
            for literal in used:
                kept = self._literals[owner[literal]]
                if literal in kept:
                    del kept[: kept.index(literal) + 1]


def fits(x: Expr, width: int) -> Expr:
    """Return the formula that a machine integer fits into `width` bits of its signedness."""
    sort = x.sort
    assert isinstance(sort, MachineSort)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if sort.signed else (0, (1 << width) - 1)
    return build.and_(build.le(build.constant(low, sort), x), build.le(x, build.constant(high, sort)))
