"""`exit` and `atexit`: functions that run when the program ends, the last one registered first.

They are kept in a list of records on the heap, from a static pointer on; `exit`, and the start of the program
after `main`, run `$exit`. A function that is registered while they run is run next, as C says.
"""

from __future__ import annotations

from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, Assume, Call, Load, Store
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower.arguments import arguments, evaluated
from certus.frontend.c.lower.body import Body, IndirectCall, Rules
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import address_bits, integer_sort, sort_of
from certus.frontend.c.lower.world import World
from certus.frontend.c.types import FunctionType, VoidType
from certus.frontend.graph import Draft

EXIT: Final = "$exit"
_HANDLER: Final = FunctionType(VoidType(), ())


def registers(world: World) -> bool:
    """Whether the program may register functions."""
    return world.mentions("atexit")


def _list(world: World, span: Span) -> Expr:
    """The address of the pointer to the last record."""
    return world.library_static("atexit", bytes(world.pointer_width // 8), span, world.pointer_width)


def register(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (function,) = yield from arguments(body, node)
    world, span, text = body.world, node.span, body.text(node.span)
    word = world.pointer_width // 8
    first, made, before = _list(world, span), body.fresh(INT), body.fresh(world.pointer_sort)
    body.emit(Alloc(made, build.integer(2 * word), 16, "static", text), span, text)
    body.emit(Store(made, address_bits(function, world.pointer_width)), span, text)
    body.emit(Load(before, first), span, text)
    body.emit(Store(build.add(made, build.integer(word)), before), span, text)
    body.emit(Store(first, address_bits(made, world.pointer_width)), span, text)
    return build.constant(0, integer_sort(node.type))


def leave(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """`exit` and the like: run the functions, then the execution ends. `quick_exit` runs none of them."""
    for argument in node.arguments:
        yield evaluated(body, argument)
    if entry.name != "quick_exit":
        run_registered(body, node.span)
    body.stop()
    sort = sort_of(node.type)
    return None if sort is None else body.fresh(sort)


def fail(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    """`error`: an exit, unless the status is zero."""
    (status, *_) = yield from arguments(body, node)
    ending, after = body.draft.node(), body.draft.node()
    zero = build.eq(status, build.constant(0, status.sort))
    body.branch(zero, after, ending, node.span, body.text(node.span), source_branch=False)
    body.at = ending
    run_registered(body, node.span)
    body.stop()
    body.at = after


def run_registered(body: Body, span: Span) -> None:
    if registers(body.world):
        body.emit(Call(EXIT, (), ()), span, body.text(span))


def exit_body(world: World, rules: Rules, span: Span) -> Body:
    """The procedure that runs the functions."""
    body = Body(world, rules, EXIT, span)
    word, text = world.pointer_width // 8, "at exit"
    first = _list(world, span)
    record, function, following = (body.fresh(world.pointer_sort) for _ in range(3))
    head, inside, again = (body.draft.node() for _ in range(3))
    body.draft.skip(Draft.ENTRY, head)
    body.at = head
    body.emit(Load(record, first), span, text)
    address = build.to_int(record)
    none = build.eq(record, build.constant(0, record.sort))
    body.draft.edge(body.at, Assume(none), Draft.EXIT, span, text)
    body.draft.edge(body.at, Assume(build.not_(none)), inside, span, text)
    body.at = inside
    body.emit(Load(function, address), span, text)
    body.emit(Load(following, build.add(address, build.integer(word))), span, text)
    body.emit(Store(first, following), span, text)
    pointer = build.to_int(function)
    order = body.draft.reserve()
    world.indirect.append(
        IndirectCall(body, body.at, again, pointer, _HANDLER, (), (), None, span, text, order)
    )
    body.at = again
    body.draft.skip(body.at, head)
    return body
