"""Values of every sort: Python's bool and int, Fraction for Real, and `ArrayValue`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, Final

from certus.core.sorts import BOOL, REAL, ArraySort, MachineSort, Sort
from certus.core.terms import Value


class ArrayValue:
    """A total function that has `default` everywhere but at finitely many `entries`.

    Canonical: no entry repeats the default, and on a finite index sort the default is a most frequent
    value (among several, the one at the least index). So equal contents and equal functions are the same.
    """

    __slots__ = ("_hash", "default", "entries", "sort")

    def __init__(
        self, sort: ArraySort, default: Datum, entries: Mapping[Any, Datum] | Iterable[tuple[Any, Datum]] = ()
    ) -> None:
        given = dict(entries)
        self.sort: Final = sort
        self.default: Final = _common(sort, default, given)
        self.entries: Final[Mapping[Any, Datum]] = _exceptions(sort, default, self.default, given)
        self._hash: Final = hash((sort, self.default, frozenset(self.entries.items())))

    def __getitem__(self, index: Datum) -> Datum:
        return self.entries.get(index, self.default)

    def store(self, index: Datum, value: Datum) -> ArrayValue:
        """The array that differs only in having `value` at `index`."""
        return ArrayValue(self.sort, self.default, {**self.entries, index: value})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayValue):
            return NotImplemented
        return self.sort is other.sort and self.default == other.default and self.entries == other.entries

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        inside = [f"{index}: {value}" for index, value in sorted(self.entries.items(), key=_position)]
        return "{" + ", ".join([*inside, f"else: {self.default}"]) + "}"


Datum = Value | ArrayValue


def _position(entry: tuple[Any, Any]) -> Any:
    """Orders entries by index. Array-valued indices have no order of their own, but a readable text."""
    index = entry[0]
    return repr(index) if isinstance(index, ArrayValue) else index


def _common(sort: ArraySort, default: Datum, entries: Mapping[Any, Datum]) -> Datum:
    """The canonical default: strictly most frequent already, unless the entries fill half the domain."""
    size = domain_size(sort.index)
    if size is None or 2 * len(entries) < size:
        return default
    counts: dict[Datum, int] = {default: size - len(entries)}
    for value in entries.values():
        counts[value] = counts.get(value, 0) + 1
    best = max(counts.values())
    candidates = [value for value, count in counts.items() if count == best]
    if len(candidates) == 1:
        return candidates[0]
    in_order = (entries.get(index, default) for index in _domain(sort.index))
    return next(value for value in in_order if value in candidates)


def _exceptions(
    sort: ArraySort, default: Datum, common: Datum, entries: dict[Any, Datum]
) -> dict[Any, Datum]:
    if common != default:
        entries = {index: entries.get(index, default) for index in _domain(sort.index)}
    return {index: value for index, value in entries.items() if value != common}


def domain_size(sort: Sort) -> int | None:
    """The number of values of a sort; None if infinite or beyond any table (more than 2**64)."""
    if sort is BOOL:
        return 2
    if isinstance(sort, MachineSort):
        return 1 << sort.width
    if isinstance(sort, ArraySort):
        index, element = domain_size(sort.index), domain_size(sort.element)
        if index is not None and element is not None and index * (element - 1).bit_length() <= 64:
            return int(element**index)
    return None


def _domain(sort: Sort) -> Iterable[Any]:
    """Every value of a finite sort, in a fixed order."""
    if sort is BOOL:
        return (False, True)
    if isinstance(sort, MachineSort):
        return range(sort.low, sort.high + 1)
    assert isinstance(sort, ArraySort)
    return _functions(sort)


def _functions(sort: ArraySort) -> Iterable[ArrayValue]:
    indices, elements = tuple(_domain(sort.index)), tuple(_domain(sort.element))
    for values in product(elements, repeat=len(indices)):
        yield ArrayValue(sort, elements[0], zip(indices, values, strict=True))


def default_value(sort: Sort) -> Datum:
    """0 or false, or the array that is so everywhere."""
    if isinstance(sort, ArraySort):
        return ArrayValue(sort, default_value(sort.element))
    if sort is BOOL:
        return False
    return Fraction(0) if sort is REAL else 0


def as_value(value: Datum, sort: Sort) -> Datum:
    """`value` as its sort represents it (a Real as Fraction); ValueError if it is no value of the sort."""
    if isinstance(sort, ArraySort):
        fits = isinstance(value, ArrayValue) and value.sort is sort
    elif sort is BOOL:
        fits = isinstance(value, bool)
    elif sort is REAL:
        if isinstance(value, int) and not isinstance(value, bool):
            return Fraction(value)
        fits = isinstance(value, Fraction)
    else:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if fits and isinstance(sort, MachineSort):
            fits = sort.low <= value <= sort.high  # type: ignore[operator]
    if not fits:
        raise ValueError(f"{value!r} is no value of sort {sort}")
    return value
