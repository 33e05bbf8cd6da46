"""Decide a program by a search for Horn clauses.

The program is translated to clauses, and machine integers become mathematical ones, clause by clause. The
verdict is translated back to a proof or a trace of the program. The caller must check both: where the
encoding is not exact, a derivation may not be an execution of the program.

A model gives the states from which the program may fail, and the effects of procedures. No execution reaches
a state from which it fails. So at every location the negated error relation is an invariant, conjoined with
the transfer relation if there is one; the transfer relation at the exit is the summary.

A derivation is an execution. The steps of error relations are in the order of execution; where one passes
over a call, the steps that derive the callee's transfer come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import has_floats
from certus.core.engine import Task
from certus.core.evidence import Inductive, Point, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem, Model, Step
from certus.core.loops import loop_forest, recursive
from certus.core.program import Location, Program
from certus.core.terms import ArraySort, Expr, MachineSort, Value
from certus.core.values import ArrayValue, Datum, default_value
from certus.encoding.block_formula import BlockFormula, Instance
from certus.encoding.integer_clauses import IntegerClauses, has_machine_integers
from certus.encoding.integers import encoded_variable
from certus.passes.horn.preprocess import decide
from certus.passes.horn.translate import Translation, translate


def decide_task(
    task: Task,
    search: Callable[[HornSystem], Verdict],
    *,
    simplify: bool,
    budget: Budget,
    statistics: Statistics,
) -> Verdict:
    """Decide a task's subject by a search on its clauses, which are simplified first if asked. Those of a
    program have a relation for each location already."""
    subject = task.subject
    control = isinstance(subject, HornSystem)

    def solve(system: HornSystem) -> Verdict:
        return decide(
            system, search, simplify=simplify, control=control, budget=budget, statistics=statistics
        )

    return solve(subject) if isinstance(subject, HornSystem) else by_clauses(subject, solve, statistics)


def by_clauses(program: Program, solve: Callable[[HornSystem], Verdict], statistics: Statistics) -> Verdict:
    """Decide a program, whose edges may be blocks, by solving its clauses."""
    if has_floats(program):
        message = "Horn clauses over integers do not express floating-point numbers"
        return Unknown(Diagnostic("engine-without-floats", message, Severity.NOTE, hint="try another engine"))
    with statistics.timed("horn.translation"):
        translation = translate(program)
        system = translation.system
        encoded = IntegerClauses(system) if has_machine_integers(system) else None
    statistics.counters["horn.relations"] = len(system.relations)
    statistics.counters["horn.clauses"] = len(system.clauses)
    verdict = solve(system if encoded is None else encoded.system)
    if isinstance(verdict, Safe):
        assert isinstance(verdict.proof, Model)
        model = verdict.proof if encoded is None else encoded.decoded(verdict.proof)
        if model is None:
            message = "the proof of the program's clauses compares whole arrays and cannot be translated"
            return Unknown(Diagnostic("answer-not-read", message, Severity.NOTE, hint="try another engine"))
        return Safe(inductive(translation, model))
    if isinstance(verdict, Unsafe):
        assert isinstance(verdict.refutation, Derivation)
        derivation = verdict.refutation
        if encoded is not None:
            derivation = _decoded(system, encoded.system, derivation)
        return Unsafe(trace(translation, derivation))
    return verdict


def _decoded(system: HornSystem, encoded: HornSystem, derivation: Derivation) -> Derivation:
    """Return the derivation with values of the original variables; 0 for those that the encoding removed."""
    steps = []
    for step in derivation.steps:
        encoded_values = dict(zip(encoded.clauses[step.clause].variables, step.values, strict=True))
        values = tuple(_value(x, encoded_values) for x in system.clauses[step.clause].variables)
        steps.append(Step(step.clause, values, step.premises))
    return Derivation(tuple(steps))


def _value(variable: Expr, encoded_values: dict[Expr, Datum]) -> Datum:
    value = encoded_values.get(encoded_variable(variable)[0])
    if value is None or isinstance(value, ArrayValue):
        return default_value(variable.sort)
    if isinstance(variable.sort, MachineSort):
        return variable.sort.wrap(int(value))
    return value


def inductive(translation: Translation, model: Model) -> Inductive:
    """Turn a model of the clauses into a proof. A callee after whose return no error can be reached gets the
    summary `true` if it is recursive or can fail: so it is not expanded, and the formulas at its locations,
    which hold in all calls, are used."""
    program = translation.program
    looping = {name for group in recursive(program) for name in group}
    invariants: dict[Point, Expr] = {}
    summaries: dict[str, Expr] = {}
    for procedure in program.procedures.values():
        summary = translation.transfers.get(procedure.exit)
        if summary is not None:
            summaries[procedure.name] = model.meaning(summary)
        elif procedure.name in looping or (
            procedure.name != program.main and procedure.entry in translation.errors
        ):
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
    """Turn a derivation into an execution."""
    program = translation.program
    steps = derivation.steps
    initial: dict[Expr, Value] = {}
    inputs: dict[int, list[tuple[Value, ...]]] = {}
    error = ""
    waiting: list[tuple[int, bool]] = [(len(steps) - 1, False)]  # steps, and whether their premises are done
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
            free = (x for x in program.globals if x not in program.initial and x in values)
            initial = {x: _scalar(values[x], x) for x in free}
        if origin.kind in ("block", "over"):
            assert origin.edge is not None
            if origin.edge.target in program.error_locations:
                error = origin.edge.target.name
        if origin.kind == "block":
            for edge, taken in _passages(origin.formula, values):
                inputs.setdefault(edge, []).append(taken)
    return Trace(error, initial, {edge: tuple(runs) for edge, runs in inputs.items()})


def _passages(
    formula: BlockFormula | None, values: Mapping[Expr, Datum]
) -> list[tuple[int, tuple[Value, ...]]]:
    """Return the inputs of a block in order, each with the key of its edge."""
    assert formula is not None
    own = {s: s for s in formula.symbols}
    executed = Instance(formula, formula.guard, formula.definitions, formula.values, own)
    path = executed.path(lambda x: _scalar(values.get(x, default_value(x.sort)), x))
    return [(passage.edge.key, passage.inputs) for passage in path if passage.inputs]


def _scalar(value: Datum, variable: Expr) -> Value:
    """Return the value of an input; 0 for a whole array, which is not an input of a trace."""
    if isinstance(value, ArrayValue):
        assert isinstance(variable.sort, ArraySort)
        return 0
    return value
