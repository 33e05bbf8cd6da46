"""Compile procedures to Python functions, one for each stretch of straight or branching code.

Some locations are *cuts*: entries, joins, targets of calls, watched locations. Every other location has one
incoming edge. So the edges from a cut to the next cuts form a tree, which becomes one function

    stretch(g, l, n, limit, h, m) -> (next, n)

with the globals `g` and locals `l` (lists, by slot), the number `n` of edges executed so far, the source `h`
of inputs and the memory `m`. It stops at a cut once `n` has reached `limit`. `next` is the index of the cut
to continue with or, if negative, the number of an `Event`. A loop whose body is one stretch runs inside
its function.

Every reachable cycle passes a cut, since it has a location with two incoming edges.

Undefined behaviour in memory ends a stretch by an exception. `Code.place` finds the edge from the line of the
generated text that raised it, so valid accesses have no extra cost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import CodeType, FunctionType, TracebackType
from typing import Final, cast

from certus.core import build
from certus.core.effects import expect_basic
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    Location,
    MarkBits,
    MemoryOp,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort
from certus.core.values import Datum
from certus.interpreter.expressions import Writer, define, new_namespace
from certus.interpreter.memory import Memory, loader, storer

Stretch = Callable[
    [list[Datum], list[Datum], int, int, Callable[[int], tuple[Datum, ...]], Memory], tuple[int, int]
]


class EventKind(Enum):
    """The reasons why a stretch returns, other than to continue with the next one."""

    ARRIVE = "at a watched location"
    CALL = "at a call; the arguments are in `Code.passed`"
    FINISH = "at the exit of the procedure"
    ERROR = "at an error location"
    BLOCKED = "no edge is enabled"
    UNDEFINED = "the edge divides by zero or shifts too far"


@dataclass(frozen=True, slots=True)
class Event:
    """An event at `location`, reached by `edge`, or on `edge`; None if the run starts at the location."""

    kind: EventKind
    location: Location
    edge: Edge | None
    link: Link | None = None  # only for a call


@dataclass(frozen=True, slots=True)
class Link:
    """A call in terms of slots. The `arguments` go into the first slots of the callee's frame. Each element
    of `results` tells whether the target is a global, its slot, and the slot in the callee's frame."""

    edge: Edge
    callee: Procedure
    arguments: int
    results: tuple[tuple[bool, int, int], ...]


class Compiled:
    """A program ready to run. Code is generated on demand, by procedure and set of watched locations."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.globals: Mapping[Expr, int] = {v: i for i, v in enumerate(program.globals)}
        self.locals: Mapping[str, Mapping[Expr, int]] = {
            p.name: slots(p) for p in program.procedures.values()
        }
        self.location: Mapping[int, Location] = {at.index: at for at in program.location.values()}
        self._codes: dict[frozenset[Location], Code] = {}
        for edge in program.edge.values():
            expect_basic(edge, program)
        accesses = (e for e in program.edge.values() if isinstance(e.op, (Load, Store)))
        self.accesses: Mapping[int, int] = {e.index: slot for slot, e in enumerate(accesses)}
        self.asks_bits: Final = any(isinstance(e.op, InspectBits) for e in program.edge.values())
        self.inspects: Final = any(isinstance(e.op, (Inspect, InspectHeap)) for e in program.edge.values())

    def code(self, watched: frozenset[Location] = frozenset()) -> Code:
        """Return code that reports every arrival at a watched location."""
        code = self._codes.get(watched)
        if code is None:
            code = self._codes[watched] = Code(self, watched)
        return code

    def logging(self, log: list[int]) -> Code:
        """Return code that logs the index of every executed edge, preceded by the address of a load, store or
        free, or of bits that are asked for or marked, by the size and the address of a new object, or by the
        address of the object that an `Inspect` is about, or the first one that an `InspectHeap` is about; -1
        if there is none."""
        return Code(self, frozenset(), log)

    @cached_property
    def roots(self) -> tuple[tuple[int, ...], Mapping[str, tuple[int, ...]]]:
        """The slots of the variables of the source that may hold an address: of globals, and of the locals of
        each procedure."""
        names, bits = self.program.source_names, self.program.pointer_bits

        def chosen(variables: Mapping[Expr, int]) -> tuple[int, ...]:
            return tuple(slot for x, slot in variables.items() if x in names and _may_point(x.sort, bits))

        return chosen(self.globals), {name: chosen(own) for name, own in self.locals.items()}

    def link(self, edge: Edge) -> Link:
        """Return the slots by which the call `edge` passes values."""
        op = edge.op
        assert isinstance(op, Call)
        callee = self.program.procedures[op.procedure]
        own, inner = self.locals[edge.source.procedure], self.locals[callee.name]
        results = []
        for target, result in zip(op.targets, callee.results, strict=False):
            shared = target in self.globals
            results.append((shared, (self.globals if shared else own)[target], inner[result]))
        return Link(edge, callee, len(op.arguments), tuple(results))

    @property
    def everywhere(self) -> frozenset[Location]:
        """All locations, to watch every step."""
        return frozenset(self.location.values())


def compile_program(program: Program) -> Compiled:
    """Prepare `program` to be run; raises `Inconsistent` unless it has basic operations only."""
    return Compiled(program)


def _may_point(sort: Sort, bits: int) -> bool:
    return sort is INT or (isinstance(sort, MachineSort) and sort.width >= bits)


def slots(procedure: Procedure) -> Mapping[Expr, int]:
    """Return the slot of each local in a frame: parameters first, in order."""
    names = dict.fromkeys((*procedure.parameters, *procedure.results, *procedure.variables))
    return {v: i for i, v in enumerate(names)}


class Code:
    """The stretches of a program for one set of watched locations."""

    def __init__(
        self, compiled: Compiled, watched: frozenset[Location], log: list[int] | None = None
    ) -> None:
        self.watched = watched
        self.log = log
        self.stretches: dict[int, Stretch] = {}  # by the index of the cut they start at
        self.events: dict[int, Event] = {}  # by their negative number
        self.passed: list[tuple[Datum, ...]] = [()]  # one element: the arguments of the current call
        self.longest = 0  # the most edges a stretch executes between two tests of the limit
        self.lines: dict[CodeType, list[tuple[int, Edge, int]]] = {}  # first line, edge, steps
        self._compiled = compiled
        self._ready: dict[str, None] = {}

    def require(self, procedure: str) -> None:
        """Generate the stretches of a procedure unless they exist."""
        if procedure not in self._ready:
            self._ready[procedure] = None
            _ProcedureWriter(self, self._compiled, self._compiled.program.procedures[procedure]).write()

    def place(self, traceback: TracebackType | None) -> tuple[Edge, int] | None:
        """Return the edge whose text raised an exception, and the number of edges executed before it."""
        while traceback is not None:
            frame = traceback.tb_frame
            lines = self.lines.get(frame.f_code)
            if lines:
                _, edge, steps = lines[bisect_right(lines, traceback.tb_lineno, key=lambda each: each[0]) - 1]
                return edge, frame.f_locals["n"] + steps
            traceback = traceback.tb_next
        return None

    def event(self, kind: EventKind, location: Location, edge: Edge | None) -> int:
        """Add an event and return its number."""
        number = -1 - len(self.events)
        link = self._compiled.link(edge) if kind is EventKind.CALL and edge is not None else None
        self.events[number] = Event(kind, location, edge, link)
        return number


@dataclass(frozen=True, slots=True)
class _Visit:
    """A task: write the tree of edges below `location`, `steps` edges after the cut."""

    location: Location
    indent: int
    steps: int


@dataclass(frozen=True, slots=True)
class _Take:
    """A task: write `edge`, in a conditional statement if `nested`, else after the other edges. `sure` if it
    is certainly enabled when these are not."""

    edge: Edge
    indent: int
    steps: int
    nested: bool
    sure: bool


class _ProcedureWriter:
    """Writes the stretches of one procedure."""

    def __init__(self, code: Code, compiled: Compiled, procedure: Procedure) -> None:
        self._code = code
        self._procedure = procedure
        self._errors = compiled.program.error_locations
        self._names: dict[Expr, str] = {v: f"g[{i}]" for v, i in compiled.globals.items()}
        self._names.update((v, f"l[{i}]") for v, i in compiled.locals[procedure.name].items())
        self._cuts = self._cut_locations()
        self._sizes = self._tree_sizes()
        self._namespace = new_namespace()
        self._namespace["passed"] = code.passed
        if code.log is not None:
            self._namespace["log"] = code.log.append
        self._accesses = compiled.accesses
        self._writer = Writer(self._names, self._namespace)
        self._lines: dict[Location, list[tuple[int, Edge, int]]] = {}  # see `Code.lines`

    def write(self) -> None:
        for start in self._cuts:
            self._stretch(start)
        """Generate all stretches and add them to the code."""
        define("\n".join(self._writer.lines) + "\n", self._procedure.name, self._namespace)
        for start in self._cuts:
            stretch = cast(FunctionType, self._namespace[f"s{start.index}"])
            self._code.stretches[start.index] = stretch
            self._code.lines[stretch.__code__] = self._lines[start]

    def _cut_locations(self) -> dict[Location, None]:
        p = self._procedure
        cuts = {p.entry: None}
        for at in p.locations:
            into = p.predecessors[at]
            if len(into) > 1 or at in self._code.watched or any(isinstance(e.op, Call) for e in into):
                cuts[at] = None
        return cuts

    def _tree_sizes(self) -> Mapping[Location, int]:
        """Return the number of edges below each location, up to the next cuts."""
        order = list(self._cuts)
        for at in order:  # grows: trees are disjoint
            order.extend(t for t in self._targets(at) if t not in self._cuts)
        sizes: dict[Location, int] = {}
        for at in reversed(order):
            sizes[at] = sum(1 + (0 if t in self._cuts else sizes[t]) for t in self._targets(at))
        return sizes

    def _targets(self, at: Location) -> Iterator[Location]:
        return (e.target for e in self._procedure.successors[at])

    def _below(self, edge: Edge) -> int:
        return 0 if edge.target in self._cuts else self._sizes[edge.target]

    def _stretch(self, start: Location) -> None:
        out = self._writer
        out.indent = 0
        out.line(f"def s{start.index}(g, l, n, limit, h, m):")
        out.indent = 1
        lines = self._lines[start] = []
        ending = self._ending(start)
        if ending is not None:
            out.line(f"return {self._code.event(ending, start, None)}, n")
            return
        out.line("while n < limit:")
        tasks: list[_Visit | _Take] = [_Visit(start, 2, 0)]
        while tasks:
            item = tasks.pop()
            out.indent = item.indent
            if isinstance(item, _Take):
                lines.append((len(out.lines) + 1, item.edge, item.steps))
            if isinstance(item, _Visit):
                tasks.extend(reversed(self._choices(item)))
            elif isinstance(item.edge.op, Assume):
                self._guard(item, item.edge.op.condition)
                tasks.extend(self._onward(start, item))
            elif self._effect(item):
                tasks.extend(self._onward(start, item))
        out.indent = 1
        out.line(f"return {start.index}, n")

    def _ending(self, at: Location) -> EventKind | None:
        if at in self._errors:
            return EventKind.ERROR
        if at is self._procedure.exit:
            return EventKind.FINISH
        return None if self._procedure.successors[at] else EventKind.BLOCKED

    def _choices(self, visit: _Visit) -> list[_Take]:
        """Return the edges to try in order. The one with the largest tree comes last and is not nested, so
        the nesting depth is logarithmic in the size of the tree."""
        edges = sorted(self._procedure.successors[visit.location], key=lambda e: (self._below(e), e.index))
        sure = len(edges) == 2 and _complementary(edges[0], edges[1])
        last = len(edges) - 1
        return [_Take(e, visit.indent, visit.steps, i < last, sure) for i, e in enumerate(edges)]

    def _guard(self, take: _Take, condition: Expr) -> None:
        out = self._writer
        (value,) = out.terms([condition])
        if value.partial:
            self._leave_if(f"{value.text} is None", EventKind.UNDEFINED, take)
        if take.nested:
            out.line(f"if {value.text}:")
        elif condition is not build.TRUE and not take.sure:
            self._leave_if(f"not {value.text}", EventKind.BLOCKED, take)

    def _effect(self, take: _Take) -> bool:
        """Write the effect of an edge without condition; return whether the stretch continues after it."""
        op, out = take.edge.op, self._writer
        if isinstance(op, Havoc):
            if op.targets:
                out.line(f"{self._places(op.targets)} = h({take.edge.index})")
            return True
        if isinstance(op, Assign):
            self._assign(take, op.targets, op.values)
            return True
        if isinstance(op, Return):
            self._assign(take, self._procedure.results, op.values)
            return True
        if isinstance(op, MemoryOp):
            self._memory(take, op)
            return True
        assert isinstance(op, Call)
        out.line(f"passed[0] = ({self._values(take, op.arguments)})")
        self._log(take.edge.index)
        self._leave(EventKind.CALL, take.edge.source, take.edge, take.steps + 1)
        return False

    def _memory(self, take: _Take, op: MemoryOp) -> None:
        edge, out = take.edge.index, self._writer
        if isinstance(op, Load):
            load = self._access("load", op.target.sort)
            (address,) = self._separate(take, op.address)
            address = self._logged(address)
            out.line(f"{self._names[op.target]} = {load}(m, {address}, {self._accesses[edge]})")
        elif isinstance(op, Store):
            store = self._access("store", op.value.sort)
            address, value = self._separate(take, op.address, op.value)
            address = self._logged(address)
            out.line(f"{store}(m, {address}, {self._accesses[edge]}, {value})")
        elif isinstance(op, Alloc):
            self._namespace[f"op{edge}"] = op
            (extent,) = self._separate(take, op.size)
            extent = self._logged(extent)
            out.line(f"{self._names[op.target]} = m.allocate({extent}, op{edge}, {edge})")
            self._log(self._names[op.target])
        elif isinstance(op, Free):
            self._namespace[f"op{edge}"] = op
            (address,) = self._separate(take, op.address)
            address = self._logged(address)
            out.line(f"m.free({address}, op{edge}, {edge})")
        elif isinstance(op, Inspect):
            address, size = self._separate(take, op.address, op.size)
            if self._code.log is not None:
                self._log(f"m.start_of({address})")
            out.line(f"{self._names[op.target]} = m.inspect({address}, {size}, {op.access!r}, {edge})")
        elif isinstance(op, InspectBits):
            address = self._logged(*self._separate(take, op.address))
            out.line(f"{self._names[op.target]} = m.written_bits({address}, {_bytes(op.target)})")
        elif isinstance(op, MarkBits):
            address, bits = self._separate(take, op.address, op.bits)
            out.line(f"m.mark_bits({self._logged(address)}, {_bytes(op.bits)}, {bits})")
        else:
            out.line(f"{self._names[op.target]} = m.inspect_heap({op.retained!r}, {edge})")
            self._log("m.first_refused")

    def _log(self, entry: int | str) -> None:
        if self._code.log is not None:
            self._writer.line(f"log({entry})")

    def _logged(self, text: str) -> str:
        """Return the text of a number, after a statement that logs it if there is a log."""
        if self._code.log is None:
            return text
        self._writer.line(f"x = {text}")
        self._log("x")
        return "x"

    def _access(self, access: str, sort: Sort) -> str:
        """Return the name of the function that loads or stores integers of `sort`."""
        assert isinstance(sort, MachineSort)
        name = f"{access}_{'i' if sort.signed else 'u'}{sort.width}"
        if name not in self._namespace:
            make = loader if access == "load" else storer
            self._namespace[name] = make(sort.width // 8, signed=sort.signed)
        return name

    def _separate(self, take: _Take, *terms: Expr) -> list[str]:
        """Return the text of each term, after leaving the stretch if one is undefined."""
        texts = self._writer.terms(terms)
        missing = [t.text for t in texts if t.partial]
        if missing:
            self._leave_if(" or ".join(f"{t} is None" for t in missing), EventKind.UNDEFINED, take)
        return [t.text for t in texts]

    def _assign(self, take: _Take, targets: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        if targets:
            text = self._values(take, values)
            self._writer.line(f"{self._places(targets)} = {text}")

    def _places(self, targets: tuple[Expr, ...]) -> str:
        return "".join(f"{self._names[t]}, " for t in targets)

    def _values(self, take: _Take, terms: tuple[Expr, ...]) -> str:
        return "".join(f"{text}, " for text in self._separate(take, *terms))

    def _onward(self, start: Location, take: _Take) -> list[_Visit | _Take]:
        """Write the end of an executed edge; return the task to continue at its target, if there is one."""
        edge, out, steps = take.edge, self._writer, take.steps + 1
        out.indent = take.indent + take.nested
        self._log(edge.index)
        self._code.longest = max(self._code.longest, steps)
        target = edge.target
        ending = self._ending(target)
        if ending is not None:
            self._leave(ending, target, edge, steps)
        elif target in self._code.watched:
            self._leave(EventKind.ARRIVE, target, edge, steps)
        elif target is start:
            out.line(f"n += {steps}")
            out.line("continue")
        elif target in self._cuts:
            out.line(f"return {target.index}, n + {steps}")
        else:
            return [_Visit(target, out.indent, steps)]
        return []

    def _leave(self, kind: EventKind, location: Location, edge: Edge | None, steps: int) -> None:
        self._writer.line(f"return {self._code.event(kind, location, edge)}, n + {steps}")

    def _leave_if(self, condition: str, kind: EventKind, take: _Take) -> None:
        out = self._writer
        out.line(f"if {condition}:")
        out.indent += 1
        self._leave(kind, take.edge.source, take.edge, take.steps)
        out.indent -= 1


def _bytes(term: Expr) -> int:
    assert isinstance(term.sort, MachineSort)
    return term.sort.width // 8


def _complementary(one: Edge, other: Edge) -> bool:
    """Return whether one of the conditions on two edges always holds."""
    if not (isinstance(one.op, Assume) and isinstance(other.op, Assume)):
        return False
    a, b = one.op.condition, other.op.condition
    opposite = a.kind is not b.kind and {a.kind, b.kind} == {Kind.LE, Kind.LT} and a.args == b.args[::-1]
    return opposite or build.not_(a) is b
