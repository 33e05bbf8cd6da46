"""Run a program concretely, exactly as the front end built it.

Replays of counterexamples and challenges to proofs rest on this interpreter. It shares the program and the
semantics of `core.values` with the search, but no encodings and no solvers. Its inputs determine a run.
One step is one executed edge. A call pushes a frame on a list and needs no Python recursion, so the depth of
recursion is bounded by memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, cast

from certus.core.accounting import Budget
from certus.core.program import NAN_BITS, UNSPECIFIED, Edge, Havoc, Location
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum, default_value, evaluate
from certus.core.vocabulary import UNDEFINED_STEP
from certus.interpreter.bounded_unknowns import BoundedInteger
from certus.interpreter.compile import Code, Compiled, Event, EventKind, Link
from certus.interpreter.expressions import Overgrown
from certus.interpreter.indeterminate import Fault, Indeterminate, Unmodelled
from certus.interpreter.inputs import Inputs, NoInputs, Nondeterministic, contents
from certus.interpreter.memory import Memory, MemorySnapshot, OpaqueMemory

_INTERVAL: Final = 50_000  # steps between two checks of the budget
FOREVER: Final = 1 << 62  # steps: no limit


class Ending(Enum):
    """The ways a run can end."""

    ERROR = "it reaches an error location"
    EXIT = "the main procedure returns"
    BLOCKED = "no edge is enabled"
    UNDEFINED = "it meets undefined behaviour"
    UNMODELLED = "it depends on a value that is not modelled"
    LIMIT = "the limit on steps, or on the size of numbers, is reached"


@dataclass(frozen=True, slots=True)
class Run:
    """The end of a run: where and after how many steps. `edge` is the last edge taken if the run ended at an
    error or the exit, else the edge that could not be taken. `cause` describes the undefined behaviour, the
    limit that was exceeded, or the undetermined value by which the run came to an error."""

    ending: Ending
    location: Location
    steps: int
    edge: Edge | None
    cause: str = ""


_Values = tuple[Datum, ...]
Snapshot = tuple[Location, _Values, _Values, tuple[_Values, ...], tuple[Link, ...], MemorySnapshot]


class Observer:
    """An object that the machine notifies of arrivals at watched locations, calls and returns; the methods
    of this class do nothing."""

    watched: frozenset[Location]

    def start(self, machine: Machine) -> None:
        """Handle the start of a run."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        """Handle the arrival at `machine.location` by `edge`: an edge, a call, the return from a call, or
        None at the start."""

    def enter(self, machine: Machine, edge: Edge) -> None:
        """Handle the call `edge` after its parameters are bound; `machine.frame` is the callee's."""

    def leave(self, machine: Machine, edge: Edge) -> None:
        """Handle the return from the call `edge` after its targets are written; `machine.frame` is the
        caller's."""


class Machine:
    """The state of a run between steps."""

    __slots__ = (
        *("_compiled", "_fresh", "_havoc"),
        *("calls", "frame", "frames", "globals", "location", "memory", "steps"),
    )

    def __init__(self, compiled: Compiled, inputs: Inputs) -> None:
        program = compiled.program
        self.location = program.entry
        self.steps = 0
        self.globals: list[Datum] = [
            evaluate(program.initial[v], {}) if v in program.initial else inputs.initial(v)
            for v in program.globals
        ]
        self.frames: list[list[Datum]] = []  # of the callers of the current activation
        self.calls: list[Link] = []  # the calls they wait for
        layout = OpaqueMemory if isinstance(inputs, NoInputs) else Memory
        first = None if compiled.asks_bits else contents(inputs)  # what is not written has no value then
        self.memory = layout(len(compiled.accesses), program.pointer_bits, first)
        if compiled.inspects:
            self.memory.variables = self._source_values
        self._compiled = compiled
        self._fresh: dict[str, list[Datum]] = {  # by procedure: its frame before the parameters are bound
            name: [inputs.local(v) for v in local] for name, local in compiled.locals.items()
        }
        self.frame: list[Datum] = self._fresh[program.main].copy()
        self._havoc = _counting(compiled, inputs)

    @property
    def depth(self) -> int:
        """The number of calls that have not returned yet."""
        return len(self.frames)

    def snapshot(self) -> Snapshot | None:
        """Return the current state, from which `restore` continues; None if memory is too large to copy."""
        memory = self.memory.snapshot()
        if memory is None:
            return None
        frames = tuple(map(tuple, self.frames))
        return self.location, tuple(self.globals), tuple(self.frame), frames, tuple(self.calls), memory

    def restore(self, state: Snapshot) -> None:
        """Continue from a state. Counting of steps starts again at 0."""
        self.location, shared, frame, frames, calls, memory = state
        self.globals[:] = shared
        self.frame, self.frames, self.calls = list(frame), list(map(list, frames)), list(calls)
        self.memory.restore(memory)
        self.steps = 0

    def value(self, variable: Expr) -> Datum:
        """Return the value of a global or of a local of the current activation."""
        slot = self._compiled.globals.get(variable)
        if slot is not None:
            return self.globals[slot]
        return self.frame[self._compiled.locals[self.location.procedure][variable]]

    def _source_values(self) -> Iterator[object]:
        """Yield the values of all variables of the source that may be addresses."""
        shared, local = self._compiled.roots
        yield from (self.globals[slot] for slot in shared)
        callers = [link.edge.source.procedure for link in self.calls]
        for procedure, frame in zip(
            (*callers, self.location.procedure), (*self.frames, self.frame), strict=True
        ):
            yield from (frame[slot] for slot in local[procedure])

    def advance(
        self, code: Code, *, limit: int = FOREVER, budget: Budget, observer: Observer | None = None
    ) -> Run:
        """Continue until the run ends or has `limit` steps in all (a stretch is not interrupted).

        The current location must be a cut of `code`. After `Ending.LIMIT`, `advance` may be called again.
        `code` must watch the locations that the observer watches."""
        code.require(self.location.procedure)
        try:
            return self._judged(self._advance(code, limit, budget, observer))
        except Overgrown as growth:
            return Run(Ending.LIMIT, self.location, self.steps, None, str(growth))
        except Fault as fault:
            place = code.place(fault.__traceback__)
            if place is None:  # an observer raised it
                raise
            edge, self.steps = place
            self.location = edge.source
            ending = Ending.UNMODELLED if isinstance(fault, Unmodelled) else Ending.UNDEFINED
            return Run(ending, edge.source, self.steps, edge, str(fault))

    def _judged(self, end: Run) -> Run:
        """Return the end of a run; refuse one that is not the only one because an `Inspect` was answered for
        some of the numbers that an address may be."""
        presumed = self.memory.presumed
        if not presumed:
            return end
        if end.ending is Ending.ERROR:
            return replace(end, cause=presumed)
        if isinstance(self.memory, OpaqueMemory):
            raise Nondeterministic(f"the run depends on {presumed}")
        return end

    def _advance(self, code: Code, limit: int, budget: Budget, observer: Observer | None) -> Run:
        stretches, events, havoc, shared = code.stretches, code.events, self._havoc, self.globals
        memory = self.memory
        at, steps, frame = self.location.index, self.steps, self.frame
        pause = min(limit, steps + _INTERVAL)
        while True:
            while at >= 0 and steps < pause:
                at, steps = stretches[at](shared, frame, steps, pause, havoc, memory)
            self.steps = steps
            if at >= 0:
                self.location = self._compiled.location[at]
                if steps >= limit:
                    return Run(Ending.LIMIT, self.location, steps, None)
                budget.check()
                pause = min(limit, steps + _INTERVAL)
                continue
            event = events[at]
            if event.link is not None:
                self._call(code, event.link, observer)
            else:
                self.location = event.location
                arrived = event.edge is not None and event.kind in _ARRIVALS
                if observer is not None and arrived and event.location in code.watched:
                    observer.arrive(self, event.edge)
                if event.kind is _FINISH and self.frames:
                    self._return(code, observer)
                elif event.kind is not _ARRIVE:
                    return Run(_ENDINGS[event.kind], event.location, steps, event.edge, _cause(event))
            at, frame = self.location.index, self.frame

    def _call(self, code: Code, link: Link, observer: Observer | None) -> None:
        callee = link.callee
        code.require(callee.name)
        self.frames.append(self.frame)
        self.calls.append(link)
        frame = self.frame = self._fresh[callee.name].copy()
        frame[: link.arguments] = code.passed[0]
        self.location = callee.entry
        if observer is not None:
            observer.enter(self, link.edge)
            if callee.entry in code.watched:
                observer.arrive(self, link.edge)

    def _return(self, code: Code, observer: Observer | None) -> None:
        link = self.calls.pop()
        inner, self.frame = self.frame, self.frames.pop()
        for shared, slot, source in link.results:
            (self.globals if shared else self.frame)[slot] = inner[source]
        edge = link.edge
        self.location = edge.target
        code.require(edge.target.procedure)  # other code may have run the call
        if observer is not None:
            observer.leave(self, edge)
            if edge.target in code.watched:
                observer.arrive(self, edge)


_FINISH: Final = EventKind.FINISH
_ARRIVE: Final = EventKind.ARRIVE
_ARRIVALS: Final = frozenset({EventKind.ARRIVE, EventKind.FINISH, EventKind.ERROR})
_ENDINGS: Final[Mapping[EventKind, Ending]] = {
    EventKind.FINISH: Ending.EXIT,
    EventKind.ERROR: Ending.ERROR,
    EventKind.BLOCKED: Ending.BLOCKED,
    EventKind.UNDEFINED: Ending.UNDEFINED,
}


def _cause(event: Event) -> str:
    if event.kind is not EventKind.UNDEFINED:
        return ""
    text = "" if event.edge is None else event.edge.text
    if text.startswith(UNDEFINED_STEP):
        return text.removeprefix(UNDEFINED_STEP)
    return "a division by zero or an oversized shift"


def _counting(compiled: Compiled, inputs: Inputs) -> Callable[[int], tuple[Datum, ...]]:
    """Return the inputs as a function of the edge; it counts the executions of each edge."""
    targets: dict[int, Sequence[Expr]] = {
        e.index: e.op.targets for e in compiled.program.edge.values() if isinstance(e.op, Havoc)
    }
    counts = dict.fromkeys(targets, 0)
    values_of = inputs.havoc
    unspecified = _unspecified(compiled, inputs)

    def havoc(edge: int) -> tuple[Datum, ...]:
        if edge in unspecified:
            return unspecified[edge]
        occurrence = counts[edge]
        counts[edge] = occurrence + 1
        return values_of(edge, occurrence, targets[edge])

    return havoc


def _unspecified(compiled: Compiled, inputs: Inputs) -> dict[int, tuple[Datum, ...]]:
    """Return the values that the language leaves unspecified, by edge: 0, or with `NoInputs` their bounds;
    the bits of a NaN are indeterminate in every run."""
    values: dict[int, tuple[Datum, ...]] = {}
    for edge in compiled.program.edge.values():
        if isinstance(edge.op, Havoc) and edge.op.approximates == NAN_BITS:
            bits = cast(Datum, Indeterminate.unmodelled(NAN_BITS))
            values[edge.index] = (bits,) * len(edge.op.targets)
        if isinstance(edge.op, Havoc) and edge.op.function == UNSPECIFIED:
            sorts = [t.sort for t in edge.op.targets]
            values[edge.index] = tuple(
                cast(Datum, BoundedInteger(s.low, s.high))
                if isinstance(inputs, NoInputs) and isinstance(s, MachineSort)
                else default_value(s)
                for s in sorts
            )
    return values


def run(
    compiled: Compiled,
    inputs: Inputs,
    *,
    step_limit: int = FOREVER,
    budget: Budget,
    observer: Observer | None = None,
) -> Run:
    """Run a program from its start. Raises `BudgetExceeded`, and any exception of `inputs` and `observer`."""
    machine = Machine(compiled, inputs)
    code = compiled.code(frozenset() if observer is None else observer.watched)
    code.require(compiled.program.main)
    if observer is not None:
        observer.start(machine)
        if machine.location in code.watched:
            observer.arrive(machine, None)
    return machine.advance(code, limit=step_limit, budget=budget, observer=observer)
