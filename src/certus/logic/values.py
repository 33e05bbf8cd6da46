"""Interpolants over the constants that variables are compared with, along a path of Horn clauses.

Where variables are only copied and compared with constants (states of automata, flags, modes), what
a path does to them is found out step by step: for values that a step leads to, an unsatisfiable core says
which comparisons already make the rest of the path impossible; these, and others until the step leads to
nothing else, are the interpolant from which the next step is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import substitute_all, variables
from certus.logic.finite import finite_system, numbered
from certus.logic.solver import Answer
from certus.logic.weakest import chain_of
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms

MOST = 64  # cubes at one position
ENOUGH = 2  # literals of a cube, of which none is left out
_PURPOSE = "interpolation.values"
Literal = tuple[int, bool]  # an atom, by its number, and whether it holds
Cube = tuple[Literal, ...]


def by_values(
    system: HornSystem, *, budget: Budget, statistics: Statistics, terms: Z3Terms | None = None
) -> Model | None:
    """Candidates for interpolants; None if the clauses are no path, compute with numbers, or need more."""
    finite = finite_system(system)
    backwards = None if finite is None else chain_of(finite.system)
    if finite is None or backwards is None:
        return None
    path = _Path(backwards[::-1], finite.atoms, budget, Z3Solver(statistics, logic="QF_FD", terms=terms))
    model: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
    known = build.TRUE  # the interpolant before a step
    for position, clause in enumerate(path.chain[:-1]):
        cubes = path.cubes(position, known)
        if cubes is None:
            return None
        known = build.disjunction(_conjunction(cube, path.literals[position]) for cube in cubes)
        assert clause.head is not None
        relation, meanings = finite.originals[clause.head.function]
        formula = build.disjunction(_conjunction(cube, meanings) for cube in cubes)
        model[relation] = (numbered(relation), formula)
    return Model(model)


@dataclass(slots=True, eq=False)
class _Path:
    """The steps of a path in one solver, each under a literal, and literals for the atoms after each."""

    chain: Sequence[Clause]
    atoms: Mapping[Function, Sequence[Expr]]
    budget: Budget
    solver: Z3Solver
    steps: list[Expr] = field(default_factory=list)
    literals: list[list[Expr]] = field(default_factory=list)  # by position: for each atom

    def __post_init__(self) -> None:
        before: dict[Expr, Expr] = {}  # the variables of the step's premise, as the step before has them
        for number, clause in enumerate(self.chain):
            mine = clause.body[0].args if clause.body else ()
            read = dict(zip(mine, before.values(), strict=True))
            fresh = {x: build.var(f"{x.name}#{number}", x.sort) for x in clause.variables if x not in read}
            parts = [clause.constraint, *(clause.head.args if clause.head else ())]
            constraint, *values = substitute_all(parts, {**fresh, **read})
            step = build.var(f"@step.{number}", BOOL)
            self.steps.append(step)
            self.solver.add(build.implies(step, constraint))
            if clause.head is not None:
                before = self._after(number, clause.head.function, values)

    def _after(self, number: int, relation: Function, values: Sequence[Expr]) -> dict[Expr, Expr]:
        """Name the values after a step, and the truth of the atoms on them."""
        names = {x: build.var(f"{x.name}.{number}", x.sort) for x in numbered(relation)}
        for name, value in zip(names.values(), values, strict=True):
            self.solver.add(build.implies(self.steps[number], build.eq(name, value)))
        meanings = substitute_all(self.atoms[relation], names)
        literals = [build.var(f"@atom.{number}.{n}", BOOL) for n in range(len(meanings))]
        self.solver.add(*(build.eq(x, m) for x, m in zip(literals, meanings, strict=True)))
        self.literals.append(literals)
        return names

    def cubes(self, position: int, known: Expr) -> list[Cube] | None:
        """Cubes that cover what the step to a position leads to from `known`, and from none of which the
        rest of the path is possible; None if the atoms are not enough for that."""
        found: list[Cube] = []
        literals = self.literals[position]
        self.solver.push()
        self.solver.add(known)
        while len(found) < MOST:
            answer = self.solver.check((self.steps[position],), budget=self.budget, purpose=_PURPOSE)
            if answer is not Answer.SAT:
                break
            cube = self._impossible(position, self._met(position))
            if cube is None:
                break
            found.append(self._smaller(position, cube))
            self.solver.add(build.not_(_conjunction(found[-1], literals)))
        self.solver.pop()
        return found if answer is Answer.UNSAT else None

    def _met(self, position: int) -> Cube:
        """What the model at hand says of the atoms: what a variable equals, or all that it does not."""
        clause = self.chain[position]
        assert clause.head is not None
        atoms = self.atoms[clause.head.function]
        held = [bool(self.solver.value(x)) for x in self.literals[position]]
        equal = {
            variables(atom) for atom, holds in zip(atoms, held, strict=True) if holds and _is_equation(atom)
        }
        return tuple(
            (n, holds)
            for n, (atom, holds) in enumerate(zip(atoms, held, strict=True))
            if (holds and _is_equation(atom)) or variables(atom) not in equal
        )

    def _impossible(self, position: int, cube: Sequence[Literal]) -> Cube | None:
        """Some of the literals, from which the rest of the path is impossible; None if it is possible."""
        names = {_literal(n, self.literals[position], holds=holds): (n, holds) for n, holds in cube}
        rest = self.steps[position + 1 :]
        answer = self.solver.check((*rest, *names), budget=self.budget, purpose=_PURPOSE)
        if answer is not Answer.UNSAT:
            return None
        return tuple(names[x] for x in self.solver.core() if x in names)

    def _smaller(self, position: int, cube: Cube) -> Cube:
        for literal in cube if len(cube) > ENOUGH else ():
            if literal in cube:
                fewer = self._impossible(position, [other for other in cube if other != literal])
                cube = cube if fewer is None else fewer
        return cube


def _is_equation(atom: Expr) -> bool:
    return atom.kind is Kind.EQ


def _literal(number: int, literals: Sequence[Expr], *, holds: bool) -> Expr:
    return literals[number] if holds else build.not_(literals[number])


def _conjunction(cube: Cube, literals: Sequence[Expr]) -> Expr:
    return build.conjunction(_literal(n, literals, holds=holds) for n, holds in cube)
