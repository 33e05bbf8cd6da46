"""Memory along a replayed trace, under names that a user has for it.

Objects are known from where they begin. Their parts are named by their shapes (`q.items[2]`) or, on the heap,
by what the source calls them where they are read or written (`malloc#1.next`). Only what was seen is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.objects import ScalarShape, Shape, lvalue
from certus.core.program import Alloc, Assume, Program
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.core.values import Datum
from certus.report.content import function_name, value_text
from certus.report.wording import behind_arrow, is_place

_ELEMENT: Final = re.compile(r"(\w+)\s*\[[^\[\]]*\]")  # of an array with one dimension
_CALLS: Final = re.compile(r" calls ([\w$]+)$")
_INDEX: Final = re.compile(r"\[([A-Za-z_]\w*)\]")

Index = Callable[[str], str | None]  # the value of a variable that the source has a name for


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of memory that was read or written as one value; `points` says that this is an address."""

    name: str
    size: int
    value: Datum
    points: bool
    signed: bool = False  # the source has a signed number there


@dataclass(frozen=True, slots=True)
class _Object:
    base: int
    size: int
    name: str
    shape: Shape | None


class Memory:
    """`cells`, by address, are those that were seen; they do not overlap. `dropped` are the addresses of
    those that are not known any more."""

    def __init__(self, program: Program) -> None:
        self.cells: dict[int, Cell] = {}
        self.dropped: list[int] = []
        self._named = program.objects
        self._pointer_bits = program.pointer_bits
        self._objects: dict[int, _Object] = {}
        self._procedures = frozenset(program.procedures)
        self._functions = dict(_called_by_pointers(program))  # by address, as far as they were met
        self._made = 0  # objects of the heap

    # ------------------------------------------------------------------------------- changes

    def begin(self, op: Alloc, base: int, size: int) -> None:
        """An object begins to be."""
        source = self._named.get(op.target)
        shape = None if source is None else source.shape
        self._objects[base] = _Object(base, max(size, 1), self._object_name(op), shape)

    def end(self, base: int) -> None:
        found = self._objects.pop(base, None)
        if found is not None:
            self.drop(base, found.size)

    def see(self, address: int, value: Datum, size: int, text: str, index: Index, *, points: bool) -> None:
        """A value is read from or written to an address, where the source has `text`; `points` says that it
        is known to be an address itself."""
        seen = self.cells.get(address)
        if seen is not None and seen.size == size:
            self.cells[address] = Cell(seen.name, size, value, seen.points or points, seen.signed)
            return
        self.drop(address, size)
        name, shape = self._cell_name(address, size, text.strip(), index)
        pointer, signed = (False, False) if shape is None else (shape.pointer, shape.signed)
        self.cells[address] = Cell(name, size, value, pointer or points, signed)

    def meet(self, text: str, value: Datum) -> None:
        """What the source calls `text` has this value: so addresses of functions become known."""
        if text in self._procedures and isinstance(value, int):
            self._functions[value] = text

    def drop(self, address: int, size: int) -> None:
        """Forget the cells that overlap a stretch of memory."""
        for base in [b for b, c in self.cells.items() if b < address + size and address < b + c.size]:
            del self.cells[base]
            self.dropped.append(base)

    # --------------------------------------------------------------------------------- values

    def text(self, term: Expr, value: Datum) -> str:
        """A value for people: of an address, the object that it is in; so of a number that might be one."""
        words, sort = value_text(value), term.sort
        if not (self._objects or self._functions) or not isinstance(value, int) or isinstance(value, bool):
            return words
        if sort is INT:
            return self.address(value)
        wide = isinstance(sort, MachineSort) and not sort.signed and sort.width == self._pointer_bits
        known = value in self._functions or self._object(value) is not None
        return f"{self.address(value)} ({words})" if wide and known else words

    def cell_text(self, address: int, term: Expr) -> str:
        cell = self.cells[address]
        if cell.points and isinstance(cell.value, int):
            return self.address(cell.value)
        if cell.signed and isinstance(cell.value, int) and not isinstance(cell.value, bool):
            sort = machine(8 * cell.size, signed=True)
            return value_text(sort.wrap(cell.value))
        return self.text(term, cell.value)

    def address(self, value: int) -> str:
        if value == 0:
            return "NULL"
        found = self._object(value)
        if found is None:
            return f"&{self._functions[value]}" if value in self._functions else value_text(value)
        if found.base == value:
            return f"&{found.name}"
        part = self._part(found, value)
        return f"&{found.name} + {value - found.base}" if part is None else f"&{part}"

    def _part(self, found: _Object, address: int) -> str | None:
        """What is at an address inside an object, whatever its size."""
        if found.shape is not None:
            sizes = (lvalue(found.name, found.shape, address - found.base, size) for size in (1, 2, 4, 8))
            return next((part[0] for part in sizes if part is not None), None)
        return self.cells[address].name if address in self.cells else None

    def _object(self, address: int) -> _Object | None:
        exact = self._objects.get(address)
        if exact is not None:
            return exact
        return next((o for o in self._objects.values() if o.base <= address < o.base + o.size), None)

    # ---------------------------------------------------------------------------------- names

    def _object_name(self, op: Alloc) -> str:
        """What the source calls an object; those of the heap are numbered: `malloc#1`."""
        if op.storage != "heap":
            return op.name
        maker = re.match(r"\w+", op.name)
        self._made += 1
        return f"{'new' if maker is None else maker[0]}#{self._made}"

    def _cell_name(self, address: int, size: int, text: str, index: Index) -> tuple[str, ScalarShape | None]:
        """A name that no other cell has, and what is known to be there."""
        found = self._object(address)
        if found is None:
            return text if is_place(text) else f"*({value_text(address)})", None
        if found.shape is not None:
            part = lvalue(found.name, found.shape, address - found.base, size)
            if part is not None:
                return part
            at = address - found.base
            return (f"{found.name} + {at} bytes" if at else found.name), None
        name = _place_name(found, address, size, text, index)
        taken = any(cell.name == name for cell in self.cells.values())
        return f"{name} (+{address - found.base})" if taken else name, None


def _called_by_pointers(program: Program) -> Iterator[tuple[int, str]]:
    """The functions that pointers may lead to, by address, as calls through pointers tell them."""
    for edge in program.edge.values():
        called = _CALLS.search(edge.text) if isinstance(edge.op, Assume) else None
        if called is None or not isinstance(edge.op, Assume) or edge.op.condition.kind is not Kind.EQ:
            continue
        for term in edge.op.condition.args:
            if term.kind is Kind.CONST and isinstance(term.value, int):
                yield term.value, function_name(called[1].lstrip("$"))


def _place_name(found: _Object, address: int, size: int, text: str, index: Index) -> str:
    """By the object, if the source goes through a pointer (`p->next`) or counts elements; else as the source
    has it, where `a[i]` is `a[2]` if i is 2."""
    at, rest = divmod(address - found.base, size)
    heap = "#" in found.name
    element = _ELEMENT.fullmatch(text)
    if element is not None and not rest and (element[1] == found.name or heap):
        return f"{found.name}[{at}]"
    if is_place(text) and found.name != "temporary":
        through, member = behind_arrow(text)
        if through:
            return f"{found.name}.{_indexed(member, index)}"
        if "*" not in text and not heap:
            return _indexed(text, index)
    return found.name if found.base == address else f"{found.name} + {address - found.base} bytes"


def _indexed(text: str, index: Index) -> str:
    """The place with the values of variables that stand for an index."""
    return _INDEX.sub(lambda m: f"[{index(m[1]) or m[1]}]", text)


def width(term: Expr) -> int:
    """The bytes of a value in memory."""
    return max(1, term.sort.width // 8) if isinstance(term.sort, MachineSort) else 1
