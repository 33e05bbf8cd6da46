"""Ranges from unsatisfiable cores (seed 002, section 5.2): try small numbers first.

To a question about an unrolled program come provisional constraints: every machine integer with a symbol of
its own fits into few bits. Several widths are asked for at once, each by a literal. A model is a model
without them, too. If there is none, the core tells which of them were used: these are relaxed to the next
width that was not used (just to the next, if the solver cannot tell and names them all), and the question is
asked again. A core without any answers the question itself.

What is left of the constraints belongs to one question at one bound: it says nothing of the program.

`vector` is for ranges that are known to hold: it is the type with the fewest bits that holds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr
from certus.logic.intervals import Interval
from certus.logic.solver import Answer, Solver

WIDTHS: Final = (4, 8, 16)  # bits, sign included, that are tried


class Narrowing:
    """Asks a solver with provisional widths. `rounds` counts the questions."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.rounds = 0
        self._literals: dict[
            Expr, list[Expr]
        ] = {}  # by symbol, those that still apply, the least width first

    def cover(self, symbols: Sequence[Expr]) -> None:
        """Let more machine integers be small."""
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
        """The answer to the question without the constraints."""
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
    """That a machine integer fits into so many bits of its signedness."""
    sort = x.sort
    assert isinstance(sort, MachineSort)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if sort.signed else (0, (1 << width) - 1)
    return build.and_(build.le(build.constant(low, sort), x), build.le(x, build.constant(high, sort)))


def vector(sort: MachineSort, found: Interval) -> MachineSort | None:
    """The least type that holds a range of values of a type; None if it has no fewer bits."""
    if found.low is None or found.high is None:
        return None
    signed = found.low < 0
    size = max((~found.low if signed else found.low).bit_length(), max(found.high, 0).bit_length())
    narrow = machine(max(size + signed, 1), signed=signed)
    return narrow if narrow.width < sort.width else None
