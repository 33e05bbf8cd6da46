"""Check evidence that is a run: a trace to an error, or the only run of a program.

A trace is evidence if the interpreter, on its inputs, arrives at the error that it names, without undefined
behaviour and without a value that is not modelled. An execution is a proof if the interpreter finishes it
without an error while `NoInputs` refuses every use of an undetermined value, so that no other run exists.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from certus.check.replay.finding import finding
from certus.check.replay.memory_defect import memory_defect
from certus.check.replay.relevance import Arrival, Relevance, relevance
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.effects import written
from certus.core.errors import BudgetExceeded, Inconsistent
from certus.core.evidence import Execution, Trace
from certus.core.memory_defects import MemoryDefect
from certus.core.outcome import Reason, Replay, Role, Step
from certus.core.program import Call, Edge, Havoc, Location, Program
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.indeterminate import Indeterminate
from certus.interpreter.inputs import NoInputs, Nondeterministic, ReplayInputs
from certus.interpreter.interpreter import Ending, Machine, Observer, Run, run

NOT_REPLAYED: Final = "trace-not-replayed"
NEEDS_MODEL: Final = "trace-needs-unmodelled-value"
NEEDS_UNDEFINED: Final = "trace-needs-undefined-behaviour"
NOT_DETERMINED: Final = "execution-not-confirmed"
EXAMINED: Final = 500_000  # steps; relevance is not computed for longer runs


def replay(program: Program, trace: Trace, *, budget: Budget, keep: int = 400) -> Replay | Diagnostic:
    """Run `trace` on `program`; return its steps if it ends in the error that it names, else why it is not
    evidence. Of a long run only the first and last `keep` steps are kept, and the last `keep` relevant steps
    between them.

    The trace is run three times: at full speed to find where it ends, with a log of its path to compute which
    steps are relevant, and one step at a time where steps are kept. If it violates memory safety, further
    runs find out what is wrong (`memory_defect`)."""
    compiled = compile_program(program)
    try:
        inputs = ReplayInputs(program, trace)
    except Inconsistent as error:
        return Diagnostic(NOT_REPLAYED, f"the trace does not fit the program: {error}")
    machine, code = Machine(compiled, inputs), compiled.code()
    end = machine.advance(code, budget=budget)
    if end.ending is not Ending.ERROR or end.location.name != trace.error:
        return _not_replayed(program, trace, end)
    defect = memory_defect(compiled, trace, machine, end, budget)
    said = finding(program, program.error_at(end.location), machine.value)
    relevant = _relevance(compiled, inputs, end, defect, budget, keep)
    kept = _recorded(compiled, inputs, budget, _kept_steps(end.steps, keep, relevant))
    if relevant is None:
        steps = tuple(replace(step, reason=_unexamined(step)) for step in kept)
        return Replay(end.steps, steps, trace.error, finding=said, defect=defect)
    steps = tuple(replace(step, reason=relevant.reasons.get(step.number)) for step in kept)
    return Replay(
        end.steps,
        steps,
        trace.error,
        matter=relevant.matter,
        initial=relevant.initial,
        finding=said,
        defect=defect,
    )


def error_reached(program: Program, trace: Trace, *, budget: Budget) -> str | None:
    """Return the error that the run of `trace` ends in, which may be another than the trace names; None if it
    ends otherwise."""
    try:
        end = run(compile_program(program), ReplayInputs(program, trace), budget=budget)
    except Inconsistent:
        return None
    return end.location.name if end.ending is Ending.ERROR else None


def _relevance(
    compiled: Compiled,
    inputs: ReplayInputs,
    end: Run,
    defect: MemoryDefect | None,
    budget: Budget,
    keep: int,
) -> Relevance | None:
    """Return the relevant steps of the run; None if it is too long. The evidence does not depend on them, so
    computing them takes at most half of the remaining time."""
    if end.steps > EXAMINED:
        return None
    part = budget.part(0.5)
    machine, log = Machine(compiled, inputs), _Log()
    try:
        machine.advance(compiled.logging(log.entries), budget=part, observer=log)
        lost = None if defect is None or defect.lost is None else defect.lost.step
        arrival = Arrival(machine.location, machine.depth, machine.steps, lost)
        return relevance(compiled.program, log.entries, arrival, keep=keep, budget=part)
    except BudgetExceeded:
        return None


def _unexamined(step: Step) -> Reason:
    return Reason(Role.UNKNOWN, step.number, step.edge)


class _Log(Observer):
    """An observer that adds returns to the log of `Compiled.logging`: -1-n for the call at edge n."""

    watched: frozenset[Location] = frozenset()

    def __init__(self) -> None:
        self.entries: list[int] = []

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.entries.append(-1 - edge.index)


def _kept_steps(steps: int, keep: int, relevant: Relevance | None) -> list[range]:
    """Return the numbers of the steps to keep, in order."""
    first = range(min(keep, steps))
    last = range(max(first.stop, steps - keep), steps)
    between = [] if relevant is None else [n for n in relevant.reasons if first.stop <= n < last.start]
    return [first, *(range(n, n + 1) for n in between[-keep:]), last]


def _recorded(compiled: Compiled, inputs: ReplayInputs, budget: Budget, wanted: list[range]) -> list[Step]:
    """Run the trace again and return the `wanted` steps."""
    machine = Machine(compiled, inputs)
    fast, single = compiled.code(), compiled.code(compiled.everywhere)
    recorder = _Recorder(compiled, machine)
    for stretch in wanted:
        limit = stretch.start - fast.longest
        while machine.steps < limit and machine.location.index not in fast.stretches:
            machine.advance(single, limit=machine.steps + 1, budget=budget, observer=recorder)
        if machine.steps < limit:
            machine.advance(fast, limit=limit, budget=budget)
            recorder.start(machine)
        recorder.wanted = stretch
        if machine.steps < stretch.stop:
            machine.advance(single, limit=stretch.stop, budget=budget, observer=recorder)
    return recorder.kept


class _Recorder(Observer):
    """An observer of every step that records the `wanted` ones.

    A change of a variable is listed if its value differs from before, if it is an input, or if it is the
    first assignment recorded in an activation."""

    def __init__(self, compiled: Compiled, machine: Machine) -> None:
        self.watched = compiled.everywhere
        self.kept: list[Step] = []
        self.wanted = range(0)
        self._compiled = compiled
        self.start(machine)

    def start(self, machine: Machine) -> None:
        """Start, or continue at another state of the machine."""
        self._seen: dict[Expr, None] = {}  # variables whose current value is listed
        self._remember(machine)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is None or isinstance(edge.op, Call):
            return  # recorded by `enter` and `leave`
        targets = written(edge.op, self._compiled.program.procedures[edge.source.procedure])
        self._add(machine, edge, machine.depth, targets)

    def enter(self, machine: Machine, edge: Edge) -> None:
        callee = self._compiled.program.procedures[machine.location.procedure]
        for variable in callee.variables:
            self._seen.pop(variable, None)
        self._add(machine, edge, machine.depth - 1, callee.parameters)

    def leave(self, machine: Machine, edge: Edge) -> None:
        """Add the targets of a call to the step that led to the exit."""
        assert isinstance(edge.op, Call)
        if self.kept and self.kept[-1].number == machine.steps - 1:
            last = self.kept.pop()
            changes = last.changes + self._listed(machine, edge.op.targets, always=True)
            self.kept.append(replace(last, changes=changes))
        self._remember(machine)

    def _add(self, machine: Machine, edge: Edge, depth: int, targets: tuple[Expr, ...]) -> None:
        if machine.steps - 1 in self.wanted:
            always = isinstance(edge.op, (Havoc, Call))
            changes = self._listed(machine, targets, always=always)
            self.kept.append(Step(machine.steps - 1, edge.index, depth, changes))
        self._remember(machine)

    def _listed(
        self, machine: Machine, targets: tuple[Expr, ...], *, always: bool
    ) -> tuple[tuple[Expr, Value], ...]:
        changes = []
        for variable in targets:
            value = machine.value(variable)
            fresh = variable not in self._seen
            self._seen[variable] = None
            if isinstance(value, (ArrayValue, Indeterminate)):
                continue
            if always or fresh or _differ(value, self._before(variable)):
                changes.append((variable, value))
        return tuple(changes)

    def _before(self, variable: Expr) -> object:
        slot = self._compiled.globals.get(variable)
        if slot is not None:
            return self._globals[slot]
        return self._frame[self._compiled.locals[self._procedure][variable]]

    def _remember(self, machine: Machine) -> None:
        self._procedure = machine.location.procedure
        self._globals = machine.globals.copy()
        self._frame = machine.frame.copy()


def _differ(value: Value, before: object) -> bool:
    return isinstance(before, Indeterminate) or value != before


def _not_replayed(program: Program, trace: Trace, end: Run) -> Diagnostic:
    if end.ending is Ending.UNDEFINED:
        return Diagnostic(
            NEEDS_UNDEFINED,
            f"the counterexample meets {end.cause}{_at(end)}",
            span=_span(end),
            hint="the behaviour is undefined there; exclude it by an assumption, or check for it",
        )
    if end.ending is Ending.UNMODELLED:
        return Diagnostic(
            NEEDS_MODEL,
            f"the counterexample depends on {end.cause}{_at(end)}, which is not modelled",
            span=_span(end),
            hint="define the function in the program, or assume the properties of its result",
        )
    if end.ending is Ending.ERROR:
        site = program.error_at(end.location)
        how = f"the run ends in another error, {end.location.name} ({site.kind})"
    elif end.ending is Ending.EXIT:
        how = "the main procedure returns"
    elif end.ending is Ending.BLOCKED:
        how = "an assumption fails"
    else:
        how = end.cause or "it does not end"
    return Diagnostic(
        NOT_REPLAYED, f"the trace does not lead to {trace.error}: {how}{_at(end)}", span=_span(end)
    )


def _at(end: Run) -> str:
    statement = f" in `{end.edge.text}`" if end.edge is not None and end.edge.text else ""
    place = f" at {end.location.name}" if _span(end) is None else ""
    return f"{place}{statement} after {end.steps} step{'' if end.steps == 1 else 's'}"


def _span(end: Run) -> Span | None:
    return end.edge.span if end.edge is not None and end.edge.span is not None else end.location.span


def check_execution(program: Program, proof: Execution, budget: Budget) -> Diagnostic | None:
    """Return why the run of a program is not its only one or has an error; None if the proof is correct."""
    try:
        end = run(compile_program(program), NoInputs(), budget=budget)
    except Nondeterministic as error:
        return Diagnostic(NOT_DETERMINED, f"the run of {proof.steps} steps is not the only one: {error}")
    if end.ending in (Ending.EXIT, Ending.BLOCKED):
        return None
    how = end.cause or end.ending.value
    return Diagnostic(NOT_DETERMINED, f"the run ends wrongly: {how}{_at(end)}", span=_span(end))
