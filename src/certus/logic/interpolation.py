"""Interpolants along an infeasible path, or a tree of paths with calls.

A path is a system of Horn clauses without cycles: one relation per position on it, over the variables
in scope there, and one clause per step; a call is a step with two premises, the position before it
and the end of the callee's own path. If the path is infeasible the system has a model, and what it gives
each relation is an interpolant: implied by what leads to the position, refuted by what
follows (Craig), over the variables of the relation only, so nested ones at calls come out alike.

Spacer finds it, at first with the help of equations between variables; where it has no answer
(products, divisions), weakest preconditions may serve.
Nothing is taken on trust: every sequence is checked, clause by clause, before it is handed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import BOOL, INT
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import rebuild, substitute, variables
from certus.logic.equations import with_equations
from certus.logic.solver import Answer
from certus.logic.spacer import horn_model
from certus.logic.weakest import preconditions
from certus.logic.z3solver import Z3Solver

SPACER_SHARE = 0.5  # of the time that is left, for one answer


def interpolants(
    system: HornSystem, *, budget: Budget, statistics: Statistics
) -> Mapping[Function, tuple[tuple[Expr, ...], Expr]] | None:
    """For each relation its parameters and an interpolant over them; None if none were found."""
    for method in (_by_equations, _by_spacer, preconditions):
        model = method(system, budget=budget, statistics=statistics)
        if model is not None and are_interpolants(system, model, budget=budget, statistics=statistics):
            return model.relations
        budget.check()
    return None


def _by_equations(system: HornSystem, *, budget: Budget, statistics: Statistics) -> Model | None:
    def find(relying: HornSystem) -> Model | None:
        return _by_spacer(relying, budget=budget, statistics=statistics)

    return with_equations(system, find, budget=budget, statistics=statistics)


def _by_spacer(system: HornSystem, *, budget: Budget, statistics: Statistics) -> Model | None:
    limit = budget.part(SPACER_SHARE)
    return horn_model(system, budget=limit, statistics=statistics, purpose="interpolation")


def are_interpolants(system: HornSystem, model: Model, *, budget: Budget, statistics: Statistics) -> bool:
    """Whether the model satisfies Craig's conditions: each step preserves it, the last one is
    impossible, and no formula speaks of more than its parameters."""
    for parameters, formula in model.relations.values():
        if not set(variables(formula)) <= set(parameters):
            return False
    solver = Z3Solver(statistics)
    for clause in system.clauses:
        solver.reset()
        solver.add(clause.constraint, *(_meaning(atom, model) for atom in clause.body))
        if clause.head is not None:
            solver.add(build.not_(_meaning(clause.head, model)))
        if solver.check(budget=budget, purpose="interpolation.check") is not Answer.UNSAT:
            return False
    return True


def _meaning(atom: Expr, model: Model) -> Expr:
    parameters, formula = model.relations[atom.function]
    return substitute(formula, dict(zip(parameters, atom.args, strict=True)))


def path_system(clauses: tuple[Clause, ...]) -> HornSystem:
    """The system of these clauses; its relations are those they derive or use."""
    found: dict[Function, None] = {}
    for clause in clauses:
        for atom in (*clause.body, *(() if clause.head is None else (clause.head,))):
            found[atom.function] = None
    return HornSystem(tuple(found), clauses)


# ------------------------------------------------------------------------------------ predicates

_CONNECTIVES = (Kind.NOT, Kind.AND, Kind.OR)


def predicates(formula: Expr) -> tuple[Expr, ...]:
    """The atoms of a formula in canonical form, so that a predicate and its negation are the same."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [canonical(formula)]
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if _is_compound(term):
            stack.extend(reversed(term.args))
        elif term.kind is not Kind.CONST:
            found[term] = None
    return tuple(found)


def canonical(formula: Expr) -> Expr:
    """The same formula over canonical atoms.

    Over Int these are `t <= c` and `t == c`, where the coefficients of t have no common divisor and the
    first is positive; the conjunction of `t <= c` and `t >= c` is made one equation. Elsewhere `<`
    becomes the negation of `<=`."""
    done: dict[Expr, Expr] = {}
    stack = [formula]
    while stack:
        term = stack[-1]
        missing = [a for a in term.args if a not in done] if _is_compound(term) else []
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if not _is_compound(term):
            done[term] = _atom(term)
        elif term not in done:
            done[term] = _squeezed(rebuild(term, [done[a] for a in term.args]))
    return done[formula]


def _is_compound(term: Expr) -> bool:
    """Whether the term is a Boolean combination of formulas."""
    return term.kind in _CONNECTIVES or (
        term.kind in (Kind.ITE, Kind.EQ) and all(a.sort is BOOL for a in term.args)
    )


def _atom(atom: Expr) -> Expr:
    if atom.kind not in (Kind.LE, Kind.LT, Kind.EQ):
        return atom
    if atom.args[0].sort is INT:
        return _linear(atom)
    return build.not_(build.le(atom.args[1], atom.args[0])) if atom.kind is Kind.LT else atom


def _linear(atom: Expr) -> Expr:
    """`sum ~ bound`, divided by the common divisor and with the sign of its first coefficient."""
    difference = build.sub(atom.args[0], atom.args[1])
    parts = difference.args if difference.kind is Kind.ADD else (difference,)
    terms = [build.monomial(p) for p in parts if p.kind is not Kind.CONST]
    bound = -sum(int(p.value) for p in parts if p.kind is Kind.CONST)
    if not terms:
        return build.boolean({Kind.LE: bound >= 0, Kind.LT: bound > 0, Kind.EQ: bound == 0}[atom.kind])
    divisor = gcd(*(int(c) for c, _ in terms))
    first, _ = min(terms, key=lambda part: part[1].digest)
    sign = 1 if first > 0 else -1
    total = build.add(*(build.scale(sign * (int(c) // divisor), t) for c, t in terms))
    if atom.kind is Kind.EQ:
        return build.FALSE if bound % divisor else build.eq(total, build.integer(sign * bound // divisor))
    bound = (bound - 1 if atom.kind is Kind.LT else bound) // divisor
    if sign > 0:
        return build.le(total, build.integer(bound))
    return build.not_(build.le(total, build.integer(-bound - 1)))


def _squeezed(term: Expr) -> Expr:
    """A conjunction (or disjunction) with two bounds that leave (or exclude) one value made an equation."""
    if term.kind is Kind.OR:
        denied = build.conjunction(build.not_(a) for a in term.args)
        squeezed = _squeezed(denied)
        return term if squeezed is denied else build.not_(squeezed)
    if term.kind is not Kind.AND:
        return term
    upper = {a.args[0]: a for a in term.args if _is_bound(a)}
    equations: dict[Expr, Expr] = {}  # a bound -> the equation it is part of
    for lower in term.args:
        if lower.kind is Kind.NOT and _is_bound(lower.args[0]):
            total, below = lower.args[0].args
            above = upper.get(total)
            if above is not None and above.args[1].value == int(below.value) + 1:
                equations[lower] = equations[above] = build.eq(total, above.args[1])
    return build.conjunction(equations.get(a, a) for a in term.args) if equations else term


def _is_bound(atom: Expr) -> bool:
    return atom.kind is Kind.LE and atom.args[0].sort is INT and atom.args[1].kind is Kind.CONST
