"""Guess bounds from the comparisons in Horn clauses, and keep those that are inductive together.

Each comparison in the clauses, and each initial constant of a relation, suggests bounds for its parameters:
`x < 1000` in a loop's condition suggests x <= 999 and, one iteration later, x <= 1000. The bounds that no
clause refutes under the assumption of the others are inductive together (Flanagan and Leino 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Unsupported
from certus.core.horn import Clause, HornSystem, parameters
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, Function, Kind
from certus.core.walk import postorder, substitute, substitute_all, variables
from certus.encoding.canonical_atoms import canonical
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

MOST = 40  # candidates for one relation
EFFORT = 500_000  # z3's `rlimit` for one query: about a quarter of a second
_PURPOSE = "interpolation.bounds"
Lemmas = Mapping[Function, Sequence[Expr]]


def inductive_bounds(
    system: HornSystem,
    equations: Lemmas,
    *,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> dict[Function, tuple[Expr, ...]]:
    """Return bounds of each relation over its `parameters`, inductive under the equations."""
    bounds_of = {relation: _candidates(relation, system) for relation in system.relations}
    solver = Z3Solver(statistics, options={"rlimit": EFFORT}, terms=terms)
    changed = True
    while changed:
        changed = False
        for clause in system.clauses:
            if clause.head is not None and bounds_of[clause.head.function]:
                changed |= _sift(clause, clause.head, bounds_of, equations, solver, budget)
    return {relation: tuple(bounds) for relation, bounds in bounds_of.items()}


def _sift(
    clause: Clause,
    head: Expr,
    bounds_of: dict[Function, list[Expr]],
    equations: Lemmas,
    solver: Z3Solver,
    budget: Budget,
) -> bool:
    """Remove the bounds of the head that a clause refutes; tell whether there were any."""
    solver.reset()
    solver.add(clause.constraint)
    for atom in clause.body:
        solver.add(*instances((*bounds_of[atom.function], *equations.get(atom.function, ())), atom))
    removed = False
    while bounds_of[head.function]:
        mine = bounds_of[head.function]
        now = dict(zip(mine, instances(mine, head), strict=True))
        some = build.not_(build.conjunction(now.values()))
        answer = solver.check((some,), budget=budget, purpose=_PURPOSE)
        if answer is Answer.UNSAT:
            break
        budget.check()
        holds = {b for b in mine if answer is Answer.SAT and _is_true(solver, now[b])}
        bounds_of[head.function] = [b for b in mine if b in holds]
        removed = True
    return removed


def _is_true(solver: Z3Solver, formula: Expr) -> bool:
    """Return whether the model satisfies a formula. Models of arrays may say nothing about it."""
    try:
        return bool(solver.value(formula))
    except Unsupported:
        return False


def _candidates(relation: Function, system: HornSystem) -> list[Expr]:
    candidates: dict[Expr, None] = {}
    names = parameters(relation)
    for clause in system.clauses:
        for atom in clause.body:
            if atom.function is relation:
                reading = {a: p for a, p in zip(atom.args, names, strict=True) if a.kind is Kind.VAR}
                for total, limit in _comparisons(clause.constraint):
                    if reading.keys() >= set(variables(total)):
                        candidates.update(dict.fromkeys(_near(substitute(total, reading), limit)))
        if clause.head is not None and clause.head.function is relation and not clause.body:
            for name, value in zip(names, clause.head.args, strict=True):
                if name.sort is INT and value.kind is Kind.CONST:
                    candidates.update(dict.fromkeys(_near(name, int(value.value))))
    return list(candidates)[:MOST]


def _comparisons(constraint: Expr) -> Iterator[tuple[Expr, int]]:
    """Yield the sums that are compared with constants, with these constants."""
    for term in postorder(constraint):
        if term.kind in (Kind.LE, Kind.LT, Kind.EQ) and term.args[0].sort is INT:
            atom = canonical(term)
            atom = atom.args[0] if atom.kind is Kind.NOT else atom
            if atom.kind in (Kind.LE, Kind.EQ) and atom.args[1].kind is Kind.CONST:
                yield atom.args[0], int(atom.args[1].value)


def _near(total: Expr, limit: int) -> Iterator[Expr]:
    for value in (limit, limit + 1):
        yield build.le(total, build.integer(value))
    for value in (limit, limit + 1):
        yield build.le(build.integer(value), total)


def instances(formulas: Sequence[Expr], atom: Expr) -> tuple[Expr, ...]:
    """Substitute the arguments of an atom for the parameters of its relation."""
    return substitute_all(formulas, dict(zip(parameters(atom.function), atom.args, strict=True)))
