"""A run of a program, followed symbolically along the path it took.

The inputs of the run are unknowns, and so are the contents of new objects that nobody has given: the first
read of a cell that no executed store explains makes a symbol for it. Addresses stay as they were in the run,
and what else was read from memory is taken as it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from certus.core import build
from certus.core.effects import terms, written
from certus.core.evaluate import evaluate
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Havoc,
    Load,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.sorts import MachineSort
from certus.core.terms import Expr, Kind, Value
from certus.core.values import Datum
from certus.core.walk import postorder, substitute_all, variables
from certus.validate.interpreter import Machine

Key = tuple[int, int] | Expr  # an edge that takes inputs and which execution of it, or a global at the start
Asked = Mapping[Key, tuple[tuple[Expr, ...], tuple[Value, ...]]]  # what a run asked for, and was given
_DIVISIONS: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})
_SHIFTS: Final = frozenset({Kind.SHL, Kind.SHR})


@dataclass(slots=True)
class Event:
    """A step of a run: an edge that is no call, or a call entered or left. `seen` are the values that it gave
    its targets."""

    what: str
    edge: Edge
    seen: Mapping[Expr, Datum]


@dataclass(slots=True)
class Path:
    """Writes down the path of a run."""

    watched: frozenset[Location]
    events: list[Event] = field(default_factory=list)

    def start(self, machine: Machine) -> None:
        """Nothing has happened yet."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is not None and not isinstance(edge.op, Call):
            targets = edge.op.targets if isinstance(edge.op, Havoc) else _target(edge.op)
            self.events.append(Event("step", edge, {x: machine.value(x) for x in targets}))

    def enter(self, machine: Machine, edge: Edge) -> None:
        self.events.append(Event("enter", edge, {}))

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.events.append(Event("leave", edge, {}))


def _target(op: Op) -> tuple[Expr, ...]:
    return (op.target,) if isinstance(op, Load | Alloc) else ()


class _Object(NamedTuple):
    start: int
    size: Expr
    edge: int  # that made it
    occurrence: int  # which execution of the edge
    arbitrary: bool  # whether its first contents are unknown


class _Cell(NamedTuple):
    place: int
    width: int  # in bytes
    value: Expr


class Content(NamedTuple):
    """A part of an object that was read before anything was written there."""

    edge: int
    occurrence: int
    offset: int
    width: int


class Branch(NamedTuple):
    """A decision of the path that the contents of new objects have a part in. `way` stands for all
    decisions before it, `before` is the number of the path's conditions that come first."""

    way: int
    before: int
    condition: Expr


class Followed:
    """The symbolic state at the end of a path: the values of variables and of cells as terms over symbols,
    and the `conditions` under which the path is taken. `symbols` are those of inputs, `contents` those of
    what objects contained; `given` are the edges that make objects whose contents are known."""

    def __init__(self, program: Program, asked: Asked, given: Container[int]) -> None:
        self.program = program
        self.conditions: list[Expr] = []
        self.branches: list[Branch] = []
        self.symbols: dict[Key, tuple[Expr, ...]] = {}
        self.contents: dict[Expr, Content] = {}
        self.present: dict[Expr, Value] = {}  # the value of each symbol in the run
        for key, (targets, values) in asked.items():
            made = tuple(build.var(f"@{len(self.symbols)}.{n}", t.sort) for n, t in enumerate(targets))
            self.symbols[key] = made
            self.present.update(zip(made, values, strict=True))
        self._given_contents = given
        self._shared: dict[Expr, Expr] = dict(program.initial)
        self._shared.update((x, s[0]) for x, s in self.symbols.items() if isinstance(x, Expr))
        self._frames: list[dict[Expr, Expr]] = [{}]
        self._cells: dict[int, _Cell] = {}  # by each of their bytes
        self._objects: list[_Object] = []  # by start
        self._executions: dict[int, int] = {}
        self._way = 0

    # ---------------------------------------------------------------------------------- steps

    def step(self, event: Event) -> None:
        op = event.edge.op
        if event.what == "leave":
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
                arbitrary = not op.zero and event.edge.index not in self._given_contents
                self._objects.append(_Object(start, values[0], event.edge.index, occurrence, arbitrary))
        elif isinstance(op, Load):
            self._load(op, procedure, values[0], event.seen[op.target])
        elif isinstance(op, Store):
            self._store(values[0], values[1])

    def _decide(self, edge: Edge, condition: Expr) -> None:
        """The edge is taken, which depends on symbols."""
        procedure = self.program.procedures[edge.source.procedure]
        several = len(procedure.successors[edge.source]) > 1
        if several and not self.contents.keys().isdisjoint(variables(condition)):
            self.branches.append(Branch(self._way, len(self.conditions), condition))
        self.conditions.append(condition)
        self._way = hash((self._way, edge.index))

    def _executed(self, edge: Edge) -> int:
        """How often the edge was executed before."""
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
        place = self._number(address)
        value = None if place is None else self._read(place, sort, seen)
        if value is None:
            self._write_seen(procedure, op.target, seen)
        else:
            self._write(procedure, op.target, value)

    def _read(self, place: int, sort: MachineSort, seen: Datum) -> Expr | None:
        """What a cell contains; None if it is to be taken as it was read."""
        width = sort.width // 8
        touched = {self._cells.get(at) for at in range(place, place + width)}
        if touched != {None}:
            cell = touched.pop() if len(touched) == 1 else None
            exact = cell is not None and (cell.place, cell.width) == (place, width)
            return build.wrap(cell.value, sort) if cell is not None and exact else None
        below = bisect_right(self._objects, place, key=lambda made: made.start)
        made = self._objects[below - 1] if below else None
        if made is None or not made.arbitrary or not isinstance(seen, int):
            return None
        symbol = build.var(f"@content{len(self.contents)}", sort)
        self.contents[symbol] = Content(made.edge, made.occurrence, place - made.start, width)
        self.present[symbol] = seen
        self._put(place, width, symbol)
        return symbol

    def _store(self, address: Expr, value: Expr) -> None:
        place = self._number(address)
        if place is not None and isinstance(value.sort, MachineSort):
            self._put(place, value.sort.width // 8, value)

    def _put(self, place: int, width: int, value: Expr) -> None:
        cell = _Cell(place, width, value)
        self._cells.update(dict.fromkeys(range(place, place + width), cell))

    def _write(self, procedure: Procedure, x: Expr, value: Expr) -> None:
        (self._frames[-1] if x in procedure.variables else self._shared)[x] = value

    def _write_seen(self, procedure: Procedure, x: Expr, value: Datum) -> None:
        """A value that is taken as it was in the run."""
        if isinstance(value, Value):
            self._write(procedure, x, build.constant(value, x.sort))
        else:
            (self._frames[-1] if x in procedure.variables else self._shared).pop(x, None)

    # --------------------------------------------------------------------------------- conditions

    def enabled(self, op: Op) -> Iterator[Expr]:
        """Under which condition a step is taken."""
        if isinstance(op, Assume):
            (condition,) = self._terms(op)
            if self._known(condition):
                yield condition

    def defined(self, op: Op, *, pinned: bool = False) -> Iterator[Expr]:
        """Under which conditions an op does nothing undefined; if `pinned`, at the address of the run."""
        values = [value for value in self._terms(op) if self._known(value)]
        for term in postorder(*values):
            if term.kind in _DIVISIONS and term.args[1].kind is not Kind.CONST:
                yield build.ne(term.args[1], build.constant(0, term.args[1].sort))
            elif term.kind in _SHIFTS and isinstance(term.sort, MachineSort):
                amount, width = term.args[1], build.constant(term.sort.width, term.sort)
                yield build.and_(build.le(build.constant(0, term.sort), amount), build.lt(amount, width))
        if isinstance(op, Load | Store) and values:
            address = values[0]
            sort = op.target.sort if isinstance(op, Load) else op.value.sort
            assert isinstance(sort, MachineSort)
            yield self._inside(address, sort.width // 8)
            place = self._number(address)
            if pinned and place is not None:
                yield build.eq(address, build.integer(place))

    def _inside(self, address: Expr, width: int) -> Expr:
        """An access lies in an object: in the last that starts at or below the address, if that is known."""
        objects = self._objects
        if address.kind is Kind.CONST:
            below = bisect_right(objects, int(address.value), key=lambda made: made.start)
            objects = objects[max(below - 1, 0) : below]
        last = build.add(address, build.integer(width))
        starts = [(build.integer(made.start), made.size) for made in objects]
        return build.disjunction(
            build.and_(build.le(start, address), build.le(last, build.add(start, size)))
            for start, size in starts
        )

    # ------------------------------------------------------------------------------------- terms

    def _terms(self, op: Op) -> tuple[Expr, ...]:
        given = terms(op)
        here = self._frames[-1]
        known = {x: here.get(x) or self._shared.get(x) for x in variables(*given)}
        return substitute_all(given, {x: value for x, value in known.items() if value is not None})

    def _known(self, value: Expr) -> bool:
        """Whether a term is one over symbols only."""
        return all(x in self.present for x in variables(value))

    def _number(self, address: Expr) -> int | None:
        """An address as it was in the run."""
        if not self._known(address):
            return None
        found = evaluate(address, self.present)
        return found if isinstance(found, int) else None
