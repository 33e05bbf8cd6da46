"""Terms and their sorts: immutable and interned, equal exactly if they are the same object.

Every formula and every program expression is an `Expr`. Build them with the constructors in
`certus.core.build`, which simplify; `Expr(...)` itself only interns.

The meaning of each `Kind` is stated beside it. Four conventions hold everywhere:

- On machine integers (`MachineSort`) all arithmetic wraps; signedness is the sort's.
- `QUOT` and `REM` truncate towards zero, as in C; `DIV` and `MOD` are SMT-LIB's (remainder never
  negative) and exist for `Int` only. Dividing by zero and shifting by the width or more give an
  arbitrary value that is a function of the arguments.
- A floating-point number is its bit pattern, an unsigned machine integer; `data` names the format of the
  operands (`core.floats`), and the last operand of an operation that rounds is the mode, a `u8`. A result
  that is NaN has the bits `Format.nan`. Equality (`EQ`) is that of bits: `-0.0` and `0.0` are equal floats
  (`F_EQ`) with different bits, and NaN is not equal to itself.
- Bound variables are de Bruijn indices: `BOUND` 0 is the *last* variable of the nearest quantifier.
"""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
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
    sort, rest = _read_sort(name)
    if rest:
        raise ValueError(f"not a sort: {name!r}")
    return sort


def _read_sort(text: str) -> tuple[Sort, str]:
    """Return the sort at the start of a text, and the rest of the text."""
    for sort in (BOOL, INT, REAL):
        if text.startswith(sort.name):
            return sort, text[len(sort.name) :]
    if text.startswith("Array("):
        index, rest = _read_sort(text[6:])
        if rest[:1] == ",":
            element, rest = _read_sort(rest[1:])
            if rest[:1] == ")":
                return array(index, element), rest[1:]
    elif text[:1] in ("i", "u"):
        digits = len(text) - len(text[1:].lstrip("0123456789"))
        if 1 < digits <= 6:
            return machine(int(text[1:digits]), signed=text[0] == "i"), text[digits:]
    raise ValueError(f"not a sort: {text!r}")


class Kind(IntEnum):
    """The operator of a term. The numbers are part of the digest and of files: never renumber."""

    CONST = 1  # data: bool, int or Fraction
    VAR = 2  # data: the name
    BOUND = 3  # data: the de Bruijn index
    APPLY = 4  # data: the Function; args: its arguments
    NOT = 10
    AND = 11  # n-ary, sorted
    OR = 12  # n-ary, sorted
    ITE = 13  # condition, then, else; any sort
    EQ = 14  # both of one sort, sorted; on Bool it is "if and only if"
    LE = 15  # Int, Real or machine (signedness of the sort)
    LT = 16
    ADD = 20  # Int, Real: n-ary linear normal form; machine: binary
    MUL = 21  # Int, Real: n-ary, a constant factor first; machine: binary
    SUB = 22  # machine only
    NEG = 23  # machine only
    QUOT = 24  # truncating quotient: Int, machine
    REM = 25  # truncating remainder, sign of the dividend: Int, machine
    DIV = 26  # SMT-LIB div: Int
    MOD = 27  # SMT-LIB mod: Int
    RDIV = 28  # Real division
    BIT_AND = 30  # machine only, as are the next five
    BIT_OR = 31
    BIT_XOR = 32
    BIT_NOT = 33
    SHL = 34  # the amount has the sort of the shifted value
    SHR = 35  # arithmetic if signed, logical otherwise
    WRAP = 40  # Int or machine -> machine: the value modulo 2**width
    TO_INT = 41  # machine -> Int: the same value
    TO_REAL = 42  # Int -> Real
    FLOOR = 43  # Real -> Int
    SELECT = 50  # array, index
    STORE = 51  # array, index, value
    CONST_ARRAY = 52  # the value everywhere
    FORALL = 60  # data: the sorts of the bound variables, outermost first
    EXISTS = 61
    F_ADD = 70  # floating point: see `core.floats` for each operation
    F_SUB = 71
    F_MUL = 72
    F_DIV = 73
    F_REM = 74  # the remainder of IEEE 754, C's `remainder`; no mode: it is exact
    F_FMA = 75
    F_SQRT = 76
    F_RTI = 77  # to the nearest integer in the direction of the mode, in the same format
    F_EQ = 78  # comparisons are false if an operand is NaN
    F_LT = 79
    F_LE = 80
    F_CONVERT = 81  # data: both formats, `f32 f64`
    F_FROM = 82  # machine integer -> bits
    F_TO = 83  # bits -> machine integer, towards zero; arbitrary, by the argument, if that has no such value


class Function:
    """An uninterpreted function symbol, or a relation if `result` is Bool. Interned."""

    __slots__ = ("name", "parameters", "result")
    name: str
    parameters: tuple[Sort, ...]
    result: Sort

    def __new__(cls, name: str, parameters: tuple[Sort, ...], result: Sort) -> Function:
        key = (name, parameters, result)
        function = _functions.get(key)
        if function is None:
            function = object.__new__(cls)
            function.name, function.parameters, function.result = key
            _functions[key] = function
        return function

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(s.name for s in self.parameters)}) -> {self.result.name}"


Data = None | bool | int | Fraction | str | Function | tuple[Sort, ...]
Value = bool | int | Fraction


class Expr:
    """One interned term.

    `digest` is a 64-bit structural hash: the same in every process and under any hash seed. It
    orders commutative arguments and names terms in logs. `stretch` is a cache of `core.terms` for a chain of
    writes.
    """

    __slots__ = ("args", "data", "digest", "kind", "sort", "stretch")
    kind: Kind
    args: tuple[Expr, ...]
    data: Data
    sort: Sort
    digest: int
    stretch: Stretch | None

    def __new__(cls, kind: Kind, args: tuple[Expr, ...], data: Data, sort: Sort) -> Expr:
        key = (kind, args, data, sort)
        term = _terms.get(key)
        if term is None:
            term = object.__new__(cls)
            term.kind = kind
            term.args = args
            term.data = data
            term.sort = sort
            term.digest = _digest(kind, args, data, sort)
            term.stretch = None
            _terms[key] = term
        return term

    def __repr__(self) -> str:
        from certus.core.c_text import c_text  # only for debuggers and messages

        return c_text(self)

    @property
    def name(self) -> str:
        """The name of a variable."""
        assert self.kind is Kind.VAR
        assert isinstance(self.data, str)
        return self.data

    @property
    def value(self) -> Value:
        """The value of a constant."""
        assert self.kind is Kind.CONST
        assert isinstance(self.data, (bool, int, Fraction))
        return self.data

    @property
    def function(self) -> Function:
        """The function symbol of an application."""
        assert self.kind is Kind.APPLY
        assert isinstance(self.data, Function)
        return self.data

    @property
    def bound_sorts(self) -> tuple[Sort, ...]:
        """The sorts a quantifier binds, outermost first."""
        assert isinstance(self.data, tuple)
        return self.data


Stretch = tuple[dict[Expr, Expr], Expr]  # the value at each written index, and the array below the writes

# The one permitted global state: the intern tables.
_terms: dict[tuple[Kind, tuple[Expr, ...], Data, Sort], Expr] = {}
_functions: dict[tuple[str, tuple[Sort, ...], Sort], Function] = {}
_names: dict[str, int] = {}

_MASK: Final = (1 << 64) - 1
_PRIME: Final = 0x9E3779B97F4A7C15


def _name_digest(name: str) -> int:
    """Return a hash of a name that is the same in every process."""
    digest = _names.get(name)
    if digest is None:
        from hashlib import blake2b

        digest = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
        _names[name] = digest
    return digest


def _digest(kind: Kind, args: tuple[Expr, ...], data: Data, sort: Sort) -> int:
    """Return Python's hash of a tuple of integers: it is fast and, unlike that of strings, the same in every
    process."""
    parts = [kind, _name_digest(sort.name)]
    if data is not None:
        parts.append(_data_digest(data))
    for argument in args:
        parts.append(argument.digest)
    return hash(tuple(parts)) & _MASK


def _data_digest(data: Data) -> int:
    """Return a hash of the data of a term that is the same in every process."""
    if isinstance(data, str):
        return _name_digest(data)
    if isinstance(data, int):
        if -(1 << 63) <= data < 1 << 63:
            return (data * _PRIME & _MASK) >> 3  # Python's hash is modulo 2**61 - 1
        return _name_digest(hex(data))
    if isinstance(data, Fraction):
        return _name_digest(f"{data.numerator:x}/{data.denominator:x}")
    return _name_digest(repr(data))


FLOATS: Final = frozenset(kind for kind in Kind if kind.name.startswith("F_"))
BITS: Final = frozenset({Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR, Kind.BIT_NOT, Kind.SHL, Kind.SHR})
DIVISIONS: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})


def is_product(term: Expr) -> bool:
    """Return whether two factors are not constant, or the divisor is not."""
    if term.kind is Kind.MUL:
        return sum(factor.kind is not Kind.CONST for factor in term.args) > 1
    return term.kind in DIVISIONS and term.args[1].kind is not Kind.CONST


def is_linear(term: Expr) -> bool:
    """Return whether the operator of a term is an operator of linear arithmetic."""
    arrays = any(isinstance(each.sort, ArraySort) for each in (term, *term.args))
    return not (term.kind in BITS or term.kind in FLOATS or is_product(term) or arrays)


SHORT = 32  # writes that are visited without remembering them


def read(array: Expr, index: Expr) -> tuple[Expr | None, Expr]:
    """Return the value at the constant `index` if one of the writes at constant indices on top of `array` is
    there, else None; and the array below the writes that were passed."""
    store, constant = Kind.STORE, Kind.CONST  # members of enumerations are slow to find
    at = start = array
    walked = 0
    result: Expr | None = None
    while result is None and at.kind is store:
        if at.stretch is not None:
            at = _remembered(start, walked, at)
            writes, below = _joined(at)
            result = writes.get(index)
            at = start = below
            walked = 0
            continue
        below, written, value = at.args
        if written is index:
            result = value
        elif written.kind is constant:
            at = below
            walked += 1
        else:
            break
    _remembered(start, walked, at)
    return result, at


def _remembered(start: Expr, walked: int, end: Expr) -> Expr:
    """Remember the stretch of `walked` writes from `start` to `end`, unless it is short. Return the term
    where it is remembered, or `end`."""
    if walked <= SHORT:
        return end
    writes: dict[Expr, Expr] = {}
    at = start
    for _ in range(walked):
        below, written, value = at.args
        writes.setdefault(written, value)
        at = below
    start.stretch = (writes, end)
    return start


def _joined(at: Expr) -> Stretch:
    """Return the stretch remembered at a term, joined with those below it that are not longer."""
    assert at.stretch is not None
    writes, below = at.stretch
    while below.stretch is not None and len(writes) >= len(below.stretch[0]):
        further, below = below.stretch
        writes = {**further, **writes}
    at.stretch = (writes, below)
    return at.stretch
