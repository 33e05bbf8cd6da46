"""Models of library functions that allocate, fill and copy memory."""

from __future__ import annotations

from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, Assign, Call, Free, Store
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import places, routines
from certus.frontend.c.lower.arguments import arguments, pointed_to
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, address_bits, integer_sort
from certus.frontend.c.types import ArrayType, CType, VoidType, unqualified

_ALIGN: Final = 16  # of what malloc returns
_PAGE: Final = 4096
_PAGED: Final = frozenset({"valloc", "vmalloc", "vzalloc"})  # return whole pages


def allocate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    (size, *_) = yield from arguments(body, node)
    return new_object(body, build.to_int(size), node.span, align=_usual(entry))


def _usual(entry: Entry) -> int:
    """The alignment of objects from a function that is not asked for any."""
    return _PAGE if entry.name in _PAGED else _ALIGN


def allocate_aligned(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`aligned_alloc(align, size)`."""
    align, size = yield from arguments(body, node)
    return new_object(body, build.to_int(size), node.span, align=_alignment(body, node, entry, align, 1))


def allocate_into(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`posix_memalign(&pointer, align, size)`."""
    to, term, size = yield from arguments(body, node)
    align = _alignment(body, node, entry, term, body.world.pointer_width // 8)
    made = new_object(body, build.to_int(size), node.span, align=align)
    bits = address_bits(made, body.world.pointer_width)
    body.emit(Store(to, bits), node.span, body.text(node.span))
    return build.constant(0, integer_sort(node.type))


def _alignment(body: Body, node: ast.Call, entry: Entry, term: Expr, least: int) -> int:
    """The alignment that is asked for, which must be a constant power of two: of others it depends on the
    library whether there is an object. All are aligned by what `malloc` does anyway."""
    wanted = int(term.value) if term.kind is Kind.CONST else 0
    if wanted.bit_count() != 1 or wanted < least:
        what = f"`{entry.name}` with an alignment that is no constant, or not allowed,"
        body.refuse(node.span, "unsupported-library-function", what)
    return max(wanted, _ALIGN)


def allocate_zero(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    count, size = yield from arguments(body, node)
    return new_object(body, build.mul(build.to_int(count), build.to_int(size)), node.span, zero=True)


def new_object(body: Body, size: Expr, span: Span, *, zero: bool = False, align: int = _ALIGN) -> Expr:
    target = body.fresh(INT)
    text = body.text(span)
    body.emit(Alloc(target, size, align, "heap", text, zero), span, text)
    sizes = body.world.sizes
    if sizes is not None:
        sort = body.world.pointer_sort
        noted = build.store(sizes, build.wrap(target, sort), build.wrap(size, sort))
        body.emit(Assign((sizes,), (noted,)), span, f"the size of {text}")
    return target


def allocate_or_fail(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """The allocators of a kernel return null if they fail."""
    (size, *_) = yield from arguments(body, node)
    text, result, after = body.text(node.span), body.fresh(INT), body.draft.node()
    failed = build.eq(body.havoc(U8, node.span, text), build.constant(0, U8))
    null, new = body.draft.node(), body.draft.node()
    body.branch(failed, null, new, node.span, text, source_branch=False)
    zero = "z" in entry.name
    alloc = Alloc(result, build.to_int(size), _usual(entry), "heap", text, zero)
    body.draft.edge(null, Assign((result,), (NULL,)), after, node.span, text)
    body.draft.edge(new, alloc, after, node.span, text)
    body.at = after
    return result


def allocate_stack(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`alloca(size)`, `__builtin_alloca_with_align(size, bits)`."""
    size, *bits = yield from arguments(body, node)
    align = max((int(term.value) // 8 for term in bits), default=_ALIGN)
    target, text = body.fresh(INT), body.text(node.span)
    body.emit(Alloc(target, build.to_int(size), max(align, _ALIGN), "stack", text), node.span, text)
    return target


def reallocate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """A new object with what fits of the old one, whose size was noted when it was made."""
    old, size = yield from arguments(body, node)
    text, new_size = body.text(node.span), build.to_int(size)
    made = new_object(body, new_size, node.span)
    sizes = body.world.sizes
    result = _or_none(body, node, made, new_size)
    if old is NULL or sizes is None:
        return result
    move, release_, after = (body.draft.node() for _ in range(3))
    body.branch(build.ne(old, NULL), move, after, node.span, text, source_branch=False)
    old_size = build.to_int(build.select(sizes, build.wrap(old, body.world.pointer_sort)))
    count = build.ite(build.lt(old_size, new_size), old_size, new_size)
    routine = routines.copy_routine(body.world, 1)
    body.draft.edge(move, Call(routine, (made, old, count), ()), release_, node.span, text)
    body.draft.edge(release_, Free(old, "heap"), after, node.span, text)
    body.wrote_anything()
    body.at = after
    return result


def _or_none(body: Body, node: ast.Call, made: Expr, size: Expr) -> Expr:
    """What `realloc` returns where no bytes are left: nobody knows whether it is null."""
    none = build.eq(size, NULL)
    if none is build.FALSE:
        return made
    text, result, after = body.text(node.span), body.fresh(INT), body.draft.node()
    body.assign(result, made, node.span, text)
    unknown = body.havoc(U8, node.span, text, approximates="what `realloc` returns if no bytes are left")
    empty, null = body.draft.node(), body.draft.node()
    body.branch(none, empty, after, node.span, text, source_branch=False)
    body.at = empty
    body.branch(build.eq(unknown, build.constant(0, U8)), null, after, node.span, text, source_branch=False)
    body.draft.edge(null, Assign((result,), (NULL,)), after, node.span, text)
    body.at = after
    return result


def release(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
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


def fill(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    given = yield from arguments(body, node)
    zero = build.constant(0, U8)
    to, value, count = (given[0], zero, given[1]) if entry.name.endswith("bzero") else given[:3]
    text, byte, count = body.text(node.span), build.wrap(value, U8), build.to_int(count)
    whole = _element(body, node, (0,), count)
    if whole is not None:
        type_ = ArrayType(*whole)
        parts = places.all_bytes(body.world, type_, places.UNROLLED)
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


def copy(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    to, source, count = (yield from arguments(body, node))[:3]
    numbers, text = (0, 1), body.text(node.span)
    if entry.name == "bcopy":
        to, source = source, to
    count = build.to_int(count)
    result = build.add(to, count) if entry.name == "mempcpy" else to
    whole = _element(body, node, numbers, count)
    if whole is not None:
        type_ = ArrayType(*whole)
        parts = places.all_bytes(body.world, type_, places.UNROLLED)
        if parts is not None:
            places.copy_parts(body, to, source, parts, node.span, text)
            return result
        width, number = places.element(body.world, type_)
        count = build.integer(number)
    else:
        width = 1
    overlap = entry.name in ("memmove", "bcopy")
    make = routines.move_routine if overlap else routines.copy_routine
    body.emit(Call(make(body.world, width), (to, source, count), ()), node.span, text)
    return result
