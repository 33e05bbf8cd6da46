"""Evidence about the clauses of a program as evidence about the program.

A model says from which states the program may go wrong, and what procedures may do. No execution comes to a
state from which it goes wrong: so at every location the negated error relation is an invariant, together
with the transfer relation if there is one, and the transfer relation at the exit is the summary.

A derivation is an execution. The steps of error relations are taken in the order of execution; where one
passes over a call, those that derive the callee's transfer come first.
"""

from __future__ import annotations

from collections.abc import Mapping

from certus.core import build
from certus.core.evidence import Inductive, Point, Trace
from certus.core.horn import Derivation, Model
from certus.core.loops import loop_forest, recursive
from certus.core.program import Location
from certus.core.sorts import ArraySort
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue, Datum, default_value
from certus.logic.blocks import BlockFormula, Instance
from certus.transform.horn.translate import Translation


def inductive(translation: Translation, model: Model) -> Inductive:
    """The proof that a model of the clauses is. Of a recursive procedure that the clauses leave out, since
    nothing depends on it and no error in it can be reached, it says so: anything may come back."""
    program = translation.program
    looping = {name for group in recursive(program) for name in group}
    invariants: dict[Point, Expr] = {}
    summaries: dict[str, Expr] = {}
    for procedure in program.procedures.values():
        summary = translation.transfers.get(procedure.exit)
        if summary is not None:
            summaries[procedure.name] = model.meaning(summary)
        elif procedure.name in looping:
            summaries[procedure.name] = build.TRUE
        places = dict.fromkeys(loop_forest(procedure).heads)
        if procedure.name in summaries or procedure.entry in translation.errors:
            places[procedure.entry] = None
        for at in places:
            if at not in program.error_locations:
                invariants[Point(at)] = _invariant(translation, model, at)
    return Inductive(invariants, summaries)


def _invariant(translation: Translation, model: Model, at: Location) -> Expr:
    parts: list[Expr] = []
    wrong, transfer = translation.errors.get(at), translation.transfers.get(at)
    if wrong is not None:
        parts.append(build.not_(model.meaning(wrong)))
    if transfer is not None:
        parts.append(model.meaning(transfer))
    return build.and_(*parts)


def trace(translation: Translation, derivation: Derivation) -> Trace:
    """The execution that a derivation is."""
    program = translation.program
    steps = derivation.steps
    initial: dict[Expr, Value] = {}
    inputs: dict[int, list[tuple[Value, ...]]] = {}
    error = ""
    waiting: list[tuple[int, bool]] = [(len(steps) - 1, False)]  # steps, and whether to execute them now
    while waiting:
        number, ready = waiting.pop()
        step = steps[number]
        origin, clause = translation.origins[step.clause], translation.clauses[step.clause]
        values = dict(zip(clause.variables, step.values, strict=True))
        if not ready:
            later = [(p, False) for p in reversed(step.premises)]
            own = (number, True)
            waiting += [*later, own] if origin.backward else [own, *later]
            continue
        if origin.kind == "start":
            given = (x for x in program.globals if x not in program.initial and x in values)
            initial = {x: _scalar(values[x], x) for x in given}
        if origin.kind == "block":
            assert origin.edge is not None
            if origin.edge.target in program.error_locations:
                error = origin.edge.target.name
            for edge, taken in _passages(origin.formula, values):
                inputs.setdefault(edge, []).append(taken)
    return Trace(error, initial, {edge: tuple(runs) for edge, runs in inputs.items()})


def _passages(
    formula: BlockFormula | None, values: Mapping[Expr, Datum]
) -> list[tuple[int, tuple[Value, ...]]]:
    """The inputs that a block takes, with the keys of the edges that take them, in order."""
    assert formula is not None
    own = {s: s for s in formula.symbols}
    executed = Instance(formula, formula.guard, formula.definitions, formula.values, own)
    path = executed.path(lambda x: _scalar(values.get(x, default_value(x.sort)), x))
    return [(passage.edge.key, passage.inputs) for passage in path if passage.inputs]


def _scalar(value: Datum, variable: Expr) -> Value:
    """The value of an input; whole arrays are no inputs that a trace can give."""
    if isinstance(value, ArrayValue):
        assert isinstance(variable.sort, ArraySort)
        return 0
    return value
