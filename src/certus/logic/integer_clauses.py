"""Horn clauses over machine integers as clauses over mathematical ones, and their models back.

Every clause is encoded for itself (see `integers`): wraps become conditional corrections, which Spacer
treats far better than bits, and disappear where bounds in the clause show that nothing wraps. What is not
exact in Int (bits of two variables) becomes a value of which only axioms are known: a model of the encoded
clauses is one of the original clauses, though not all are found.

A model's formulas come back with `to_int(x)` for each variable; `interpolation.canonical` makes comparisons
of machine integers of what it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import ArraySort, MachineSort
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import postorder, rebuild, substitute, variables
from certus.logic.integers import eliminate_machine, encoded_sort, encoded_variable


@dataclass(slots=True, eq=False)
class IntegerClauses:
    """The encoded `system` of an `original` one."""

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
        names: dict[Expr, Expr] = {}  # an argument that is no variable -> the variable in its place
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
                variable, known = encoded_variable(names.get(argument, argument))
                arguments.append(variable)
                ranges.update(dict.fromkeys(known))
            applied.append(build.apply(self._relations[atom.function], arguments))
        constraint = _without_functions(build.and_(*encoded.formulas, *encoded.ranges, *ranges))
        body = tuple(applied[: len(clause.body)])
        head = None if clause.head is None else applied[-1]
        return Clause(variables(constraint, *applied), body, constraint, head)

    def decoded(self, model: Model) -> Model | None:
        """A model of the encoded clauses over the original parameters; None if an array comes in otherwise
        than by reading from it."""
        found: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, encoded in self._relations.items():
            names, formula = model.relations[encoded]
            parameters = tuple(build.var(f"@{n}", sort) for n, sort in enumerate(relation.parameters))
            meaning = _decode(formula, dict(zip(names, parameters, strict=True)))
            if meaning is None:
                return None
            found[relation] = (parameters, meaning)
        return Model(found)


def has_machine_integers(system: HornSystem) -> bool:
    """Whether a term in the clauses is, or has in it, a machine integer."""
    terms = (t for c in system.clauses for t in (c.constraint, *c.atoms))
    return any(encoded_sort(term.sort) is not term.sort for term in postorder(*terms))


def is_exact(system: HornSystem) -> bool:
    """Whether the encoded clauses have a model exactly if the original ones do."""
    return all(
        eliminate_machine([build.and_(c.constraint, *_equations(c))], "ite").exact for c in system.clauses
    )


def _equations(clause: Clause) -> list[Expr]:
    """Arguments that are no variables, as constraints."""
    terms = dict.fromkeys(a for atom in clause.atoms for a in atom.args if a.kind is not Kind.VAR)
    return [build.eq(build.var(f"@argument.{n}", a.sort), a) for n, a in enumerate(terms)]


def _without_functions(constraint: Expr) -> Expr:
    """The constraint with a variable for each application of a function: Spacer knows none."""
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
        if term.kind is Kind.SELECT:
            done[term] = _read(args)
        elif any(isinstance(a.sort, ArraySort) and encoded_sort(a.sort) is not a.sort for a in args):
            return None
        else:
            done[term] = rebuild(term, args)
    return done[formula]


def _read(args: Sequence[Expr]) -> Expr:
    array, index = args
    assert isinstance(array.sort, ArraySort)
    if isinstance(array.sort.index, MachineSort):
        index = build.wrap(index, array.sort.index)
    value = build.select(array, index)
    return build.to_int(value) if isinstance(value.sort, MachineSort) else value
