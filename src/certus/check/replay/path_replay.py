"""Execute a run of a program again symbolically, along the path it took.

The inputs of the run are symbols, and so are the contents of new objects that the trace does not give: the
first read of a cell that no store has written introduces a symbol for it. Addresses keep their values of the
run, and so do all other values read from memory. The result is used to guess inputs, never as evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from certus.core import build, float_terms
from certus.core.effects import terms, written
from certus.core.floats import FORMATS
from certus.core.program import (
    Access,
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
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.terms import Expr, Kind, MachineSort, Value
from certus.core.values import Datum, evaluate
from certus.core.walk import postorder, substitute_all, variables
from certus.interpreter.interpreter import Machine, Observer

Key = tuple[int, int] | Expr  # an edge with inputs and the number of its execution, or a global
Asked = Mapping[Key, tuple[tuple[Expr, ...], tuple[Value, ...]]]  # the targets of inputs, and their values
_DIVISIONS: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})
_SHIFTS: Final = frozenset({Kind.SHL, Kind.SHR})


@dataclass(slots=True)
class Event:
    """A step of a run: an edge other than a call, or the entry or exit of a call. `seen` are the values of
    its targets after the step."""

    kind: Literal["step", "enter", "leave"]
    edge: Edge
    seen: Mapping[Expr, Datum]


@dataclass(slots=True)
class PathRecorder(Observer):
    """An observer that records the path of a run."""

    watched: frozenset[Location]
    events: list[Event] = field(default_factory=list)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is not None and not isinstance(edge.op, Call):
            targets = edge.op.targets if isinstance(edge.op, Havoc) else _target(edge.op)
            self.events.append(Event("step", edge, {x: machine.value(x) for x in targets}))

    def enter(self, machine: Machine, edge: Edge) -> None:
        self.events.append(Event("enter", edge, {}))

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.events.append(Event("leave", edge, {}))


def _target(op: Op) -> tuple[Expr, ...]:
    return (op.target,) if isinstance(op, Load | Alloc | Inspect | InspectHeap | InspectBits) else ()


class _Object(NamedTuple):
    start: int
    size: Expr
    edge: int  # the `Alloc` that created it
    occurrence: int  # the number of the execution of the edge
    arbitrary: bool  # whether its first contents are symbols
    op: Alloc


class _Cell(NamedTuple):
    address: int
    width: int  # in bytes
    value: Expr


class Content(NamedTuple):
    """A part of an object that was read before any write to it."""

    edge: int
    occurrence: int
    offset: int
    width: int


class Branch(NamedTuple):
    """A decision that depends on the contents of new objects. `path` is a hash of all decisions before it,
    `before` the number of conditions of the path before it."""

    path: int
    before: int
    condition: Expr


class SymbolicPath:
    """The symbolic state at the end of a path: the values of variables and cells as terms over symbols, and
    the `conditions` under which the path is taken. `symbols` are those of inputs, `contents` those of the
    first contents of objects; `concrete` are the `Alloc` edges that the trace has contents for."""

    def __init__(self, program: Program, asked: Asked, concrete: Container[int]) -> None:
        self.program = program
        self.conditions: list[Expr] = []
        self.branches: list[Branch] = []
        self.symbols: dict[Key, tuple[Expr, ...]] = {}
        self.contents: dict[Expr, Content] = {}
        self.present: dict[Expr, Value] = {}  # the value of each symbol in the run
        for key, (targets, values) in asked.items():
            symbols = tuple(build.var(f"@{len(self.symbols)}.{n}", t.sort) for n, t in enumerate(targets))
            self.symbols[key] = symbols
            self.present.update(zip(symbols, values, strict=True))
        self._concrete = concrete
        self._shared: dict[Expr, Expr] = dict(program.initial)
        self._shared.update((x, s[0]) for x, s in self.symbols.items() if isinstance(x, Expr))
        self._frames: list[dict[Expr, Expr]] = [{}]
        self._cells: dict[int, _Cell] = {}  # by each of their bytes
        self._objects: list[_Object] = []  # by start
        self._ended: set[int] = set()  # the starts of those that have ended
        self._executions: dict[int, int] = {}
        self._path = 0  # a hash of the decisions so far

    # ---------------------------------------------------------------------------------- steps

    def step(self, event: Event) -> None:
        """Execute the next step of the path."""
        op = event.edge.op
        if event.kind == "leave":
            self._leave(event.edge)
            return
        self.conditions += (c for c in self.defined(op, pinned=True) if c is not build.TRUE)
        for condition in self.enabled(op):
            if condition is not build.TRUE:
                self._decide(event.edge, condition)
        values = self._terms(op)
        if isinstance(op, Call):
            callee = self.program.procedures[op.procedure]
            self._frames.append(dict(zip(callee.parameters, values, strict=True)))
            return
        procedure = self.program.procedures[event.edge.source.procedure]
        if isinstance(op, Assign | Return):
            for x, value in zip(written(op, procedure), values, strict=True):
                self._write(procedure, x, value)
        elif isinstance(op, Havoc):
            self._havoc(event.edge, op, procedure, event.seen)
        elif isinstance(op, Alloc):
            start = event.seen[op.target]
            self._write_seen(procedure, op.target, start)
            occurrence = self._executed(event.edge)
            if isinstance(start, int):
                arbitrary = not op.zero and event.edge.index not in self._concrete
                self._objects.append(_Object(start, values[0], event.edge.index, occurrence, arbitrary, op))
        elif isinstance(op, Load):
            self._load(op, procedure, values[0], event.seen[op.target])
        elif isinstance(op, Store):
            self._store(values[0], values[1])
        elif isinstance(op, Free):
            ended = self._number(values[0])
            if ended is not None:
                self._ended.add(ended)
        elif isinstance(op, InspectHeap | InspectBits):
            self._write_seen(procedure, op.target, event.seen[op.target])
        elif isinstance(op, Inspect):
            address, size = values
            if self._is_symbolic(address) and self._is_symbolic(size):
                self._write(procedure, op.target, self._valid(address, size, op.access))
            else:
                self._write_seen(procedure, op.target, event.seen[op.target])

    def _decide(self, edge: Edge, condition: Expr) -> None:
        """Add the condition of an edge to the path."""
        procedure = self.program.procedures[edge.source.procedure]
        several = len(procedure.successors[edge.source]) > 1
        if several and not self.contents.keys().isdisjoint(variables(condition)):
            self.branches.append(Branch(self._path, len(self.conditions), condition))
        self.conditions.append(condition)
        self._path = hash((self._path, edge.index))

    def _executed(self, edge: Edge) -> int:
        """Count an execution of the edge; return how often it was executed before."""
        number = self._executions.get(edge.index, 0)
        self._executions[edge.index] = number + 1
        return number

    def _leave(self, edge: Edge) -> None:
        assert isinstance(edge.op, Call)
        inner = self._frames.pop()
        callee = self.program.procedures[edge.op.procedure]
        procedure = self.program.procedures[edge.source.procedure]
        for target, result in zip(edge.op.targets, callee.results, strict=False):
            if result in inner:
                self._write(procedure, target, inner[result])

    def _havoc(self, edge: Edge, op: Havoc, procedure: Procedure, seen: Mapping[Expr, Datum]) -> None:
        symbols = self.symbols.get((edge.index, self._executed(edge)))
        for n, x in enumerate(op.targets):
            if symbols is None:
                self._write_seen(procedure, x, seen[x])
            else:
                self._write(procedure, x, symbols[n])

    def _load(self, op: Load, procedure: Procedure, address: Expr, seen: Datum) -> None:
        sort = op.target.sort
        assert isinstance(sort, MachineSort)
        number = self._number(address)
        value = None if number is None else self._read(number, sort, seen)
        if value is None:
            self._write_seen(procedure, op.target, seen)
        else:
            self._write(procedure, op.target, value)

    def _read(self, address: int, sort: MachineSort, seen: Datum) -> Expr | None:
        """Return the contents of a cell as a term; None to use the value of the run."""
        width = sort.width // 8
        touched = {self._cells.get(at) for at in range(address, address + width)}
        if touched != {None}:
            cell = touched.pop() if len(touched) == 1 else None
            exact = cell is not None and (cell.address, cell.width) == (address, width)
            return build.wrap(cell.value, sort) if cell is not None and exact else None
        below = bisect_right(self._objects, address, key=lambda each: each.start)
        target = self._objects[below - 1] if below else None
        if target is None or not target.arbitrary or not isinstance(seen, int):
            return None
        symbol = build.var(f"@content{len(self.contents)}", sort)
        self.contents[symbol] = Content(target.edge, target.occurrence, address - target.start, width)
        self.present[symbol] = seen
        self._put(address, width, symbol)
        return symbol

    def _store(self, address: Expr, value: Expr) -> None:
        number = self._number(address)
        if number is not None and isinstance(value.sort, MachineSort):
            self._put(number, value.sort.width // 8, value)

    def _put(self, address: int, width: int, value: Expr) -> None:
        cell = _Cell(address, width, value)
        self._cells.update(dict.fromkeys(range(address, address + width), cell))

    def _write(self, procedure: Procedure, x: Expr, value: Expr) -> None:
        (self._frames[-1] if x in procedure.variables else self._shared)[x] = value

    def _write_seen(self, procedure: Procedure, x: Expr, value: Datum) -> None:
        """Write the value of the run."""
        if isinstance(value, Value):
            self._write(procedure, x, build.constant(value, x.sort))
        else:
            (self._frames[-1] if x in procedure.variables else self._shared).pop(x, None)

    # --------------------------------------------------------------------------------- conditions

    def enabled(self, op: Op) -> Iterator[Expr]:
        """Yield the condition under which an operation is enabled."""
        if isinstance(op, Assume):
            (condition,) = self._terms(op)
            if self._is_symbolic(condition):
                yield condition

    def defined(self, op: Op, *, pinned: bool = False) -> Iterator[Expr]:
        """Yield the conditions that make an operation defined; if `pinned`, at the address of the run."""
        values = [value for value in self._terms(op) if self._is_symbolic(value)]
        for term in postorder(*values):
            if term.kind in _DIVISIONS and term.args[1].kind is not Kind.CONST:
                yield build.ne(term.args[1], build.constant(0, term.args[1].sort))
            elif term.kind in _SHIFTS and isinstance(term.sort, MachineSort):
                amount, width = term.args[1], build.constant(term.sort.width, term.sort)
                yield build.and_(build.le(build.constant(0, term.sort), amount), build.lt(amount, width))
            elif term.kind is Kind.F_TO and isinstance(term.sort, MachineSort):
                format = FORMATS[str(term.data)]
                yield float_terms.float_fits(term.args[0], format, term.sort)
        if isinstance(op, Load | Store) and values:
            address = values[0]
            sort = op.target.sort if isinstance(op, Load) else op.value.sort
            assert isinstance(sort, MachineSort)
            yield self._inside(address, sort.width // 8)
            number = self._number(address)
            if pinned and number is not None:
                yield build.eq(address, build.integer(number))

    def _inside(self, address: Expr, width: int) -> Expr:
        """Return the condition that an access lies in an object; for a constant address, in the last object
        that starts at or before it."""
        objects = self._objects
        if address.kind is Kind.CONST:
            below = bisect_right(objects, int(address.value), key=lambda each: each.start)
            objects = objects[max(below - 1, 0) : below]
        last = build.add(address, build.integer(width))
        bounds = [(build.integer(each.start), each.size) for each in objects]
        return build.disjunction(
            build.and_(build.le(start, address), build.le(last, build.add(start, size)))
            for start, size in bounds
        )

    def _valid(self, address: Expr, size: Expr, access: Access) -> Expr:
        """Return the condition that an access to a live object is valid, as `Inspect` says."""
        live = [each for each in self._objects if each.start not in self._ended]
        if access == "free":
            starts = [0, *(each.start for each in live if each.op.storage == "heap")]
            return build.disjunction(build.eq(address, build.integer(start)) for start in starts)
        last = build.add(address, size)
        inside = (
            build.and_(
                build.le(build.integer(each.start), address),
                build.le(last, build.add(build.integer(each.start), each.size)),
            )
            for each in live
            if access == "read" or not each.op.constant
        )
        return build.disjunction((build.eq(size, build.integer(0)), *inside))

    # ------------------------------------------------------------------------------------- terms

    def _terms(self, op: Op) -> tuple[Expr, ...]:
        operands = terms(op)
        here = self._frames[-1]
        values = {x: here.get(x) or self._shared.get(x) for x in variables(*operands)}
        return substitute_all(operands, {x: value for x, value in values.items() if value is not None})

    def _is_symbolic(self, value: Expr) -> bool:
        """Return whether a term contains symbols only."""
        return all(x in self.present for x in variables(value))

    def _number(self, address: Expr) -> int | None:
        """Return an address as it was in the run."""
        if not self._is_symbolic(address):
            return None
        number = evaluate(address, self.present)
        return number if isinstance(number, int) else None
