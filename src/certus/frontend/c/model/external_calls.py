"""Calls of functions that the program does not define and that have no meaning in the library table.

They return any value, and write any value where their arguments point to. A function of the user is assumed
to do no more than that, and the outcome says so. A function of the C library does what its manual says, which
may be to call back, or to write through a pointer that it finds in memory: such calls are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assign
from certus.core.terms import INT, Expr, Kind, machine
from certus.core.vocabulary import BUILTIN, READ, RESERVED, is_input
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import Debug
from certus.frontend.c.ir.instructions import Operand
from certus.frontend.c.ir.module import Function
from certus.frontend.c.ir.types import ArrayType, PointerType, StructType, Type, VoidType, holds_pointers
from certus.frontend.c.library.models import STANDARD
from certus.frontend.c.model import c_types, nondeterminism
from certus.frontend.c.model.cells import Root, cells_between
from certus.frontend.c.model.checks import check, check_heap, is_checked, note_escape, when_valid
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import NULL, U8, Cell, Piece, Pieces, Unmodelled

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


_PURE: Final = "willreturn"  # Clang's word for the attributes `pure` and `const`: nothing is written
_ESCAPED: Final = "escaped-address"
_KEPT: Final = "`{}` is not defined and gets an address: it is assumed not to use it after it has returned."
_ASSUMED: Final = (
    "`{}` is not defined: its result is nondeterministic, and it is assumed to return, to write only where "
    "its arguments point to, and not to call back."
)
_POINTS: Final = (
    " The pointer that it returns is assumed to lead to an object of its own, to what an argument points to, "
    "or to no object."
)
_DEFINE: Final = "Name the file that defines it, too, or define it in the program."
_WRITES: Final = "The function `{}` is not defined and may write through the pointer it gets here."


def call(body: Body, instruction: ir.Call, name: str, *, of_library: bool = False) -> None:
    """Call a function without a definition. `of_library`: the library has a function of this name, but the
    program declares it differently."""
    of_library = of_library or name in STANDARD
    if name.startswith(BUILTIN):
        raise Unmodelled("unsupported-builtin", f"the function `{name}`")
    function = body.module.functions.get(name)
    if function is not None and not of_library and body.unit.symbols.is_null(body.module, function):
        if is_checked(body, "read"):
            body.claim(build.FALSE, READ, f"the weak function `{name}` is defined")
        body.undefined("a call of a weak function that nothing defines")
    elif not is_input(name):
        if name.startswith(RESERVED):
            what = f"the function `{name}`, which is not defined,"
            raise Unmodelled("unsupported-verifier-function", what)
        assumed = _ASSUMED.format(name) + _POINTS * isinstance(instruction.result, PointerType)
        body.unit.warn(name, "undefined-function", assumed, body.cursor.span, _DEFINE)
    body.registers.before_call()
    declared = {} if function is None else c_types.passed_types(body.module.debug, function)
    approximate = _is_approximate(body, name, of_library=of_library)
    pure = function is not None and _PURE in function.attributes and not of_library
    if not pure:
        _expect_no_pointers(body, instruction, function, name)
    for number, (operand, passing) in enumerate((a.operand, a.passing) for a in instruction.arguments):
        if passing.sret is not None:
            _return_record(body, operand, passing.sret)
        elif passing.byval is None and isinstance(operand.type, PointerType) and not pure:
            types = declared.get(number)
            _pass(body, name, operand, types or [], approximate=approximate or types == [])
            if of_library and address_of(body, operand) is not NULL:
                nondeterminism.read_unknown(body, address_of(body, operand), f"what `{name}` reads")
    if function is not None and ("noreturn" in function.attributes or "noreturn" in instruction.words):
        _end_program(body, f"whether `{name}` ends the program")
        return
    if approximate and not of_library and not pure:
        body.bar_counterexamples(f"what happens after `{name}`")  # which may not come back
    if not pure and not name.startswith(RESERVED):
        nondeterminism.renew_variables(body)
        if approximate:
            _renew_results(body, name)
    _define_result(body, instruction, name, f"the result of `{name}`" if approximate else "")


def _end_program(body: Body, unless: str) -> None:
    """End the execution in a function that does not return. It may call `exit`; `unless` says what may keep
    it from that."""
    if body.unit.symbols.mentions("atexit") or body.unit.destructors:
        body.bar_counterexamples(unless)
        body.unit.end_program(body)
    check_heap(body, unless)
    body.stop()


def _expect_no_pointers(body: Body, instruction: ir.Call, function: Function | None, name: str) -> None:
    """Refuse records as arguments if they contain pointers, however they are passed."""
    debug, copied = body.module.debug, [a.passing.byval for a in instruction.arguments]
    types = [] if function is None else debug.signature(function.debug)[1:]
    records = [t for t in types if c_types.is_record(debug, t)]
    if any(c_types.holds_pointers(debug, t) for t in records) or any(t and holds_pointers(t) for t in copied):
        raise Unmodelled("unsupported-external-function", _WRITES.format(name), f"Define `{name}`.")


def _return_record(body: Body, operand: Operand, type_: Type) -> None:
    """Give the record that a function returns by a pointer any contents."""
    address, size = address_of(body, operand), body.layout.size(type_)
    if is_checked(body, "write"):
        check(body, address, size, "write")
        nondeterminism.write_stretch(body, type_, 0, size, address, "")
    else:
        nondeterminism.write_part(body, operand, address, "")


def _is_approximate(body: Body, name: str, *, of_library: bool) -> bool:
    """Return whether "any value" only approximates a function without a body: it belongs to the C library, or
    its attributes say more."""
    function = body.module.functions.get(name)
    if name.startswith(RESERVED):
        return False
    if of_library or function is None or function.debug is None:
        return of_library
    says_more = bool(function.attributes & {_PURE, "nonnull"})  # which `returns_nonnull` becomes
    return says_more or body.unit.sources.of_library(body.module.debug, function.debug)


def _pass(body: Body, name: str, operand: Operand, type_: list[int | None], *, approximate: bool) -> None:
    """Pass a pointer to a function; `type_` is the C type of the parameter, if it is declared."""
    address = address_of(body, operand)
    if address.kind is Kind.CONST:  # null, or a function
        return
    note_escape(body, address)
    if not is_input(name):
        body.unit.warn(_ESCAPED, _ESCAPED, _KEPT.format(name), body.cursor.span)
    debug, root = body.module.debug, body.roots.of(operand)
    root = root if root is not None and root.whole else None
    target = debug.target(type_[0]) if type_ else None
    plain, leads_on = debug.plain(target), approximate and c_types.leads_on(debug, target)
    if debug.is_const(target) and not leads_on:
        return
    if type_ and plain is None and debug.signed(type_[0]) is not None:
        return  # an integer parameter
    if plain is not None and plain.kind == "DISubroutineType":
        return
    if approximate and (plain is None or leads_on):
        what = f"what `{name}` does with the pointer it gets here"
        raise Unmodelled("unsupported-library-function", what)
    size = 0 if plain is None else plain.number("size") // 8
    if (size == 0 and root is None) or (plain is not None and c_types.holds_pointers(debug, target)):
        hint = f"Define `{name}`, or declare the pointer's target const."
        raise Unmodelled("unsupported-external-function", _WRITES.format(name), hint)
    if root is not None and holds_pointers(root.type):
        raise Unmodelled("unsupported-external-function", _WRITES.format(name))
    what = f"what `{name}` writes" if approximate or body.initialisation is not None else ""
    if root is not None:
        start, length = _named(body, operand, root, size)
        if isinstance(root.type, ArrayType) and isinstance(root.type.element, ArrayType):
            what = what or f"how much `{name}` writes"  # perhaps only a row
        first = build.sub(address, build.integer(root.offset - start))
        write = partial(nondeterminism.write_stretch, body, root.type, start, length, first, what)
        when_valid(body, first, length, write)
        return
    cells = _cells(debug, target, size)
    write = partial(nondeterminism.write_object, body, address, size, cells, what)
    exactly = partial(when_valid, body, address, size, write)
    body.when(nondeterminism.maybe(body), exactly, partial(write_around, body, name, address, size))


def _named(body: Body, operand: Operand, root: Root, size: int) -> tuple[int, int]:
    """Return the offset and the size of the part of an object that an argument names: a member, if one of the
    size of the pointer's target is named; the whole array, if an element is named; and otherwise the whole
    object."""
    layout, type_, start = body.layout, root.type, 0
    whole = 0, max(layout.size(type_), 1)
    definition = body.flow.definition(operand)
    if not isinstance(definition, ir.GetElementPointer) or size == 0 or not 0 <= root.offset < whole[1]:
        return whole
    while True:
        inner = type_
        while isinstance(inner, ArrayType):
            inner = inner.element
        step = layout.size(inner)
        if inner is not type_ and size >= step:
            return start, layout.size(type_)
        start += (root.offset - start) // max(step, 1) * step
        if not isinstance(inner, StructType):
            return (start, size) if size == step else whole
        if size == step and root.offset == start:
            return start, size
        places = [(start + at, part) for at, part in zip(layout.offsets(inner), inner.fields, strict=True)]
        inside = [(at, part) for at, part in places if at <= root.offset < at + layout.size(part)]
        if not inside:
            return whole
        start, type_ = inside[-1]


def _cells(debug: Debug, target: int | None, size: int) -> list[Cell] | None:
    """Return the cells of a C type that is a number, or a structure of numbers; None for any other type."""
    node = debug.plain(target)
    if node is not None and node.kind == "DIBasicType" and size in (1, 2, 4, 8, 16):
        return [(0, size)]
    if node is None or node.tag != "structure":
        return None
    cells: list[Cell] = []
    for member in debug.parts(node):
        inner = debug.plain(member.reference("baseType"))
        bit_field = "DIFlagBitField" in member.fields.get("flags", "")
        if inner is None or inner.kind != "DIBasicType" or bit_field:
            return None
        cells.append((member.number("offset") // 8, inner.number("size") // 8))
    return cells


def write_around(body: Body, name: str, address: Expr, size: int) -> None:
    """Also write before and behind a pointer, which may lead into an array. The length of the array is
    unknown, so no counterexample may depend on it."""
    what = f"how much `{name}` writes"
    before, count = nondeterminism.any_count(body, what), nondeterminism.any_count(body, what)
    first, width = build.sub(address, build.scale(max(size, 1), before)), size if size in (1, 2, 4, 8) else 1
    write = partial(nondeterminism.write_bytes, body, first, count, what, width)
    when_valid(body, first, build.scale(width, count), write)


# ------------------------------------------------------------------------------------------- results


def _define_result(body: Body, instruction: ir.Call, name: str, what: str) -> None:
    type_, layout = instruction.result, body.layout
    if isinstance(type_, VoidType):
        return
    if isinstance(type_, StructType):
        parts = []
        for offset, size in cells_between(layout, type_, 0, layout.size(type_)) or []:
            parts.append(Piece(offset, size, body.havoc(machine(8 * size, signed=False), name, what)))
        body.registers.define(instruction, Pieces(layout.size(type_), tuple(parts)))
        return
    pointer = isinstance(type_, PointerType)
    if pointer and body.unit.rules.memory and not is_input(name):
        what = what or f"the pointer that `{name}` returns"
    value = body.any_result(type_, name, what)
    body.registers.define(instruction, _pointer(body, instruction, name, value) if pointer else value)


def _pointer(body: Body, instruction: ir.Call, name: str, other: Expr) -> Expr:
    """Return the possible results: an object of the function's own, new or known from an earlier call; the
    target of an argument; or any address, given as `other`."""
    kept = body.unit.library.variable(f"{name}$result", INT)

    def new() -> Expr:
        body.registers.assign(kept, nondeterminism.library_object(body, "heap"))
        return kept

    open_ = f"the pointer that `{name}` returns" if body.unit.rules.memory else ""
    choice, result, after = body.havoc(U8, approximates=open_), body.fresh(INT), body.draft.node()
    ways: list[Callable[[], Expr]] = [new, lambda: kept]
    for argument in instruction.arguments:
        if isinstance(argument.operand.type, PointerType):
            ways.append(partial(address_of, body, argument.operand))
    for number, way in enumerate(ways):
        chosen, others = body.draft.node(), body.draft.node()
        body.fork(build.eq(choice, build.constant(number + 1, U8)), chosen, others)
        body.at = chosen
        body.emit(Assign((result,), (way(),)), target=after)
        body.at = others
    body.emit(Assign((result,), (other,)), target=after)
    body.at = after
    return result


def _renew_results(body: Body, name: str) -> None:
    """Change the objects that functions of the library returned before, as `getprotobyname` does."""
    from certus.frontend.c.model.library import FUNCTIONS

    program = body.unit.program.functions
    for other in sorted(body.unit.symbols.usage.mentioned):
        declared = program.get(other)
        if declared is None or declared.defined or not isinstance(declared.type.result, PointerType):
            continue
        if other not in FUNCTIONS and _is_approximate(body, other, of_library=other in STANDARD):
            kept, what = body.unit.library.variable(f"{other}$result", INT), f"what `{name}` writes"
            body.when(build.ne(kept, NULL), partial(nondeterminism.write_some, body, kept, what))
