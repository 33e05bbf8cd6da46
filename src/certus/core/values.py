"""Values of every sort: Python's bool and int, Fraction for Real, and `ArrayValue` for arrays; division, bit
operations and floating point on them as C and SMT-LIB define them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Final

from certus.core import floats
from certus.core.sorts import BOOL, REAL, ArraySort, MachineSort, Sort
from certus.core.terms import Kind, Value


class ArrayValue:
    """A total function that has the value `default` everywhere except at finitely many `entries`.

    Canonical: no entry repeats the default, and on a finite index sort the default is a most frequent
    value (among several, the one at the least index). So equal functions have equal contents.
    """

    __slots__ = ("_hash", "default", "entries", "sort")

    def __init__(
        self,
        sort: ArraySort,
        default: Datum,
        entries: Mapping[Datum, Datum] | Iterable[tuple[Datum, Datum]] = (),
    ) -> None:
        exceptions = dict(entries)
        self.sort: Final = sort
        self.default: Final = _common(sort, default, exceptions)
        self.entries: Final[Mapping[Datum, Datum]] = _exceptions(sort, default, self.default, exceptions)
        self._hash: Final = hash((sort, self.default, frozenset(self.entries.items())))

    def __getitem__(self, index: Datum) -> Datum:
        return self.entries.get(index, self.default)

    def store(self, index: Datum, value: Datum) -> ArrayValue:
        """Return the array that differs only in having `value` at `index`."""
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


def _position(entry: tuple[Datum, Datum]) -> tuple[str, Fraction]:
    """Return a key that orders entries by index: arrays by their text, since they have no order."""
    index = entry[0]
    return (repr(index), Fraction(0)) if isinstance(index, ArrayValue) else ("", Fraction(index))


def _common(sort: ArraySort, default: Datum, entries: Mapping[Datum, Datum]) -> Datum:
    """Return the canonical default: `default` itself unless the entries fill half the domain."""
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
    sort: ArraySort, default: Datum, common: Datum, entries: dict[Datum, Datum]
) -> dict[Datum, Datum]:
    """Return the entries that differ from the canonical default `common`."""
    if common != default:
        entries = {index: entries.get(index, default) for index in _domain(sort.index)}
    return {index: value for index, value in entries.items() if value != common}


def domain_size(sort: Sort) -> int | None:
    """Return the number of values of a sort; None if it is infinite or too large for a table (over 2**64)."""
    if sort is BOOL:
        return 2
    if isinstance(sort, MachineSort):
        return 1 << sort.width
    if isinstance(sort, ArraySort):
        index, element = domain_size(sort.index), domain_size(sort.element)
        if index is not None and element is not None and index * (element - 1).bit_length() <= 64:
            return int(element**index)
    return None


def _domain(sort: Sort) -> Iterable[Datum]:
    """Return every value of a finite sort, in a fixed order."""
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
    """Return 0 or false, or the array with this value everywhere."""
    if isinstance(sort, ArraySort):
        return ArrayValue(sort, default_value(sort.element))
    if sort is BOOL:
        return False
    return Fraction(0) if sort is REAL else 0


def as_value(value: Datum, sort: Sort) -> Datum:
    """Return `value` as its sort represents it: a Real as Fraction. Raise ValueError if it is not a value of
    the sort."""
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
        if isinstance(value, int) and isinstance(sort, MachineSort):
            fits = fits and sort.low <= value <= sort.high
    if not fits:
        raise ValueError(f"{value!r} is not a value of sort {sort}")
    return value


def truncating_quotient(a: int, b: int) -> int:
    """Return C's `a / b` on mathematical integers."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def euclidean(a: int, b: int) -> tuple[int, int]:
    """Return SMT-LIB's (div, mod): the remainder is never negative."""
    remainder = a % abs(b)
    return (a - remainder) // b, remainder


def fold_division(kind: Kind, a: int, b: int) -> int:
    """Return the value of a division of `kind` by `b`, which is not zero."""
    if kind is Kind.QUOT:
        return truncating_quotient(a, b)
    if kind is Kind.REM:
        return a - b * truncating_quotient(a, b)
    return euclidean(a, b)[0 if kind is Kind.DIV else 1]


def fold_bits(kind: Kind, a: int, b: int) -> int:
    """Return the bitwise operation `kind` of two integers in (unbounded) two's complement."""
    if kind is Kind.BIT_AND:
        return a & b
    return a | b if kind is Kind.BIT_OR else a ^ b


def fold_float(kind: Kind, data: str, args: Sequence[int], sort: Sort) -> int | bool | None:
    """Return the value of an operation on floating-point numbers; None if F_TO has no value."""
    formats = [floats.FORMATS[name] for name in data.split()]
    if kind is Kind.F_TO:
        assert isinstance(sort, MachineSort)
        return floats.to_integer(formats[0], args[0], sort.low, sort.high)
    return FLOAT_OPERATIONS[kind](*formats, *args)


FLOAT_OPERATIONS: Final[dict[Kind, Callable[..., int | bool]]] = {
    Kind.F_ADD: floats.add,
    Kind.F_SUB: floats.subtract,
    Kind.F_MUL: floats.multiply,
    Kind.F_DIV: floats.divide,
    Kind.F_REM: floats.remainder,
    Kind.F_FMA: floats.fused,
    Kind.F_SQRT: floats.square_root,
    Kind.F_RTI: floats.to_integral,
    Kind.F_EQ: floats.equal,
    Kind.F_LT: floats.less,
    Kind.F_LE: floats.less_equal,
    Kind.F_CONVERT: floats.convert,
    Kind.F_FROM: floats.from_integer,
}


def decimal(value: int) -> str:
    """Return the decimal digits of an integer of any size; `str` refuses more than some thousand digits."""
    if value.bit_length() < 10_000:
        return str(value)
    rest, chunks = abs(value), []
    while rest:
        rest, low = divmod(rest, _CHUNK)
        chunks.append(f"{low:03000d}")
    digits = "".join(reversed(chunks)).lstrip("0")
    return digits if value > 0 else f"-{digits}"


_CHUNK: Final = 10**3000
