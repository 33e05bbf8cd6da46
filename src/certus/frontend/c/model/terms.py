"""Terms for values of LLVM IR.

An `i1` is a Bool term, an `iN` a term of a machine sort of N bits whose sign is only a hint for engines, a
pointer an Int term. A record in registers, or an integer that stands for one, is a list of `Piece`s: the
typed memory it came from survives the calling convention. All operations are defined on bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.sorts import BOOL, INT, MachineSort, Sort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir.types import IntegerType, PointerType, Type

U8: Final = machine(8, signed=False)
U32: Final = machine(32, signed=False)
NULL: Final = build.integer(0)
ONE: Final = build.integer(1)


class Unmodelled(Exception):
    """An instruction that is not modelled: `code` is that of the diagnostic, `what` a noun phrase or a
    sentence."""

    def __init__(self, code: str, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Piece:
    """`size` bytes at `offset` of a record; the term is of a machine sort of that size, Int or Bool."""

    offset: int
    size: int
    term: Expr


@dataclass(frozen=True, slots=True)
class Pieces:
    """A record, or an integer made of one, of `size` bytes. Bytes that no piece has are undefined."""

    size: int
    parts: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A vector, element by element."""

    parts: tuple[Expr, ...]


Value = Expr | Pieces | Lanes
Cell = tuple[int, int]  # offset and size in bytes


def sort_of(type_: Type, *, signed: bool = False) -> Sort:
    """Return the sort of the values of a scalar type."""
    if isinstance(type_, PointerType):
        return INT
    if isinstance(type_, IntegerType):
        return BOOL if type_.bits == 1 else machine(type_.bits, signed=signed)
    raise no_value(type_)


def no_value(type_: Type) -> Unmodelled:
    """Return why values of a type are refused."""
    text = type_.text
    if any(word in text for word in ("float", "double", "fp80", "fp128", "half")):
        return Unmodelled("unsupported-float", "floating point")
    return Unmodelled("unsupported-type", f"a value of the type `{text}`")


def machine_sort(term: Expr) -> MachineSort:
    """Return the sort of a term that is a machine integer."""
    assert isinstance(term.sort, MachineSort), f"{term!r} is of sort {term.sort}"
    return term.sort


def unsigned(term: Expr) -> Expr:
    """Return the same bits as an unsigned number."""
    return build.wrap(term, machine(machine_sort(term).width, signed=False))


def signed(term: Expr) -> Expr:
    """Return the same bits as a signed number."""
    return build.wrap(term, machine(machine_sort(term).width, signed=True))


def truth(term: Expr) -> Expr:
    """Return whether a term is not zero."""
    return term if term.sort is BOOL else build.not_(equal(term, build.constant(0, term.sort)))


def from_bool(condition: Expr, sort: Sort, one: int = 1) -> Expr:
    """Return 1 (or `one`) if a condition holds, and otherwise 0."""
    return build.ite(condition, build.constant(one, sort), build.constant(0, sort))


def as_sort(term: Expr, sort: Sort) -> Expr:
    """Return the same bits as a term of another sort of the same width, or, to Bool, its lowest bit."""
    if term.sort is sort:
        return term
    if sort is BOOL:
        return low_bit(term)
    if term.sort is BOOL:
        return from_bool(term, sort)
    if sort is INT:
        return build.to_int(unsigned(term))
    assert isinstance(sort, MachineSort)
    return _choice_wrapped(term, sort)


def low_bit(term: Expr) -> Expr:
    """Return the lowest bit of a number, as `trunc` to `i1` does."""
    inner = _boolean_inside(term)
    if inner is not None:
        return inner
    one = build.constant(1, term.sort) if machine_sort(term).high >= 1 else build.constant(-1, term.sort)
    return build.not_(equal(build.bit_and(term, one), build.constant(0, term.sort)))


def _boolean_inside(term: Expr) -> Expr | None:
    """A number that was made from a condition: the condition."""
    if term.kind is Kind.ITE:
        condition, then, otherwise = term.args
        if then.kind is Kind.CONST and otherwise.kind is Kind.CONST:
            bits = int(then.value) & 1, int(otherwise.value) & 1
            return build.ite(condition, build.boolean(bits[0] == 1), build.boolean(bits[1] == 1))
    return None


def _choice_wrapped(term: Expr, sort: MachineSort) -> Expr:
    """A number converted to a sort; a choice of constants stays one."""
    if term.kind is Kind.ITE:
        condition, then, otherwise = term.args
        if then.kind is Kind.CONST and otherwise.kind is Kind.CONST:
            return build.ite(condition, build.wrap(then, sort), build.wrap(otherwise, sort))
    return build.wrap(term, sort)


def equal(a: Expr, b: Expr) -> Expr:
    """Return `a == b`, where one may be a choice of constants or both addresses read from memory."""
    if a.kind is Kind.CONST:
        a, b = b, a
    if b.kind is Kind.CONST and a.kind is Kind.ITE:
        condition, then, otherwise = a.args
        if then.kind is Kind.CONST and otherwise.kind is Kind.CONST:
            return build.ite(condition, build.boolean(then is b), build.boolean(otherwise is b))
    if a.kind is Kind.TO_INT:
        inner = a.args[0]
        sort = machine_sort(inner)
        if b.kind is Kind.CONST:
            if not sort.low <= int(b.value) <= sort.high:
                return build.FALSE
            return build.eq(inner, build.constant(b.value, sort))
        if b.kind is Kind.TO_INT and b.args[0].sort is sort:
            return build.eq(inner, b.args[0])
    return build.eq(a, b)


def decided(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return a choice between conditions, with `&&` and `||` where one of them is part of the other."""
    for kind, inside, around in ((Kind.OR, build.and_, build.or_), (Kind.AND, build.or_, build.and_)):
        positive = kind is Kind.OR
        for whole, part, chosen in ((then, otherwise, test), (otherwise, then, build.not_(test))):
            shared = part.args if part.kind is kind else (part,)
            if whole.kind is kind and all(p in whole.args for p in shared):
                rest = [p for p in whole.args if p not in shared]
                guard = chosen if positive else build.not_(chosen)
                return around(inside(guard, around(*rest)), part)
    return build.ite(test, then, otherwise)


# ------------------------------------------------------------------------------------ operations

_Operation = Callable[[Expr, Expr], Expr]
MODULAR: Final[dict[str, _Operation]] = {
    "add": build.add,
    "sub": build.sub,
    "mul": build.mul,
    "and": build.bit_and,
    "or": build.bit_or,
    "xor": build.bit_xor,
}
_DIVISION: Final[dict[str, _Operation]] = {
    "udiv": build.quot,
    "urem": build.rem,
    "sdiv": build.quot,
    "srem": build.rem,
}
_BOOLEAN: Final[dict[str, _Operation]] = {
    "and": build.and_,
    "or": build.or_,
    "xor": build.ne,
    "add": build.ne,
    "sub": build.ne,
    "mul": build.and_,
}
_ORDER: Final[dict[str, _Operation]] = {"lt": build.lt, "le": build.le, "gt": build.gt, "ge": build.ge}


def binary(operation: str, a: Expr, b: Expr, *, signed_hint: bool | None = None) -> Expr:
    """Return an operation on two terms of one width. `signed_hint`: whether it is signed in C."""
    if a.sort is BOOL:
        if operation not in _BOOLEAN:
            raise Unmodelled("unsupported-operation", f"the operation `{operation}` on bits")
        return _BOOLEAN[operation](a, b)
    width = machine_sort(a).width
    if operation in _DIVISION:
        sort = machine(width, signed=operation[0] == "s")
        return _DIVISION[operation](build.wrap(a, sort), build.wrap(b, sort))
    if operation in ("shl", "lshr", "ashr"):
        return _shift(operation, a, b)
    if operation == "sub" and _is_address(a) and _is_address(b):
        distance = build.sub(a.args[0], b.args[0])
        return build.wrap(distance, machine(width, signed=True))
    if signed_hint is None:
        signed_hint = _common_sign(a, b)
    sort = machine(width, signed=signed_hint)
    if operation == "xor" and b.kind is Kind.CONST and sort.wrap(int(b.value)) == sort.wrap(-1):
        return build.bit_not(build.wrap(a, sort))
    if operation == "sub" and a.kind is Kind.CONST and a.value == 0:
        return build.neg(build.wrap(b, sort))
    return MODULAR[operation](build.wrap(a, sort), build.wrap(b, sort))


def _is_address(term: Expr) -> bool:
    return term.kind is Kind.WRAP and term.args[0].sort is INT


def _common_sign(a: Expr, b: Expr) -> bool:
    """The sign of the operand that is no constant; signed if both are."""
    if a.kind is Kind.CONST:
        return machine_sort(b).signed
    if b.kind is Kind.CONST:
        return machine_sort(a).signed
    return machine_sort(a).signed and machine_sort(b).signed


def _shift(operation: str, a: Expr, b: Expr) -> Expr:
    """The amount is unsigned; what is too large stays too large, which is undefined."""
    sort = machine_sort(a)
    if operation == "lshr":
        sort = machine(sort.width, signed=False)
    elif operation == "ashr":
        sort = machine(sort.width, signed=True)
    amount = build.wrap(b, sort)
    if b.kind is Kind.CONST and not 0 <= machine(sort.width, signed=False).wrap(int(b.value)) < sort.width:
        amount = build.constant(sort.width if sort.high >= sort.width else -1, sort)
    value = build.wrap(a, sort)
    return build.shl(value, amount) if operation == "shl" else build.shr(value, amount)


def compare(predicate: str, a: Expr, b: Expr) -> Expr:
    """Return a comparison of integers or of addresses."""
    if a.sort is INT or b.sort is INT:
        a, b = as_sort(a, INT), as_sort(b, INT)
        if predicate in ("eq", "ne"):
            found = equal(a, b)
            return found if predicate == "eq" else build.not_(found)
        return _ORDER[predicate[1:]](a, b)
    if a.sort is BOOL:
        if predicate in ("eq", "ne"):
            return build.eq(a, b) if predicate == "eq" else build.ne(a, b)
        sort = machine(2, signed=True)
        one = 1 if predicate[0] == "u" else -1
        return _ORDER[predicate[1:]](from_bool(a, sort, one), from_bool(b, sort, one))
    if predicate in ("eq", "ne"):
        if a.kind is Kind.CONST:
            a = build.wrap(a, machine_sort(b))
        elif b.kind is Kind.CONST:
            b = build.wrap(b, machine_sort(a))
        elif a.sort is not b.sort:
            a, b = unsigned(a), unsigned(b)
        found = equal(a, b)
        return found if predicate == "eq" else build.not_(found)
    convert = signed if predicate[0] == "s" else unsigned
    return _ORDER[predicate[1:]](convert(a), convert(b))


def convert(operation: str, term: Expr, type_: Type) -> Expr:
    """Return a conversion between integers, or of a pointer to an integer."""
    if operation in ("bitcast", "freeze"):
        return as_sort(term, sort_of(type_)) if isinstance(type_, PointerType) else term
    if not isinstance(type_, IntegerType):
        raise no_value(type_)
    bits = type_.bits
    if operation in ("ptrtoint", "ptrtoaddr"):
        return build.wrap(term, machine(bits, signed=False))
    if operation == "trunc":
        if bits == 1:
            return low_bit(term)
        return _choice_wrapped(term, machine(bits, signed=machine_sort(term).signed))
    if operation not in ("sext", "zext"):
        raise Unmodelled("unsupported-float", "floating point")
    if term.sort is BOOL:
        return from_bool(term, machine(bits, signed=True), 1 if operation == "zext" else -1)
    if operation == "sext":
        return build.wrap(signed(term), machine(bits, signed=True))
    narrow = machine_sort(term).width < 32 and bits == 32  # integer promotion to `int`
    return build.wrap(unsigned(term), machine(bits, signed=narrow))


# ---------------------------------------------------------------------------- integers as pointers


def as_pointer(term: Expr, width: int, depth: int = 0) -> Expr | None:
    """Return the pointer that an integer was just converted from without losing bits, perhaps moved by some
    bytes; or a constant. None for any other."""
    if term.sort is BOOL:
        return None
    if term.kind is Kind.CONST:
        return build.integer(machine(width, signed=False).wrap(int(term.value)))
    if machine_sort(term).width < width or depth > 20:
        return None
    if term.kind is Kind.WRAP:
        inner = term.args[0]
        return inner if inner.sort is INT else as_pointer(inner, width, depth + 1)
    if term.kind is Kind.ITE:
        then = as_pointer(term.args[1], width, depth + 1)
        otherwise = as_pointer(term.args[2], width, depth + 1)
        return None if then is None or otherwise is None else build.ite(term.args[0], then, otherwise)
    return _moved(term, width, depth) if term.kind in (Kind.ADD, Kind.SUB) else None


def _moved(term: Expr, width: int, depth: int) -> Expr | None:
    a, b = term.args
    base, offset = as_pointer(a, width, depth + 1), b
    if (base is None or a.kind is Kind.CONST) and term.kind is Kind.ADD:
        base, offset = as_pointer(b, width, depth + 1), a
    if base is None or base.kind is Kind.CONST:
        return None
    distance = build.to_int(build.wrap(offset, machine(width, signed=True)))
    return build.add(base, distance) if term.kind is Kind.ADD else build.sub(base, distance)


# ---------------------------------------------------------------------------------------- pieces


def bits_of(term: Expr, size: int) -> Expr:
    """Return a piece's term as an unsigned integer of `size` bytes."""
    sort = machine(8 * size, signed=False)
    if term.sort is BOOL:
        return from_bool(term, sort)
    if isinstance(term.sort, MachineSort) and term.sort.width < sort.width:
        return build.wrap(unsigned(term), sort)
    return build.wrap(term, sort)


def joined(value: Pieces, start: int, size: int, unset: Callable[[int], Expr]) -> Expr:
    """Return `size` bytes of a record from `start` on as one integer; `unset` gives bytes no piece has."""
    parts = [p for p in value.parts if p.offset < start + size and start < p.offset + p.size]
    if len(parts) == 1 and (parts[0].offset, parts[0].size) == (start, size):
        term = parts[0].term
        return bits_of(term, size) if term.sort in (BOOL, INT) else term
    sort = machine(8 * size, signed=False)
    covered = [False] * size
    total = build.constant(0, sort)
    for part in parts:
        for at in range(max(part.offset, start), min(part.offset + part.size, start + size)):
            covered[at - start] = True
        total = build.bit_or(total, _placed(bits_of(part.term, part.size), part.offset - start, sort))
    at = 0
    while at < size:
        end = at
        while end < size and not covered[end]:
            end += 1
        if end > at:
            total = build.bit_or(total, _placed(unset(end - at), at, sort))
        at = end + 1
    return total


def _placed(term: Expr, offset: int, sort: MachineSort) -> Expr:
    """The bits of an unsigned term moved by `offset` bytes, which may be negative, and cut to the sort."""
    own = machine_sort(term)
    if offset < 0:
        term = build.shr(term, build.constant(-8 * offset, own))
        return build.wrap(term, sort)
    wide = build.wrap(term, sort)
    return build.shl(wide, build.constant(8 * offset, sort)) if offset else wide


def taken(value: Value, cells: Sequence[Cell], unset: Callable[[int], Expr]) -> list[Expr]:
    """Return the bytes of some cells of a value, as integers of their sizes."""
    if isinstance(value, Lanes):
        raise Unmodelled("unsupported-vector", "a vector as an argument")
    if isinstance(value, Pieces):
        return [joined(value, offset, size, unset) for offset, size in cells]
    total = max(offset + size for offset, size in cells)
    whole = bits_of(value, total)
    found = []
    for offset, size in cells:
        moved = build.shr(whole, build.constant(8 * offset, whole.sort)) if offset else whole
        found.append(build.wrap(moved, machine(8 * size, signed=False)))
    return found


def repeated(byte: Expr, size: int) -> Expr:
    """Return an integer of `size` bytes all of which are `byte`."""
    sort = machine(8 * size, signed=False)
    ones = build.constant(sum(1 << at for at in range(0, 8 * size, 8)), sort)
    return build.mul(ones, build.wrap(unsigned(byte), sort))


def terms_in(value: Value) -> tuple[Expr, ...]:
    """Return the terms that a value is made of."""
    if isinstance(value, Expr):
        return (value,)
    if isinstance(value, Pieces):
        return tuple(part.term for part in value.parts)
    return value.parts


def stored_bits(term: Expr, size: int) -> Expr:
    """Return a term as the integer of `size` bytes that a store writes."""
    if term.sort is INT:
        return build.wrap(term, machine(8 * size, signed=False))
    if isinstance(term.sort, MachineSort):
        if term.sort.width == 8 * size:
            return term
        wide = build.wrap(term, machine(term.sort.width, signed=False))
        return build.wrap(wide, machine(8 * size, signed=False))
    return from_bool(term, machine(8 * size, signed=False))
