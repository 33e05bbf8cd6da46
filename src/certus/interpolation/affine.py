"""Compute affine equations that hold in the least model of Horn clauses, over the integers and modulo 2.

For each relation, compute the affine hull of the derivable tuples: as long as a clause derives a tuple that
violates the current equations, weaken them to those that also hold for this tuple (King and Sondergaard 2010;
Reps, Sagiv and Yorsh 2004 for the general idea). Each weakening removes at least one equation, so there are
at most as many as parameters. The remaining equations are inductive. Bool counts as 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, Function
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

MOST = 12  # parameters of a relation that are considered
EFFORT = 500_000  # z3's `rlimit` for one query: about a quarter of a second
_PURPOSE = "interpolation.affine"
Row = tuple[int, ...]  # the coefficients of an equation, then its right-hand side


def affine_equations(
    system: HornSystem, *, budget: Budget, statistics: Statistics, terms: Z3Terms | None = None
) -> dict[Function, tuple[Expr, ...]]:
    """Return the equations of each relation over its `parameters`."""
    solver = Z3Solver(statistics, options={"rlimit": EFFORT}, terms=terms)
    plain, parity = (_Hulls(modulus, solver, budget) for modulus in (0, 2))
    for hulls in (plain, parity):
        hulls.saturate(system)
    equations: dict[Function, tuple[Expr, ...]] = {}
    for relation in system.relations:
        if relation in parity.rows:
            parity.rows[relation] = _independent(parity.rows[relation], plain.rows.get(relation, []))
        names = parameters(relation)
        equations[relation] = (*plain.equations(relation, names), *parity.equations(relation, names))
    return equations


def _independent(rows: Sequence[Row], implied: Sequence[Row]) -> list[Row]:
    """Return the rows modulo 2 that do not follow from the implied ones and earlier rows."""
    basis: list[int] = []
    independent = []
    for position, row in enumerate((*implied, *rows)):
        bits = sum((c % 2) << n for n, c in enumerate(row))
        for other in basis:
            bits = min(bits, bits ^ other)
        if bits:
            basis.append(bits)
            if position >= len(implied):
                independent.append(row)
    return independent


@dataclass(slots=True, eq=False)
class _Hulls:
    """The equations of each relation with a derivable tuple; modulo the prime `modulus`, unless that is 0."""

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
        """Return the equations of a relation over these arguments."""
        numbers = _numbers(arguments)
        return [self._equation(row, numbers) for row in self.rows.get(relation, ())]

    def _equation(self, row: Row, numbers: Sequence[Expr]) -> Expr:
        total = build.add(*(build.scale(c, x) for c, x in zip(row, numbers, strict=False)))
        if self.modulus:
            total = build.mod(total, build.integer(self.modulus))
        return build.eq(total, build.integer(row[-1]))

    def _follow(self, clause: Clause, head: Expr) -> bool:
        """Weaken the equations of the head until the clause preserves them; tell whether they changed."""
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
        """Weaken the equations of a relation to those that also hold at a point."""
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
        """Combine two violated equations to one that holds."""
        combined = tuple(self._reduced(a * pivot_gap - b * gap) for a, b in zip(row, pivot, strict=True))
        divisor = gcd(*combined[:-1]) or 1
        return combined if self.modulus else tuple(c // divisor for c in combined)

    def _reduced(self, value: int) -> int:
        return value % self.modulus if self.modulus else value


def _numbers(arguments: Sequence[Expr]) -> list[Expr]:
    """Return the Int arguments, and the Bool ones as 0 or 1."""
    numbers = []
    for argument in arguments:
        if argument.sort is INT:
            numbers.append(argument)
        elif argument.sort is BOOL:
            numbers.append(build.ite(argument, build.integer(1), build.integer(0)))
    return numbers[:MOST]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
