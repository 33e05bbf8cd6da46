"""Terms: immutable, interned expressions, equal exactly if they are the same object.

Every formula and every program expression is an `Expr`. Build them with the constructors in
`certus.core.build`, which simplify; `Expr(...)` itself only interns.

The meaning of each `Kind` is given beside it. Three conventions matter everywhere:

- On machine integers (`MachineSort`) all arithmetic wraps; signedness is the sort's.
- `QUOT` and `REM` truncate towards zero, as in C; `DIV` and `MOD` are SMT-LIB's (remainder never
  negative) and exist for `Int` only. Dividing by zero and shifting by the width or more give an
  arbitrary value that is a function of the arguments.
- Bound variables are de Bruijn indices: `BOUND` 0 is the *last* variable of the nearest quantifier.
"""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from typing import Final

from certus.core.sorts import Sort


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


class Function:
    """An uninterpreted function symbol, or a relation if `result` is Bool. Interned."""

    __slots__ = ("name", "parameters", "result")
    name: str
    parameters: tuple[Sort, ...]
    result: Sort

    def __new__(cls, name: str, parameters: tuple[Sort, ...], result: Sort) -> Function:
        key = (name, parameters, result)
        found = _functions.get(key)
        if found is None:
            found = object.__new__(cls)
            found.name, found.parameters, found.result = key
            _functions[key] = found
        return found

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(s.name for s in self.parameters)}) -> {self.result.name}"


Data = None | bool | int | Fraction | str | Function | tuple[Sort, ...]
Value = bool | int | Fraction


class Expr:
    """One interned term.

    `digest` is a 64-bit structural hash: the same in every process and under any hash seed. It
    orders commutative arguments and names terms in logs. `stretch` is what `core.stores` remembers of a chain
    of writes.
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
        found = _terms.get(key)
        if found is None:
            found = object.__new__(cls)
            found.kind = kind
            found.args = args
            found.data = data
            found.sort = sort
            found.digest = _digest(kind, args, data, sort)
            found.stretch = None
            _terms[key] = found
        return found

    def __repr__(self) -> str:
        from certus.core.ctext import c_text  # only for people reading a debugger

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


Stretch = tuple[dict[Expr, Expr], Expr]  # what writes leave at each index, and the array below them

# The one permitted global state: the intern tables.
_terms: dict[tuple[Kind, tuple[Expr, ...], Data, Sort], Expr] = {}
_functions: dict[tuple[str, tuple[Sort, ...], Sort], Function] = {}
_names: dict[str, int] = {}

_MASK: Final = (1 << 64) - 1
_PRIME: Final = 0x9E3779B97F4A7C15


def _name_digest(name: str) -> int:
    found = _names.get(name)
    if found is None:
        from hashlib import blake2b

        found = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
        _names[name] = found
    return found


def _digest(kind: Kind, args: tuple[Expr, ...], data: Data, sort: Sort) -> int:
    """Python's hash of a tuple of integers: fast, and unlike that of texts the same in every process."""
    parts = [kind, _name_digest(sort.name)]
    if data is not None:
        parts.append(_data_digest(data))
    for argument in args:
        parts.append(argument.digest)
    return hash(tuple(parts)) & _MASK


def _data_digest(data: Data) -> int:
    if isinstance(data, str):
        return _name_digest(data)
    if isinstance(data, int):
        if -(1 << 63) <= data < 1 << 63:
            return (data * _PRIME & _MASK) >> 3  # Python's hash is modulo 2**61 - 1
        return _name_digest(hex(data))
    if isinstance(data, Fraction):
        return _name_digest(f"{data.numerator:x}/{data.denominator:x}")
    return _name_digest(repr(data))
