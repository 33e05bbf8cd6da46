"""Library functions by their effects alone: what they write, and where their result points.

Nothing of the values is computed. In proofs they are arbitrary; a counterexample must not depend on them, so
they are marked (`Havoc.approximates`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Alloc, Storage, Store
from certus.core.sorts import INT, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Operand
from certus.frontend.c.ir.types import PointerType, VoidType
from certus.frontend.c.library import meanings
from certus.frontend.c.library.meanings import Meaning
from certus.frontend.c.library.table import EXTENTS
from certus.frontend.c.model.cells import UNROLLED, cells_between, element, words
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import NULL, U8, Cell, Unmodelled, as_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

LIBRARY_OBJECT: Final = 50_000  # bytes; accesses are assumed to stay inside, so it only has to be large
_DISTANCE: Final = machine(32, signed=False)


# ------------------------------------------------------------------------------------ writing anything


def write_cells(body: Body, address: Expr, cells: list[Cell], what: str) -> None:
    """Give cells any contents."""
    for offset, size in cells:
        value = body.havoc(machine(8 * size, signed=False), approximates=what)
        body.emit(Store(build.add(address, build.integer(offset)), value))


def write_bytes(body: Body, address: Expr, count: Expr, what: str, width: int = 1) -> None:
    """Give `count` elements any contents; `what` is empty if these are inputs."""
    if what:
        run_model(body, f"__certus_unknown{width}", (address, count))
    else:
        run_model(body, "__certus_input1", (address, build.scale(width, count)))


def write_some(body: Body, address: Expr, what: str) -> None:
    """Give an unknown number of bytes from `address` on any contents."""
    count = body.havoc(
        machine(body.layout.pointer_bits, signed=False), approximates=what or "how much is written"
    )
    write_bytes(body, address, build.to_int(count), what or "what is written")


def room_at(body: Body, pointer: Operand) -> int | None:
    """Return how many bytes the object has from where a pointer leads to on, if that can be seen."""
    root = body.roots.of(pointer)
    return None if root is None else body.layout.size(root.type) - root.offset


def write_extent(body: Body, pointer: Operand, address: Expr, what: str) -> None:
    """Give all of an object that a pointer leads to any contents; some bytes, if it is not known."""
    root = body.roots.of(pointer)
    room = room_at(body, pointer)
    if root is None or room is None or room <= 0:
        write_some(body, address, what)
        return
    cells = cells_between(body.layout, root.type, root.offset, room)
    if cells is not None and len(cells) <= UNROLLED:
        write_cells(body, address, cells, what)
        return
    width = element(body.layout, root.type)
    width = width if width in (1, 2, 4, 8) and room % width == 0 else 1
    write_bytes(body, address, build.integer(room // width), what, width)


def write_up_to(body: Body, pointer: Operand, address: Expr, count: Expr, what: str) -> None:
    """Give bytes any contents, at most `count` of them. An object that has less room than that is not filled,
    which is left to proofs: a counterexample cannot tell how far."""
    room = room_at(body, pointer) or 0
    if count.kind is Kind.CONST and int(count.value) <= room:
        write_bytes(body, address, count, what)
        return

    def part() -> None:
        fewer = build.to_int(body.havoc(machine(body.layout.pointer_bits, signed=False), approximates=what))
        body.assume(build.le(fewer, count))
        write_bytes(body, address, fewer, what)

    one_of(body, lambda: write_bytes(body, address, count, what), part)


def one_of(body: Body, first: Callable[[], None], second: Callable[[], None]) -> None:
    """Take the steps of one of two ways, chosen nondeterministically."""
    choice = build.eq(body.havoc(U8), build.constant(0, U8))
    starts, after = (body.draft.node(), body.draft.node()), body.draft.node()
    body.fork(choice, *starts)
    for start, steps in zip(starts, (first, second), strict=True):
        body.at = start
        steps()
        body.draft.skip(body.at, after)
    body.at = after


# ------------------------------------------------------------------------------------------- effects


def effects(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    assert isinstance(meaning, meanings.Effects)
    apply(body, instruction, name, meaning)


def apply(body: Body, instruction: ir.Call, name: str, meaning: meanings.Effects) -> None:
    """Do what the effects of a function say."""
    arguments = [argument.operand for argument in instruction.arguments]
    kept = arguments[meaning.no_pointer :][:1] if meaning.no_pointer is not None else []
    if any(address_of(body, operand) is not NULL for operand in kept):
        what = f"a buffer that the program gives to `{name}`"
        raise Unmodelled("unsupported-library-function", what)
    for write in meaning.writes:
        _write(body, arguments, name, write)
    if not meaning.returns:
        body.doubtful(f"what follows on `{name}`")
    if instruction.name is None or isinstance(instruction.result, VoidType):
        return
    if isinstance(meaning.result, meanings.Anything) or not isinstance(instruction.result, PointerType):
        give_result(body, instruction, name)
        return
    unknown = "" if meaning.input_null else _result_of(name)
    failed = build.eq(body.havoc(U8, approximates=unknown), build.constant(0, U8))
    result = meaning.result
    body.define(
        instruction, body.choose(failed, lambda: NULL, lambda: _pointer(body, arguments, name, result))
    )


def _result_of(name: str) -> str:
    return f"the result of `{name}`"


def give_result(body: Body, instruction: ir.Call, name: str) -> None:
    """The result is any value of its type, on which no counterexample may depend."""
    if instruction.name is None or isinstance(instruction.result, VoidType):
        return
    if isinstance(instruction.result, PointerType):
        body.unit.note_foreign(body.module, body.unit.result_type(body.module, name))
    sort = sort_of(instruction.result, signed=True)
    body.define(instruction, body.havoc(sort, approximates=_result_of(name)))


def renew_errno(body: Body) -> None:
    """Any function of the library may have set `errno`."""
    if not body.unit.mentions("__errno_location"):
        return
    module = body.unit.models.defining("__certus_errno")
    if module is None:
        return
    what = "the value of `errno`"
    variable = body.unit.scalar(module, "__certus_errno")
    if variable is not None:
        body.assign(variable, body.havoc(variable.sort, approximates=what))
        return
    value = body.havoc(machine(32, signed=True), approximates=what)
    body.emit(Store(body.unit.address(module, "__certus_errno"), value))


def _write(body: Body, arguments: list[Operand], name: str, write: meanings.Write) -> None:
    what = f"what `{name}` writes"
    if isinstance(write, meanings.Renewed):
        before = body.unit.library_variable(f"{write.name}$result", INT)
        body.when(build.ne(before, NULL), lambda: write_some(body, before, what))
        return
    if write.argument >= len(arguments):
        return
    operand = arguments[write.argument]
    address = address_of(body, operand)
    if address is NULL:
        return

    def steps() -> None:
        match write:
            case meanings.Target():
                size = EXTENTS[write.type][body.layout.word == 8]
                _write_target(body, operand, address, size, what)
            case meanings.Bytes():
                count = as_sort(term_of(body, arguments[write.count]), INT)
                write_up_to(body, operand, address, count, what)
            case meanings.Some():
                write_extent(body, operand, address, what)
            case meanings.NewObject():
                _store_pointer(body, address, library_object(body, "heap"))
            case meanings.LineBuffer():
                _line_buffer(body, address, what)
            case meanings.EndPointer():
                string = address_of(body, arguments[write.string])
                _store_pointer(body, address, _inside(body, name, string))

    body.when(build.ne(address, NULL), steps)


def _write_target(body: Body, operand: Operand, address: Expr, size: int, what: str) -> None:
    root = body.roots.of(operand)
    cells = None if root is None else cells_between(body.layout, root.type, root.offset, size)
    cells = cells if cells is not None else list(words(0, size))
    if len(cells) <= UNROLLED:
        write_cells(body, address, cells, what)
    else:
        write_bytes(body, address, build.integer(size), what)


def _store_pointer(body: Body, address: Expr, pointer: Expr) -> None:
    body.emit(Store(address, build.wrap(pointer, body.unit.pointer_sort)))


def _line_buffer(body: Body, address: Expr, what: str) -> None:
    """A buffer of the caller's is kept if it is large enough."""
    from certus.core.program import Load

    def keep() -> None:
        pointer = body.fresh(body.unit.pointer_sort)
        body.emit(Load(pointer, address))
        write_some(body, build.to_int(pointer), what)

    choice = build.eq(body.havoc(U8, approximates=what), build.constant(0, U8))
    starts, after = (body.draft.node(), body.draft.node()), body.draft.node()
    body.fork(choice, *starts)
    body.at = starts[0]
    _store_pointer(body, address, library_object(body, "heap"))
    body.draft.skip(body.at, after)
    body.at = starts[1]
    keep()
    body.draft.skip(body.at, after)
    body.at = after


# ---------------------------------------------------------------------------- where results point


def library_object(body: Body, storage: Storage = "static") -> Expr:
    """Make a new object with any contents, which the library made."""
    made = body.fresh(INT)
    body.emit(Alloc(made, build.integer(LIBRARY_OBJECT), 16, storage, body.text))
    return made


def _inside(body: Body, name: str, string: Expr) -> Expr:
    """A pointer into a string, or to its end."""
    distance = body.havoc(_DISTANCE, approximates=_result_of(name))
    return build.add(string, build.to_int(distance))


def _pointer(body: Body, arguments: list[Operand], name: str, result: meanings.Result) -> Expr:
    if isinstance(result, meanings.SameArgument):
        base = address_of(body, arguments[result.argument])
        if base is NULL:
            return library_object(body)
        return body.choose(build.ne(base, NULL), lambda: base, lambda: library_object(body))
    if isinstance(result, meanings.Shared):
        return _shared(body, name, result.name)
    if isinstance(result, meanings.SharedOrInto):
        string = address_of(body, arguments[result.argument])
        own = build.eq(body.havoc(U8, approximates=_result_of(name)), build.constant(0, U8))
        shared = result.name
        return body.choose(own, lambda: _shared(body, name, shared), lambda: _inside(body, name, string))
    return library_object(body)


def _shared(body: Body, name: str, shared: str) -> Expr:
    """Whether the results of two calls are the same object is not known, so they point anywhere into one."""
    kept = body.unit.library_variable(f"{shared}$result", INT)

    def first() -> Expr:
        made = library_object(body)
        body.assign(kept, made)
        return kept

    def again() -> Expr:
        return _inside(body, name, kept)

    return body.choose(build.eq(kept, NULL), first, again)
