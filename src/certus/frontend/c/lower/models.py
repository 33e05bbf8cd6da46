"""The meaning of library functions and builtins.

A model is a routine `(body, call, entry, wanted)`: it evaluates the arguments, emits steps, and returns the
result, None for `void`. `wanted` tells whether anybody uses the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, Assign, Assume, Call, Free, Store
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import characters, places, routines
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    has_pointers,
    havoc_elements,
    havoc_memory,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, from_bool, integer_sort, sort_of, truth
from certus.frontend.c.types import ArrayType, CType, PointerType, VoidType, unqualified

Model = Callable[[Body, ast.Call, Entry, bool], Steps[Any]]
_NO_LIMIT: Final = build.integer(-1)
_ALIGN: Final = 16  # of what malloc returns


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
    if "__assert_fail" in body.world.property.functions:
        body.claim(truth(condition), "assertion", node.span, body.text(node.arguments[0].span))
    else:
        body.assume(truth(condition), node.span, text)
    return any_result(body, node) if wanted else None


def _refuse(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    if False:
        yield
    name = body.text(node.function.span) or entry.name
    return body.refuse(node.span, entry.detail, f"the function `{name}`", sort_of(node.type))


def _inert(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    for argument in node.arguments:
        yield body.effect(argument)
    return any_result(body, node) if wanted else None


def _natural(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    result = yield from _inert(body, node, entry, True)
    body.assume(build.le(build.constant(0, result.sort), result), node.span, body.text(node.span))
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


# -------------------------------------------------------------------------------------- memory


def _allocate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (size, *_) = yield from arguments(body, node)
    return _new(body, build.to_int(size), node.span)


def _allocate_zero(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    count, size = yield from arguments(body, node)
    return _new(body, build.mul(build.to_int(count), build.to_int(size)), node.span, zero=True)


def _new(body: Body, size: Expr, span: Span, *, zero: bool = False) -> Expr:
    target = body.fresh(INT)
    text = body.text(span)
    body.emit(Alloc(target, size, _ALIGN, "heap", text, zero), span, text)
    return target


def _allocate_or_fail(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """The allocators of a kernel return null if they fail."""
    (size, *_) = yield from arguments(body, node)
    text, result, after = body.text(node.span), body.fresh(INT), body.draft.node()
    failed = build.eq(body.havoc(U8, node.span, text), build.constant(0, U8))
    null, new = body.draft.node(), body.draft.node()
    body.branch(failed, null, new, node.span, text, source_branch=False)
    zero = "z" in entry.name
    alloc = Alloc(result, build.to_int(size), _ALIGN, "heap", text, zero)
    body.draft.edge(null, Assign((result,), (NULL,)), after, node.span, text)
    body.draft.edge(new, alloc, after, node.span, text)
    body.at = after
    return result


def _allocate_stack(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (size, *_) = yield from arguments(body, node)
    target, text = body.fresh(INT), body.text(node.span)
    body.emit(Alloc(target, build.to_int(size), _ALIGN, "stack", text), node.span, text)
    return target


def _reallocate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """Of a null pointer it is `malloc`; how much of an old object to copy is not known."""
    old, size = yield from arguments(body, node)
    if old is not NULL:
        known, after = body.draft.node(), body.draft.node()
        body.branch(build.ne(old, NULL), known, after, node.span, body.text(node.span), source_branch=False)
        body.at = known
        body.refuse(node.span, "unsupported-realloc", "`realloc` of an object")
        body.at = after
    return _new(body, build.to_int(size), node.span)


def _release(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    (pointer, *_) = yield from arguments(body, node)
    text = body.text(node.span)
    if pointer is NULL:
        return
    release, after = body.draft.node(), body.draft.node()
    body.branch(build.ne(pointer, NULL), release, after, node.span, text, source_branch=False)
    body.draft.edge(release, Free(pointer, "heap"), after, node.span, text)
    body.at = after


def _element(body: Body, node: ast.Call, numbers: tuple[int, ...], count: Expr) -> tuple[CType, int] | None:
    """If all these arguments point to objects of one type and a constant number of bytes is a number of
    whole such objects: that type and number."""
    found: CType | None = None
    for number in numbers:
        target = pointed_to(node.arguments[number])
        if target is None:
            return None
        plain = unqualified(target)
        while isinstance(plain, ArrayType):
            plain = unqualified(plain.element)
        if isinstance(plain, VoidType) or (found is not None and plain != found):
            return None
        found = plain
    if found is None or count.kind is not Kind.CONST:
        return None
    try:
        size = body.world.layout.size(found)
    except NoSize:
        return None
    total = int(count.value)
    return (found, total // size) if size and total % size == 0 else None


def _fill(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    given = yield from arguments(body, node)
    zero = build.constant(0, U8)
    to, value, count = (given[0], zero, given[1]) if entry.name == "bzero" else given[:3]
    text, byte, count = body.text(node.span), build.wrap(value, U8), build.to_int(count)
    whole = _element(body, node, (0,), count)
    if whole is not None:
        type_ = ArrayType(*whole)
        parts = places.leaves(body.world, type_, places.UNROLLED)
        if parts is not None:
            for offset, sort in parts:
                filled = _repeated(byte, sort)
                body.emit(Store(build.add(to, build.integer(offset)), filled), node.span, text)
            return to
        width, number = places.element(body.world, type_)
    else:
        width, number = 1, None
    routine = routines.fill_routine(body.world, width)
    times = count if number is None else build.integer(number)
    sort = machine(8 * width, signed=False)
    body.emit(Call(routine, (to, _repeated(byte, sort), times), ()), node.span, text)
    return to


def _repeated(byte: Expr, sort: MachineSort) -> Expr:
    """A value all of whose bytes are `byte`."""
    wide = machine(sort.width, signed=False)
    ones = sum(1 << at for at in range(0, sort.width, 8))
    return build.wrap(build.mul(build.constant(ones, wide), build.wrap(byte, wide)), sort)


def _copy(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    to, source, count = (yield from arguments(body, node))[:3]
    numbers, text = (0, 1), body.text(node.span)
    if entry.name == "bcopy":
        to, source = source, to
    count = build.to_int(count)
    result = build.add(to, count) if entry.name == "mempcpy" else to
    whole = _element(body, node, numbers, count)
    if whole is not None:
        type_ = ArrayType(*whole)
        if places.leaves(body.world, type_, places.UNROLLED) is not None:
            places.copy_object(body, to, source, type_, node.span, text)
            return result
        width, number = places.element(body.world, type_)
        count = build.integer(number)
    else:
        width = 1
    overlap = entry.name in ("memmove", "bcopy")
    make = routines.move_routine if overlap else routines.copy_routine
    body.emit(Call(make(body.world, width), (to, source, count), ()), node.span, text)
    return result


def _compare(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    a, b, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit and entry.name != "strcmp" else _NO_LIMIT
    routine = routines.compare_routine(body.world, strings=entry.name.startswith("str"))
    result = body.fresh(integer_sort(node.type))
    body.emit(Call(routine, (a, b, count), (result,)), node.span, body.text(node.span))
    return result


def _length(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, *limit = yield from arguments(body, node)
    known = node.arguments[0]
    while isinstance(known, ast.Cast):
        known = known.operand
    if isinstance(known, ast.StringLiteral) and not limit:
        sort = integer_sort(node.type)
        return build.constant(known.data.index(0), sort)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    return build.wrap(_string_length(body, s, count, node.span), integer_sort(node.type))


def _string_length(body: Body, s: Expr, limit: Expr, span: Span) -> Expr:
    result = body.fresh(INT)
    routine = routines.length_routine(body.world)
    body.emit(Call(routine, (s, limit), (result,)), span, body.text(span))
    return result


def _copy_string(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    to, source, *limit = yield from arguments(body, node)
    text, world = body.text(node.span), body.world
    if entry.name == "strncpy":
        routine, start = routines.pad_string_routine(world), to
        count = build.to_int(limit[0])
    else:
        routine, start = routines.copy_string_routine(world), to
        count = build.to_int(limit[0]) if entry.name == "strncat" else _NO_LIMIT
        if entry.name in ("strcat", "strncat"):
            start = build.add(to, _string_length(body, to, _NO_LIMIT, node.span))
    body.emit(Call(routine, (start, source, count), ()), node.span, text)
    if entry.name == "stpcpy":
        return build.add(to, _string_length(body, to, _NO_LIMIT, node.span))
    return to


def _duplicate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    source, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    length = _string_length(body, source, count, node.span)
    made = _new(body, build.add(length, build.integer(1)), node.span)
    routine = routines.copy_string_routine(body.world)
    body.emit(Call(routine, (made, source, length), ()), node.span, body.text(node.span))
    return made


def _find(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, wanted_character, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    name = {"index": "strchr", "rindex": "strrchr"}.get(entry.name, entry.name)
    result = body.fresh(INT)
    passed = (s, build.wrap(wanted_character, U8), count)
    routine = routines.find_routine(body.world, name)
    body.emit(Call(routine, passed, (result,)), node.span, body.text(node.span))
    return result


def _span(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, characters_ = yield from arguments(body, node)
    result = body.fresh(INT)
    routine = routines.span_routine(body.world, within=entry.name == "strspn")
    body.emit(Call(routine, (s, characters_), (result,)), node.span, body.text(node.span))
    return build.wrap(result, integer_sort(node.type))


# --------------------------------------------------------------------------------------- input


def _scan(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """What the pointers behind the format point to gets any value."""
    given = yield from arguments(body, node)
    first = 1 if entry.name.endswith("_scanf") or entry.name == "scanf" else 2
    for argument, term in zip(node.arguments[first:], given[first:], strict=True):
        _written(body, argument, term)
    return any_result(body, node) if wanted else None


def _written(body: Body, argument: ast.Expression, term: Expr) -> None:
    """The object an argument points to gets any contents, if its extent is known."""
    target = pointed_to(argument)
    text = unqualified(target) if target is not None else None
    unknown = text is None or isinstance(text, VoidType) or text == _plain_char(text)
    if not unknown and target is not None and not has_pointers(body.world, target):
        havoc_memory(body, term, target, argument.span)
    else:
        body.refuse(argument.span, "unsupported-library-function", "writing to memory of unknown extent")


def _plain_char(type_: CType) -> CType | None:
    """The type itself if it is a character: then a pointer to it is likely one to a string."""
    sort = sort_of(type_)
    return type_ if isinstance(sort, MachineSort) and sort.width == 8 else None


def _input(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A number of bytes is read into memory; all of them get any value, even if fewer are read."""
    given = yield from arguments(body, node)
    text = body.text(node.span)
    if entry.name in ("read", "recv"):
        to, count = given[1], build.to_int(given[2])
    elif entry.name == "fread":
        to, count = given[0], build.mul(build.to_int(given[1]), build.to_int(given[2]))
    else:
        to, count = given[0], build.to_int(given[1])
    havoc_elements(body, to, count, 1, node.span)
    if isinstance(unqualified(node.type), VoidType):
        return None
    if entry.name == "fgets":
        failed = build.eq(body.havoc(U8, node.span, text), build.constant(0, U8))
        return build.ite(failed, NULL, to)
    return any_result(body, node) if wanted else None


def _print_string(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """The text is not computed: the buffer gets any contents."""
    given = yield from arguments(body, node)
    if entry.name.endswith("snprintf"):
        havoc_elements(body, given[0], build.to_int(given[1]), 1, node.span)
    else:
        _written(body, node.arguments[0], given[0])
    return any_result(body, node) if wanted else None


# ----------------------------------------------------------------------------- characters, bits


def _character(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (c, *_) = yield from arguments(body, node)
    return characters.classify(entry.name, c)


def _absolute(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (value, *_) = yield from arguments(body, node)
    sort = value.sort
    assert isinstance(sort, MachineSort)
    if body.world.property.kind == "no-overflow":
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


_EXACT: Final = {"add": build.add, "sub": build.sub, "mul": build.mul}


def _constant_p(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """The argument is not evaluated; saying no is always right."""
    if False:
        yield
    return build.constant(0, integer_sort(node.type))


def _object_size(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """The answers of a compiler that does not know: the greatest size, or 0 if the least is asked for."""
    kind = node.arguments[1] if len(node.arguments) > 1 else None
    if False:
        yield
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
    "clock": _clock,
    "same": _same,
    "allocate": _allocate,
    "allocate_zero": _allocate_zero,
    "allocate_or_fail": _allocate_or_fail,
    "allocate_stack": _allocate_stack,
    "reallocate": _reallocate,
    "release": _release,
    "fill": _fill,
    "copy": _copy,
    "compare": _compare,
    "length": _length,
    "copy_string": _copy_string,
    "duplicate": _duplicate,
    "find": _find,
    "span": _span,
    "scan": _scan,
    "input": _input,
    "print_string": _print_string,
    "character": _character,
    "absolute": _absolute,
    "bits": _bits,
    "checked": _checked,
    "constant_p": _constant_p,
    "object_size": _object_size,
}
