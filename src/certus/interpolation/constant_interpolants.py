"""Compute interpolants over comparisons with constants, along a path of Horn clauses.

Applies where variables are only copied and compared with constants (states of automata, flags, modes). Step
by step along the path: for values after the step, an unsatisfiable core gives comparisons that already make
the rest of the path impossible. Further values give further cubes until they cover all values after the step.
The disjunction of the cubes is the interpolant, and the next step starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr, Function, Kind
from certus.core.walk import substitute_all, variables
from certus.interpolation.finite_clauses import finite_system
from certus.interpolation.weakest_preconditions import chain_of
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

MOST = 64  # most cubes at one position
ENOUGH = 2  # cubes with at most this many literals are not shortened
_PURPOSE = "interpolation.values"
Literal = tuple[int, bool]  # an atom, by its number, and whether it holds
Cube = tuple[Literal, ...]


def by_values(
    system: HornSystem, *, budget: Budget, statistics: Statistics, terms: Z3Terms | None = None
) -> Model | None:
    """Return candidates for interpolants; None if the clauses are not a path, do arithmetic, or need more."""
    finite = finite_system(system)
    backwards = None if finite is None else chain_of(finite.system)
    if finite is None or backwards is None:
        return None
    path = _Path(backwards[::-1], finite.atoms, budget, Z3Solver(statistics, logic="QF_FD", terms=terms))
    model: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
    interpolant = build.TRUE  # before the step
    for position, clause in enumerate(path.chain[:-1]):
        cubes = path.cubes(position, interpolant)
        if cubes is None:
            return None
        interpolant = build.disjunction(_conjunction(cube, path.literals[position]) for cube in cubes)
        assert clause.head is not None
        relation, meanings = finite.originals[clause.head.function]
        formula = build.disjunction(_conjunction(cube, meanings) for cube in cubes)
        model[relation] = (parameters(relation), formula)
    return Model(model)


@dataclass(slots=True, eq=False)
class _Path:
    """A path in one solver: each step under a literal, with literals for the atoms after it."""

    chain: Sequence[Clause]
    atoms: Mapping[Function, Sequence[Expr]]
    budget: Budget
    solver: Z3Solver
    steps: list[Expr] = field(default_factory=list)
    literals: list[list[Expr]] = field(default_factory=list)  # by position: for each atom

    def __post_init__(self) -> None:
        before: dict[Expr, Expr] = {}  # the variables after the previous step
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
        """Define names for the values after a step, and literals for the atoms over them."""
        names = {x: build.var(f"{x.name}.{number}", x.sort) for x in parameters(relation)}
        for name, value in zip(names.values(), values, strict=True):
            self.solver.add(build.implies(self.steps[number], build.eq(name, value)))
        meanings = substitute_all(self.atoms[relation], names)
        literals = [build.var(f"@atom.{number}.{n}", BOOL) for n in range(len(meanings))]
        self.solver.add(*(build.eq(x, m) for x, m in zip(literals, meanings, strict=True)))
        self.literals.append(literals)
        return names

    def cubes(self, position: int, interpolant: Expr) -> list[Cube] | None:
        """Return cubes that cover the states after a step from `interpolant`, and exclude the rest of the
        path; None if the atoms do not suffice."""
        cubes: list[Cube] = []
        literals = self.literals[position]
        self.solver.push()
        self.solver.add(interpolant)
        while len(cubes) < MOST:
            answer = self.solver.check((self.steps[position],), budget=self.budget, purpose=_PURPOSE)
            if answer is not Answer.SAT:
                break
            cube = self._impossible(position, self._met(position))
            if cube is None:
                break
            cubes.append(self._smaller(position, cube))
            self.solver.add(build.not_(_conjunction(cubes[-1], literals)))
        self.solver.pop()
        return cubes if answer is Answer.UNSAT else None

    def _met(self, position: int) -> Cube:
        """Return the current model as a cube: the constant a variable equals, or all that it does not
        equal."""
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
        """Return literals that make the rest of the path impossible; None if all of them do not."""
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
