"""Abstract Horn clauses by interface predicates and explicated formulas (Flanagan 2004, section 4).

The interface of a relation is a list of predicates over its parameters; the abstract relation is a set of
their valuations. An explicated formula of a clause is over the clause's variables and valid in the theory.
Primitive constraints become Boolean variables, equal ones the same variable: so an abstract clause contains
no theory reasoning but the explicated formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.horn import Clause, HornSystem
from certus.core.terms import BOOL, Expr, Function, Kind, Sort
from certus.core.walk import rebuild, substitute
from certus.encoding.canonical_atoms import canonical


def formals(sorts: Sequence[Sort]) -> tuple[Expr, ...]:
    """Return the parameters over which interface predicates of a relation are written."""
    return tuple(build.var(f"#{n}", sort) for n, sort in enumerate(sorts))


@dataclass(slots=True, eq=False)
class Abstraction:
    """Predicates by relation (`interface`), and valid formulas by the number of a clause (`explicated`)."""

    interface: dict[Function, dict[Expr, None]] = field(default_factory=dict)
    explicated: dict[int, dict[Expr, None]] = field(default_factory=dict)

    def predicates(self, relation: Function) -> tuple[Expr, ...]:
        return tuple(self.interface.get(relation, ()))

    def join(self, other: Abstraction) -> bool:
        """Add all that `other` has; return whether anything was new."""
        before = self.size
        for relation, predicates in other.interface.items():
            self.interface.setdefault(relation, {}).update(predicates)
        for number, formulas in other.explicated.items():
            self.explicated.setdefault(number, {}).update(formulas)
        return self.size > before

    @property
    def size(self) -> int:
        return sum(map(len, (*self.interface.values(), *self.explicated.values())))


@dataclass(frozen=True, slots=True)
class Variant:
    """The clause that a node of a trace is a copy of, and the relation it derives (None for false)."""

    relation: Function | None
    clause: int


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The abstraction at one node: its interface predicates, and the formulas explicated for it."""

    interface: tuple[Expr, ...] = ()
    explicated: tuple[Expr, ...] = ()


def replicate(abstraction: Abstraction, variants: Mapping[int, Variant]) -> dict[int, Knowledge]:
    """Give every variant the predicates of its relation and the formulas of its clause."""
    return {
        number: Knowledge(
            () if base.relation is None else abstraction.predicates(base.relation),
            tuple(abstraction.explicated.get(base.clause, ())),
        )
        for number, base in variants.items()
    }


def collapse(knowledge: Mapping[int, Knowledge], variants: Mapping[int, Variant]) -> Abstraction:
    """Give relations and clauses the predicates and formulas of all their variants."""
    abstraction = Abstraction()
    for number, own in knowledge.items():
        base = variants[number]
        if own.interface and base.relation is not None:
            abstraction.interface.setdefault(base.relation, {}).update(dict.fromkeys(own.interface))
        if own.explicated:
            abstraction.explicated.setdefault(base.clause, {}).update(dict.fromkeys(own.explicated))
    return abstraction


class Skeletons:
    """The Boolean skeletons of formulas: `[h]` of Figure 3, injective on primitive constraints. Each of these
    is made canonical by itself, so that it has the same variable in every formula."""

    def __init__(self) -> None:
        self._variables: dict[Expr, Expr] = {}
        self._constraints: dict[Expr, Expr] = {}  # skeletons of primitive constraints, before canonical form
        self._done: dict[Expr, Expr] = {}

    def of(self, formula: Expr) -> Expr:
        """Replace each primitive constraint of a formula by a Boolean variable."""
        if formula not in self._done:
            self._done[formula] = mapped(formula, self._constraint)
        return self._done[formula]

    def _constraint(self, constraint: Expr) -> Expr:
        skeleton = self._constraints.get(constraint)
        if skeleton is None:
            skeleton = self._constraints[constraint] = mapped(canonical(constraint), self._variable)
        return skeleton

    def _variable(self, constraint: Expr) -> Expr:
        if constraint.kind is Kind.CONST:
            return constraint
        variable = self._variables.get(constraint)
        if variable is None:
            variable = self._variables[constraint] = build.var(f"[{len(self._variables)}]", BOOL)
        return variable


def atoms(formula: Expr) -> tuple[Expr, ...]:
    """Return the primitive constraints of a formula."""
    constraints: dict[Expr, None] = {}

    def collect(constraint: Expr) -> Expr:
        if constraint.kind is not Kind.CONST:
            constraints[constraint] = None
        return constraint

    mapped(formula, collect)
    return tuple(constraints)


def mapped(formula: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Replace each primitive constraint of a formula by `leaf` of it."""
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
    """Return a formula over the parameters of a relation, applied to arguments."""
    return substitute(formula, dict(zip(formals([a.sort for a in arguments]), arguments, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class AbstractClause:
    """A clause under an abstraction. `formulas`: its constraint and the explicated formulas. `atoms`: the
    atoms of the body, then the head, each with the instances of its interface predicates."""

    number: int
    clause: Clause
    formulas: tuple[Expr, ...]
    atoms: tuple[tuple[Expr, tuple[tuple[Expr, Expr], ...]], ...]


def abstract_clause(system: HornSystem, number: int, abstraction: Abstraction) -> AbstractClause:
    clause = system.clauses[number]
    instances = tuple(
        (atom, tuple((p, instance(p, atom.args)) for p in abstraction.predicates(atom.function)))
        for atom in clause.atoms
    )
    formulas = (clause.constraint, *abstraction.explicated.get(number, ()))
    return AbstractClause(number, clause, formulas, instances)
