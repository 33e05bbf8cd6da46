"""Terms for C values.

An integer is a term of its type's machine sort, a pointer an Int term, a record the Int address of an object
that holds it. Conditions are Bool terms: `truth` and `from_bool` lead there and back, and undo each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from certus.core import build
from certus.core.sorts import INT, MachineSort, Sort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.types import (
    ArrayType,
    CType,
    FunctionType,
    IntegerType,
    PointerType,
    RecordType,
    VariableArrayType,
    unqualified,
)

U8 = machine(8, signed=False)
INT_SORT = machine(32, signed=True)
NULL = build.integer(0)


def is_pointer(type_: CType) -> bool:
    return isinstance(unqualified(type_), PointerType)


def is_record(type_: CType) -> bool:
    return isinstance(unqualified(type_), RecordType)


def is_scalar(type_: CType) -> bool:
    """Whether a variable can hold the value: integers and pointers."""
    return isinstance(unqualified(type_), IntegerType | PointerType)


def is_boolean(type_: CType) -> bool:
    plain = unqualified(type_)
    return isinstance(plain, IntegerType) and plain.boolean


def integer_sort(type_: CType) -> MachineSort:
    """The sort of the values of an integer type: of `_Bool`, which has two, it is narrower than in memory."""
    plain = unqualified(type_)
    assert isinstance(plain, IntegerType), plain
    return machine(1 if plain.boolean else plain.width, signed=plain.signed)


def sort_of(type_: CType) -> Sort | None:
    """The sort of the values of a type, or None if it has no values we model."""
    plain = unqualified(type_)
    if isinstance(plain, IntegerType):
        return integer_sort(plain)
    if isinstance(plain, PointerType | RecordType | ArrayType | VariableArrayType | FunctionType):
        return INT
    return None


def are_addresses(variables: Iterable[Expr], width: int) -> Expr:
    """Whether all that are pointers, which nobody has set, fit into pointers."""
    low, high = build.integer(0), build.integer(1 << width)
    pointers = [v for v in variables if v.sort is INT]
    return build.and_(*(build.and_(build.le(low, v), build.lt(v, high)) for v in pointers))


def from_bool(condition: Expr, sort: Sort) -> Expr:
    return build.ite(condition, build.constant(1, sort), build.constant(0, sort))


def truth(term: Expr) -> Expr:
    """Whether a value is not zero."""
    return build.not_(equal(term, build.constant(0, term.sort)))


def equal(a: Expr, b: Expr) -> Expr:
    """`a == b`, where one may be a choice of constants or both addresses read from memory."""
    if a.kind is Kind.CONST:
        a, b = b, a
    if b.kind is Kind.CONST and a.kind is Kind.ITE:
        condition, then, otherwise = a.args
        if then.kind is Kind.CONST and otherwise.kind is Kind.CONST:
            return build.ite(condition, build.boolean(then is b), build.boolean(otherwise is b))
    if a.kind is Kind.TO_INT:
        inner = a.args[0]
        assert isinstance(inner.sort, MachineSort)
        if b.kind is Kind.CONST:
            if not inner.sort.low <= int(b.value) <= inner.sort.high:
                return build.FALSE
            return build.eq(inner, build.constant(b.value, inner.sort))
        if b.kind is Kind.TO_INT and b.args[0].sort is inner.sort:
            return build.eq(inner, b.args[0])
    return build.eq(a, b)


def to_sort(term: Expr, sort: MachineSort) -> Expr:
    """An integer converted to `sort`; choices of constants stay choices of constants."""
    if term.kind is Kind.ITE:
        condition, then, otherwise = term.args
        if then.kind is Kind.CONST and otherwise.kind is Kind.CONST:
            return build.ite(condition, build.wrap(then, sort), build.wrap(otherwise, sort))
    return build.wrap(term, sort)


def convert(term: Expr, type_: CType) -> Expr:
    """An integer (or, to `_Bool`, a pointer) converted to an integer type."""
    sort = integer_sort(type_)
    return from_bool(truth(term), sort) if is_boolean(type_) else to_sort(term, sort)


def as_pointer(term: Expr, width: int, known: Mapping[Expr, Expr], depth: int = 0) -> Expr | None:
    """An integer turned back into a pointer: a constant, or a pointer that was just turned into an integer
    without losing bits, perhaps kept in a variable (of which `known` tells) and moved by a number of bytes.
    None for any other."""
    sort = term.sort
    assert isinstance(sort, MachineSort)
    if term.kind is Kind.CONST:
        return build.integer(machine(width, signed=False).wrap(int(term.value)))
    if sort.width < width or depth > _DEPTH:
        return None
    if term.kind is Kind.VAR:
        return known.get(term)
    if term.kind is Kind.WRAP:
        inner = term.args[0]
        return inner if inner.sort is INT else as_pointer(inner, width, known, depth + 1)
    if term.kind is Kind.ITE:
        then = as_pointer(term.args[1], width, known, depth + 1)
        otherwise = as_pointer(term.args[2], width, known, depth + 1)
        return (
            build.ite(term.args[0], then, otherwise) if then is not None and otherwise is not None else None
        )
    if term.kind in (Kind.ADD, Kind.SUB):
        return _moved(term, width, known, depth)
    return None


_DEPTH = 20


def _moved(term: Expr, width: int, known: Mapping[Expr, Expr], depth: int) -> Expr | None:
    """A pointer as integer plus or minus an integer of at most its width."""
    a, b = term.args
    signed = machine(width, signed=True)
    base, offset = as_pointer(a, width, known, depth + 1), b
    if (base is None or a.kind is Kind.CONST) and term.kind is Kind.ADD:
        base, offset = as_pointer(b, width, known, depth + 1), a
    if base is None or base.kind is Kind.CONST:
        return None
    distance = build.to_int(build.wrap(offset, signed))
    return build.add(base, distance) if term.kind is Kind.ADD else build.sub(base, distance)


def address_bits(pointer: Expr, width: int) -> Expr:
    """A pointer as the bits stored in memory."""
    return build.wrap(pointer, machine(width, signed=False))


def way_of_passing(type_: CType) -> tuple[str, object]:
    """How a value of the type is passed: functions whose parameters are passed alike can stand for one
    another."""
    plain = unqualified(type_)
    if isinstance(plain, IntegerType):
        return "integer", plain.width
    if isinstance(plain, RecordType):
        return "record", plain.identity
    return type(plain).__name__, None


def function_of(type_: CType) -> FunctionType | None:
    """The type of the function that a pointer of the type points to."""
    plain = unqualified(type_)
    target = unqualified(plain.target) if isinstance(plain, PointerType) else None
    return target if isinstance(target, FunctionType) else None
