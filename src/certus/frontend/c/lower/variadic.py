"""Variadic functions: the arguments behind the named ones are passed in an object of the caller.

A function that starts reading them has one parameter more, the address of that object. In it each argument
begins at a multiple of the size of a pointer, or of its own alignment if that is larger, as on a stack.
A `va_list` keeps the address of the next argument: in itself where it is a pointer (ILP32), in a member where
it is an array of one record (LP64).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Store
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import places
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.places import Place
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, address_bits, is_record, sort_of
from certus.frontend.c.lower.world import World
from certus.frontend.c.types import CType, PointerType, VoidType, unqualified

MORE: Final = "$more"  # the parameter
_STARTS: Final = ("__builtin_va_start", "__builtin_c23_va_start", "va_start")
_MEMBER: Final = 8  # where in the record of a `va_list` the address is kept


def reads_more(world: World, name: str) -> bool:
    """Whether a function has the additional parameter."""
    function, survey = world.unit.functions.get(name), world.surveys.get(name)
    if function is None or survey is None or not function.type.variadic:
        return False
    return any(start in survey.functions for start in _STARTS)


def declare(body: Body, function: ast.Function) -> None:
    """The additional parameter of a function, if it has it."""
    if reads_more(body.world, function.name):
        body.more = body.name_local(MORE, INT)
        body.parameters.append(body.more)


def pack(body: Body, given: Sequence[Expr | None], types: Sequence[CType], span: Span) -> Expr:
    """An object with the arguments; its address."""
    offsets, end = _offsets(body.world, types)
    if not offsets:
        return NULL
    text = body.text(span)
    base = body.stack_object("arguments", end, 16, span)
    for offset, term, type_ in zip(offsets, given, types, strict=True):
        at = build.add(base, build.integer(offset))
        if term is None:
            continue
        if is_record(type_):
            places.copy_object(body, at, term, type_, span, text)
        else:
            bits = address_bits(term, body.world.pointer_width) if term.sort is INT else term
            body.emit(Store(at, bits), span, text)
    return base


def _offsets(world: World, types: Sequence[CType]) -> tuple[list[int], int]:
    found, end = [], 0
    for type_ in types:
        start, end = _slot(world, end, type_)
        found.append(start)
    return found, end


def _slot(world: World, at: int, type_: CType) -> tuple[int, int]:
    """Where an argument starts that comes behind `at` bytes, and where it ends."""
    word = world.pointer_width // 8
    align = max(word, world.align(type_)) if word == 8 else word
    start = -(-at // align) * align
    return start, start + -(-world.layout.size(type_) // word) * word


def _kept(body: Body, node: ast.Expression) -> Steps[Place]:
    """Where a `va_list` keeps its address."""
    plain = unqualified(node.type)
    pointer = PointerType(VoidType())
    if isinstance(plain, PointerType) and is_record(plain.target):
        address: Expr = yield body.value(node)
        return places.at_address(pointer, build.add(address, build.integer(_MEMBER)))
    while isinstance(node, ast.Cast) and node.conversion is ast.Conversion.LOAD:
        node = node.operand
    place: Place = yield body.place(node)
    if body.world.pointer_width == 32:
        return Place(pointer, place.variable, place.address)
    return places.at_address(pointer, build.add(place.address, build.integer(_MEMBER)))


def start(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    kept = yield from _kept(body, node.arguments[0])
    if body.more is None:
        body.refuse(node.span, "unsupported-varargs", "`va_start` in a function that is not variadic")
        return
    places.write(body, kept, body.more, node.span, body.text(node.span))


def copy(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    to = yield from _kept(body, node.arguments[0])
    source = yield from _kept(body, node.arguments[1])
    value = places.read(body, source, node.span)
    places.write(body, to, value, node.span, body.text(node.span))


def va_arg(body: Body, node: ast.VaArg) -> Steps[Any]:
    """The next argument; for a record, its address."""
    kept = yield from _kept(body, node.operand)
    world, text = body.world, body.text(node.span)
    plain = unqualified(node.type)
    if sort_of(plain) is None or isinstance(plain, VoidType):
        return body.refuse_type(node)
    at = places.read(body, kept, node.span)
    if kept.variable is not None:  # it is about to change
        held = body.fresh(INT)
        body.assign(held, at, node.span, text)
        at = held
    if world.align(plain) > world.pointer_width // 8 and world.pointer_width == 64:
        return body.refuse(node.span, "unsupported-varargs", "an argument of this alignment", sort_of(plain))
    _, end = _slot(world, 0, plain)
    places.write(body, kept, build.add(at, build.integer(end)), node.span, text)
    return places.read(body, places.at_address(plain, at), node.span)
