"""Values of every sort, operations on them, and the exact value of a term.

Values are Python's bool and int, Fraction for Real, and `ArrayValue` for arrays. Division, bit operations and
floating point are those of C and SMT-LIB.

`evaluate` computes the value of a term from the values of its variables. The walk is iterative and visits
each shared subterm once. Division by zero, oversized shifts and conversions of floats to integers that
cannot hold them have no definite value: such a subterm is *undefined*. `Undefined` is raised only if the
value of the whole term depends on it: `ite` depends on the chosen branch only, a conjunction with a false
part is false, a disjunction with a true part is true. Every other operation with an undefined argument is
undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from itertools import product
from typing import Final

from certus.core import floats
from certus.core.errors import Undefined
from certus.core.terms import BOOL, FLOATS, REAL, ArraySort, Expr, Function, Kind, MachineSort, Sort, Value


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


# ------------------------------------------------------------------------------------ evaluation


class _Undefined(Enum):
    """The result of an operation without a definite value."""

    MARK = 0


_UNDEFINED: Final = _Undefined.MARK
Result = Datum | _Undefined
Operation = Callable[..., Result]  # from a term and the values of its arguments, which are as its kind says


def evaluate(
    term: Expr,
    env: Mapping[Expr, Datum],
    functions: Mapping[Function, Callable[..., Datum]] | None = None,
) -> Datum:
    """Return the value of `term` where `env` gives the values of variables and `functions` their meaning.

    Raise `Undefined` if there is no definite value, KeyError for a variable or function without a
    meaning, ValueError for a quantifier or a value that does not fit its variable."""
    values: dict[Expr, Result] = {}
    stack = [term]
    while stack:
        top = stack[-1]
        if top in values:
            stack.pop()
            continue
        needed = _needed(top, values)
        if needed:
            stack.extend(reversed(needed))
        else:
            stack.pop()
            values[top] = _value(top, values, env, functions or {})
    result = values[term]
    if result is _UNDEFINED:
        raise Undefined(
            "the value depends on a division by zero, an oversized shift or a float beyond an integer"
        )
    return result


def _needed(term: Expr, values: Mapping[Expr, Result]) -> list[Expr]:
    """Return the subterms that must be evaluated before `term`."""
    args = term.args
    if term.kind is Kind.ITE:
        condition = values.get(args[0])
        if condition is None:
            return [args[0]]
        if condition is _UNDEFINED:
            return []
        args = args[1:2] if condition else args[2:3]
    elif term.kind is Kind.STORE:
        base, writes = _store_chain(term, values)
        args = (base, *(part for write in reversed(writes) for part in write.args[1:]))
    elif term.kind in _QUANTIFIED:
        raise ValueError(f"a quantified formula has no computable value: {term!r}")
    return [a for a in args if a not in values]


def _store_chain(term: Expr, values: Mapping[Expr, Result]) -> tuple[Expr, list[Expr]]:
    """Return the array below successive stores, and the stores, last one first. Applied together, they cost
    one copy of the array instead of one each."""
    writes = [term]
    base = term.args[0]
    while base.kind is Kind.STORE and base not in values:
        writes.append(base)
        base = base.args[0]
    return base, writes


def _value(
    term: Expr,
    values: Mapping[Expr, Result],
    env: Mapping[Expr, Datum],
    functions: Mapping[Function, Callable[..., Datum]],
) -> Result:
    """Return the value of a term whose arguments have values."""
    kind = term.kind
    if kind is Kind.CONST:
        return term.value
    if kind is Kind.VAR:
        return as_value(env[term], term.sort)
    if kind is Kind.ITE:
        condition = values[term.args[0]]
        return _UNDEFINED if condition is _UNDEFINED else values[term.args[1 if condition else 2]]
    if kind is Kind.STORE:
        return _stored(term, values)
    args = [values[a] for a in term.args]
    if kind is Kind.AND or kind is Kind.OR:
        absorbing = kind is Kind.OR
        if any(a is absorbing for a in args):
            return absorbing
        return _UNDEFINED if any(a is _UNDEFINED for a in args) else not absorbing
    if any(a is _UNDEFINED for a in args):
        return _UNDEFINED
    if kind is Kind.APPLY:
        return as_value(functions[term.function](*args), term.sort)
    if kind is Kind.BOUND:
        raise ValueError("a bound variable outside its quantifier has no value")
    result = _OPERATIONS[kind](term, args)
    if isinstance(term.sort, MachineSort) and isinstance(result, int):
        return term.sort.wrap(result)
    return result


def _stored(term: Expr, values: Mapping[Expr, Result]) -> Result:
    """Return the value of successive stores."""
    base, writes = _store_chain(term, values)
    array = values[base]
    if not isinstance(array, ArrayValue):
        return _UNDEFINED
    entries = dict(array.entries)
    for write in reversed(writes):
        index, value = values[write.args[1]], values[write.args[2]]
        if index is _UNDEFINED or value is _UNDEFINED:
            return _UNDEFINED
        entries[index] = value
    return ArrayValue(array.sort, array.default, entries)


def _product(_: Expr, args: Sequence[int | Fraction]) -> Result:
    total = args[0]
    for factor in args[1:]:
        total *= factor
    return total


def _division(kind: Kind) -> Operation:
    def divide(_: Expr, args: Sequence[int]) -> Result:
        return fold_division(kind, args[0], args[1]) if args[1] else _UNDEFINED

    return divide


def _bits(kind: Kind) -> Operation:
    return lambda _, a: fold_bits(kind, a[0], a[1])


def _shift(kind: Kind) -> Operation:
    def shift(term: Expr, args: Sequence[int]) -> Result:
        assert isinstance(term.sort, MachineSort)
        value, amount = args
        if not 0 <= amount < term.sort.width:
            return _UNDEFINED
        return value << amount if kind is Kind.SHL else value >> amount

    return shift


def _const_array(term: Expr, args: Sequence[Datum]) -> Result:
    assert isinstance(term.sort, ArraySort)
    return ArrayValue(term.sort, args[0])


def _float(term: Expr, args: Sequence[int]) -> Result:
    assert isinstance(term.data, str)
    value = fold_float(term.kind, term.data, args, term.sort)
    return _UNDEFINED if value is None else value


_QUANTIFIED: Final = (Kind.FORALL, Kind.EXISTS)

# The value of each operation; on machine integers it is wrapped afterwards.
_OPERATIONS: dict[Kind, Operation] = {
    Kind.NOT: lambda _, a: not a[0],
    Kind.EQ: lambda _, a: a[0] == a[1],
    Kind.LE: lambda _, a: a[0] <= a[1],
    Kind.LT: lambda _, a: a[0] < a[1],
    Kind.ADD: lambda t, a: sum(a, Fraction(0)) if t.sort is REAL else sum(a),
    Kind.MUL: _product,
    Kind.SUB: lambda _, a: a[0] - a[1],
    Kind.NEG: lambda _, a: -a[0],
    Kind.QUOT: _division(Kind.QUOT),
    Kind.REM: _division(Kind.REM),
    Kind.DIV: _division(Kind.DIV),
    Kind.MOD: _division(Kind.MOD),
    Kind.RDIV: lambda _, a: a[0] / a[1] if a[1] else _UNDEFINED,
    Kind.BIT_AND: _bits(Kind.BIT_AND),
    Kind.BIT_OR: _bits(Kind.BIT_OR),
    Kind.BIT_XOR: _bits(Kind.BIT_XOR),
    Kind.BIT_NOT: lambda _, a: ~a[0],
    Kind.SHL: _shift(Kind.SHL),
    Kind.SHR: _shift(Kind.SHR),
    Kind.WRAP: lambda _, a: a[0],
    Kind.TO_INT: lambda _, a: a[0],
    Kind.TO_REAL: lambda _, a: Fraction(a[0]),
    Kind.FLOOR: lambda _, a: a[0].numerator // a[0].denominator,
    Kind.SELECT: lambda _, a: a[0][a[1]],
    Kind.CONST_ARRAY: _const_array,
    **dict.fromkeys(FLOATS, _float),
}
