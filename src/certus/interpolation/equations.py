"""Use equations between variables as interpolants or invariants, or as lemmas for a further search.

Along a path (see `interpolants`), collect all equations between two variables that hold at each position, in
the order of the steps. A search for interpolants assumes them and needs to find only the rest: often nothing,
or a bound. Then keep only the equations that unsatisfiable cores need. There are finitely many equations at a
location, and iterations of a loop preserve them: refinement by equations alone cannot diverge. For clauses
with cycles, use the equations of `affine` and the bounds of `candidate_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, clause_of, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, ArraySort, Expr, Function, Kind
from certus.core.walk import substitute, variables
from certus.interpolation.affine import affine_equations
from certus.interpolation.candidate_bounds import inductive_bounds, instances
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

MOST = 5  # variables at a position: among many variables, most equations are accidental
_PURPOSE = "interpolation.equations"


def with_equations(
    system: HornSystem,
    find: Callable[[HornSystem], Model | None],
    *,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Model | None:
    """Return a model of a path's clauses: equations, and what `find` adds under their assumption."""
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
    """Return a model of clauses that may have cycles: affine equations and bounds, and what `find` adds under
    their assumption."""
    search = _Equations(Z3Solver(statistics, terms=terms), budget)
    equations = affine_equations(system, budget=budget, statistics=statistics, terms=terms)
    bounds = inductive_bounds(system, equations, budget=budget, statistics=statistics, terms=terms)
    search.holding = {r: (*equations[r], *bounds[r]) for r in system.relations}
    return search.complete(system, find)


class _Equations:
    """The equations that hold at each relation, and those among them that a model needs."""

    def __init__(self, solver: Z3Solver, budget: Budget) -> None:
        self.solver = solver
        self.budget = budget
        self.holding: dict[Function, tuple[Expr, ...]] = {}
        self.needed: dict[Function, dict[Expr, None]] = {}

    def collect(self, clause: Clause, head: Expr) -> None:
        """Compute the equations that hold after a step under those before it."""
        relation = head.function
        candidates = dict(zip(_candidates(relation), instances(_candidates(relation), head), strict=True))
        self.solver.reset()
        self.solver.add(clause.constraint)
        for atom in clause.body:
            self.solver.add(*instances(self.holding[atom.function], atom))
        while candidates:
            some = build.disjunction(build.not_(e) for e in candidates.values())
            answer = self.solver.check((some,), budget=self.budget, purpose=_PURPOSE)
            if answer is Answer.UNSAT:
                break
            refuted = {
                e: now for e, now in candidates.items() if answer is Answer.SAT and not self.solver.value(now)
            }
            candidates = {e: now for e, now in candidates.items() if e not in refuted} if refuted else {}
        self.holding[relation] = tuple(candidates)

    def complete(self, system: HornSystem, find: Callable[[HornSystem], Model | None]) -> Model | None:
        """Return the model that `find` finds under all equations, with the equations it needs."""
        if not any(self.holding.values()):
            return None
        relying = HornSystem(system.relations, tuple(self.relying(c) for c in system.clauses))
        rest = self._rest(relying, find)
        if rest is None:
            return None
        before = -1
        while before < (now := sum(map(len, self.needed.values()))):
            before = now
            if not all(self.keep(clause, rest) for clause in reversed(system.clauses)):
                return None
        return self.model(rest)

    def _rest(self, relying: HornSystem, find: Callable[[HornSystem], Model | None]) -> Model | None:
        """Find what a model needs besides the equations: nothing, if they exclude the end of the path."""
        if all(self._impossible(clause) for clause in relying.clauses if clause.head is None):
            return Model({relation: (parameters(relation), build.TRUE) for relation in relying.relations})
        smaller = ReducedSystem(relying, self.holding)
        model = find(smaller.system)
        return None if model is None else smaller.model(model)

    def _impossible(self, clause: Clause) -> bool:
        self.solver.reset()
        self.solver.add(clause.constraint)
        return self.solver.check(budget=self.budget, purpose=_PURPOSE) is Answer.UNSAT

    def relying(self, clause: Clause) -> Clause:
        """Add the equations before a step to the constraint of its clause."""
        assumed = [e for atom in clause.body for e in instances(self.holding[atom.function], atom)]
        return replace(clause, constraint=build.and_(clause.constraint, *assumed))

    def keep(self, clause: Clause, rest: Model) -> bool:
        """Mark the equations before a step that it needs; tell whether they suffice."""
        goal = build.FALSE
        if clause.head is not None:
            needed = tuple(self.needed.get(clause.head.function, ()))
            goal = build.conjunction((*instances(needed, clause.head), rest.meaning(clause.head)))
        if goal is build.TRUE:
            return True
        self.solver.reset()
        self.solver.add(clause.constraint, build.not_(goal), *(rest.meaning(atom) for atom in clause.body))
        assumptions: dict[Expr, tuple[Function, Expr]] = {}
        for atom in clause.body:
            marked = tuple(self.needed.get(atom.function, ()))
            self.solver.add(*instances(marked, atom))
            unmarked = tuple(e for e in self.holding[atom.function] if e not in marked)
            assumptions.update(
                zip(instances(unmarked, atom), ((atom.function, e) for e in unmarked), strict=True)
            )
        if self.solver.check(tuple(assumptions), budget=self.budget, purpose=_PURPOSE) is not Answer.UNSAT:
            return False
        for assumption in self.solver.core():
            relation, equation = assumptions[assumption]
            self.needed.setdefault(relation, {})[equation] = None
        return True

    def model(self, rest: Model) -> Model:
        """Return the conjunction of the needed equations and the rest."""
        relations: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, (names, formula) in rest.relations.items():
            equal = build.conjunction(self.needed.get(relation, ()))
            renamed = substitute(equal, dict(zip(parameters(relation), names, strict=True)))
            relations[relation] = (names, build.and_(renamed, formula))
        return Model(relations)


def _candidates(relation: Function) -> tuple[Expr, ...]:
    """Return the equations between two parameters of one sort, except Bool and arrays."""
    scalars = [x for x in parameters(relation) if x.sort is not BOOL and not isinstance(x.sort, ArraySort)]
    return tuple(build.eq(x, y) for x, y in combinations(scalars, 2) if x.sort is y.sort)


class ReducedSystem:
    """A `system` over fewer parameters, with a back map for its models."""

    def __init__(self, original: HornSystem, equations: Mapping[Function, Sequence[Expr]]) -> None:
        self._kept: dict[Function, tuple[int, ...]] = {}
        self._values: dict[Function, dict[Expr, Expr]] = {}  # of the eliminated parameters
        self._smaller: dict[Function, Function] = {}
        for relation in original.relations:
            eliminated = self._values[relation] = _determined(relation, equations.get(relation, ()))
            kept = tuple(n for n, name in enumerate(parameters(relation)) if name not in eliminated)
            self._kept[relation] = kept
            sorts = tuple(relation.parameters[n] for n in kept)
            self._smaller[relation] = Function(relation.name, sorts, relation.result)
        clauses = tuple(self._clause(clause) for clause in original.clauses)
        self.system = HornSystem(tuple(self._smaller.values()), clauses)

    def _clause(self, clause: Clause) -> Clause:
        bound: dict[Expr, Expr] = {}
        for atom in clause.body:
            names = parameters(atom.function)
            read = dict(zip(names, atom.args, strict=True))
            for name, value in self._values[atom.function].items():
                now = substitute(value, {n: substitute(a, bound) for n, a in read.items()})
                if read[name].kind is Kind.VAR and read[name] not in (*bound, *variables(now)):
                    bound = {x: substitute(v, {read[name]: now}) for x, v in bound.items()}
                    bound[read[name]] = now
        body = tuple(substitute(self._atom(atom), bound) for atom in clause.body)
        head = None if clause.head is None else substitute(self._atom(clause.head), bound)
        constraint = substitute(clause.constraint, bound)
        return clause_of(body, constraint, head)

    def _atom(self, atom: Expr) -> Expr:
        arguments = [atom.args[n] for n in self._kept[atom.function]]
        return build.apply(self._smaller[atom.function], arguments)

    def model(self, model: Model) -> Model:
        """Return a model of the original clauses."""
        relations: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, smaller in self._smaller.items():
            names, formula = model.relations[smaller]
            whole = [build.var(f"@determined.{n}", sort) for n, sort in enumerate(relation.parameters)]
            for position, name in zip(self._kept[relation], names, strict=True):
                whole[position] = name
            relations[relation] = (tuple(whole), formula)
        return Model(relations)


def _determined(relation: Function, equations: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return parameters with their values over the others, which are not determined themselves."""
    values: dict[Expr, Expr] = {}
    used: set[Expr] = set()  # the parameters of equations that determine one
    for equation in equations:
        factors = _factors(equation)
        if factors is None or values.keys() & factors.keys():
            continue
        for name in reversed(parameters(relation)):
            factor = factors.get(name, 0)
            if abs(factor) == 1 and name not in used:
                difference = build.sub(*equation.args)
                values[name] = build.sub(name, build.scale(factor, difference))
                used.update(factors)
                break
    return values


def _factors(equation: Expr) -> dict[Expr, int] | None:
    """Return the coefficients of a linear equation between parameters; None for any other formula."""
    if equation.kind is not Kind.EQ or equation.args[0].sort is not INT:
        return None
    difference = build.sub(*equation.args)
    parts = difference.args if difference.kind is Kind.ADD else (difference,)
    factors = {
        term: int(factor) for factor, term in map(build.monomial, parts) if term.kind is not Kind.CONST
    }
    return factors if all(term.kind is Kind.VAR for term in factors) else None
