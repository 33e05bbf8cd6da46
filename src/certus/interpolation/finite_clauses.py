"""Encode Horn clauses that only copy integers and compare them with constants over finitely many values.

Variables that some clause equates form a class, with all constants that any of them is compared with. For a
class, only these constants matter and the gaps between them. They are numbered in order, so the clauses range
over small numbers, which z3 treats as bits. Two values in one gap get the same number, which differs from the
original only where such values are compared with each other: callers must check an answer on the original
clauses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from certus.core import build
from certus.core.horn import Clause, HornSystem, parameters
from certus.core.terms import BOOL, INT, Expr, Function, Kind, MachineSort, machine
from certus.core.walk import postorder, rebuild, variables

_CONNECTIVES = (Kind.NOT, Kind.AND, Kind.OR, Kind.EQ, Kind.ITE)
_VALUES = (Kind.VAR, Kind.CONST, Kind.ITE)


@dataclass(frozen=True, slots=True, eq=False)
class Finite:
    """A finite encoding: `atoms` are the relevant comparisons of the parameters of each finite relation,
    `originals` the original relation and the same atoms over its parameters."""

    system: HornSystem
    atoms: Mapping[Function, list[Expr]]
    originals: Mapping[Function, tuple[Function, list[Expr]]]


def finite_system(system: HornSystem) -> Finite | None:
    """Return the clauses over finitely many values; None if they do more with numbers."""
    classes = _Classes()
    for clause in system.clauses:
        for atom in (*clause.body, *((clause.head,) if clause.head else ())):
            for place, argument in enumerate(atom.args):
                if not _is_value(argument):
                    return None
                classes.relate(_place(atom.function, place), argument)
        for term in postorder(clause.constraint, *(clause.head.args if clause.head else ())):
            if not classes.meet(term):
                return None
    return _encoded(system, classes)


def _place(relation: Function, place: int) -> Expr:
    return build.var(f"@{relation.name}.{place}", relation.parameters[place])


def _is_value(term: Expr) -> bool:
    """Tell whether a term is Boolean, or a number chosen among variables and constants."""
    return term.sort is BOOL or (term.sort is INT and all(end.kind in _VALUES for end in _ends(term)))


def _ends(value: Expr) -> list[Expr]:
    """Return the terms that a value may equal, depending on its conditions."""
    ends: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [value]
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.kind is Kind.ITE:
            stack.extend(term.args[1:])
        else:
            ends[term] = None
    return list(ends)


class _Classes:
    """Classes of variables, each with the constants it is compared with, by equality or as bounds (x <=
    c)."""

    def __init__(self) -> None:
        self._parent: dict[Expr, Expr] = {}
        self._equal: dict[Expr, dict[int, None]] = {}
        self._bounds: dict[Expr, dict[int, None]] = {}
        self._points: dict[Expr, list[int]] = {}

    def meet(self, term: Expr) -> bool:
        """Register a term; tell whether it can be encoded."""
        if term.sort is not BOOL:
            return term.sort is INT and term.kind in _VALUES
        if term.kind in (Kind.LE, Kind.LT):
            return self._compare(term)
        if term.kind is Kind.EQ and term.args[0].sort is not BOOL:
            return all(map(_is_value, term.args)) and self.relate(*term.args)
        return term.kind in (Kind.VAR, Kind.CONST, *_CONNECTIVES)

    def relate(self, one: Expr, other: Expr) -> bool:
        """Put the variables that two equal terms may equal in one class; tell whether there is any."""
        ends = [*_ends(one), *_ends(other)]
        names = [x for x in ends if x.kind is Kind.VAR]
        if one.sort is BOOL or not names:
            return False
        for x in names[1:]:
            self._join(names[0], x)
        constants = self._equal.setdefault(self.root(names[0]), {})
        constants.update((int(c.value), None) for c in ends if c.kind is Kind.CONST)
        return True

    def _compare(self, term: Expr) -> bool:
        """Register a bound on a variable: x <= c, or its negation, for some c."""
        less, more = term.args
        if (less.kind, more.kind) == (Kind.VAR, Kind.CONST):
            variable, bound = less, int(more.value) - (term.kind is Kind.LT)
        elif (less.kind, more.kind) == (Kind.CONST, Kind.VAR):
            variable, bound = more, int(less.value) - (term.kind is Kind.LE)
        else:
            return False
        if variable.sort is not INT:
            return False
        self._bounds.setdefault(self.root(variable), {})[bound] = None
        return True

    def root(self, x: Expr) -> Expr:
        while (parent := self._parent.get(x)) is not None:
            x = parent
        return x

    def _join(self, one: Expr, other: Expr) -> None:
        a, b = self.root(one), self.root(other)
        if a is not b:
            self._parent[b] = a
            for table in (self._equal, self._bounds):
                table.setdefault(a, {}).update(table.pop(b, {}))

    def comparisons(self, root: Expr, x: Expr) -> list[Expr]:
        """Return the comparisons of the class for one of its variables."""
        return [
            *(build.eq(x, build.integer(c)) for c in sorted(self._equal.get(root, ()))),
            *(build.le(x, build.integer(c)) for c in sorted(self._bounds.get(root, ()))),
        ]

    def _sorted(self, root: Expr) -> list[int]:
        if root not in self._points:
            self._points[root] = sorted({*self._equal.get(root, ()), *self._bounds.get(root, ())})
        return self._points[root]

    def sort(self, root: Expr) -> MachineSort:
        return machine((2 * len(self._sorted(root)) + 1).bit_length(), signed=False)

    def number(self, root: Expr, value: int) -> int:
        """Return the number of a value: odd for the constants of the class, even for the gaps between
        them."""
        points = self._sorted(root)
        place = bisect_left(points, value)
        return 2 * place + (place < len(points) and points[place] == value)

    def largest(self, root: Expr) -> int:
        return 2 * len(self._sorted(root))


# ---------------------------------------------------------------------------------------- encoding


def _encoded(system: HornSystem, classes: _Classes) -> Finite:
    relations: dict[Function, Function] = {}
    for relation in system.relations:
        roots = [classes.root(_place(relation, n)) for n in range(len(relation.parameters))]
        sorts = tuple(
            BOOL if s is BOOL else classes.sort(root)
            for s, root in zip(relation.parameters, roots, strict=True)
        )
        relations[relation] = Function(relation.name, sorts, relation.result)
    clauses = tuple(_Encoding(classes, relations).clause(c) for c in system.clauses)
    atoms: dict[Function, list[Expr]] = {}
    originals: dict[Function, tuple[Function, list[Expr]]] = {}
    for relation, finite in relations.items():
        original_atoms: list[Expr] = []
        finite_atoms: list[Expr] = []
        for n, (x, y) in enumerate(zip(parameters(relation), parameters(finite), strict=True)):
            root = classes.root(_place(relation, n))
            comparisons = [x] if x.sort is BOOL else classes.comparisons(root, x)
            original_atoms.extend(comparisons)
            for p in comparisons:
                small = [
                    build.constant(classes.number(root, int(c.value)), y.sort) for c in p.args if c is not x
                ]
                finite_atoms.append(y if x.sort is BOOL else rebuild(_variable_first(p, x), [y, *small]))
        atoms[finite], originals[finite] = finite_atoms, (relation, original_atoms)
    return Finite(HornSystem(tuple(relations.values()), clauses), atoms, originals)


def _variable_first(comparison: Expr, x: Expr) -> Expr:
    return comparison if comparison.args[0] is x else build.eq(*comparison.args[::-1])


class _Encoding:
    """An encoding of one clause over numbers of values."""

    def __init__(self, classes: _Classes, relations: Mapping[Function, Function]) -> None:
        self._classes = classes
        self._relations = relations
        self._done: dict[Expr, Expr] = {}  # formulas
        self._numbers: dict[Expr, Expr] = {}  # the class of each encoded variable

    def clause(self, clause: Clause) -> Clause:
        constraint = self._formula(clause.constraint)
        body = tuple(self._atom(atom) for atom in clause.body)
        head = None if clause.head is None else self._atom(clause.head)
        ranges = [
            build.le(x, build.constant(self._classes.largest(root), x.sort))
            for x, root in self._numbers.items()
        ]
        constraint = build.and_(constraint, *ranges)
        return Clause(
            variables(constraint, *body, *(() if head is None else (head,))), body, constraint, head
        )

    def _atom(self, atom: Expr) -> Expr:
        arguments = []
        for n, argument in enumerate(atom.args):
            self._conditions(argument)
            root = self._classes.root(_place(atom.function, n))
            arguments.append(self._done[argument] if argument.sort is BOOL else self._value(argument, root))
        return build.apply(self._relations[atom.function], arguments)

    def _formula(self, formula: Expr) -> Expr:
        self._conditions(formula)
        return self._done[formula]

    def _conditions(self, root: Expr) -> None:
        """Encode all formulas in a term."""
        for term in postorder(root):
            if term.sort is not BOOL or term in self._done:
                continue
            if term.kind in (Kind.EQ, Kind.LE, Kind.LT) and term.args[0].sort is INT:
                self._done[term] = self._comparison(term)
            else:
                self._done[term] = rebuild(term, [self._done[a] for a in term.args]) if term.args else term

    def _comparison(self, term: Expr) -> Expr:
        name = next(x for a in term.args for x in _ends(a) if x.kind is Kind.VAR)
        root = self._classes.root(name)
        return rebuild(term, [self._value(a, root) for a in term.args])

    def _value(self, value: Expr, root: Expr) -> Expr:
        """Encode a term as the number of its value in the class."""
        sort, encoded = self._classes.sort(root), dict[Expr, Expr]()
        for term in postorder(value):
            if term.sort is BOOL:
                continue
            if term.kind is Kind.CONST:
                encoded[term] = build.constant(self._classes.number(root, int(term.value)), sort)
            elif term.kind is Kind.VAR:
                encoded[term] = build.var(term.name, sort)
                self._numbers[encoded[term]] = root
            elif all(a in encoded for a in term.args[1:]):
                encoded[term] = build.ite(
                    self._done[term.args[0]], encoded[term.args[1]], encoded[term.args[2]]
                )
        return encoded[value]
