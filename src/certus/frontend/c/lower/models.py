"""The meaning of library functions and builtins.

A model is a routine `(body, call, entry, wanted)`: it evaluates the arguments, emits steps, and returns the
result, None for `void`. `wanted` tells whether anybody uses the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from certus.core import build
from certus.core.program import UNSPECIFIED, Assume, Store
from certus.core.sorts import MachineSort, Sort, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import (
    atomic_models,
    characters,
    effects,
    exits,
    memory_models,
    places,
    routines,
    sort_models,
    stream_models,
    string_models,
    token_models,
    variadic,
)
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    doubtful,
    evaluated,
    pointed_to,
    without_messages,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.checks import arithmetic
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import (
    INT_SORT,
    NULL,
    address_bits,
    from_bool,
    integer_sort,
    sort_of,
    truth,
)

Model = Callable[[Body, ast.Call, Entry, bool], Any]


def _stop(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    for argument in node.arguments:
        yield evaluated(body, argument)
    body.stop()
    sort = sort_of(node.type)
    return None if sort is None else body.fresh(sort)


def _assume(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    (condition, *_) = yield from arguments(body, node)
    text = body.text(node.span)
    body.emit(Assume(truth(condition)), node.span, text)


def _assert(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """`assert` as a function: without the header, or of another tool."""
    start = body.at
    (condition, *_) = yield from arguments(body, without_messages(node))
    text = body.text(node.span)
    if "__assert_fail" in body.world.errors.functions:
        claimed = body.text(node.arguments[0].span)
        body.claim(truth(condition), "assertion", node.span, claimed, start=start)
    else:
        body.assume(truth(condition), node.span, text)
    return any_result(body, node) if wanted else None


def _refuse(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Any:
    return body.refuse(node.span, entry.detail, f"the function `{entry.name}`", sort_of(node.type))


def _inert(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    for argument in node.arguments:
        yield evaluated(body, argument)
    return any_result(body, node) if wanted else None


def _buffer(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A stream may write into the buffer it is given from now on; into one of its own, nobody sees it."""
    given = yield from arguments(body, node)
    if len(given) > 1 and given[1] is not NULL:
        body.refuse(
            node.span, "unsupported-library-function", f"a buffer that the program gives to `{entry.name}`"
        )
    return any_result(body, node) if wanted else None


def _interrupt(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A signal may end the program, and who waits for one may wait for ever."""
    result = yield from _inert(body, node, entry, wanted)
    doubtful(body, node.span, f"what follows on `{entry.name}`")
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


def _character(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """Classes are told by numbers that are not zero; C leaves open by which."""
    (c, *_) = yield from arguments(body, node)
    if body.world.mentions("setlocale"):  # which letters there are depends on it
        return any_result(body, node)
    found = characters.classify(entry.name, c)
    zero = build.constant(0, found.sort)
    if entry.name.startswith("to") or found is zero:
        return found
    more = body.havoc(routines.OPEN, node.span, body.text(node.span), UNSPECIFIED)
    other = build.add(build.constant(1, found.sort), build.wrap(more, integer_sort(node.type)))
    return build.ite(build.ne(found, zero), other, zero)


def _absolute(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (value, *_) = yield from arguments(body, node)
    sort = value.sort
    assert isinstance(sort, MachineSort)
    if body.world.errors.kind == "no-overflow":
        claim = build.ne(value, build.constant(sort.low, sort))
        body.claim(claim, "overflow", node.span, f"{body.text(node.span)} does not overflow")
    return build.ite(build.lt(value, build.constant(0, sort)), build.neg(value), value)


def _character_table(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Any:
    """glibc's tables: the result points to a pointer to the entry of character 0."""
    if body.world.mentions("setlocale"):
        return body.refuse(node.span, "unsupported-library-function", "a table of characters of any locale")
    world, text = body.world, body.text(node.span)
    data, width = characters.table(entry.name)
    table = world.library_static(f"{entry.name}$table", data, node.span, width)
    word = world.pointer_width
    pointer = world.library_static(entry.name, bytes(word // 8), node.span, word)
    zero = build.add(table, build.integer(-characters.TABLE.start * width // 8))
    body.emit(Store(pointer, address_bits(zero, word)), node.span, text)
    return pointer


def _error_number(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Expr:
    """`errno`: any function of the library may have written it since it was looked at last."""
    place = body.world.library_static("errno", bytes(4), node.span, 32)
    value = body.havoc(INT_SORT, node.span, body.text(node.span), approximates="the value of `errno`")
    body.emit(Store(place, value), node.span, body.text(node.span))
    return place


def _bits(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """Of 0 there is no first bit: then the result is the second argument, if there is one, or anything."""
    value, *other = yield from arguments(body, node)
    name, result = entry.name, integer_sort(node.type)
    name = name.rstrip("lg")
    if name in ("clzs", "ctzs"):
        name = name.removesuffix("s")
    found = characters.count_bits(name, value, result)
    if name not in ("clz", "ctz"):
        return found
    zero = build.eq(value, build.constant(0, value.sort))
    if zero is build.FALSE:
        return found
    if other:
        instead = build.wrap(other[0], result)
    else:
        what = f"the result of `__builtin_{entry.name}` for 0, which is undefined"
        instead = body.havoc(result, node.span, body.text(node.span), approximates=what)
    return build.ite(zero, instead, found)


def _rotate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    value, amount = yield from arguments(body, node)
    return characters.rotated(value, amount, left="left" in entry.name)


def _divide(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`div(a, b)`: a record of quotient and remainder."""
    a, b = yield from arguments(body, node)
    made, text = body.temporary_object(node.type, node.span), body.text(node.span)
    sort = a.sort
    assert isinstance(sort, MachineSort)
    for number, operator in enumerate("/%"):
        value = arithmetic(body, operator, a, b, node.span)
        at = build.add(made, build.integer(number * sort.width // 8))
        body.emit(Store(at, value), node.span, text)
    return made


def _checked(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`__builtin_add_overflow(a, b, &result)`: whether the exact result does not fit."""
    a, b, to = yield from arguments(body, node)
    target = pointed_to(node.arguments[2])
    assert target is not None
    sort = integer_sort(target)
    exact, result = _exact(entry.name, a, b, sort)
    overflows = build.ne(build.wrap(result, _wide(exact)), exact)
    places.write(body, places.at_address(target, to), result, node.span, body.text(node.span))
    return from_bool(overflows, integer_sort(node.type))


def _exact(name: str, a: Expr, b: Expr, sort: Sort) -> tuple[Expr, Expr]:
    """The exact result of an operation, and what of it fits the sort."""
    assert isinstance(sort, MachineSort)
    operation = next(f for part, f in _EXACT.items() if part in name)
    widest = max(sort.width, *(s.width for s in (a.sort, b.sort) if isinstance(s, MachineSort)))
    wide = machine(2 * widest + 2, signed=True)
    exact = operation(build.wrap(a, wide), build.wrap(b, wide))
    return exact, build.wrap(exact, sort)


def _wide(exact: Expr) -> MachineSort:
    assert isinstance(exact.sort, MachineSort)
    return exact.sort


_EXACT: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "add": build.add,
    "sub": build.sub,
    "mul": build.mul,
}


def _signal(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Any:
    """Signals that are ignored, or end the program, are as if there were none; handlers are not modelled."""
    handler = node.arguments[-1]
    while isinstance(handler, ast.Cast):
        handler = handler.operand
    if isinstance(handler, ast.IntegerConstant):
        return _inert(body, node, entry, wanted)
    return body.refuse(node.span, "unsupported-library-function", f"the function `{entry.name}`")


def _constant_p(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Expr:
    """The argument is not evaluated. Of what is no constant by itself an optimising compiler may know that it
    has one value; others do not look."""
    known = body.havoc(machine(1, signed=False), node.span, body.text(node.span), UNSPECIFIED)
    return build.wrap(known, integer_sort(node.type))


def _object_size(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Expr:
    """What a compiler knows of the size of the object."""
    what = f"the result of `__builtin_{entry.name}`, which depends on the compiler"
    return body.havoc(integer_sort(node.type), node.span, body.text(node.span), approximates=what)


MODELS: Final[Mapping[str, Model]] = {
    "stop": _stop,
    "assume": _assume,
    "assert": _assert,
    "refuse": _refuse,
    "inert": _inert,
    "buffer": _buffer,
    "interrupt": _interrupt,
    "natural": stream_models.natural,
    "seed": stream_models.seed,
    "character_input": stream_models.character,
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
    "scan": stream_models.scan,
    "input": stream_models.block,
    "output": stream_models.output,
    "print_string": stream_models.print_string,
    "search": token_models.search,
    "token": token_models.token,
    "effects": effects.effects,
    "sort": sort_models.sort,
    "search_sorted": sort_models.search_sorted,
    "exit": exits.leave,
    "fail": exits.fail,
    "at_exit": exits.register,
    "signal": _signal,
    "error_number": _error_number,
    "allocate_aligned": memory_models.allocate_aligned,
    "allocate_into": memory_models.allocate_into,
    "atomic": atomic_models.atomic,
    "arguments_start": variadic.start,
    "arguments_copy": variadic.copy,
    "character_table": _character_table,
    "rotate": _rotate,
    "divide": _divide,
    "character": _character,
    "absolute": _absolute,
    "bits": _bits,
    "checked": _checked,
    "constant_p": _constant_p,
    "object_size": _object_size,
}
