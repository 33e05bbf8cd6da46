"""Affine equations that hold in the least model of Horn clauses, over the integers and modulo 2.

For each relation the smallest set of the form "all solutions of some equations" that has every derivable
tuple, computed from tuples: as long as some clause derives one that violates the equations found so far,
they are weakened to those that hold for it too (King and Sondergaard 2010; Reps, Sagiv and Yorsh 2004 for the
general idea). A weakening costs at least one equation, so there are at most as many as parameters. What is
left is inductive. Bool counts as 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem
from certus.core.sorts import BOOL, INT
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms

MOST = 12  # parameters of a relation that are looked at
EFFORT = 500_000  # z3's unit of work, for one question: about a quarter of a second
_PURPOSE = "interpolation.affine"
Row = tuple[int, ...]  # coefficients, and what their sum is equal to


def affine_equations(
    system: HornSystem, *, budget: Budget, statistics: Statistics, terms: Z3Terms | None = None
) -> dict[Function, tuple[Expr, ...]]:
    """The equations at each relation over its parameters `@0`, `@1` and so on."""
    solver = Z3Solver(statistics, options={"rlimit": EFFORT}, terms=terms)
    plain, parity = (_Hulls(modulus, solver, budget) for modulus in (0, 2))
    for hulls in (plain, parity):
        hulls.saturate(system)
    found: dict[Function, tuple[Expr, ...]] = {}
    for relation in system.relations:
        if relation in parity.rows:
            parity.rows[relation] = _news(parity.rows[relation], plain.rows.get(relation, []))
        names = parameters(relation)
        found[relation] = (*plain.equations(relation, names), *parity.equations(relation, names))
    return found


def _news(rows: Sequence[Row], known: Sequence[Row]) -> list[Row]:
    """The rows modulo 2 that do not follow from known ones and those before them."""
    basis: list[int] = []
    found = []
    for position, row in enumerate((*known, *rows)):
        bits = sum((c % 2) << n for n, c in enumerate(row))
        for other in basis:
            bits = min(bits, bits ^ other)
        if bits:
            basis.append(bits)
            if position >= len(known):
                found.append(row)
    return found


def parameters(relation: Function) -> tuple[Expr, ...]:
    return tuple(build.var(f"@{n}", sort) for n, sort in enumerate(relation.parameters))


@dataclass(slots=True, eq=False)
class _Hulls:
    """The equations of each relation that has a derivable tuple; with a `modulus`, modulo that prime."""

    modulus: int
    solver: Z3Solver
    budget: Budget
    rows: dict[Function, list[Row]] = field(default_factory=dict)

    def saturate(self, system: HornSystem) -> None:
        changed = True
        while changed:
            changed = False
            for clause in system.clauses:
                if clause.head is not None and all(atom.function in self.rows for atom in clause.body):
                    changed |= self._follow(clause, clause.head)

    def equations(self, relation: Function, arguments: Sequence[Expr]) -> list[Expr]:
        """The equations of a relation over the given arguments."""
        numbers = _numbers(arguments)
        return [self._equation(row, numbers) for row in self.rows.get(relation, ())]

    def _equation(self, row: Row, numbers: Sequence[Expr]) -> Expr:
        total = build.add(*(build.scale(c, x) for c, x in zip(row, numbers, strict=False)))
        if self.modulus:
            total = build.mod(total, build.integer(self.modulus))
        return build.eq(total, build.integer(row[-1]))

    def _follow(self, clause: Clause, head: Expr) -> bool:
        """Let the equations of the head hold for all that the clause derives; whether that is news."""
        relation, changed = head.function, False
        self.solver.reset()
        self.solver.add(clause.constraint)
        for atom in clause.body:
            self.solver.add(*self.equations(atom.function, atom.args))
        numbers = _numbers(head.args)
        while relation not in self.rows or self.rows[relation]:
            violated = build.TRUE
            if relation in self.rows:
                violated = build.not_(build.conjunction(self.equations(relation, head.args)))
            answer = self.solver.check((violated,), budget=self.budget, purpose=_PURPOSE)
            if answer is Answer.UNSAT:
                break
            changed = True
            if answer is Answer.UNKNOWN:
                self.budget.check()
                self.rows[relation] = []
                break
            self._join(relation, [_number(self.solver.value(x)) for x in numbers])
        return changed

    def _join(self, relation: Function, point: Sequence[int]) -> None:
        """Weaken the equations of a relation to those that hold at a point too."""
        rows = self.rows.get(relation)
        if rows is None:
            size = len(point)
            self.rows[relation] = [
                (*(int(k == n) for k in range(size)), self._reduced(value)) for n, value in enumerate(point)
            ]
            return
        gaps = [self._reduced(sum(c * x for c, x in zip(r, point, strict=False)) - r[-1]) for r in rows]
        pivot = next(n for n, gap in enumerate(gaps) if gap)
        self.rows[relation] = [
            row if not gap else self._combined(row, gap, rows[pivot], gaps[pivot])
            for n, (row, gap) in enumerate(zip(rows, gaps, strict=True))
            if n != pivot
        ]

    def _combined(self, row: Row, gap: int, pivot: Row, pivot_gap: int) -> Row:
        """The combination of two violated equations that holds."""
        combined = tuple(self._reduced(a * pivot_gap - b * gap) for a, b in zip(row, pivot, strict=True))
        divisor = gcd(*combined[:-1]) or 1
        return combined if self.modulus else tuple(c // divisor for c in combined)

    def _reduced(self, value: int) -> int:
        return value % self.modulus if self.modulus else value


def _numbers(arguments: Sequence[Expr]) -> list[Expr]:
    """The arguments that are numbers, or made numbers."""
    found = []
    for argument in arguments:
        if argument.sort is INT:
            found.append(argument)
        elif argument.sort is BOOL:
            found.append(build.ite(argument, build.integer(1), build.integer(0)))
    return found[:MOST]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
