"""Record the events by which runs of a real program are compared, in our interpreter.

An event is a pair: entering or leaving a function of the program with a checksum of all global integers,
an input with its value, the value that main returns, the bytes of global arrays of integers at the end.
An undetermined value (uninitialised, or the result of an undefined function) is None: it is not compared. A
run that depends on such a value, or on the number of an address, ends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any, Final

from certus.check.replay.harness import is_input
from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded
from certus.core.program import Alloc, Assume, Call, Edge, Havoc, Location, Program
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum
from certus.core.vocabulary import ARGUMENT
from certus.interpreter.compile import Compiled
from certus.interpreter.inputs import NoInputs, Nondeterministic, RandomInputs, constants, unknown
from certus.interpreter.interpreter import Ending, Machine, run
from certus.interpreter.objects import MemoryObject
from certus.interpreter.unknown_addresses import Address

EVENTS: Final = 4000  # noted in one run
INPUTS: Final = 2000  # given in one run
BYTES: Final = 4096  # of a global object, at most, to be compared
MASK: Final = (1 << 64) - 1
SUMMED: Final = 200  # global integers in a checksum

Event = tuple[int, int | None]


class End(Enum):
    """How a run ends; the first five are ways that programs end, the others are limits of the comparison."""

    ERROR = "error"
    RETURNED = "main returned"
    STOPPED = "abort or exit"
    ASSUMPTION = "an assumption failed"
    EXHAUSTED = "inputs exhausted"
    LIMIT = "step limit"
    UNDEFINED = "undefined behaviour"
    UNDETERMINED = "it depends on what nothing determines"


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The events of a run, its end and its `inputs`."""

    end: End
    events: tuple[Event, ...]
    detail: str = ""
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Watched:
    """The observed parts of a program: functions and inputs by their numbers, integers and objects."""

    functions: dict[str, int]
    inputs: dict[str, int]
    integers: tuple[Expr, ...]
    objects: tuple[tuple[Expr, str], ...]  # the variable with the address, and the name in C

    @classmethod
    def of(cls, program: Program) -> Watched:
        functions = [name for name in program.procedures if "$" not in name and name != "main"]
        inputs = dict.fromkeys(
            edge.op.function
            for edge in program.edge.values()
            if isinstance(edge.op, Havoc) and edge.op.function and is_input(edge.op.function)
        )
        integers = [
            v
            for v in program.globals
            if v.name.isidentifier() and isinstance(v.sort, MachineSort) and v in program.initial
        ]
        objects = [
            (op.target, op.name)
            for op in (edge.op for edge in program.edge.values())
            if isinstance(op, Alloc) and op.storage == "static" and op.target.name == f"$&{op.name}"
        ]
        return cls(
            {name: number for number, name in enumerate(functions, 1)},
            {name: number for number, name in enumerate(inputs, len(functions) + 1)},
            tuple(integers[:SUMMED]),
            tuple(objects),
        )


RESULT: Final = 0  # the number that stands before the value main returns, and objects at the end
OTHER: Final = 1 << 62  # before an object that holds other things than integers: not compared


def checksum(values: Sequence[int]) -> int:
    found = 14695981039346656037
    for value in values:
        found = ((found ^ value & MASK) * 1099511628211) & MASK
    return found


class Exhausted(Exception):
    """A run requests more inputs than there are."""


@dataclass(slots=True)
class _Log:
    """The events of a run, up to a limit."""

    events: list[Event] = field(default_factory=list)

    def note(self, number: int, value: int | None) -> None:
        if len(self.events) < EVENTS:
            self.events.append((number, value))


class _Drawn(NoInputs):
    """Inputs by chance, noted in the order they are asked for; whatever else is not determined must not
    be looked at."""

    def __init__(self, program: Program, watched: Watched, random: Random, kind: str, known: Any) -> None:
        self.log = _Log()
        self.values: list[int] = []
        self._program, self._watched, self._random, self._kind = program, watched, random, kind
        self._mixed = RandomInputs(random, known)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        step = self._program.edge[edge]
        assert isinstance(step.op, Havoc)
        number = self._watched.inputs.get(step.op.function or "")
        if number is None or len(targets) != 1:
            if step.text.startswith("argc") and ARGUMENT in step.text:
                return (1,)
            return tuple(unknown(f"{t.name} (`{step.text}`)") for t in targets)
        if len(self.values) >= INPUTS:
            raise Exhausted
        value = self._value(step, targets[0])
        self.values.append(value & MASK)
        self.log.note(number, value & MASK)
        return (value,)

    def _value(self, step: Edge, target: Expr) -> int:
        sort = target.sort
        if not isinstance(sort, MachineSort):
            return 0  # a pointer
        if self._kind == "small":
            value = self._random.randint(-2, 9)
        elif self._kind == "large":
            value = self._random.choice((sort.low, sort.high)) + self._random.randint(-2, 2)
            if self._random.random() < 0.5:
                value = self._random.randint(sort.low, sort.high)
        else:
            (drawn,) = self._mixed.havoc(step.index, 0, [target])
            assert isinstance(drawn, int)
            value = int(drawn)
        if sort.width > 64:
            value = (value & MASK) - (value >> 63 & 1) * (1 << 64)
        return value & 1 if self._is_truth(step) else sort.wrap(value)

    def _is_truth(self, step: Edge) -> bool:
        """Return whether the value is a `_Bool`: an assumption about it follows."""
        after = self._program.procedures[step.source.procedure].successors[step.target]
        return len(after) == 1 and isinstance(after[0].op, Assume) and after[0].text == step.text


@dataclass(slots=True)
class _Observer:
    """Notes calls and returns of the program's own functions."""

    watched_for: Watched
    log: _Log
    machine: Machine | None = None
    result: Expr | None = None  # where a start of ours keeps what main returned
    watched: frozenset[Location] = field(default_factory=frozenset)

    def start(self, machine: Machine) -> None:
        self.machine = machine

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        """Nothing is watched."""

    def enter(self, machine: Machine, edge: Edge) -> None:
        number = self.watched_for.functions.get(machine.location.procedure)
        if number is not None:
            values: list[Any] = [machine.value(v) for v in self.watched_for.integers]
            known = all(v.__class__ in (int, bool) for v in values)
            self.log.note(number, checksum(values) if known else None)

    def leave(self, machine: Machine, edge: Edge) -> None:
        op = edge.op
        name = getattr(op, "procedure", "")
        number = self.watched_for.functions.get(name)
        if number is not None:
            self.log.note(-number & MASK, 0)
        if name == "main":
            self.result = op.targets[0] if isinstance(op, Call) and op.targets else None


def interpreted(
    compiled: Compiled, watched: Watched, *, seed: str, kind: str, steps: int, seconds: float
) -> TaskRun:
    """Run the program once with random inputs; `kind` is small, large or mixed."""
    program = compiled.program
    inputs = _Drawn(program, watched, Random(seed), kind, constants(program) if kind == "mixed" else {})
    observer = _Observer(watched, inputs.log)
    try:
        done = run(compiled, inputs, step_limit=steps, budget=Budget(seconds), observer=observer)
    except Exhausted:
        end, detail = End.EXHAUSTED, ""
    except (Nondeterministic, BudgetExceeded) as error:
        end = End.LIMIT if isinstance(error, BudgetExceeded) else End.UNDETERMINED
        detail = str(error)
    else:
        where = f"{done.edge.span}: {done.edge.text}" if done.edge else str(done.location.span)
        end = _ENDS.get(done.ending) or _silent_end(program, done.location)
        detail = f"{done.cause} {where}"
    events = inputs.log.events
    if end in ENDED and observer.machine is not None:
        if end is End.RETURNED:
            events = [*events, (RESULT, _returned(program, observer))]
        events = [*events, *_objects(watched, observer.machine)]
    return TaskRun(end, tuple(events), detail, tuple(inputs.values))


ENDED: Final = (End.ERROR, End.RETURNED, End.STOPPED, End.ASSUMPTION, End.EXHAUSTED)
_ENDS: Final = {
    Ending.ERROR: End.ERROR,
    Ending.EXIT: End.RETURNED,
    Ending.UNDEFINED: End.UNDEFINED,
    Ending.UNMODELLED: End.UNDETERMINED,
    Ending.LIMIT: End.LIMIT,
}


def _silent_end(program: Program, at: Location) -> End:
    """Where no edge is enabled: is there none, the program was stopped."""
    return End.ASSUMPTION if program.procedures[at.procedure].successors[at] else End.STOPPED


def _returned(program: Program, observer: _Observer) -> int | None:
    """Return the result of main."""
    results = program.procedures[program.main].results if program.main == "main" else ()
    where = results[0] if results else observer.result
    if where is None or observer.machine is None:
        return None
    value: Any = observer.machine.value(where)
    return value & MASK if value.__class__ is int else None


def _objects(watched: Watched, machine: Machine) -> Iterator[Event]:
    """The bytes of global objects. Padding and pointers have no value."""
    for variable, _ in watched.objects:
        address: Any = machine.value(variable)
        found = address.target if isinstance(address, Address) else None
        yield RESULT, _bytes(found) if isinstance(found, MemoryObject) else None


def _bytes(found: MemoryObject) -> int | None:
    whole = found.size == found.extent and 0 < found.size <= BYTES
    if not whole or found.symbolic or (found.defined is not None and found.defined.strip(b"\xff")):
        return None
    return checksum(found.data)
