"""Encode Horn clauses over machine integers as clauses over mathematical ones, and decode their models.

Every clause is encoded by itself (see `integers`): wraps become conditional corrections, which Spacer handles
far better than bits, and disappear where bounds in the clause show that nothing wraps. An operation that is
not exact in Int (bits of two variables) becomes an arbitrary value restricted by axioms. So a model of the
encoded clauses is one of the original clauses, but not every model of these is a model of the encoding.

Decoded formulas have `to_int(x)` for each variable; `encoding.canonical_atoms` turns them into comparisons of
machine integers where possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.horn import Clause, HornSystem, Model
from certus.core.terms import INT, ArraySort, Expr, Function, Kind, MachineSort, Sort
from certus.core.walk import postorder, rebuild, substitute, variables
from certus.encoding.integers import eliminate_machine, encoded_sort, encoded_variable


@dataclass(slots=True, eq=False)
class IntegerClauses:
    """The encoding `system` of an `original` system of clauses."""

    original: HornSystem
    system: HornSystem = field(init=False)
    _relations: dict[Function, Function] = field(default_factory=dict)  # original -> encoded

    def __post_init__(self) -> None:
        for relation in self.original.relations:
            sorts = tuple(encoded_sort(s) for s in relation.parameters)
            self._relations[relation] = Function(relation.name, sorts, relation.result)
        clauses = tuple(self._clause(clause) for clause in self.original.clauses)
        self.system = HornSystem(tuple(self._relations.values()), clauses)

    def _clause(self, clause: Clause) -> Clause:
        atoms = clause.atoms
        names: dict[Expr, Expr] = {}  # an argument that is not a variable -> the variable in its place
        for atom in atoms:
            for argument in atom.args:
                if argument.kind is not Kind.VAR:
                    names.setdefault(argument, build.var(f"@argument.{len(names)}", argument.sort))
        equations = [build.eq(name, argument) for argument, name in names.items()]
        encoded = eliminate_machine([build.and_(clause.constraint, *equations)], "ite")
        ranges: dict[Expr, None] = {}
        applied = []
        for atom in atoms:
            arguments = []
            for argument in atom.args:
                variable, bounds = encoded_variable(names.get(argument, argument))
                arguments.append(variable)
                ranges.update(dict.fromkeys(bounds))
            applied.append(build.apply(self._relations[atom.function], arguments))
        constraint = _without_functions(build.and_(*encoded.formulas, *encoded.ranges, *ranges))
        body = tuple(applied[: len(clause.body)])
        head = None if clause.head is None else applied[-1]
        return Clause(variables(constraint, *applied), body, constraint, head)

    def decoded(self, model: Model) -> Model | None:
        """Return a model of the encoded clauses over the original parameters; None if it has terms about
        arrays without a counterpart. Arrays of integers have more elements than those of machine integers,
        and larger ones: where the model depends on these, the checker rejects what is returned."""
        relations: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, encoded in self._relations.items():
            names, formula = model.relations[encoded]
            parameters = tuple(build.var(f"@{n}", sort) for n, sort in enumerate(relation.parameters))
            meaning = _decode(formula, dict(zip(names, parameters, strict=True)))
            if meaning is None:
                return None
            relations[relation] = (parameters, meaning)
        return Model(relations)


def has_machine_integers(system: HornSystem) -> bool:
    """Return whether a term in the clauses is, or contains, a machine integer."""
    terms = (t for c in system.clauses for t in (c.constraint, *c.atoms))
    return any(encoded_sort(term.sort) is not term.sort for term in postorder(*terms))


def is_exact(system: HornSystem) -> bool:
    """Return whether the encoded clauses have a model exactly if the original ones do."""
    return all(
        eliminate_machine([build.and_(c.constraint, *_equations(c))], "ite").exact for c in system.clauses
    )


def _equations(clause: Clause) -> list[Expr]:
    """Return the arguments that are not variables as constraints."""
    terms = dict.fromkeys(a for atom in clause.atoms for a in atom.args if a.kind is not Kind.VAR)
    return [build.eq(build.var(f"@argument.{n}", a.sort), a) for n, a in enumerate(terms)]


def _without_functions(constraint: Expr) -> Expr:
    """Return the constraint with a variable for each application of a function: Spacer supports none."""
    values: dict[Expr, Expr] = {}
    for term in postorder(constraint):
        if term.kind is Kind.APPLY:
            values[term] = build.var(f"@value.{len(values)}", term.sort)
    return substitute(constraint, values) if values else constraint


def _decode(formula: Expr, parameters: dict[Expr, Expr]) -> Expr | None:
    done: dict[Expr, Expr] = {}
    for term in postorder(formula):
        if term in parameters:
            original = parameters[term]
            is_machine = isinstance(original.sort, MachineSort)
            done[term] = build.to_int(original) if is_machine else original
            continue
        args = [done[a] for a in term.args]
        arrays = any(isinstance(a.sort, ArraySort) and encoded_sort(a.sort) is not a.sort for a in args)
        decoded = _decode_array(term, args) if arrays else rebuild(term, args)
        if decoded is None:
            return None
        done[term] = decoded
    return done[formula]


def _decode_array(term: Expr, args: Sequence[Expr]) -> Expr | None:
    """Return a term about arrays of machine integers; None if there is none."""
    sort = args[0].sort
    if term.kind in (Kind.SELECT, Kind.STORE) and isinstance(sort, ArraySort):
        index, *values = (_fitting(a, s) for a, s in zip(args[1:], (sort.index, sort.element), strict=False))
        if index.sort is not sort.index or any(value.sort is not sort.element for value in values):
            return None
        if values:
            return build.store(args[0], index, values[0])
        value = build.select(args[0], index)
        return build.to_int(value) if isinstance(value.sort, MachineSort) else value
    if term.kind in (Kind.EQ, Kind.ITE) and args[-1].sort is args[-2].sort:
        return rebuild(term, args)
    return None


def _fitting(value: Expr, sort: Sort) -> Expr:
    return build.wrap(value, sort) if isinstance(sort, MachineSort) and value.sort is INT else value
