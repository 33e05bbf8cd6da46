"""The meaning of library functions and builtins.

A model is a routine `(body, call, entry, wanted)`: it evaluates the arguments, emits steps, and returns the
result, None for `void`. `wanted` tells whether anybody uses the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from certus.core import build
from certus.core.program import Assume, Store
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import characters, memory_models, places, string_models
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, from_bool, integer_sort, sort_of, truth

Model = Callable[[Body, ast.Call, Entry, bool], Any]


def _stop(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    for argument in node.arguments:
        yield body.effect(argument)
    body.stop()
    sort = sort_of(node.type)
    return None if sort is None else body.fresh(sort)


def _assume(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    (condition, *_) = yield from arguments(body, node)
    text = body.text(node.span)
    body.emit(Assume(truth(condition)), node.span, text)


def _assert(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """`assert` as a function: without the header, or of another tool."""
    (condition, *_) = yield from arguments(body, node)
    text = body.text(node.span)
    if "__assert_fail" in body.world.errors.functions:
        body.claim(truth(condition), "assertion", node.span, body.text(node.arguments[0].span))
    else:
        body.assume(truth(condition), node.span, text)
    return any_result(body, node) if wanted else None


def _refuse(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Any:
    return body.refuse(node.span, entry.detail, f"the function `{entry.name}`", sort_of(node.type))


def _inert(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    for argument in node.arguments:
        yield body.effect(argument)
    return any_result(body, node) if wanted else None


def _natural(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    result = yield from _inert(body, node, entry, True)
    body.assume(build.le(build.constant(0, result.sort), result), node.span, body.text(node.span))
    return result


def _character_input(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A character, or -1 at the end of the input."""
    result = yield from _inert(body, node, entry, True)
    low, high = build.constant(-1, result.sort), build.constant(255, result.sort)
    in_range = build.and_(build.le(low, result), build.le(result, high))
    body.assume(in_range, node.span, body.text(node.span))
    return result


def _clock(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """`time(&t)`: the result is also stored."""
    (pointer, *_) = yield from arguments(body, node)
    result = any_result(body, node)
    if pointer is not NULL:
        text = body.text(node.span)
        after, store = body.draft.node(), body.draft.node()
        body.branch(build.ne(pointer, NULL), store, after, node.span, text, source_branch=False)
        body.draft.edge(store, Store(pointer, result), after, node.span, text)
        body.wrote_anything()
        body.at = after
    return result


def _same(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (value, *_) = yield from arguments(body, node)
    return value


# ----------------------------------------------------------------------------- characters, bits


def _character(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (c, *_) = yield from arguments(body, node)
    return characters.classify(entry.name, c)


def _absolute(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (value, *_) = yield from arguments(body, node)
    sort = value.sort
    assert isinstance(sort, MachineSort)
    if body.world.errors.kind == "no-overflow":
        claim = build.ne(value, build.constant(sort.low, sort))
        body.claim(claim, "overflow", node.span, f"{body.text(node.span)} does not overflow")
    return build.ite(build.lt(value, build.constant(0, sort)), build.neg(value), value)


def _bits(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (value, *_) = yield from arguments(body, node)
    return characters.count_bits(entry.name.rstrip("l"), value, integer_sort(node.type))


def _checked(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`__builtin_add_overflow(a, b, &result)`: whether the exact result does not fit."""
    a, b, to = yield from arguments(body, node)
    target = pointed_to(node.arguments[2])
    assert target is not None
    sort = integer_sort(target)
    operation = next(f for name, f in _EXACT.items() if name in entry.name)
    widest = max(sort.width, *(s.width for s in (a.sort, b.sort) if isinstance(s, MachineSort)))
    wide = machine(2 * widest + 2, signed=True)
    exact = operation(build.wrap(a, wide), build.wrap(b, wide))
    result = build.wrap(exact, sort)
    overflows = build.ne(build.wrap(result, wide), exact)
    places.write(body, places.at_address(target, to), result, node.span, body.text(node.span))
    return from_bool(overflows, integer_sort(node.type))


_EXACT: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "add": build.add,
    "sub": build.sub,
    "mul": build.mul,
}


def _constant_p(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Expr:
    """The argument is not evaluated; saying no is always right."""
    return build.constant(0, integer_sort(node.type))


def _object_size(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Expr:
    """The answers of a compiler that does not know: the greatest size, or 0 if the least is asked for."""
    kind = node.arguments[1] if len(node.arguments) > 1 else None
    while isinstance(kind, ast.Cast):
        kind = kind.operand
    sort = integer_sort(node.type)
    least = isinstance(kind, ast.IntegerConstant) and kind.value >= 2
    return build.constant(0 if least else sort.high, sort)


MODELS: Final[Mapping[str, Model]] = {
    "stop": _stop,
    "assume": _assume,
    "assert": _assert,
    "refuse": _refuse,
    "inert": _inert,
    "natural": _natural,
    "character_input": _character_input,
    "clock": _clock,
    "same": _same,
    "allocate": memory_models.allocate,
    "allocate_zero": memory_models.allocate_zero,
    "allocate_or_fail": memory_models.allocate_or_fail,
    "allocate_stack": memory_models.allocate_stack,
    "reallocate": memory_models.reallocate,
    "release": memory_models.release,
    "fill": memory_models.fill,
    "copy": memory_models.copy,
    "compare": string_models.compare,
    "length": string_models.length,
    "copy_string": string_models.copy_string,
    "duplicate": string_models.duplicate,
    "find": string_models.find,
    "span": string_models.span_length,
    "scan": string_models.scan,
    "input": string_models.read_input,
    "print_string": string_models.print_string,
    "character": _character,
    "absolute": _absolute,
    "bits": _bits,
    "checked": _checked,
    "constant_p": _constant_p,
    "object_size": _object_size,
}
