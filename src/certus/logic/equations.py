"""Equations between variables as interpolants or invariants, or as help in finding some.

Along a path (see `interpolation`) all equations between two variables that hold at a position are
collected, in the order of the steps. Whoever looks for interpolants may rely on them, and needs to say
only what they do not: often nothing, or a bound. Then only the equations are kept that
unsatisfiable cores need. There are finitely many at a location and they survive rounds of a loop:
refinement by them alone cannot diverge. For clauses with cycles the equations are those of `affine`, and
the bounds of `bounds` are treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import BOOL, ArraySort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function
from certus.core.walk import substitute, substitute_all
from certus.logic.affine import affine_equations, parameters
from certus.logic.bounds import inductive_bounds
from certus.logic.determined import Determined
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms

MOST = 5  # variables at a position: equations among many relate what is better kept apart
_PURPOSE = "interpolation.equations"


def with_equations(
    system: HornSystem,
    find: Callable[[HornSystem], Model | None],
    *,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Model | None:
    """A model of the clauses, in the order of a path: equations, and what `find` finds relying on them."""
    if any(len(r.parameters) > MOST for r in system.relations):
        return None
    search = _Equations(Z3Solver(statistics, terms=terms), budget)
    for clause in system.clauses:
        if clause.head is not None:
            search.collect(clause, clause.head)
    return search.complete(system, find)


def with_affine_equations(
    system: HornSystem,
    find: Callable[[HornSystem], Model | None],
    *,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Model | None:
    """A model of clauses that may have cycles: affine equations and bounds, and what `find` finds relying
    on them."""
    search = _Equations(Z3Solver(statistics, terms=terms), budget)
    equations = affine_equations(system, budget=budget, statistics=statistics, terms=terms)
    bounds = inductive_bounds(system, equations, budget=budget, statistics=statistics, terms=terms)
    search.holding = {r: (*equations[r], *bounds[r]) for r in system.relations}
    return search.complete(system, find)


class _Equations:
    """The equations at each relation: those that hold, and of them those that are needed."""

    def __init__(self, solver: Z3Solver, budget: Budget) -> None:
        self.solver = solver
        self.budget = budget
        self.holding: dict[Function, tuple[Expr, ...]] = {}
        self.needed: dict[Function, dict[Expr, None]] = {}

    def collect(self, clause: Clause, head: Expr) -> None:
        """Find the equations that hold after a step, given those before it."""
        relation = head.function
        left = dict(zip(_candidates(relation), _read(_candidates(relation), head), strict=True))
        self.solver.reset()
        self.solver.add(clause.constraint)
        for atom in clause.body:
            self.solver.add(*_read(self.holding[atom.function], atom))
        while left:
            some = build.disjunction(build.not_(e) for e in left.values())
            answer = self.solver.check((some,), budget=self.budget, purpose=_PURPOSE)
            if answer is Answer.UNSAT:
                break
            refuted = {
                e: now for e, now in left.items() if answer is Answer.SAT and not self.solver.value(now)
            }
            left = {e: now for e, now in left.items() if e not in refuted} if refuted else {}
        self.holding[relation] = tuple(left)

    def complete(self, system: HornSystem, find: Callable[[HornSystem], Model | None]) -> Model | None:
        """The equations that are needed beside what `find` finds relying on all of them."""
        if not any(self.holding.values()):
            return None
        relying = HornSystem(system.relations, tuple(self.relying(c) for c in system.clauses))
        rest = self._found(relying, find)
        if rest is None:
            return None
        before = -1
        while before < (now := sum(map(len, self.needed.values()))):
            before = now
            if not all(self.keep(clause, rest) for clause in reversed(system.clauses)):
                return None
        return self.model(rest)

    def _found(self, relying: HornSystem, find: Callable[[HornSystem], Model | None]) -> Model | None:
        """What holds beside the equations: nothing, if they exclude the end by themselves."""
        if all(self._impossible(clause) for clause in relying.clauses if clause.head is None):
            return Model({relation: (parameters(relation), build.TRUE) for relation in relying.relations})
        smaller = Determined(relying, self.holding)
        found = find(smaller.system)
        return None if found is None else smaller.model(found)

    def _impossible(self, clause: Clause) -> bool:
        self.solver.reset()
        self.solver.add(clause.constraint)
        return self.solver.check(budget=self.budget, purpose=_PURPOSE) is Answer.UNSAT

    def relying(self, clause: Clause) -> Clause:
        """The clause, where the equations before the step are given."""
        given = [e for atom in clause.body for e in _read(self.holding[atom.function], atom)]
        return replace(clause, constraint=build.and_(clause.constraint, *given))

    def keep(self, clause: Clause, rest: Model) -> bool:
        """Mark what a step needs of the equations before it; whether they suffice."""
        goal = build.FALSE
        if clause.head is not None:
            needed = tuple(self.needed.get(clause.head.function, ()))
            goal = build.conjunction((*_read(needed, clause.head), rest.meaning(clause.head)))
        if goal is build.TRUE:
            return True
        self.solver.reset()
        self.solver.add(clause.constraint, build.not_(goal), *(rest.meaning(atom) for atom in clause.body))
        given: dict[Expr, tuple[Function, Expr]] = {}
        for atom in clause.body:
            known = tuple(self.needed.get(atom.function, ()))
            self.solver.add(*_read(known, atom))
            mine = tuple(e for e in self.holding[atom.function] if e not in known)
            given.update(zip(_read(mine, atom), ((atom.function, e) for e in mine), strict=True))
        if self.solver.check(tuple(given), budget=self.budget, purpose=_PURPOSE) is not Answer.UNSAT:
            return False
        for assumption in self.solver.core():
            relation, equation = given[assumption]
            self.needed.setdefault(relation, {})[equation] = None
        return True

    def model(self, rest: Model) -> Model:
        """The needed equations and the rest."""
        found: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, (names, formula) in rest.relations.items():
            equal = build.conjunction(self.needed.get(relation, ()))
            renamed = substitute(equal, dict(zip(parameters(relation), names, strict=True)))
            found[relation] = (names, build.and_(renamed, formula))
        return Model(found)


def _candidates(relation: Function) -> tuple[Expr, ...]:
    """The equations between two parameters of one sort, Bool and arrays aside."""
    scalars = [x for x in parameters(relation) if x.sort is not BOOL and not isinstance(x.sort, ArraySort)]
    return tuple(build.eq(x, y) for x, y in combinations(scalars, 2) if x.sort is y.sort)


def _read(formulas: Sequence[Expr], atom: Expr) -> tuple[Expr, ...]:
    """Formulas over the parameters of a relation, over the arguments of its application."""
    return substitute_all(formulas, dict(zip(parameters(atom.function), atom.args, strict=True)))
