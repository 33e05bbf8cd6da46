"""Arguments that nothing looks at, removed.

A place of a relation matters if some clause that uses it has there anything but a variable that occurs
nowhere else, save in places of its head that do not matter. The values of removed places come back along a
derivation: a premise tells what it concluded.
"""

from __future__ import annotations

from certus.core import build
from certus.core.evaluate import evaluate
from certus.core.horn import Clause, Derivation, HornSystem, Model, Step
from certus.core.terms import Expr, Function, Kind
from certus.core.values import Datum, default_value
from certus.core.walk import variables
from certus.transform.horn.stages import Stage, widened

Places = dict[Function, tuple[int, ...]]  # those that matter


def without_arguments(system: HornSystem) -> Stage | None:
    """The system whose relations have only places that matter; None if all do."""
    places = _places(system)
    if all(len(places[r]) == len(r.parameters) for r in system.relations):
        return None
    renamed = {
        r: r if len(places[r]) == len(r.parameters) else _narrowed(r, places[r]) for r in system.relations
    }
    clauses = tuple(_sliced(clause, places, renamed) for clause in system.clauses)
    after = HornSystem(tuple(renamed.values()), clauses, system.source, system.file)

    def model(found: Model) -> Model:
        return Model({r: widened(r, places[r], found.relations[renamed[r]]) for r in system.relations})

    return Stage("arguments", system, after, model, lambda d: _restored(system, after, d))


def _narrowed(relation: Function, places: tuple[int, ...]) -> Function:
    sorts = tuple(relation.parameters[n] for n in places)
    return Function(relation.name, sorts, relation.result)


def _places(system: HornSystem) -> Places:
    matters: dict[Function, set[int]] = {r: set() for r in system.relations}
    changed = True
    while changed:
        changed = False
        for clause in system.clauses:
            seen = _looked_at(clause, matters)
            for atom in clause.body:
                for n, argument in enumerate(atom.args):
                    if n not in matters[atom.function] and (
                        argument.kind is not Kind.VAR or argument in seen
                    ):
                        matters[atom.function].add(n)
                        changed = True
    return {r: tuple(sorted(found)) for r, found in matters.items()}


def _looked_at(clause: Clause, matters: dict[Function, set[int]]) -> set[Expr]:
    """The variables that occur in the constraint, twice in the body, or where it matters in the head."""
    found = set(variables(clause.constraint))
    once: set[Expr] = set()
    for atom in clause.body:
        for argument in atom.args:
            for x in variables(argument):
                (found if x in once else once).add(x)
    if clause.head is not None:
        own = matters[clause.head.function]
        found.update(variables(*(a for n, a in enumerate(clause.head.args) if n in own)))
    return found


def _sliced(clause: Clause, places: Places, renamed: dict[Function, Function]) -> Clause:
    def cut(atom: Expr) -> Expr:
        return build.apply(renamed[atom.function], [atom.args[n] for n in places[atom.function]])

    body = tuple(map(cut, clause.body))
    head = None if clause.head is None else cut(clause.head)
    used = set(variables(clause.constraint, *body, *(() if head is None else (head,))))
    return Clause(tuple(x for x in clause.variables if x in used), body, clause.constraint, head)


def _restored(before: HornSystem, after: HornSystem, derivation: Derivation) -> Derivation:
    steps: list[Step] = []
    concluded: list[tuple[Datum, ...]] = []
    for step in derivation.steps:
        clause = before.clauses[step.clause]
        values = dict(zip(after.clauses[step.clause].variables, step.values, strict=True))
        for atom, premise in zip(clause.body, step.premises, strict=True):
            for argument, value in zip(atom.args, concluded[premise], strict=True):
                if argument.kind is Kind.VAR and argument not in values:
                    values[argument] = value
        own = tuple(values.get(x, default_value(x.sort)) for x in clause.variables)
        env = dict(zip(clause.variables, own, strict=True))
        head = () if clause.head is None else clause.head.args
        concluded.append(tuple(evaluate(a, env) for a in head))
        steps.append(Step(step.clause, own, step.premises))
    return Derivation(tuple(steps))
