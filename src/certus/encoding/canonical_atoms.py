"""Rewrite formulas over canonical atoms, so that equivalent spellings of a predicate are one term.

Over Int an atom is `t <= c` or `t == c`, where the coefficients of t have no common divisor and the first is
positive; the conjunction of `t <= c` and `t >= c` becomes one equation. A comparison of a choice between two
constants, such as a truth value of C, becomes a formula over the condition of the choice. Comparisons of
machine integers, directly or through `to_int`, become `x <= c`, `x == c`, `x <= y` or `x == y` on the machine
integers themselves where that is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import gcd

from certus.core import build
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort
from certus.core.walk import bottom_up, postorder, rebuild

_CONNECTIVES = (Kind.NOT, Kind.AND, Kind.OR)
_COMPARISONS = (Kind.LE, Kind.LT, Kind.EQ)


def predicates(formula: Expr) -> tuple[Expr, ...]:
    """Return the atoms of a formula in canonical form, so that a predicate and its negation are the same."""
    atoms: dict[Expr, None] = {}
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
            atoms[term] = None
    return tuple(atoms)


def canonical(formula: Expr) -> Expr:
    """Return the same formula over canonical atoms."""
    plain = _without_choices(formula)
    return _rewritten(_rewritten(plain, _linear_atom, _squeezed), _machine_atom, lambda term: term)


def _without_choices(formula: Expr) -> Expr:
    """Return the formula without comparisons of a constant with a choice between two constants."""
    before = None
    while before is not formula:
        before, formula = formula, _rewritten(formula, _condition, lambda term: term)
    return formula


def _condition(atom: Expr) -> Expr:
    """Return a comparison of a constant with a choice between two as a formula over the condition."""
    for place, choice in enumerate(atom.args if atom.kind in _COMPARISONS else ()):
        other = atom.args[1 - place]
        if choice.kind is Kind.ITE and all(t.kind is Kind.CONST for t in (*choice.args[1:], other)):
            sides = ([x, other] if place == 0 else [other, x] for x in choice.args[1:])
            return build.ite(choice.args[0], *(rebuild(atom, side) for side in sides))
    return atom


def _rewritten(formula: Expr, atom: Callable[[Expr], Expr], compound: Callable[[Expr], Expr]) -> Expr:
    """Apply `atom` to each atom of the formula, and `compound` to each combination of the results."""
    return bottom_up(
        formula,
        lambda term: term.args if _is_compound(term) else (),
        lambda term, args: compound(rebuild(term, args)) if _is_compound(term) else atom(term),
        {},
    )


def _is_compound(term: Expr) -> bool:
    """Return whether the term is a Boolean combination of formulas."""
    return term.kind in _CONNECTIVES or (
        term.kind in (Kind.ITE, Kind.EQ) and all(a.sort is BOOL for a in term.args)
    )


def _linear_atom(atom: Expr) -> Expr:
    if atom.kind not in _COMPARISONS:
        return atom
    if atom.args[0].sort is INT:
        return _linear(atom)
    if atom.kind is Kind.LT and not isinstance(atom.args[0].sort, MachineSort):
        return build.not_(build.le(atom.args[1], atom.args[0]))
    return atom


def _machine_atom(atom: Expr) -> Expr:
    if atom.kind not in _COMPARISONS:
        return atom
    sort = atom.args[0].sort
    if sort is INT:
        return _on_machine(atom)
    return _machine(atom, sort) if isinstance(sort, MachineSort) else atom


# ------------------------------------------------------------------------------- machine integers


def _machine(atom: Expr, sort: MachineSort) -> Expr:
    """Rewrite a comparison of machine integers, without conversions that do not change it."""
    a, b = atom.args
    if atom.kind is Kind.EQ:
        return _equation(a, b, sort)
    if atom.kind is Kind.LT:
        return build.not_(_machine(build.le(b, a), sort)) if build.le(b, a).kind is Kind.LE else atom
    if a.kind is Kind.CONST:
        return build.not_(build.le(b, build.constant(int(a.value) - 1, sort)))
    return atom


def _equation(a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """Return `a == b` without conversions that lose no information."""
    if b.kind is Kind.WRAP:
        a, b = b, a
    source = a.args[0].sort if a.kind is Kind.WRAP else None
    if not isinstance(source, MachineSort) or source.width != sort.width:
        return build.eq(a, b)
    if b.kind is Kind.CONST:
        return build.eq(a.args[0], build.constant(source.wrap(int(b.value)), source))
    if b.kind is Kind.WRAP and b.args[0].sort is source:
        return build.eq(a.args[0], b.args[0])
    return build.eq(a, b)


def _on_machine(atom: Expr) -> Expr:
    """Rewrite a linear atom over the machine integers themselves, if it compares one of them with a constant,
    or two of one sort."""
    total, bound = atom.args if atom.args[1].kind is Kind.CONST else reversed(atom.args)
    if bound.kind is not Kind.CONST:
        return atom
    parts = [build.monomial(p) for p in (total.args if total.kind is Kind.ADD else (total,))]
    if not all(abs(factor) == 1 and term.kind is Kind.TO_INT for factor, term in parts):
        return atom
    limit, machine = int(bound.value), [term.args[0] for _, term in parts]
    if len(parts) == 1 and parts[0][0] == 1:
        return _bounded(atom.kind, machine[0], limit)
    if len(parts) == 2 and parts[0][0] == -parts[1][0] and machine[0].sort is machine[1].sort:
        less, more = machine if parts[0][0] == 1 else reversed(machine)
        if limit == 0:
            return build.le(less, more) if atom.kind is Kind.LE else _equation(less, more, _sort(less))
        if limit == -1 and atom.kind is Kind.LE:
            return build.not_(build.le(more, less))
    return atom


def _bounded(kind: Kind, term: Expr, limit: int) -> Expr:
    sort = _sort(term)
    if kind is Kind.EQ:
        is_inside = sort.low <= limit <= sort.high
        return build.eq(term, build.constant(limit, sort)) if is_inside else build.FALSE
    if limit < sort.low:
        return build.FALSE
    return build.TRUE if limit >= sort.high else build.le(term, build.constant(limit, sort))


def _sort(term: Expr) -> MachineSort:
    assert isinstance(term.sort, MachineSort)
    return term.sort


# -------------------------------------------------------------------------------- linear atoms


def _linear(atom: Expr) -> Expr:
    """Rewrite an atom as `sum ~ bound`, divided by the common divisor, with a positive first coefficient."""
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
    """Replace two bounds of a conjunction (or disjunction) that admit (or exclude) one value by an equation;
    likewise if both are in disjunctions with the same rest."""
    if term.kind is Kind.OR:
        denied = build.conjunction(build.not_(a) for a in term.args)
        squeezed = _squeezed(denied)
        return term if squeezed is denied else build.not_(squeezed)
    if term.kind is not Kind.AND:
        return term
    upper: dict[tuple[Expr, Expr], tuple[Expr, Expr]] = {}  # (sum, rest) -> (conjunct, bound)
    for part in term.args:
        for bound, rest in _bounds(part):
            upper[bound.args[0], rest] = (part, bound)
    equations: dict[Expr, Expr] = {}  # a conjunct -> the equation that replaces it and another
    for part in term.args:
        for lower, rest in _bounds(part, negated=True):
            total, below = lower.args[0].args
            entry = upper.get((total, rest))
            if entry is None or {part, entry[0]} & equations.keys():
                continue
            above, bound = entry
            if bound.args[1].value == int(below.value) + 1:
                equations[part] = equations[above] = build.or_(rest, build.eq(total, bound.args[1]))
    return build.conjunction(equations.get(a, a) for a in term.args) if equations else term


def _bounds(part: Expr, *, negated: bool = False) -> Iterator[tuple[Expr, Expr]]:
    """Yield the (negated) bounds in a conjunct, each with the disjunction of its other literals."""
    literals = part.args if part.kind is Kind.OR else (part,)
    for position, literal in enumerate(literals):
        if _is_bound(literal, negated=negated):
            yield literal, build.disjunction((*literals[:position], *literals[position + 1 :]))


def _is_bound(literal: Expr, *, negated: bool) -> bool:
    if (literal.kind is Kind.NOT) is not negated:
        return False
    atom = literal.args[0] if negated else literal
    return atom.kind is Kind.LE and atom.args[0].sort is INT and atom.args[1].kind is Kind.CONST


# -------------------------------------------------------------------------------- equalities


def compares_only(*roots: Expr) -> bool:
    """Return whether numbers are only compared for equality, never ordered or computed with."""
    plain = (Kind.CONST, Kind.VAR, Kind.EQ, Kind.ITE, Kind.TO_INT, Kind.APPLY, *_CONNECTIVES)
    return all(term.kind in plain for term in postorder(*roots))


def as_equalities(formula: Expr, constants: Collection[int], *, equal: bool) -> Expr:
    """Replace bounds in a canonical formula by equations or their negations, where `x <= c` is near `x == c`
    for one of the `constants`, or near `x == y`. The result is another formula, for use as a candidate.
    `equal` prefers equations."""

    def parts(item: tuple[Expr, bool]) -> list[tuple[Expr, bool]]:
        term, positive = item
        inner = term.args if term.kind in _CONNECTIVES else ()
        return [(a, positive is (term.kind is not Kind.NOT)) for a in inner]

    def replaced(item: tuple[Expr, bool], args: list[Expr]) -> Expr:
        term, positive = item
        if term.kind in _CONNECTIVES:
            return rebuild(term, args)
        return _near(term, constants, equal=equal is positive)

    return bottom_up((formula, True), parts, replaced, {})


def _near(atom: Expr, constants: Collection[int], *, equal: bool) -> Expr:
    """Return the (in)equation next to a bound: `t <= c` becomes t == c or t != c + 1."""
    if not _is_bound(atom, negated=False):
        return atom
    total, bound = atom.args
    limit = int(bound.value)
    parts = [build.monomial(p)[0] for p in (total.args if total.kind is Kind.ADD else (total,))]
    candidates = constants if parts == [1] else (0,) if sorted(parts) == [-1, 1] else ()
    choices = [(limit, True), (limit + 1, False)] if equal else [(limit + 1, False), (limit, True)]
    for value, holds in choices:
        if value in candidates:
            equation = build.eq(total, build.integer(value))
            return equation if holds else build.not_(equation)
    return atom
