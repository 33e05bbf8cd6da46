"""Sorts: the types of terms.

Sorts are interned, so two sorts are equal exactly if they are the same object.
"""

from __future__ import annotations

from functools import cache
from typing import Final


class Sort:
    """A type of terms. `name` is unique, stable and readable: `Int`, `i32`, `u8`, `Array(Int,Bool)`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return self.name


class MachineSort(Sort):
    """Integers of `width` bits; `signed` ones in two's complement. All arithmetic on them wraps."""

    __slots__ = ("high", "low", "signed", "width")

    def __init__(self, width: int, *, signed: bool) -> None:
        super().__init__(f"{'i' if signed else 'u'}{width}")
        self.width: Final = width
        self.signed: Final = signed
        self.low: Final = -(1 << (width - 1)) if signed else 0
        self.high: Final = (1 << (width - 1)) - 1 if signed else (1 << width) - 1

    def wrap(self, value: int) -> int:
        """Return the value of this sort that is congruent to `value` modulo 2**width."""
        return (value - self.low) % (1 << self.width) + self.low


class ArraySort(Sort):
    """Total functions from `index` to `element`."""

    __slots__ = ("element", "index")

    def __init__(self, index: Sort, element: Sort) -> None:
        super().__init__(f"Array({index.name},{element.name})")
        self.index: Final = index
        self.element: Final = element


BOOL: Final = Sort("Bool")
INT: Final = Sort("Int")
REAL: Final = Sort("Real")


@cache
def machine(width: int, *, signed: bool) -> MachineSort:
    """Return the sort of `width`-bit integers."""
    if width < 1:
        raise ValueError(f"a machine integer needs at least one bit, not {width}")
    return MachineSort(width, signed=signed)


@cache
def array(index: Sort, element: Sort) -> ArraySort:
    """Return the sort of arrays from `index` to `element`."""
    return ArraySort(index, element)


def keeps(source: Sort, target: Sort) -> bool:
    """Return whether every value of machine sort `source` is a value of machine sort `target`."""
    return (
        isinstance(source, MachineSort)
        and isinstance(target, MachineSort)
        and target.low <= source.low
        and source.high <= target.high
    )


def sort_named(name: str) -> Sort:
    """Return the sort with this `name`: the inverse of `Sort.name`."""
    if name.count("(") > 50:
        raise ValueError(f"not a sort, or too deep: {name[:50]!r}...")
    sort, rest = _read(name)
    if rest:
        raise ValueError(f"not a sort: {name!r}")
    return sort


def _read(text: str) -> tuple[Sort, str]:
    """Return the sort at the start of a text, and the rest of the text."""
    for sort in (BOOL, INT, REAL):
        if text.startswith(sort.name):
            return sort, text[len(sort.name) :]
    if text.startswith("Array("):
        index, rest = _read(text[6:])
        if rest[:1] == ",":
            element, rest = _read(rest[1:])
            if rest[:1] == ")":
                return array(index, element), rest[1:]
    elif text[:1] in ("i", "u"):
        digits = len(text) - len(text[1:].lstrip("0123456789"))
        if 1 < digits <= 6:
            return machine(int(text[1:digits]), signed=text[0] == "i"), text[digits:]
    raise ValueError(f"not a sort: {text!r}")
