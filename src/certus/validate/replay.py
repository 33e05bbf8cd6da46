"""Evidence that is a run: traces to an error, and the one run of a program without inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.effects import written
from certus.core.errors import BudgetExceeded, Inconsistent
from certus.core.evidence import Execution, Trace
from certus.core.outcome import Reason, Replay, Role, Step
from certus.core.program import Call, Edge, Havoc, Location, Program
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.validate.compile import Compiled, compile_program
from certus.validate.indeterminate import Indeterminate
from certus.validate.inputs import NoInputs, Nondeterministic, ReplayInputs
from certus.validate.interpreter import Ending, Machine, Run, run
from certus.validate.relevance import Relevance, relevance

NOT_REPLAYED: Final = "trace-not-replayed"
NEEDS_MODEL: Final = "trace-needs-unmodelled-value"
NEEDS_UNDEFINED: Final = "trace-needs-undefined-behaviour"
NOT_DETERMINED: Final = "execution-not-confirmed"
EXAMINED: Final = 500_000  # steps; of longer runs it is not told what matters


def replay(program: Program, trace: Trace, *, budget: Budget, keep: int = 400) -> Replay | Diagnostic:
    """Run `trace` on `program`: what happened, step by step, if it ends in the error it names, and
    else why it is no evidence. Of a long run only the first and last `keep` steps are kept, and in
    between the last `keep` of those that matter.

    The trace is run several times: first at full speed to see where it ends, then writing down which way
    it takes, to tell what matters, at last one step at a time where steps are to be kept."""
    compiled = compile_program(program)
    try:
        inputs = ReplayInputs(program, trace)
    except Inconsistent as error:
        return Diagnostic(NOT_REPLAYED, f"the trace does not fit the program: {error}")
    end = run(compiled, inputs, budget=budget)
    if end.ending is not Ending.ERROR or end.location.name != trace.error:
        return _not_replayed(program, trace, end)
    found = _relevance(compiled, inputs, end, budget, keep)
    kept = _recorded(compiled, inputs, end, budget, _wanted(end.steps, keep, found))
    if found is None:
        return Replay(end.steps, tuple(replace(s, reason=_unexamined(s)) for s in kept), trace.error)
    told = tuple(replace(step, reason=found.reasons.get(step.number)) for step in kept)
    return Replay(end.steps, told, trace.error, matter=found.matter, initial=found.initial)


def _relevance(
    compiled: Compiled, inputs: ReplayInputs, end: Run, budget: Budget, keep: int
) -> Relevance | None:
    """What matters in the run; None if it is too long to tell. The evidence does not depend on it, so it
    takes at most half of the time that is left."""
    if end.steps > EXAMINED:
        return None
    part = budget.part(0.5)
    machine, log = Machine(compiled, inputs), _Log()
    try:
        machine.advance(compiled.logging(log.entries), budget=part, observer=log)
        at, depth = machine.location, machine.depth
        return relevance(compiled.program, log.entries, machine.steps, at, depth, keep=keep, budget=part)
    except BudgetExceeded:
        return None


def _unexamined(step: Step) -> Reason:
    return Reason(Role.UNKNOWN, step.number, step.edge)


class _Log:
    """Adds the returns from calls to what `Compiled.logging` writes down: that over edge n is -1-n."""

    watched: frozenset[Location] = frozenset()

    def __init__(self) -> None:
        self.entries: list[int] = []

    def start(self, machine: Machine) -> None:
        pass

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        pass

    def enter(self, machine: Machine, edge: Edge) -> None:
        pass

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.entries.append(-1 - edge.index)


def _wanted(steps: int, keep: int, found: Relevance | None) -> list[range]:
    """The steps to keep, in order."""
    first = range(min(keep, steps))
    last = range(max(first.stop, steps - keep), steps)
    between = [] if found is None else [n for n in found.reasons if first.stop <= n < last.start]
    return [first, *(range(n, n + 1) for n in between[-keep:]), last]


def _recorded(
    compiled: Compiled, inputs: ReplayInputs, end: Run, budget: Budget, wanted: list[range]
) -> list[Step]:
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


class _Recorder:
    """Writes down the `wanted` steps of a run that is watched everywhere.

    A variable is listed if its value is another than before, if it is an input, or at the first
    assignment seen in an activation."""

    def __init__(self, compiled: Compiled, machine: Machine) -> None:
        self.watched = compiled.everywhere
        self.kept: list[Step] = []
        self.wanted = range(0)
        self._compiled = compiled
        self.start(machine)

    def start(self, machine: Machine) -> None:
        """Begin, or go on at another state of the machine."""
        self._seen: dict[Expr, None] = {}  # the variables whose present value was listed
        self._remember(machine)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is None or isinstance(edge.op, Call):
            return  # seen by `enter` and `leave`
        targets = written(edge.op, self._compiled.program.procedures[edge.source.procedure])
        self._add(machine, edge, machine.depth, targets)

    def enter(self, machine: Machine, edge: Edge) -> None:
        callee = self._compiled.program.procedures[machine.location.procedure]
        for variable in callee.variables:
            self._seen.pop(variable, None)
        self._add(machine, edge, machine.depth - 1, callee.parameters)

    def leave(self, machine: Machine, edge: Edge) -> None:
        """What a call writes on return belongs to the step that led to the exit."""
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
        found = []
        for variable in targets:
            value = machine.value(variable)
            fresh = variable not in self._seen
            self._seen[variable] = None
            if isinstance(value, (ArrayValue, Indeterminate)):
                continue
            if always or fresh or _differ(value, self._before(variable)):
                found.append((variable, value))
        return tuple(found)

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
            f"the trace to {trace.error} meets {end.cause}{_at(end)}",
            span=_span(end),
            hint="the program has no definite meaning there; rule this out by an assumption or check for it",
        )
    if end.ending is Ending.UNMODELLED:
        return Diagnostic(
            NEEDS_MODEL,
            f"the trace to {trace.error} depends on {end.cause}{_at(end)}, which is not modelled",
            span=_span(end),
            hint="define the function in the program, or assume what is known of its result",
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
    return f" at {end.location.name}{statement} after {end.steps} steps"


def _span(end: Run) -> Span | None:
    return end.edge.span if end.edge is not None and end.edge.span is not None else end.location.span


def check_execution(program: Program, proof: Execution, budget: Budget) -> Diagnostic | None:
    """Whether the program's one run depends on no input and ends without an error: None if so."""
    try:
        end = run(compile_program(program), NoInputs(), budget=budget)
    except Nondeterministic as error:
        return Diagnostic(NOT_DETERMINED, f"the run of {proof.steps} steps is not the only one: {error}")
    if end.ending in (Ending.EXIT, Ending.BLOCKED):
        return None
    how = end.cause or end.ending.value
    return Diagnostic(NOT_DETERMINED, f"the run does not end well: {how}{_at(end)}", span=_span(end))
