"""Terms for the values of LLVM IR.

An `i1` is a Bool term, an `iN` a term of a machine sort of N bits whose sign is only a hint for engines, a
floating-point number the unsigned term of its bits (`model.floats`), a pointer an Int term. A record in
registers, or an integer that stands for one, is a list of `Piece`s, so that the typed memory it came from
survives the calling convention. All operations are defined on bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from certus.core import build
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, Sort, machine
from certus.frontend.c.ir.types import FloatType, IntegerType, PointerType, Type

U8: Final = machine(8, signed=False)
U32: Final = machine(32, signed=False)
NULL: Final = build.integer(0)


# The floating-point types that are modelled, and their formats (`core.floats`).
FORMATS: Final = {"half": "f16", "float": "f32", "double": "f64", "x86_fp80": "x87"}

# What to do about a refusal, by its code.
HINTS: Final = {
    "unsupported-asm": "Replace the assembly by C, or remove it if the property does not depend on it.",
    "unsupported-builtin": "Write what it computes in C.",
    "unsupported-float": "Use `double`, or exclude the line by an assumption: only reachable lines count.",
    "unsupported-library-function": "Define the function in the program, or call one that is modelled.",
    "unsupported-setjmp": "Return error codes instead.",
    "unsupported-threads": "Verify the functions of each thread alone.",
    "unsupported-verifier-function": (
        "Use `__VERIFIER_assume(c)`, `assert(c)` or `x = __VERIFIER_nondet_int()` (`_uint`, `_long` ...)."
    ),
}


class Unmodelled(Exception):
    """Something that is not modelled: `code` is the code of the diagnostic, `what` a noun phrase or a
    sentence."""

    def __init__(self, code: str, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.code, self.what, self.hint = code, what, hint


class Piece(NamedTuple):
    """`size` bytes at `offset` of a record; the term is Int, Bool, or of a machine sort of that size."""

    offset: int
    size: int
    term: Expr


@dataclass(frozen=True, slots=True)
class Pieces:
    """A record, or an integer that stands for one, of `size` bytes. Bytes outside all pieces are
    undefined."""

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
    if isinstance(type_, FloatType) and type_.text in FORMATS:
        return machine(type_.bits, signed=False)
    raise no_value(type_)


def is_scalar(type_: Type) -> bool:
    """Return whether the values of a type are single terms."""
    return isinstance(type_, IntegerType | PointerType) or type_.text in FORMATS


def no_value(type_: Type) -> Unmodelled:
    """Return the reason why values of a type are refused."""
    text = type_.text
    if any(word in text for word in ("float", "double", "fp80", "fp128", "half")):
        return Unmodelled("unsupported-float", f"floating point of the type `{text}`")
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
    """Return the condition that a term is not zero."""
    return term if term.sort is BOOL else build.not_(equal(term, build.constant(0, term.sort)))


def from_bool(condition: Expr, sort: Sort, one: int = 1) -> Expr:
    """Return 1 (or `one`) if a condition holds, and otherwise 0."""
    return build.ite(condition, build.constant(one, sort), build.constant(0, sort))


def as_sort(term: Expr, sort: Sort) -> Expr:
    """Return the same bits as a term of another sort of the same width; for Bool, the lowest bit."""
    if term.sort is sort:
        return term
    if sort is BOOL:
        return low_bit(term)
    if term.sort is BOOL:
        return from_bool(term, sort)
    if sort is INT:
        return build.to_int(unsigned(term))
    assert isinstance(sort, MachineSort)
    return _wrapped(term, sort)


def low_bit(term: Expr) -> Expr:
    """Return the lowest bit of a number, as `trunc` to `i1` does."""
    one, zero = build.constant(machine_sort(term).wrap(1), term.sort), build.constant(0, term.sort)
    return _mapped(term, lambda each: build.not_(equal(build.bit_and(each, one), zero)))


def _mapped(term: Expr, operation: Callable[[Expr], Expr]) -> Expr:
    """Apply an operation to both sides of a choice between constants, and to any other term itself."""
    if term.kind is Kind.ITE and all(each.kind is Kind.CONST for each in term.args[1:]):
        condition, then, otherwise = term.args
        return build.ite(condition, operation(then), operation(otherwise))
    return operation(term)


def _wrapped(term: Expr, sort: MachineSort) -> Expr:
    """Convert a number to a sort; a choice between constants stays one."""
    return _mapped(term, lambda each: build.wrap(each, sort))


def equal(a: Expr, b: Expr) -> Expr:
    """Return `a == b`; simplify a choice between constants, and addresses read from memory."""
    if a.kind is Kind.CONST:
        a, b = b, a
    return _mapped(a, lambda each: _equal(each, b)) if b.kind is Kind.CONST else _equal(a, b)


def _equal(a: Expr, b: Expr) -> Expr:
    if a.kind is Kind.TO_INT:
        inner = a.args[0]
        sort = machine_sort(inner)
        if b.kind is Kind.CONST:
            fits = sort.low <= int(b.value) <= sort.high
            return build.eq(inner, build.constant(b.value, sort)) if fits else build.FALSE
        if b.kind is Kind.TO_INT and b.args[0].sort is sort:
            return build.eq(inner, b.args[0])
    return build.eq(a, b)


def decided(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return a choice between conditions, by `&&` and `||` where one condition is part of the other."""
    for kind, inside, around in ((Kind.OR, build.and_, build.or_), (Kind.AND, build.or_, build.and_)):
        positive = kind is Kind.OR
        for whole, part, chosen in ((then, otherwise, test), (otherwise, then, build.not_(test))):
            shared = part.args if part.kind is kind else (part,)
            if whole.kind is kind and all(p in whole.args for p in shared):
                rest = [p for p in whole.args if p not in shared]
                guard = chosen if positive else build.not_(chosen)
                return around(inside(guard, around(*rest)), part)
    return build.ite(test, then, otherwise)


def choice(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return a choice between values; `c ? (d ? a : b) : b` becomes `c && d ? a : b`, and so on."""
    otherwise = as_sort(otherwise, then.sort)
    for outer, inner, same in ((test, then, otherwise), (build.not_(test), otherwise, then)):
        if inner.kind is Kind.ITE and same in inner.args[1:]:
            condition, first, second = inner.args
            if second is same:
                return build.ite(build.and_(outer, condition), first, same)
            return build.ite(build.and_(outer, build.not_(condition)), second, same)
    return build.ite(test, then, otherwise)


# ------------------------------------------------------------------------------------ operations

_Table = dict[str, Callable[[Expr, Expr], Expr]]
MODULAR: Final[_Table] = {
    **{"and": build.bit_and, "or": build.bit_or, "xor": build.bit_xor},
    **{"add": build.add, "sub": build.sub, "mul": build.mul},
}
_BOOLEAN: Final[_Table] = {"and": build.and_, "or": build.or_, "mul": build.and_} | dict.fromkeys(
    ("xor", "add", "sub"), build.ne
)
_DIVISION: Final[_Table] = {"div": build.quot, "rem": build.rem}
_ORDER: Final[_Table] = {"lt": build.lt, "le": build.le, "gt": build.gt, "ge": build.ge}


def binary(operation: str, a: Expr, b: Expr, *, signed_hint: bool | None = None) -> Expr:
    """Return an operation on two terms of one width. `signed_hint`: whether it is signed in C."""
    if a.sort is BOOL:
        if operation not in _BOOLEAN:
            raise Unmodelled("unsupported-operation", f"the operation `{operation}` on bits")
        return _BOOLEAN[operation](a, b)
    width = machine_sort(a).width
    if operation[1:] in _DIVISION:
        sort = machine(width, signed=operation[0] == "s")
        return _DIVISION[operation[1:]](build.wrap(a, sort), build.wrap(b, sort))
    if operation in ("shl", "lshr", "ashr"):
        return _shift(operation, a, b)
    if operation == "sub" and _is_address(a) and _is_address(b):
        return build.wrap(build.sub(a.args[0], b.args[0]), machine(width, signed=True))
    sort = machine(width, signed=_common_sign(a, b) if signed_hint is None else signed_hint)
    if operation == "xor" and b.kind is Kind.CONST and sort.wrap(int(b.value)) == sort.wrap(-1):
        return build.bit_not(build.wrap(a, sort))
    if operation == "sub" and a.kind is Kind.CONST and a.value == 0:
        return build.neg(build.wrap(b, sort))
    return MODULAR[operation](build.wrap(a, sort), build.wrap(b, sort))


def _is_address(term: Expr) -> bool:
    return term.kind is Kind.WRAP and term.args[0].sort is INT


def _common_sign(a: Expr, b: Expr) -> bool:
    """Return the sign of the operand that is not constant; signed if both are constant."""
    if a.kind is Kind.CONST:
        return machine_sort(b).signed
    return machine_sort(a).signed and (b.kind is Kind.CONST or machine_sort(b).signed)


def _shift(operation: str, a: Expr, b: Expr) -> Expr:
    """Shift by an amount of the same width; a negative or excessive one is undefined."""
    sort = machine_sort(a)
    if operation != "shl":
        sort = machine(sort.width, signed=operation == "ashr")
    value, amount = build.wrap(a, sort), build.wrap(b, sort)
    return build.shl(value, amount) if operation == "shl" else build.shr(value, amount)


def compare(predicate: str, a: Expr, b: Expr) -> Expr:
    """Return a comparison of integers or of addresses."""
    if predicate == "ne":
        return build.not_(compare("eq", a, b))
    if a.sort is INT or b.sort is INT:
        a, b = as_sort(a, INT), as_sort(b, INT)
    elif a.sort is BOOL:
        if predicate == "eq":
            return build.eq(a, b)
        sort, one = machine(2, signed=True), 1 if predicate[0] == "u" else -1
        a, b = from_bool(a, sort, one), from_bool(b, sort, one)
    elif predicate == "eq":
        if a.kind is Kind.CONST:
            a = build.wrap(a, machine_sort(b))
        elif b.kind is Kind.CONST:
            b = build.wrap(b, machine_sort(a))
        elif a.sort is not b.sort:
            a, b = unsigned(a), unsigned(b)
    else:
        read = signed if predicate[0] == "s" else unsigned
        a, b = read(a), read(b)
    return equal(a, b) if predicate == "eq" else _ORDER[predicate[1:]](a, b)


def convert(operation: str, term: Expr, type_: Type) -> Expr:
    """Return a conversion between integers, or of a pointer to an integer."""
    if operation == "bitcast":
        return as_sort(term, sort_of(type_)) if isinstance(type_, PointerType | FloatType) else term
    if not isinstance(type_, IntegerType):
        raise no_value(type_)
    bits = type_.bits
    if operation in ("ptrtoint", "ptrtoaddr"):
        return build.wrap(term, machine(bits, signed=False))
    if operation == "trunc":
        if bits == 1:
            return low_bit(term)
        return _wrapped(term, machine(bits, signed=machine_sort(term).signed))
    if operation not in ("sext", "zext"):
        raise Unmodelled("unsupported-operation", f"the conversion `{operation}`")
    if term.sort is BOOL:
        return from_bool(term, machine(bits, signed=True), 1 if operation == "zext" else -1)
    if operation == "sext":
        return build.wrap(signed(term), machine(bits, signed=True))
    narrow = machine_sort(term).width < 32 and bits == 32  # integer promotion to `int`
    return build.wrap(unsigned(term), machine(bits, signed=narrow))


# ---------------------------------------------------------------------------- integers as pointers


def as_pointer(term: Expr, width: int, depth: int = 0) -> Expr | None:
    """Return the pointer that an integer was converted from without losing bits, perhaps moved by a constant,
    or a constant; None for any other term. Any other number may lead from one object to another, as
    `(uintptr_t)&a - (uintptr_t)&b` does. Only a term that is certainly an address is not wrapped."""
    if term.sort is BOOL:
        return None
    address = machine(width, signed=False)
    if term.kind is Kind.CONST:
        return build.to_int(build.wrap(unsigned(term), address))
    if machine_sort(term).width < width or depth > 20:
        return None
    if term.kind is Kind.WRAP:
        inner = term.args[0]
        if inner.sort is not INT:
            return as_pointer(inner, width, depth + 1)
        is_distance = machine_sort(term).signed and inner.kind is not Kind.VAR
        return build.to_int(build.wrap(inner, address)) if is_distance else inner
    if term.kind is Kind.ITE:
        then = as_pointer(term.args[1], width, depth + 1)
        otherwise = as_pointer(term.args[2], width, depth + 1)
        return None if then is None or otherwise is None else build.ite(term.args[0], then, otherwise)
    if term.kind not in (Kind.ADD, Kind.SUB):
        return None
    base, offset = term.args
    if base.kind is Kind.CONST and term.kind is Kind.ADD:
        base, offset = offset, base
    pointer = as_pointer(base, width, depth + 1) if offset.kind is Kind.CONST else None
    if pointer is None:
        return None
    distance = build.to_int(build.wrap(offset, machine(width, signed=True)))
    moved = build.add(pointer, distance) if term.kind is Kind.ADD else build.sub(pointer, distance)
    return build.to_int(build.wrap(moved, address))


# ---------------------------------------------------------------------------------------- pieces


def bits_of(term: Expr, size: int) -> Expr:
    """Return a term as an unsigned integer of `size` bytes."""
    sort = machine(8 * size, signed=False)
    if term.sort is BOOL:
        return from_bool(term, sort)
    if isinstance(term.sort, MachineSort) and term.sort.width < sort.width:
        term = unsigned(term)
    return build.wrap(term, sort)


def stored_bits(term: Expr, size: int) -> Expr:
    """Return a term as the integer of `size` bytes that a store writes: unchanged, if it has that width."""
    same = isinstance(term.sort, MachineSort) and term.sort.width == 8 * size
    return term if same else bits_of(term, size)


def joined(value: Pieces, start: int, size: int, unset: Callable[[int], Expr]) -> Expr:
    """Return `size` bytes of a record from `start` on as one integer; `unset` gives the bytes outside all
    pieces."""
    end = start + size
    parts = [p for p in value.parts if p.offset < end and start < p.offset + p.size]
    if len(parts) == 1 and (parts[0].offset, parts[0].size) == (start, size):
        return stored_bits(parts[0].term, size)
    sort = machine(8 * size, signed=False)
    total = build.constant(0, sort)
    for part in parts:
        total = build.bit_or(total, _placed(bits_of(part.term, part.size), part.offset - start, sort))
    at = start
    for offset, after in (*sorted((p.offset, p.offset + p.size) for p in parts), (end, end)):
        if at < offset:
            total = build.bit_or(total, _placed(unset(offset - at), at - start, sort))
        at = max(at, after)
    return total


def _placed(term: Expr, offset: int, sort: MachineSort) -> Expr:
    """Shift an unsigned term by `offset` bytes, which may be negative, and cut it to a sort."""
    if offset < 0:
        return build.wrap(build.shr(term, build.constant(-8 * offset, term.sort)), sort)
    wide = build.wrap(term, sort)
    return build.shl(wide, build.constant(8 * offset, sort)) if offset else wide


def in_pieces(value: Lanes, start: int = 0) -> Pieces:
    """Return a vector whose elements have whole bytes as a record, from an offset on."""
    parts: list[Piece] = []
    for part in value.parts:
        if not isinstance(part.sort, MachineSort) or part.sort.width % 8:
            raise Unmodelled("unsupported-vector", "a vector of this type in a record")
        size = part.sort.width // 8
        parts.append(Piece(start, size, part))
        start += size
    return Pieces(start, tuple(parts))


def taken(value: Value, cells: Sequence[Cell], unset: Callable[[int], Expr]) -> list[Expr]:
    """Return the bytes of some cells of a value, as integers of their sizes."""
    if isinstance(value, Lanes):
        value = in_pieces(value)
    if isinstance(value, Pieces):
        return [joined(value, offset, size, unset) for offset, size in cells]
    whole = bits_of(value, max(offset + size for offset, size in cells))
    parts = []
    for offset, size in cells:
        moved = build.shr(whole, build.constant(8 * offset, whole.sort)) if offset else whole
        parts.append(build.wrap(moved, machine(8 * size, signed=False)))
    return parts


def repeated(byte: Expr, size: int) -> Expr:
    """Return an integer of `size` bytes that are all `byte`."""
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
