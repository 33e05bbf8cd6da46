"""The values of variables and of memory along a replayed trace, as far as they are known.

A replay lists what each step changed. `Playback` follows it and keeps the values of globals, of every
frame on the call stack, and of the cells of memory that were written or read. Only what follows from the
replay is known: where steps were omitted, all is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core.errors import Undefined
from certus.core.evaluate import evaluate
from certus.core.evidence import Trace
from certus.core.outcome import Step
from certus.core.program import Alloc, Assume, Call, Edge, Free, Load, Program, Return, Store
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue, Datum
from certus.core.walk import variables
from certus.report.content import RESULT, Names, value_text

GLOBALS, MEMORY, PASSING = -1, -2, -3  # scopes beside the frames: PASSING values belong to no table

_PLACE: Final = re.compile(r"[\w\s.\[\]*&+\-()]*>?[\w\s.\[\]*&+\-()>]*")  # no comparison, no assignment
_ELEMENT: Final = re.compile(r"(\w+)\s*\[[^\[\]]*\]")  # of an array with one dimension
_INDEX: Final = re.compile(r"\[([A-Za-z_]\w*)\]")
_WIDEST: Final = 60  # letters of a cell's name


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a step gave to something a user has a name for. `scope` is the frame, counted from
    the main procedure, or one of the scopes above; `key` tells things of one scope apart."""

    scope: int
    key: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The state after one step: the call stack as (procedure, line of the call), and the changes. `noticed`
    comes before them: cells of memory that were read, and the keys of cells that are not known any more.
    `because` are the values that decided a branch."""

    stack: tuple[tuple[str, int | None], ...]
    changes: tuple[Change, ...]
    noticed: tuple[Change | str, ...]
    because: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Frame:
    procedure: str
    called_at: int | None
    values: dict[Expr, Datum] = field(default_factory=dict)
    source: dict[Expr, int] = field(
        default_factory=dict
    )  # for variables of ours: the cell they were read from
    texts: dict[Expr, str] = field(default_factory=dict)  # for variables of ours: what stands in the source


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    size: int
    value: Datum


class Playback:
    """`globals` and the values in `frames` are exact. `cells`, by address, are those that were seen; they do
    not overlap."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.program = program
        self.names = Names(program)
        self.globals: dict[Expr, Datum] = {}
        self.frames = [_Frame(program.main, None)]
        self.cells: dict[int, _Cell] = {}
        self.objects: dict[int, tuple[int, str]] = {}  # by address: size and name
        self._noticed: list[Change | str] = []  # in the present step
        self._made = 0  # objects of the heap
        self._globals = frozenset(program.globals)
        self._results = {v for p in program.procedures.values() for v in p.results}
        for variable, term in program.initial.items():
            value = _value(term, {})
            if value is not None:
                self.globals[variable] = value
        self.globals.update(trace.initial)

    @property
    def initially(self) -> tuple[Change, ...]:
        named = ((v, self.program.source_names.get(v)) for v in self.globals)
        return tuple(
            Change(GLOBALS, v.name, name, self.text(v, self.globals[v]))
            for v, name in named
            if name is not None
        )

    def forget(self, procedure: str, depth: int) -> None:
        """Go on after steps that were omitted, in `procedure` at call depth `depth`."""
        self.globals.clear()
        self.cells.clear()
        self.frames = [*(_Frame("?", None) for _ in range(depth)), _Frame(procedure, None)]

    def play(self, step: Step) -> Scene:
        edge = self.program.edge[step.edge]
        del self.frames[step.depth + 1 :]
        top = self.frames[-1]
        top.procedure = edge.source.procedure
        because = self._because(edge) if isinstance(edge.op, Assume) and edge.branch is not None else ()
        if isinstance(edge.op, Call):
            line = None if edge.span is None else edge.span.line
            self.frames.append(_Frame(edge.op.procedure, line))
        changes = [self._written(edge, variable, value) for variable, value in step.changes]
        changes += self._remembered(edge, top)
        stack = tuple((frame.procedure, frame.called_at) for frame in self.frames)
        noticed, self._noticed = tuple(self._noticed), []
        return Scene(stack, tuple(c for c in changes if c is not None), noticed, because)

    # ------------------------------------------------------------------------------- variables

    def _written(self, edge: Edge, variable: Expr, value: Value) -> Change | None:
        name = self.names.written(edge, variable)
        scope = self._scope(edge, variable)
        if scope == GLOBALS:
            self.globals[variable] = value
        elif scope >= 0:
            self.frames[scope].values[variable] = value
            if variable not in self.program.source_names:
                self.frames[scope].texts[variable] = edge.text
        if name is None:
            return None
        shown = scope if variable in self.program.source_names else PASSING
        return Change(shown, variable.name, name, self.text(variable, value))

    def _scope(self, edge: Edge, variable: Expr) -> int:
        """The frame of a variable. What a call writes on return is listed with the step that returns."""
        if variable in self._globals:
            return GLOBALS
        top = len(self.frames) - 1
        returns = isinstance(edge.op, Return) or edge.target is self._exit(edge)
        own = isinstance(edge.op, Return) is False and variable in _targets(edge)
        if returns and variable not in self._results and not own:
            return max(top - 1, 0)
        return top

    def _exit(self, edge: Edge) -> object:
        return self.program.procedures[edge.source.procedure].exit

    def text(self, variable: Expr, value: Datum) -> str:
        """A value for people: of an address, the object that it is in; so of a number in memory that might be
        one."""
        sort, words = variable.sort, value_text(value)
        if not self.objects or not isinstance(value, int):
            return words
        if sort is INT:
            return self._address(value)
        wide = isinstance(sort, MachineSort) and not sort.signed and sort.width == self.program.pointer_bits
        return f"{self._address(value)} ({words})" if wide and self._object(value) is not None else words

    def _address(self, value: int) -> str:
        if value == 0:
            return "NULL"
        found = self._object(value)
        if found is None:
            return value_text(value)
        base, name = found
        return f"&{name}" if base == value else f"&{name} + {value - base}"

    def _object(self, address: int) -> tuple[int, str] | None:
        for base, (size, name) in self.objects.items():
            if base <= address < base + max(size, 1):
                return base, name
        return None

    def _known(self, frame: _Frame) -> Mapping[Expr, Datum]:
        return {**self.globals, **frame.values}

    # ---------------------------------------------------------------------------------- memory

    def _remembered(self, edge: Edge, top: _Frame) -> list[Change | None]:
        """What a step does to memory."""
        op = edge.op
        known = self._known(top)
        if isinstance(op, Alloc):
            base, size = _number(op.target, known), _number(op.size, known)
            if base is not None:
                self.objects[base] = (size or 1, self._object_name(op))
        elif isinstance(op, Free):
            base = _number(op.address, known)
            found = None if base is None else self.objects.pop(base, None)
            if base is not None and found is not None:
                self._drop(base, found[0])
        elif isinstance(op, Load):
            address = _number(op.address, known)
            value = top.values.get(op.target)
            if address is not None and value is not None:
                top.source[op.target] = address
                self._see(address, op.target, value, edge.text, top)
                self._noticed.append(self._cell_change(address, op.target))
        elif isinstance(op, Store):
            address = _number(op.address, known)
            if address is not None:
                return [self._stored(edge, op, address, _value(op.value, known), top)]
        return []

    def _object_name(self, op: Alloc) -> str:
        """What the source calls an object; those of the heap are numbered: `malloc#1`."""
        if op.storage != "heap":
            return op.name
        maker = re.match(r"\w+", op.name)
        self._made += 1
        return f"{'new' if maker is None else maker[0]}#{self._made}"

    def _stored(self, edge: Edge, op: Store, address: int, value: Datum | None, top: _Frame) -> Change | None:
        if value is None:
            self._drop(address, _bytes(op.value))
            return None
        self._see(address, op.value, value, _left_side(edge.text), top)
        return self._cell_change(address, op.value)

    def _cell_change(self, address: int, term: Expr) -> Change:
        cell = self.cells[address]
        return Change(MEMORY, str(address), cell.name, self.text(term, cell.value))

    def _see(self, address: int, term: Expr, value: Datum, text: str, top: _Frame) -> None:
        size = _bytes(term)
        seen = self.cells.get(address)
        if seen is not None and seen.size == size:
            self.cells[address] = _Cell(seen.name, size, value)
            return
        self._drop(address, size)
        self.cells[address] = _Cell(self._cell_name(address, size, text, top), size, value)

    def _cell_name(self, address: int, size: int, text: str, top: _Frame) -> str:
        """A name that no other cell has: by the object, if the source goes through a pointer (`p->next`) or
        counts elements; else as the source has it, where `a[i]` is `a[2]` if i is 2."""
        name = self._place_name(address, size, text.strip(), top)
        found = self._object(address)
        if found is not None and any(cell.name == name for cell in self.cells.values()):
            return f"{name} (+{address - found[0]})"
        return name

    def _place_name(self, address: int, size: int, text: str, top: _Frame) -> str:
        found = self._object(address)
        if found is None:
            return text if _is_place(text) else f"*({value_text(address)})"
        base, name = found
        index, rest = divmod(address - base, size)
        element = _ELEMENT.fullmatch(text)
        if element is not None and not rest and (element[1] == name or "#" in name):
            return f"{name}[{index}]"
        if "->" in text and _is_place(text):
            return f"{name}.{self._indexed(text.rpartition('->')[2], top)}"
        if _is_place(text) and "*" not in text and "#" not in name:
            return self._indexed(text, top)
        return name if base == address else f"{name} + {address - base} bytes"

    def _indexed(self, text: str, top: _Frame) -> str:
        """The place with the values of variables that stand for an index."""
        known = {self.names.of(v): x for v, x in self._known(top).items() if not isinstance(x, bool)}
        return _INDEX.sub(lambda m: f"[{value_text(known[m[1]]) if m[1] in known else m[1]}]", text)

    def _drop(self, address: int, size: int) -> None:
        """Forget the cells that overlap a stretch of memory."""
        for base in [b for b, c in self.cells.items() if b < address + size and address < b + c.size]:
            del self.cells[base]
            self._noticed.append(str(base))

    # -------------------------------------------------------------------------------- branches

    def _because(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """The values in the condition of a branch, under names that the source has for them."""
        assert isinstance(edge.op, Assume)
        top = self.frames[-1]
        known = self._known(top)
        found: dict[str, str] = {}
        for variable in variables(edge.op.condition):
            value = known.get(variable)
            if value is None or isinstance(value, ArrayValue):
                continue
            name = self.program.source_names.get(variable) or self._read_as(variable, edge, top)
            if name:
                found.setdefault(name, self.text(variable, value))
        return tuple(sorted(found.items(), key=lambda item: _position(item[0], edge.text)))

    def _read_as(self, variable: Expr, edge: Edge, top: _Frame) -> str:
        """The expression whose value a variable of ours holds."""
        cell = self.cells.get(top.source.get(variable, -1))
        if cell is not None:
            return cell.name
        if variable in self._results:
            return RESULT
        text = top.texts.get(variable, "")
        return text if text != edge.text and len(text) <= _WIDEST else ""


def _position(name: str, text: str) -> int:
    """Where a name stands in the source, for an order that a reader expects."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return len(text) if found is None else found.start()


def _targets(edge: Edge) -> tuple[Expr, ...]:
    op = edge.op
    if isinstance(op, Load | Alloc):
        return (op.target,)
    found: tuple[Expr, ...] = getattr(op, "targets", ())
    return () if isinstance(op, Call) else found


def _value(term: Expr, known: Mapping[Expr, Datum]) -> Datum | None:
    try:
        return evaluate(term, known)
    except (KeyError, ValueError, Undefined):
        return None


def _number(term: Expr, known: Mapping[Expr, Datum]) -> int | None:
    value = _value(term, known)
    return value if isinstance(value, int) else None


def _bytes(term: Expr) -> int:
    return max(1, term.sort.width // 8) if isinstance(term.sort, MachineSort) else 1


def _is_place(text: str) -> bool:
    """Whether the text names a place in memory, rather than a value or a whole statement."""
    called = re.search(r"\w\s*\(", text) is not None
    return 0 < len(text) <= _WIDEST and not called and _PLACE.fullmatch(text) is not None


def _left_side(text: str) -> str:
    """Of an assignment, what it is to; `int a[2] = ...` and `x += 1` have one, too."""
    found = re.match(r"([^=<>!]*?(?:->[^=<>!]*?)*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", text)
    return (
        ""
        if found is None
        else re.sub(r"^(?:(?:const|static|unsigned|struct|signed|long|short|int|char)\s+)+", "", found[1])
    )
