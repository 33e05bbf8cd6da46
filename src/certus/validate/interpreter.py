"""The exact interpreter: one run of a program as the front end gave it.

A run is determined by its inputs. It needs no Python recursion: a call of the program pushes a frame
on a list, so a recursion may be a million deep. One step is one executed edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, cast

from certus.core.budget import Budget
from certus.core.evaluate import evaluate
from certus.core.program import UNSPECIFIED, Edge, Havoc, Location
from certus.core.sorts import MachineSort
from certus.core.terms import Expr
from certus.core.values import Datum, default_value
from certus.validate.between import Between
from certus.validate.compile import Code, Compiled, Link, What
from certus.validate.expressions import Overgrown
from certus.validate.indeterminate import Fault, Unmodelled
from certus.validate.inputs import Inputs, NoInputs, contents
from certus.validate.memory import Memory, MemorySnapshot, OpaqueMemory

_BREATH: Final = 50_000  # steps between two looks at the clock
FOREVER: Final = 1 << 62  # steps nobody waits for


class Ending(Enum):
    """How a run ends."""

    ERROR = "it reaches an error location"
    EXIT = "the main procedure returns"
    BLOCKED = "no edge is enabled"
    UNDEFINED = "it does what is undefined"
    UNMODELLED = "it depends on a value that is not modelled"
    LIMIT = "the limit on steps, or on the size of numbers, is reached"


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over: where, after how many steps. `edge` is the last one taken to an error or the
    exit, and the one that could not be taken otherwise. `cause` is what was
    undefined there, or what grew beyond the limits."""

    ending: Ending
    location: Location
    steps: int
    edge: Edge | None
    cause: str = ""


Snapshot = tuple[
    Location, tuple[Any, ...], tuple[Any, ...], tuple[tuple[Any, ...], ...], tuple[Link, ...], MemorySnapshot
]


class Observer(Protocol):
    """Told of the arrivals at watched locations, and of all calls and returns."""

    watched: frozenset[Location]

    def start(self, machine: Machine) -> None:
        """A run begins."""
        ...

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        """Control came to `machine.location`: over `edge`, by the call `edge`, back from the call
        `edge`, or at the start (None)."""
        ...

    def enter(self, machine: Machine, edge: Edge) -> None:
        """The call `edge` has bound its parameters: `machine.frame` is the callee's."""
        ...

    def leave(self, machine: Machine, edge: Edge) -> None:
        """The callee of `edge` has ended and the targets are written: `machine.frame` is the caller's."""
        ...


class Machine:
    """The state of a run between steps."""

    __slots__ = (
        "_compiled",
        "_fresh",
        "_havoc",
        "calls",
        "frame",
        "frames",
        "globals",
        "location",
        "memory",
        "steps",
    )

    def __init__(self, compiled: Compiled, inputs: Inputs) -> None:
        program = compiled.program
        self.location = program.entry
        self.steps = 0
        self.globals: list[Any] = [
            evaluate(program.initial[v], {}) if v in program.initial else inputs.initial(v)
            for v in program.globals
        ]
        self.frames: list[list[Any]] = []  # of the activations that wait for the present one
        self.calls: list[Link] = []  # the calls they wait for
        layout = OpaqueMemory if isinstance(inputs, NoInputs) else Memory
        self.memory = layout(len(compiled.accesses), program.pointer_bits, contents(inputs))
        self._compiled = compiled
        self._fresh: dict[str, list[Any]] = {  # by procedure: a frame before its parameters are bound
            name: [inputs.local(v) for v in local] for name, local in compiled.locals.items()
        }
        self.frame: list[Any] = self._fresh[program.main].copy()
        self._havoc = _counting(compiled, inputs)

    @property
    def depth(self) -> int:
        """The number of calls not yet returned from."""
        return len(self.frames)

    def snapshot(self) -> Snapshot | None:
        """The present state, from which `restore` lets a run go on; None if memory is too large for that."""
        memory = self.memory.snapshot()
        if memory is None:
            return None
        frames = tuple(map(tuple, self.frames))
        return self.location, tuple(self.globals), tuple(self.frame), frames, tuple(self.calls), memory

    def restore(self, state: Snapshot) -> None:
        """Go back to a state. Steps are counted anew."""
        self.location, shared, frame, frames, calls, memory = state
        self.globals[:] = shared
        self.frame, self.frames, self.calls = list(frame), list(map(list, frames)), list(calls)
        self.memory.restore(memory)
        self.steps = 0

    def value(self, variable: Expr) -> Datum:
        """The value of a global or of a local of the present activation."""
        slot = self._compiled.globals.get(variable)
        if slot is not None:
            found: Datum = self.globals[slot]
        else:
            found = self.frame[self._compiled.locals[self.location.procedure][variable]]
        return found

    def advance(
        self, code: Code, *, limit: int = FOREVER, budget: Budget, observer: Observer | None = None
    ) -> Run:
        """Go on until the run ends or `limit` steps are done in all (a stretch is not interrupted).

        The present location must be a cut of `code`. After a LIMIT one may advance again. With an
        observer, `code` must be made for what it watches."""
        code.require(self.location.procedure)
        try:
            return self._advance(code, limit, budget, observer)
        except Overgrown as growth:
            return Run(Ending.LIMIT, self.location, self.steps, None, str(growth))
        except Fault as fault:
            place = code.place(fault.__traceback__)
            if place is None:  # of an observer
                raise
            edge, self.steps = place
            self.location = edge.source
            ending = Ending.UNMODELLED if isinstance(fault, Unmodelled) else Ending.UNDEFINED
            return Run(ending, edge.source, self.steps, edge, str(fault))

    def _advance(self, code: Code, limit: int, budget: Budget, observer: Observer | None) -> Run:
        stretches, events, havoc, present = code.stretches, code.events, self._havoc, self.globals
        memory = self.memory
        at, steps, frame = self.location.index, self.steps, self.frame
        pause = min(limit, steps + _BREATH)
        while True:
            while at >= 0 and steps < pause:
                at, steps = stretches[at](present, frame, steps, pause, havoc, memory)
            self.steps = steps
            if at >= 0:
                self.location = self._compiled.location[at]
                if steps >= limit:
                    return Run(Ending.LIMIT, self.location, steps, None)
                budget.check()
                pause = min(limit, steps + _BREATH)
                continue
            event = events[at]
            if event.link is not None:
                self._call(code, event.link, observer)
            else:
                self.location = event.location
                arrived = event.edge is not None and event.what in _ARRIVALS
                if observer is not None and arrived and event.location in code.watched:
                    observer.arrive(self, event.edge)
                if event.what is _FINISH and self.frames:
                    self._return(code, observer)
                elif event.what is not _ARRIVE:
                    return Run(_ENDINGS[event.what], event.location, steps, event.edge, _cause(event.what))
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
        for shared, slot, source in link.back:
            (self.globals if shared else self.frame)[slot] = inner[source]
        edge = link.edge
        self.location = edge.target
        if observer is not None:
            observer.leave(self, edge)
            if edge.target in code.watched:
                observer.arrive(self, edge)


_FINISH: Final = What.FINISH
_ARRIVE: Final = What.ARRIVE
_ARRIVALS: Final = frozenset({What.ARRIVE, What.FINISH, What.ERROR})
_ENDINGS: Final[Mapping[What, Ending]] = {
    What.FINISH: Ending.EXIT,
    What.ERROR: Ending.ERROR,
    What.BLOCKED: Ending.BLOCKED,
    What.UNDEFINED: Ending.UNDEFINED,
}


def _cause(what: What) -> str:
    return "a division by zero or an oversized shift" if what is What.UNDEFINED else ""


def _counting(compiled: Compiled, inputs: Inputs) -> Callable[[int], tuple[Datum, ...]]:
    """The inputs as the code asks for them: by edge, where the interpreter counts the executions."""
    targets: dict[int, Sequence[Expr]] = {
        e.index: e.op.targets for e in compiled.program.edge.values() if isinstance(e.op, Havoc)
    }
    counts = dict.fromkeys(targets, 0)
    give = inputs.havoc
    left_open = _left_open(compiled, inputs)

    def havoc(edge: int) -> tuple[Datum, ...]:
        if edge in left_open:
            return left_open[edge]
        occurrence = counts[edge]
        counts[edge] = occurrence + 1
        return give(edge, occurrence, targets[edge])

    return havoc


def _left_open(compiled: Compiled, inputs: Inputs) -> dict[int, tuple[Datum, ...]]:
    """Values that the language leaves open: 0, or only their bounds if the run is to be the only one."""
    found: dict[int, tuple[Datum, ...]] = {}
    for edge in compiled.program.edge.values():
        if isinstance(edge.op, Havoc) and edge.op.function == UNSPECIFIED:
            sorts = [t.sort for t in edge.op.targets]
            found[edge.index] = tuple(
                cast(Datum, Between(s.low, s.high))
                if isinstance(inputs, NoInputs) and isinstance(s, MachineSort)
                else default_value(s)
                for s in sorts
            )
    return found


def run(
    compiled: Compiled,
    inputs: Inputs,
    *,
    step_limit: int = FOREVER,
    budget: Budget,
    observer: Observer | None = None,
) -> Run:
    """One run from the start. May raise `BudgetExceeded`, and what `inputs` and `observer` raise."""
    machine = Machine(compiled, inputs)
    code = compiled.code(frozenset() if observer is None else observer.watched)
    code.require(compiled.program.main)
    if observer is not None:
        observer.start(machine)
        if machine.location in code.watched:
            observer.arrive(machine, None)
    return machine.advance(code, limit=step_limit, budget=budget, observer=observer)
