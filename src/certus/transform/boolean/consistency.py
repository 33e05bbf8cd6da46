"""Which assumptions keep the values of predicates free of contradictions.

A contradiction is a cube of one or two literals that is true in no state. A step may lead to it if each of
its literals may become true; if that cannot happen from values without contradictions, nothing needs to
be assumed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from certus.core import build
from certus.core.boolean import Choose, Condition, Cube, Guard, Literal
from certus.core.budget import Budget
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver


class Consistency:
    """The contradictions between the predicates of a procedure."""

    def __init__(self, contradictions: Sequence[Cube], budget: Budget, statistics: Statistics) -> None:
        self._cubes = tuple(contradictions)
        self._budget = budget
        self._solver = Z3Solver(statistics)
        self._solver.add(Condition(self._cubes, negated=True).term())
        self._free = Z3Solver(statistics)

    def after(
        self, changes: Mapping[Expr, Choose], *, consistent: bool = True, besides: Collection[Expr] = ()
    ) -> list[Guard]:
        """The assumption, if one is needed, after the variables have got these values all at once.

        `consistent`: the values before are known to be. `besides`: these do not contradict each other."""
        solver = self._solver if consistent else self._free
        possible = []
        for cube in self._cubes:
            if any(x in changes for x, _ in cube) and any(x not in besides for x, _ in cube):
                literals = [_may_be(literal, changes) for literal in cube]
                answer = solver.check(literals, budget=self._budget, purpose="abstraction")
                if answer is not Answer.UNSAT:
                    possible.append(cube)
        return [Guard(Condition(tuple(possible), negated=True))] if possible else []


def _may_be(literal: Literal, changes: Mapping[Expr, Choose]) -> Expr:
    """Before the step: that the literal may be true after it."""
    x, value = literal
    chosen = changes.get(x)
    if chosen is None:
        return x if value else build.not_(x)
    yes, no = chosen.yes.term(), chosen.no.term()
    return build.or_(yes, build.not_(no)) if value else build.not_(yes)
