"""What calls of all kinds share: arguments, arbitrary results, memory that gets arbitrary contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Call, Store
from certus.core.sorts import INT, MachineSort, Sort
from certus.core.terms import Expr, Kind
from certus.core.vocabulary import is_input
from certus.frontend.c import ast
from certus.frontend.c.library import GENUINE_INPUTS, STANDARD, SYSTEM_HEADERS, known
from certus.frontend.c.lower import places
from certus.frontend.c.lower.body import Body, Joint
from certus.frontend.c.lower.pointers import from_integer
from certus.frontend.c.lower.routines import havoc_routine
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import U8, is_record, is_scalar, sort_of, to_sort
from certus.frontend.c.lower.world import World
from certus.frontend.c.signatures import may_be
from certus.frontend.c.types import (
    ArrayType,
    CType,
    PointerType,
    RecordType,
    VoidType,
    unqualified,
)


def arguments(body: Body, node: ast.Call) -> Steps[list[Expr]]:
    """The arguments, from left to right. A record is copied if a later argument may change it; an object that
    is passed as it is is not: the function that is called copies it, after all arguments, as in Clang."""
    found: list[Expr] = []
    joints: list[Joint] = []
    for number, argument in enumerate(node.arguments):
        if found:
            body.separate(joints)
        term: Expr = yield body.value(argument)
        later = node.arguments[number + 1 :]
        if is_record(argument.type) and not _is_object(argument) and not all(map(_is_simple, later)):
            copy = body.temporary_object(argument.type, argument.span)
            places.copy_object(body, copy, term, argument.type, argument.span, body.text(argument.span))
            term = copy
        found.append(term)
    return body.hold(found, joints)


def _is_object(node: ast.Expression) -> bool:
    return isinstance(node, ast.Cast) and node.conversion is ast.Conversion.LOAD


def _is_simple(node: ast.Expression) -> bool:
    while isinstance(node, ast.Cast | ast.AddressOf):
        node = node.operand
    return isinstance(node, ast.IntegerConstant | ast.VariableReference | ast.StringLiteral)


def evaluated(body: Body, argument: ast.Expression) -> Any:
    """A routine that evaluates an argument whose value nobody needs: reading an object is a read. Of numbers
    that are not modelled only the place is found."""
    if is_scalar(argument.type) and not _is_literal(argument):
        return body.value(argument)
    return body.effect(argument)


def without_messages(node: ast.Call) -> ast.Call:
    """A call without the string literals at the end of its arguments."""
    kept = list(node.arguments)
    while kept and _is_literal(kept[-1]):
        kept.pop()
    return replace(node, arguments=tuple(kept))


def _is_literal(node: ast.Expression) -> bool:
    while isinstance(node, ast.Cast):
        node = node.operand
    return isinstance(node, ast.StringLiteral | ast.ChooseConstant)


def fitted(body: Body, term: Expr, sort: Sort, span: Span) -> Expr:
    """An argument as the callee expects it: only calls without prototypes, or through pointers of another
    type, need a conversion."""
    if term.sort is sort:
        return term
    if isinstance(sort, MachineSort):
        return to_sort(term, sort)
    return from_integer(body, term, span)


def called_function(node: ast.Expression) -> str | None:
    """The name of the function that a called expression designates, if it is written there."""
    while not isinstance(node, ast.FunctionReference):
        if (isinstance(node, ast.Cast) and node.conversion in _TRANSPARENT) or isinstance(
            node, ast.AddressOf
        ):
            node = node.operand
        elif isinstance(node, ast.Dereference):
            node = node.pointer
        else:
            return None
    return node.name


_TRANSPARENT = (ast.Conversion.FUNCTION_DECAY, ast.Conversion.NONE)


def any_result(body: Body, node: ast.Call) -> Any:
    """Any value of the call's type."""
    plain = unqualified(node.type)
    if isinstance(plain, VoidType):
        return None
    if not isinstance(plain, RecordType) and sort_of(plain) is None:
        return body.refuse_type(node)
    function, approximates = called_function(node.function), _result_of(body, node)
    return any_value(body, plain, node.span, body.text(node.span), function, approximates)


def any_value(
    body: Body, plain: CType, span: Span, text: str, function: str | None = None, approximates: str = ""
) -> Expr:
    """Any value of a type, from outside the program."""
    if has_pointers(body.world, plain):
        body.world.foreign[plain] = None
    if isinstance(plain, RecordType):
        made = body.temporary_object(plain, span)
        havoc_memory(body, made, plain, span, approximates)
        return made
    sort = sort_of(plain)
    assert sort is not None
    return body.havoc(sort, span, text, function, approximates)


def pointed_to(node: ast.Expression) -> CType | None:
    """The type of the object that a pointer argument points to, before conversions to `void *`."""
    while isinstance(node, ast.Cast) and node.conversion in (ast.Conversion.POINTER, ast.Conversion.NONE):
        node = node.operand
    if isinstance(node, ast.Cast) and node.conversion is ast.Conversion.DECAY:
        return node.operand.type
    plain = unqualified(node.type)
    return plain.target if isinstance(plain, PointerType) else None


def _result_of(body: Body, node: ast.Call) -> str:
    """What the result of a call stands for if it is not modelled exactly."""
    name = called_function(node.function)
    return f"the result of `{name}`" if name is not None and is_approximate(body.world, name) else ""


def is_approximate(world: World, name: str) -> bool:
    """Whether "any value" is only an approximation of what a function without body does: it is known to
    the C library, or its attributes say more. Other functions of the user's own and sources of input really
    may give anything."""
    if name in GENUINE_INPUTS or is_input(name):
        return False
    function = world.unit.functions.get(name)
    if library_entry(function, name) is not None or name in STANDARD:
        return True
    return function is not None and (function.promising or of_library(function.span))


def library_entry(function: ast.Function | None, name: str) -> str | None:
    """The name under which the table of the library has a function without body, if it is that function: one
    of another type is the user's own."""
    entry = known(name)
    if entry is None or function is None or of_library(function.span):
        return entry
    return entry if may_be(entry, function.type) else None


def of_library(span: Span) -> bool:
    """Whether what is declared here is part of the C library."""
    files = (span.file, span.presumed_file or "")
    return any(part in file for part in SYSTEM_HEADERS for file in files)


def havoc_memory(body: Body, address: Expr, type_: CType, span: Span, approximates: str = "") -> None:
    """Give an object any contents."""
    parts, text = places.leaves(body.world, type_, places.UNROLLED), body.text(span)
    if parts is not None:
        for offset, sort in parts:
            value = body.havoc(sort, span, text, approximates=approximates)
            body.emit(Store(build.add(address, build.integer(offset)), value), span, text)
        return
    width, count = places.element(body.world, type_)
    havoc_elements(body, address, build.integer(count), width, span, approximates)


def havoc_elements(
    body: Body, address: Expr, count: Expr, width: int, span: Span, approximates: str = ""
) -> None:
    """Give `count` elements of `width` bytes any contents."""
    routine = havoc_routine(body.world, width, approximates)
    body.emit(Call(routine, (address, count), ()), span, body.text(span))


def havoc_some(body: Body, address: Expr, span: Span, approximates: str = "") -> None:
    """Give an unknown number of bytes from `address` on any contents."""
    text = body.text(span)
    count = body.havoc(INT, span, text, approximates=approximates)
    havoc_elements(body, address, count, 1, span, approximates)


def havoc_up_to(
    body: Body, argument: ast.Expression, address: Expr, count: Expr, span: Span, approximates: str
) -> None:
    """Give bytes any contents, at most `count` of them, from where an argument points to. An object that has
    less room than that is not filled, which is left to proofs: a counterexample cannot tell how far."""
    target = unqualified(pointed_to(argument) or VoidType())
    room = 0
    if isinstance(target, ArrayType) and target.length is not None:
        room = target.length * body.world.layout.size(target.element)
    if count.kind is Kind.CONST and int(count.value) <= room:
        havoc_elements(body, address, count, 1, span, approximates)
        return

    def part() -> None:
        fewer = body.havoc(INT, span, body.text(span), approximates=approximates)
        body.assume(build.le(fewer, count), span, body.text(span))
        havoc_elements(body, address, fewer, 1, span, approximates)

    one_of(body, span, lambda: havoc_elements(body, address, count, 1, span, approximates), part)


def one_of(body: Body, span: Span, first: Callable[[], None], second: Callable[[], None]) -> None:
    """Take the steps of one of two ways, chosen nondeterministically."""
    text, after = body.text(span), body.draft.node()
    choice = build.eq(body.havoc(U8, span, text), build.constant(0, U8))
    starts = body.draft.node(), body.draft.node()
    body.branch(choice, *starts, span, text, source_branch=False)
    for body.at, steps in zip(starts, (first, second), strict=True):
        steps()
        body.draft.skip(body.at, after)
    body.at = after
    body.wrote_anything()


def doubtful(body: Body, span: Span, why: str) -> None:
    """No counterexample gets past here."""
    marker = body.havoc(U8, span, body.text(span), approximates=why)
    body.assume(build.eq(marker, build.constant(0, U8)), span, body.text(span))


def has_pointers(world: World, type_: CType) -> bool:
    """Whether an object of the type has a pointer in it."""
    return any(isinstance(part, PointerType) for part in parts(world, type_))


def parts(world: World, type_: CType, *, beyond: bool = False) -> Iterator[CType]:
    """The type, without qualifiers, and those of its elements and members; with `beyond`, of what pointers
    among them point to, too."""
    stack, seen = [type_], set[str]()
    while stack:
        plain = unqualified(stack.pop())
        yield plain
        if isinstance(plain, PointerType) and beyond:
            stack.append(plain.target)
        elif isinstance(plain, ArrayType):
            stack.append(plain.element)
        elif isinstance(plain, RecordType) and plain.identity not in seen:
            seen.add(plain.identity)
            record = world.unit.types.records.get(plain.identity)
            stack.extend(f.type for f in record.fields) if record else None
