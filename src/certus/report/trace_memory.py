"""Memory along a replayed trace, with the user's names.

Objects are known from their allocation. Their parts are named by their types (`q.items[2]`) or, on the heap,
by the source text that reads or writes them (`malloc#1.next`). Only cells that a step has accessed are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.effects import terms
from certus.core.floats import FORMATS
from certus.core.memory import lvalue
from certus.core.program import Alloc, ArrayShape, Assume, Program, ScalarShape, Shape, Storage
from certus.core.terms import FLOATS, INT, Expr, Kind, MachineSort, machine
from certus.core.values import Datum
from certus.core.vocabulary import ARGUMENT_OBJECT
from certus.core.walk import postorder
from certus.report.outcome_view import FloatBits, function_name, value_text
from certus.report.source_text import behind_arrow, is_place

_ELEMENT: Final = re.compile(r"(\w+)\s*\[[^\[\]]*\]")  # of an array with one dimension
_CALLS: Final = re.compile(r" calls ([\w$]+)$")
_INDEX: Final = re.compile(r"\[([A-Za-z_]\w*)\]")

Index = Callable[[str], str | None]  # returns the value of the variable with a source name


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of memory that was read or written as one value; `points` says that the value is an address."""

    name: str
    size: int
    value: Datum
    points: bool
    signed: bool = False  # its type in the source is signed
    format: str = ""  # of a floating-point number


@dataclass(frozen=True, slots=True)
class _Object:
    base: int
    size: int
    name: str
    shape: Shape | None
    storage: Storage = "static"


class Memory:
    """The known part of memory: `cells` by address, which do not overlap. `dropped` are the addresses of
    cells whose values became unknown."""

    def __init__(self, program: Program) -> None:
        self.cells: dict[int, Cell] = {}
        self.dropped: list[int] = []
        self._named = program.objects
        self._formats = {**_operands(program), **program.formats}
        self._pointer_bits = program.pointer_bits
        self._objects: dict[int, _Object] = {}
        self._ended: dict[int, _Object] = {}
        self._procedures = frozenset(program.procedures)
        self._functions = dict(_called_by_pointers(program))  # known functions, by address
        self._allocated = 0  # objects on the heap
        self._arguments = 0  # of the program

    # ------------------------------------------------------------------------------- changes

    def begin(self, op: Alloc, base: int, size: int) -> None:
        """Add an object."""
        source = self._named.get(op.target)
        shape = None if source is None else source.shape
        if op.name == ARGUMENT_OBJECT:
            shape = ArrayShape(size, 1, ScalarShape(8, signed=True))
        self._objects[base] = _Object(base, max(size, 1), self._object_name(op), shape, op.storage)

    def end(self, base: int) -> None:
        """Remove the object at an address."""
        ended = self._objects.pop(base, None)
        if ended is not None:
            self._ended[base] = ended
            self.drop(base, ended.size)

    def see(self, address: int, term: Expr, value: Datum, text: str, index: Index, *, points: bool) -> None:
        """Record the value of a term that is read or written at an address, by the source text `text`;
        `points` says that the value is an address."""
        size, format = width(term), self._formats.get(term, "")
        seen = self.cells.get(address)
        if seen is not None and seen.size == size:
            points = seen.points or points
            self.cells[address] = Cell(seen.name, size, value, points, seen.signed, seen.format or format)
            return
        self.drop(address, size)
        name, shape = self._cell_name(address, size, text.strip(), index)
        known = shape or ScalarShape(8 * size, signed=False)
        points, format = known.pointer or points, known.format or format
        self.cells[address] = Cell(name, size, value, points, known.signed, format)

    def meet(self, text: str, value: Datum) -> None:
        """Record that the source text `text` has this value, which may be the address of a function."""
        if text in self._procedures and isinstance(value, int):
            self._functions[value] = text

    def drop(self, address: int, size: int) -> None:
        """Forget the cells that overlap a part of memory."""
        for base in [b for b, c in self.cells.items() if b < address + size and address < b + c.size]:
            del self.cells[base]
            self.dropped.append(base)

    # --------------------------------------------------------------------------------- values

    def text(self, term: Expr, value: Datum) -> str:
        """Return a value as text: for an address, or a number that may be one, the object at the address; for
        a floating-point number, the number."""
        if term in self._formats and isinstance(value, int):
            return value_text(FloatBits(value, self._formats[term]))
        words, sort = value_text(value), term.sort
        if (
            not (self._objects or self._functions or self._ended)
            or not isinstance(value, int)
            or isinstance(value, bool)
        ):
            return words
        if sort is INT:
            return self.address(value)
        wide = isinstance(sort, MachineSort) and not sort.signed and sort.width == self._pointer_bits
        is_named = value in self._functions or value in self._ended or self._object(value) is not None
        return f"{self.address(value)} ({words})" if wide and is_named else words

    def cell_text(self, address: int, term: Expr, value: Datum) -> str:
        """Return a value of a cell, which it need not have any more, as text."""
        cell = self.cells[address]
        if cell.points and isinstance(value, int):
            return self.address(value)
        if cell.format and isinstance(value, int):
            return value_text(FloatBits(value, cell.format))
        if cell.signed and isinstance(value, int) and not isinstance(value, bool):
            sort = machine(8 * cell.size, signed=True)
            return value_text(sort.wrap(value))
        return self.text(term, value)

    def address(self, value: int) -> str:
        """Return an address as text: `&x`, `&a[2]`, `NULL`, or a number."""
        if value == 0:
            return "NULL"
        target = self._object(value)
        if target is None and value in self._ended:
            ended = self._ended[value]
            return f"&{ended.name} ({'freed' if ended.storage == 'heap' else 'out of scope'})"
        if target is None:
            return f"&{self._functions[value]}" if value in self._functions else value_text(value)
        if target.base == value:
            return f"&{target.name}"
        part = self._part(target, value)
        return f"&{target.name} + {value - target.base}" if part is None else f"&{part}"

    def _part(self, owner: _Object, address: int) -> str | None:
        """Return the name of the part of an object at an address, of any size."""
        if owner.shape is not None:
            sizes = (lvalue(owner.name, owner.shape, address - owner.base, size) for size in (1, 2, 4, 8))
            return next((part[0] for part in sizes if part is not None), None)
        return self.cells[address].name if address in self.cells else None

    def _object(self, address: int) -> _Object | None:
        exact = self._objects.get(address)
        if exact is not None:
            return exact
        return next((o for o in self._objects.values() if o.base <= address < o.base + o.size), None)

    # ---------------------------------------------------------------------------------- names

    def _object_name(self, op: Alloc) -> str:
        """Return the source name of an object; objects on the heap are numbered: `malloc#1`."""
        if op.name == ARGUMENT_OBJECT:
            self._arguments += 1
            return f"argv[{self._arguments - 1}]"
        if op.storage != "heap":
            return op.name
        allocator = re.match(r"\w+", op.name)
        self._allocated += 1
        return f"{'new' if allocator is None else allocator[0]}#{self._allocated}"

    def _cell_name(self, address: int, size: int, text: str, index: Index) -> tuple[str, ScalarShape | None]:
        """Return a name that no other cell has, and the type of the cell, if it is known."""
        owner = self._object(address)
        if owner is None:
            return text if is_place(text) else f"*({value_text(address)})", None
        if owner.shape is not None:
            part = lvalue(owner.name, owner.shape, address - owner.base, size)
            if part is not None:
                return part
            at = address - owner.base
            return (f"{owner.name} + {at} bytes" if at else owner.name), None
        name = _place_name(owner, address, size, text, index)
        taken = any(cell.name == name for cell in self.cells.values())
        return f"{name} (+{address - owner.base})" if taken else name, None


def _called_by_pointers(program: Program) -> Iterator[tuple[int, str]]:
    """Yield the functions that calls through pointers may reach, by address."""
    for edge in program.edge.values():
        called = _CALLS.search(edge.text) if isinstance(edge.op, Assume) else None
        if called is None or not isinstance(edge.op, Assume) or edge.op.condition.kind is not Kind.EQ:
            continue
        for term in edge.op.condition.args:
            if term.kind is Kind.CONST and isinstance(term.value, int):
                yield term.value, function_name(called[1].lstrip("$"))


def _place_name(owner: _Object, address: int, size: int, text: str, index: Index) -> str:
    """Name a cell after its object, if the source uses a pointer (`p->next`) or an index; otherwise as in the
    source, with `a[i]` as `a[2]` if i is 2."""
    at, rest = divmod(address - owner.base, size)
    heap = "#" in owner.name
    element = _ELEMENT.fullmatch(text)
    if element is not None and not rest and (element[1] == owner.name or heap):
        return f"{owner.name}[{at}]"
    if is_place(text) and owner.name != "temporary":
        through, member = behind_arrow(text)
        if through:
            return f"{owner.name}.{_indexed(member, index)}"
        if "*" not in text and not heap:
            return _indexed(text, index)
    return owner.name if owner.base == address else f"{owner.name} + {address - owner.base} bytes"


def _indexed(text: str, index: Index) -> str:
    """Replace variables in indexes by their values."""
    return _INDEX.sub(lambda m: f"[{index(m[1]) or m[1]}]", text)


def width(term: Expr) -> int:
    """Return the number of bytes of a value in memory."""
    return max(1, term.sort.width // 8) if isinstance(term.sort, MachineSort) else 1


def _operands(program: Program) -> dict[Expr, str]:
    """Return the formats of the variables that operations on floating-point numbers take."""
    formats: dict[Expr, str] = {}
    for term in postorder(*(each for edge in program.edge.values() for each in terms(edge.op))):
        if term.kind in FLOATS and term.kind is not Kind.F_FROM:
            format = str(term.data).split()[0]
            for x in term.args:
                if x.kind is Kind.VAR and x.sort is machine(FORMATS[format].width, signed=False):
                    formats[x] = format
    return formats
