"""Initialisers: a list gives every scalar of an object its value, in order; what it leaves out is zero."""

from __future__ import annotations

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Store
from certus.core.sorts import machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.padding import leave_open, leave_rest_open
from certus.frontend.c.lower.places import Place, at_address, field_place, write, zero_object
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.types import ArrayType, CType, RecordType, unqualified


def initialise(
    body: Body,
    place: Place,
    node: ast.Expression,
    span: Span,
    *,
    zeroed: bool = False,
    local: str | None = None,
) -> Steps[None]:
    """Give a new object its first value. `zeroed`: all its bytes are zero already. `local`: what an
    object is called that is not static, so that bytes of unions and bits between bit-fields may get no
    value; None if it is."""
    plain = unqualified(place.type)
    text = body.text(span)
    if isinstance(plain, ArrayType):
        yield from _array(body, place, plain, node, span, zeroed, local)
    elif isinstance(plain, RecordType) and isinstance(node, ast.InitialiserList):
        yield from _record(body, place, plain, node, span, zeroed, local)
    elif isinstance(node, ast.ZeroInitialiser):
        if not zeroed or place.variable is not None:
            if isinstance(plain, RecordType):
                zero_object(body, place.address, plain, span, text)
            else:
                write(body, place, (yield body.value(node)), span, text)
    else:
        if isinstance(plain, RecordType) and isinstance(node, ast.Call):
            body.destination = place.address  # nobody else knows the new object yet
        term: Expr = yield body.value(node)
        constant_zero = term is build.constant(0, term.sort) if term is not None else False
        if not (zeroed and constant_zero and place.variable is None):
            write(body, place, term, span, text)


def _array(
    body: Body,
    place: Place,
    type_: ArrayType,
    node: ast.Expression,
    span: Span,
    zeroed: bool,
    local: str | None,
) -> Steps[None]:
    text = body.text(span)
    if isinstance(node, ast.StringLiteral | ast.ChooseConstant):
        store_bytes(body, place.address, node.data, type_, span, text, zeroed)
        return
    if isinstance(node, ast.CompoundLiteral):
        node = node.initialiser
    if not isinstance(node, ast.InitialiserList):
        if not isinstance(node, ast.ZeroInitialiser):
            body.refuse(node.span, "unsupported-initialiser", "this initialiser of an array")
        elif not zeroed:
            zero_object(body, place.address, type_, span, text)
        return
    if len(node.items) == 1 and isinstance(node.items[0], ast.StringLiteral) and _is_character(type_.element):
        store_bytes(body, place.address, node.items[0].data, type_, span, text, zeroed)
        return
    size, length = body.size_of(type_.element, span), type_.length or len(node.items)
    filled = node.filler is None or isinstance(node.filler, ast.ZeroInitialiser)
    if not zeroed and filled and length > 4 * (len(node.items) + 1):  # mostly zero: all of it, then the rest
        zero_object(body, place.address, ArrayType(type_.element, length), span, text)
        zeroed = True
    for number in range(length):
        if number >= len(node.items) and zeroed and filled:
            break
        item: ast.Expression | None = node.items[number] if number < len(node.items) else node.filler
        if item is None:
            item = ast.ZeroInitialiser(type_.element, span)
        inner = at_address(type_.element, build.add(place.address, build.integer(number * size)))
        yield initialise(body, inner, item, item.span, zeroed=zeroed, local=local)


def _is_character(type_: CType) -> bool:
    return not isinstance(unqualified(type_), ArrayType | RecordType)


def _record(
    body: Body,
    place: Place,
    type_: RecordType,
    node: ast.InitialiserList,
    span: Span,
    zeroed: bool,
    local: str | None,
) -> Steps[None]:
    record = body.world.unit.types.records[type_.identity]
    fields = [f for f in record.fields if f.bits is None or f.name]
    if record.union:
        chosen = node.field or (fields[0] if fields else None)
        if not zeroed:
            zero_object(body, place.address, type_, span, body.text(span))
        if chosen is not None and node.items:
            if local is not None:
                leave_rest_open(body, place.address, type_, chosen, local, span)
            inner = at_address(chosen.type, place.address)
            inner = field_place(body, type_, chosen.identity, inner, span)
            yield initialise(body, inner, node.items[0], span, zeroed=True, local=local)
        return
    if not zeroed and any(f.bits is not None for f in fields):
        zero_object(body, place.address, type_, span, body.text(span))  # also the bits between fields
        zeroed = True
        if local is not None:
            leave_open(body, place.address, type_, local, span)
    for number, field in enumerate(fields):
        given = number < len(node.items)
        item = node.items[number] if given else ast.ZeroInitialiser(field.type, span)
        plain = unqualified(field.type)
        if isinstance(plain, ArrayType) and plain.length is None and not given:
            continue
        inner = field_place(body, type_, field.identity, at_address(field.type, place.address), span)
        yield initialise(body, inner, item, item.span, zeroed=zeroed, local=local)


def store_bytes(
    body: Body, address: Expr, data: bytes, type_: CType, span: Span, text: str, zeroed: bool
) -> None:
    """The characters of a string literal, and zeros up to the end of the array."""
    plain = unqualified(type_)
    assert isinstance(plain, ArrayType)
    width = body.size_of(plain.element, span)
    length = plain.length if plain.length is not None else len(data) // width
    sort = machine(8 * width, signed=False)
    if not zeroed and length > 4 * (len(data) // width + 1):
        zero_object(body, address, ArrayType(plain.element, length), span, text)
        zeroed = True
    for number in range(length):
        part = data[number * width : (number + 1) * width]
        value = int.from_bytes(part, "little")
        if value or not zeroed:
            place = build.add(address, build.integer(number * width))
            body.emit(Store(place, build.constant(value, sort)), span, text)
        elif number * width >= len(data):
            break
