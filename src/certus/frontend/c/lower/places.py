"""Lvalues: the objects expressions denote, reading and writing them, copying whole objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Call, Load, Store
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.layout import FieldPlace, NoSize
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.routines import copy_routine, fill_routine
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import (
    NULL,
    U8,
    address_bits,
    convert,
    function_of,
    integer_sort,
    sort_of,
    to_sort,
)
from certus.frontend.c.lower.world import Home, World
from certus.frontend.c.typenames import refusal
from certus.frontend.c.types import (
    UNSIGNED_CHAR,
    ArrayType,
    CType,
    FloatType,
    IntegerType,
    OtherType,
    PointerType,
    Record,
    RecordType,
    unqualified,
)

UNROLLED: Final = 64  # objects of more scalars than this are copied and filled by loops


@dataclass(frozen=True, slots=True)
class Place:
    """An object of `type`: a program variable, or the bytes at `address`, of which `field` may take bits."""

    type: CType
    variable: Expr | None = None
    address: Expr = NULL
    field: FieldPlace | None = None


def at_address(type_: CType, address: Expr) -> Place:
    return Place(type_, None, address)


# ------------------------------------------------------------------------------ what they denote


def variable_place(body: Body, node: ast.VariableReference) -> Place:
    return place_of(node.variable.type, home_of(body, node.variable))


def place_of(type_: CType, home: Home) -> Place:
    return Place(type_, None, home.variable) if home.in_memory else Place(type_, home.variable)


def home_of(body: Body, variable: ast.Variable) -> Home:
    """Where a variable lives. One whose declaration control has not passed (a `switch` jumps over it, or its
    initialiser mentions it) is declared by its first mention."""
    if variable.storage is ast.Storage.STATIC:
        return body.world.static_home(variable)
    home = body.homes.get(variable.identity)
    return home if home is not None else declare_home(body, variable)


def declare_home(body: Body, variable: ast.Variable, *, zero: bool = False) -> Home:
    """A home for a local variable: of the present scope, if it is in memory."""
    if body.world.in_memory(variable):
        size, align = body.size_of(variable.type, variable.span), body.world.align_of(variable)
        base = body.stack_object(variable.name, size, align, variable.span, zero=zero)
        home = Home(base, in_memory=True)
        if variable.name and not variable.name.startswith("$"):
            body.world.declare(variable, home, body.scope.from_here(variable.span))
    else:
        sort = sort_of(variable.type)
        assert sort is not None
        home = Home(body.name_local(variable.name, sort), in_memory=False)
        if variable.name and not variable.name.startswith("$"):
            body.world.source_names[home.variable] = variable.name
            body.world.declare(variable, home, body.scope.from_here(variable.span))
    body.homes[variable.identity] = home
    return home


def member_place(body: Body, node: ast.Member) -> Steps[Place]:
    address = yield from _record_address(body, node.base)
    return field_place(body, node.base.type, node.field.identity, at_address(node.type, address), node.span)


def field_place(body: Body, record: CType, field: str, place: Place, span: Span) -> Place:
    """The member `field` of the record at the address of `place`, which has the member's type."""
    plain = unqualified(record)
    assert isinstance(plain, RecordType)
    type_, address = place.type, place.address
    try:
        found = body.world.layout.field_offset(plain.identity, field)
    except NoSize as reason:
        body.refuse(span, reason.code, str(reason))
        return place
    if body.world.unit.types.records[plain.identity].union and function_of(type_) is not None:
        body.world.recast[None] = None  # what one member says is a function, another may call otherwise
    moved = build.add(address, build.integer(found.offset))
    return Place(type_, None, moved, found if found.bits is not None else None)


def _record_address(body: Body, node: ast.Expression) -> Steps[Expr]:
    """The address of a record: of the object an lvalue denotes, or that holds the value."""
    place: Place = yield body.place(node)
    return place.address


def subscript_place(body: Body, node: ast.Subscript) -> Steps[Place]:
    if node.index_first:
        index, pointer = yield from body.operands((node.index, node.pointer))
    else:
        pointer, index = yield from body.operands((node.pointer, node.index))
    if pointer.sort is not INT or not isinstance(index.sort, MachineSort):
        pointer = body.refuse(node.span, "unsupported-type", "an element of a vector")
        index = build.constant(0, U8)
    return at_address(node.type, moved(pointer, index, body.extent(node.type, node.span)))


def moved(pointer: Expr, index: Expr, size: Expr) -> Expr:
    """`pointer + index` for elements of `size` bytes."""
    return build.add(pointer, build.mul(build.to_int(index), size))


def dereference_place(body: Body, node: ast.Dereference) -> Steps[Place]:
    address = yield body.value(node.pointer)
    return at_address(node.type, address)


def string_place(body: Body, node: ast.StringLiteral | ast.ChooseConstant) -> Place:
    return at_address(node.type, body.world.string(node.data, node.type, node.span))


def value_place(body: Body, node: ast.Expression) -> Steps[Place]:
    """An expression that is no lvalue but has a record (or, as in `f().a`, an array in one) for a value."""
    address = yield body.value(node)
    return at_address(node.type, address)


def comma_place(body: Body, node: ast.Comma) -> Steps[Place]:
    yield body.value(node.left)
    place: Place = yield body.place(node.right)
    return place


def cast_place(body: Body, node: ast.Cast) -> Steps[Place]:
    if node.conversion is ast.Conversion.NONE:
        inner: Place = yield body.place(node.operand)
        return Place(node.type, inner.variable, inner.address, inner.field)
    return (yield from value_place(body, node))


# ---------------------------------------------------------------------------- reading and writing


def memory_sort(world: World, type_: CType) -> MachineSort | None:
    """The sort of the bytes of a scalar."""
    plain = unqualified(type_)
    if isinstance(plain, IntegerType):
        widened = plain.exact or plain.boolean
        return machine(8 * world.layout.size(plain), signed=False) if widened else integer_sort(plain)
    return world.pointer_sort if isinstance(plain, PointerType) else None


def read(body: Body, place: Place, span: Span) -> Expr:
    """The value of an object; of an array or record, its address."""
    if place.variable is not None:
        return place.variable
    if place.field is not None:
        return _read_bits(body, place, place.field, span)
    plain = unqualified(place.type)
    sort = memory_sort(body.world, plain)
    if sort is None:
        if sort_of(plain) is INT:
            return place.address
        refused: Expr = body.refuse(span, *refusal(plain))
        return refused
    loaded = body.fresh(sort)
    body.emit(Load(loaded, place.address), span, body.text(span))
    if isinstance(plain, PointerType):
        return build.to_int(loaded)
    return build.wrap(loaded, integer_sort(plain)) if sort is not integer_sort(plain) else loaded


def write(body: Body, place: Place, term: Expr, span: Span, text: str) -> Expr:
    """Give an object a value of its type; the value it then has."""
    if place.variable is not None:
        body.assign(place.variable, term, span, text)
        return place.variable
    if place.field is not None:
        return _write_bits(body, place, place.field, term, span, text)
    plain = unqualified(place.type)
    if isinstance(plain, RecordType):
        copy_object(body, place.address, term, plain, span, text)
        return place.address
    sort = memory_sort(body.world, plain)
    if sort is None:
        refused: Expr = body.refuse(span, *refusal(plain))
        return refused
    if isinstance(plain, PointerType):
        body.emit(Store(place.address, address_bits(term, body.world.pointer_width)), span, text)
    else:
        body.emit(Store(place.address, build.wrap(term, sort)), span, text)
    return term


def _read_bits(body: Body, place: Place, field: FieldPlace, span: Span) -> Expr:
    loaded = body.fresh(_unit(field))
    body.emit(Load(loaded, place.address), span, body.text(span))
    return _bits_of(loaded, place, field)


def _unit(field: FieldPlace) -> MachineSort:
    """The sort of a bit-field's storage unit."""
    assert field.storage is not None
    return machine(field.storage.width, signed=False)


def _bits_of(unit: Expr, place: Place, field: FieldPlace) -> Expr:
    """The bits of a field in its storage unit, as a value of its type."""
    assert field.bits is not None
    sort, width = integer_sort(place.type), _unit(field).width
    wide = machine(width, signed=sort.signed)
    left = width - field.bit - field.bits
    shifted = (
        build.shl(build.wrap(unit, wide), build.constant(left, wide)) if left else build.wrap(unit, wide)
    )
    right = width - field.bits
    return to_sort(build.shr(shifted, build.constant(right, wide)) if right else shifted, sort)


def _write_bits(body: Body, place: Place, field: FieldPlace, term: Expr, span: Span, text: str) -> Expr:
    assert field.bits is not None
    unit = _unit(field)
    mask = (1 << field.bits) - 1 << field.bit
    placed = build.shl(build.wrap(term, unit), build.constant(field.bit, unit))
    if mask == (1 << unit.width) - 1:
        whole = placed
    else:
        loaded = body.fresh(unit)
        body.emit(Load(loaded, place.address), span, text)
        kept = build.bit_and(loaded, build.constant((1 << unit.width) - 1 - mask, unit))
        whole = build.bit_or(kept, build.bit_and(placed, build.constant(mask, unit)))
    body.emit(Store(place.address, whole), span, text)
    return convert(_bits_of(placed, place, field), place.type)


# -------------------------------------------------------------------------------- whole objects


def leaves(world: World, type_: CType, limit: int) -> list[tuple[int, MachineSort]] | None:
    """The scalars an object is made of, as offsets and sorts; None if there are more than `limit`.

    Of a union these are the leaves of its largest member, and the bytes that one leaves out. Padding is left
    out."""
    found: list[tuple[int, MachineSort]] = []
    stack: list[tuple[int, CType]] = [(0, type_)]
    while stack:
        offset, part = stack.pop()
        if len(found) > limit or len(stack) > limit + 1000:
            return None
        plain = unqualified(part)
        if isinstance(plain, ArrayType):
            length, size = plain.length or 0, world.layout.size(plain.element)
            if length > limit:
                return None
            stack.extend((offset + i * size, plain.element) for i in reversed(range(length)))
        elif isinstance(plain, RecordType):
            stack.extend(reversed(list(_members(world, plain, offset))))
        elif isinstance(plain, FloatType | OtherType):
            size = world.layout.size(plain)
            found.extend((offset + i, sort) for i, sort in words(size))
        else:
            sort = memory_sort(world, plain)
            if sort is not None:
                found.append((offset, sort))
    return found if len(found) <= limit else None


def all_bytes(world: World, type_: CType, limit: int) -> list[tuple[int, MachineSort]] | None:
    """The same, with the padding; at most `limit` scalars, and as many stretches of padding."""
    found = leaves(world, type_, limit)
    if found is None:
        return None
    size = world.layout.size(type_)
    covered = bytearray(size)
    for at, sort in found:
        covered[at : at + sort.width // 8] = b"\1" * (sort.width // 8)
    gaps: list[tuple[int, MachineSort]] = []
    begin = covered.find(0)
    while begin >= 0 and len(gaps) <= limit:
        end = covered.find(1, begin)
        end = size if end < 0 else end
        gaps.extend(words(end, begin))
        begin = covered.find(0, end)
    return found + gaps if len(gaps) <= limit else None


def words(size: int, at: int = 0) -> Iterator[tuple[int, MachineSort]]:
    """The stretch from `at` to `size` as aligned words."""
    while at < size:
        width = next(w for w in (8, 4, 2, 1) if at % w == 0 and at + w <= size)
        yield at, machine(8 * width, signed=False)
        at += width


def _members(world: World, type_: RecordType, offset: int) -> Iterator[tuple[int, CType]]:
    record, layout = world.unit.types.records[type_.identity], world.layout
    if record.union:
        largest = _largest(world, record)
        if largest is not None:
            yield offset, largest
            inner = leaves(world, largest, UNROLLED)
            if inner is None:
                return  # too many already
            covered = {at + i for at, sort in inner for i in range(sort.width // 8)}
            for at in range(layout.size(type_)):
                if at not in covered:  # its padding may belong to another member
                    yield offset + at, UNSIGNED_CHAR
        return
    units: set[tuple[int, int]] = set()  # units of several fields may overlap
    for member in record.fields:
        if member.bits == 0 or (member.bits is not None and not member.name):
            continue
        found = layout.field_offset(record.identity, member.identity)
        if found.bits is None:
            yield offset + found.offset, member.type
            continue
        assert found.storage is not None
        unit = (found.offset, found.storage.width)
        if unit not in units:
            units.add(unit)
            yield offset + found.offset, found.storage


def _largest(world: World, union: Record) -> CType | None:
    """The type of the largest member of a union; of a bit-field, which may be smaller than its type, that is
    its storage."""
    found: list[CType] = []
    for member in union.fields:
        if member.bits is None:
            found.append(member.type)
        elif member.name:
            storage = world.layout.field_offset(union.identity, member.identity).storage
            assert storage is not None
            found.append(storage)
    return max(found, key=world.layout.size, default=None)


def copy_object(body: Body, to: Expr, source: Expr, type_: CType, span: Span, text: str) -> None:
    """Copy a whole object, its padding too, as compilers do: all is read, then all is written (the objects
    may be one)."""
    if to is source:
        return
    parts = all_bytes(body.world, type_, UNROLLED)
    if parts is None:
        copy_bytes(body, to, source, build.integer(body.world.layout.size(type_)), 1, span, text)
    else:
        copy_parts(body, to, source, parts, span, text)


def copy_parts(
    body: Body, to: Expr, source: Expr, parts: list[tuple[int, MachineSort]], span: Span, text: str
) -> None:
    """Copy parts of an object, given by offsets and sorts."""
    loaded = []
    for offset, sort in parts:
        value = body.fresh(sort)
        body.emit(Load(value, build.add(source, build.integer(offset))), span, text)
        loaded.append(value)
    for (offset, _), value in zip(parts, loaded, strict=True):
        body.emit(Store(build.add(to, build.integer(offset)), value), span, text)


def copy_bytes(body: Body, to: Expr, source: Expr, count: Expr, width: int, span: Span, text: str) -> None:
    """Copy `count` elements of `width` bytes by a loop."""
    routine = copy_routine(body.world, width)
    body.emit(Call(routine, (to, source, count), ()), span, text)


def zero_object(body: Body, to: Expr, type_: CType, span: Span, text: str) -> None:
    """Make a whole object zero."""
    parts = leaves(body.world, type_, UNROLLED)
    if parts is not None:
        for offset, sort in parts:
            body.emit(Store(build.add(to, build.integer(offset)), build.constant(0, sort)), span, text)
        return
    width, count = element(body.world, type_)
    zero = build.constant(0, machine(8 * width, signed=False))
    body.emit(Call(fill_routine(body.world, width), (to, zero, build.integer(count)), ()), span, text)


def element(world: World, type_: CType) -> tuple[int, int]:
    """The width in bytes, and the number, of the scalars an array is made of; bytes for other objects."""
    size, plain = world.layout.size(type_), unqualified(type_)
    while isinstance(plain, ArrayType):
        plain = unqualified(plain.element)
    sort = memory_sort(world, plain)
    width = sort.width // 8 if sort is not None else U8.width // 8
    return width, size // width
