"""Abstractions of Horn clauses (seed 003, section 4): interface predicates and explicated clauses.

The interface of a relation is a list of predicates over its parameters; abstractly, the relation is a set of
valuations of them. An explicated formula of a clause is valid in the theory and speaks of the clause's
variables. Primitive constraints become boolean variables, equal ones the same: so the abstraction of a clause
knows of the theory only what has been explicated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.horn import Clause, HornSystem
from certus.core.sorts import BOOL, Sort
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import rebuild, substitute
from certus.logic.canonical import canonical


def formals(sorts: Sequence[Sort]) -> tuple[Expr, ...]:
    """The parameters that interface predicates of a relation speak of."""
    return tuple(build.var(f"#{n}", sort) for n, sort in enumerate(sorts))


@dataclass(slots=True, eq=False)
class Abstraction:
    """`interface`: predicates of relations. `explicated`: valid formulas by the number of a clause."""

    interface: dict[Function, dict[Expr, None]] = field(default_factory=dict)
    explicated: dict[int, dict[Expr, None]] = field(default_factory=dict)

    def predicates(self, relation: Function) -> tuple[Expr, ...]:
        return tuple(self.interface.get(relation, ()))

    def join(self, other: Abstraction) -> bool:
        """Know all that `other` knows too; whether that was news."""
        before = self.size
        for relation, found in other.interface.items():
            self.interface.setdefault(relation, {}).update(found)
        for number, formulas in other.explicated.items():
            self.explicated.setdefault(number, {}).update(formulas)
        return self.size > before

    @property
    def size(self) -> int:
        known = (*self.interface.values(), *self.explicated.values())
        return sum(map(len, known))


@dataclass(frozen=True, slots=True)
class Variant:
    """What a node of a trace is a copy of: a clause, and the relation it derives (None for false)."""

    relation: Function | None
    clause: int


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an abstraction knows at a node: predicates of its interface, and formulas explicated for it."""

    interface: tuple[Expr, ...] = ()
    explicated: tuple[Expr, ...] = ()


def replicate(abstraction: Abstraction, variants: Mapping[int, Variant]) -> dict[int, Knowledge]:
    """What every variant knows: all that is known of its relation and its clause."""
    return {
        number: Knowledge(
            () if base.relation is None else abstraction.predicates(base.relation),
            tuple(abstraction.explicated.get(base.clause, ())),
        )
        for number, base in variants.items()
    }


def collapse(known: Mapping[int, Knowledge], variants: Mapping[int, Variant]) -> Abstraction:
    """What is known of relations and clauses: all that their variants know."""
    found = Abstraction()
    for number, own in known.items():
        base = variants[number]
        if own.interface and base.relation is not None:
            found.interface.setdefault(base.relation, {}).update(dict.fromkeys(own.interface))
        if own.explicated:
            found.explicated.setdefault(base.clause, {}).update(dict.fromkeys(own.explicated))
    return found


class Skeletons:
    """Formulas as boolean ones: `[h]` of Figure 3, injective on primitive constraints. These are made
    canonical one by one, so that a constraint has the same variable in whatever formula it stands."""

    def __init__(self) -> None:
        self._variables: dict[Expr, Expr] = {}
        self._constraints: dict[Expr, Expr] = {}  # skeletons of primitive constraints as they came
        self._done: dict[Expr, Expr] = {}

    def of(self, formula: Expr) -> Expr:
        """The formula with a boolean variable for each of its primitive constraints."""
        if formula not in self._done:
            self._done[formula] = _mapped(formula, self._constraint)
        return self._done[formula]

    def _constraint(self, constraint: Expr) -> Expr:
        found = self._constraints.get(constraint)
        if found is None:
            found = self._constraints[constraint] = _mapped(canonical(constraint), self._variable)
        return found

    def _variable(self, constraint: Expr) -> Expr:
        if constraint.kind is Kind.CONST:
            return constraint
        found = self._variables.get(constraint)
        if found is None:
            found = self._variables[constraint] = build.var(f"[{len(self._variables)}]", BOOL)
        return found


def atoms(formula: Expr) -> tuple[Expr, ...]:
    """The primitive constraints of a formula."""
    found: dict[Expr, None] = {}

    def note(constraint: Expr) -> Expr:
        if constraint.kind is not Kind.CONST:
            found[constraint] = None
        return constraint

    _mapped(formula, note)
    return tuple(found)


def _mapped(formula: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """The formula with `leaf` of each of its primitive constraints in their place."""
    done: dict[Expr, Expr] = {}
    stack = [formula]
    while stack:
        term = stack[-1]
        if term in done:
            stack.pop()
        elif not _is_connective(term):
            done[term] = leaf(term)
        elif missing := [a for a in term.args if a not in done]:
            stack.extend(reversed(missing))
        else:
            done[term] = rebuild(term, [done[a] for a in term.args])
    return done[formula]


def _is_connective(term: Expr) -> bool:
    if term.kind in (Kind.NOT, Kind.AND, Kind.OR):
        return True
    return term.kind in (Kind.ITE, Kind.EQ) and term.args[-1].sort is BOOL


def instance(formula: Expr, arguments: Sequence[Expr]) -> Expr:
    """A formula over the parameters of a relation, about arguments."""
    return substitute(formula, dict(zip(formals([a.sort for a in arguments]), arguments, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class AbstractClause:
    """A clause under an abstraction. `known`: its constraint and what is explicated; `atoms`: for each
    atom of the body, and then the head, the instances of its interface predicates."""

    number: int
    clause: Clause
    known: tuple[Expr, ...]
    atoms: tuple[tuple[Expr, tuple[tuple[Expr, Expr], ...]], ...]


def abstract_clause(system: HornSystem, number: int, abstraction: Abstraction) -> AbstractClause:
    clause = system.clauses[number]
    instances = tuple(
        (atom, tuple((p, instance(p, atom.args)) for p in abstraction.predicates(atom.function)))
        for atom in clause.atoms
    )
    known = (clause.constraint, *abstraction.explicated.get(number, ()))
    return AbstractClause(number, clause, known, instances)
