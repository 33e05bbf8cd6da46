"""Objects on the heap: `malloc`, `realloc`, `free` and functions like them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Alloc, Free, Storage
from certus.core.terms import INT, Expr, Kind
from certus.core.vocabulary import ALLOCATION_FAILS
from certus.frontend.c.model import memory
from certus.frontend.c.model.checks import check_free
from certus.frontend.c.model.nondeterminism import LibraryCall, maybe, note_size, store_pointer, with_options
from certus.frontend.c.model.terms import NULL, U8, Unmodelled, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_ENOMEM: Final = 12
_EMPTY: Final = "what `realloc` does if no bytes are left"


@with_options
def allocate(
    call: LibraryCall,
    *size: int,
    zero: bool = False,
    align: int = 16,
    alignment: int | None = None,
    into: int | None = None,
    fails: bool = False,
    stack: bool = False,
) -> None:
    """Create a new object whose size is the product of the arguments `size`. `alignment` is the argument that
    must be a constant power of two, or the call is refused. `into` is the argument that points to where the
    address is stored; then the result is 0, and the alignment is at least the size of a pointer. With
    `fails`, the result may be null, which is an input. Any other object on the heap may also be refused, with
    null or the result `ENOMEM`, if the environment decides so (`malloc_may_fail`)."""
    body, count = call.body, _product(call, size)
    if alignment is not None:
        term = call.term(alignment)
        wanted = int(term.value) if term.kind is Kind.CONST else 0
        if wanted < (1 if into is None else body.layout.word) or wanted & (wanted - 1):
            raise Unmodelled("unsupported-alignment", f"this alignment in a call of `{call.name}`")
        align = max(wanted, 16)

    def create() -> Expr:
        return new_object(body, count, align, zero=zero, stack=stack)

    failed = maybe(body) if fails else build.FALSE if stack else _fails(body)
    if into is None:
        call.define(body.choose(failed, lambda: NULL, create))
        return
    body.when(build.not_(failed), lambda: store_pointer(body, call.integer(into), create()))
    if call.instruction.name is not None:
        sort = sort_of(call.instruction.result, signed=True)
        call.define(build.ite(failed, build.constant(_ENOMEM, sort), build.constant(0, sort)))


def _product(call: LibraryCall, numbers: Sequence[int]) -> Expr:
    """Return the product of some arguments."""
    return reduce(build.mul, map(call.integer, numbers))


def _fails(body: Body) -> Expr:
    """Return the condition that an allocation fails, which the environment may decide."""
    if not body.unit.rules.malloc_may_fail:
        return build.FALSE
    return body.registers.in_temporary(build.ne(body.havoc(U8, ALLOCATION_FAILS), build.constant(0, U8)))


def new_object(body: Body, size: Expr, align: int, *, zero: bool, stack: bool = False) -> Expr:
    """Create an object; the size of one on the heap is recorded if the program uses `realloc`."""
    base = body.fresh(INT)
    filled = not body.unit.is_program(body.module)  # the library fills its own objects
    storage: Storage = "stack" if stack else "heap"
    body.emit(Alloc(base, size, align, storage, body.cursor.text, zero, filled=filled))
    if stack and body.function is not None and body.locals.arrays is not None:
        body.locals.arrays.begin(None, base)
    if not stack:
        note_size(body, base, size)
    return base


@with_options
def reallocate(call: LibraryCall, *size: int) -> None:
    """`realloc`: a new object with as much of the old one, argument 0, as fits; the old one ends. The size of
    the new one is the product of the arguments `size`; if that is 0, the result may be null. The size of the
    old one was recorded when it was created, or the program asks byte by byte whether it belongs to the
    object."""
    body, old, count = call.body, call.integer(0), _product(call, size)
    check_free(body, old)
    empty = build.eq(count, NULL)

    def fail() -> Expr:  # C leaves open whether the old object ends if no bytes are left
        body.when(empty, lambda: body.bar_counterexamples(_EMPTY))
        return NULL

    call.define(body.choose(_fails(body), fail, lambda: _reallocated(call, old, count)))


def _reallocated(call: LibraryCall, old: Expr, size: Expr) -> Expr:
    """Create the new object of `realloc`; return the result."""
    body = call.body
    base = new_object(body, size, 16, zero=False)
    sizes, sort = body.unit.library.sizes, body.unit.pointer_sort

    def end() -> Expr:
        free(body, base)
        return NULL

    def empty() -> Expr:
        return body.choose(maybe(body, _EMPTY), end, lambda: base)

    result = body.choose(build.eq(size, NULL), empty, lambda: base)

    def move() -> None:
        if sizes is None:
            memory.run_model(body, "__certus_move_object", (base, old, size))
        else:
            noted = build.to_int(build.select(sizes, build.wrap(old, sort)))
            count = build.ite(build.lt(noted, size), noted, size)
            memory.copy_loop(body, base, old, count, 1, overlapping=False)
        free(body, old)

    body.when(build.ne(old, NULL), move)
    return result


def release(call: LibraryCall) -> None:
    """`free`: the object that the first argument points to ends, unless the argument is null."""
    check_free(call.body, call.address(0))
    call.when_not_null(0, lambda pointer: free(call.body, pointer))


def free(body: Body, pointer: Expr) -> None:
    body.emit(Free(pointer, "heap"))
