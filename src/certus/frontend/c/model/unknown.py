"""Calls of functions that nobody defines.

They return anything, and write anything where their arguments point to. A function of the user's own is
assumed to do no more than that, and the outcome says so. One of the C library does what its manual says,
which may be to call back, or to write where a pointer leads that it only finds in memory: such calls are
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Alloc, Assign
from certus.core.sorts import BOOL, INT, machine
from certus.core.terms import Expr, Kind
from certus.core.vocabulary import BUILTIN, RESERVED, is_input
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import Debug
from certus.frontend.c.ir.operands import Operand
from certus.frontend.c.ir.types import IntegerType, PointerType, StructType, VoidType
from certus.frontend.c.library.table import STANDARD, lookup
from certus.frontend.c.model.cells import cells_between
from certus.frontend.c.model.effects import LIBRARY_OBJECT, one_of, write_bytes, write_cells, write_extent
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import U8, Piece, Pieces, Unmodelled, as_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


ESCAPED: Final = "escaped-address"
_KEPT: Final = "`{}` is not defined and gets an address: it is assumed not to use it once it has returned."


def call(body: Body, instruction: ir.Call, name: str) -> None:
    """Call a function without a definition."""
    if name.startswith(BUILTIN):
        raise Unmodelled("unsupported-builtin", f"the function `{name}`")
    if name.startswith(RESERVED) and not is_input(name):
        what = f"the function `{name}`, which is not defined,"
        raise Unmodelled("unsupported-verifier-function", what)
    if not is_input(name):
        message = (
            f"`{name}` is not defined: its result is nondeterministic, and it is assumed to write only "
            "where its arguments point to, and not to call back."
        )
        body.unit.warn(name, "undefined-function", message, body.span)
    body.before_call()
    declared = _declared_types(body, name)
    approximate = is_approximate(body, name)
    for number, argument in enumerate(instruction.arguments):
        type_ = declared[number] if number < len(declared) else None
        if argument.passing.sret is not None:
            write_extent(body, argument.operand, address_of(body, argument.operand), "")
        elif argument.passing.byval is None and isinstance(argument.operand.type, PointerType):
            _passed(
                body, name, argument.operand, type_, known=number < len(declared), approximate=approximate
            )
    function = body.module.functions.get(name)
    if function is not None and ("noreturn" in function.attributes or "noreturn" in instruction.words):
        body.stop()
        return
    if approximate and name not in STANDARD and lookup(name) is None:
        body.doubtful(f"what follows on `{name}`")  # which may not come back
    _result(body, instruction, name, approximate=approximate, same=declared[:1])


def is_approximate(body: Body, name: str) -> bool:
    """Whether "any value" is only an approximation of what a function without body does: it is one of the C
    library, or its attributes say more."""
    if name.startswith(RESERVED):
        return False
    module = body.module
    function = module.functions.get(name)
    if lookup(name) is not None or name in STANDARD:
        return True
    if function is None or function.debug is None:
        return False
    if function.attributes & {"readnone", "readonly"}:
        return True
    node = module.debug.node(function.debug)
    return body.unit.sources.of_library(
        module.debug.file(function.debug), node.number("line"), function.debug
    )


def _declared_types(body: Body, name: str) -> list[int | None]:
    """The C types of the parameters of a declared function."""
    function = body.module.functions.get(name)
    if function is None:
        return []
    types = body.module.debug.signature(function.debug)
    return types[1:]


def _passed(
    body: Body, name: str, operand: Operand, type_: int | None, *, known: bool, approximate: bool
) -> None:
    """A function gets a pointer."""
    address = address_of(body, operand)
    if address.kind is Kind.CONST:  # null, or a function
        return
    if not is_input(name):
        body.unit.warn(ESCAPED, ESCAPED, _KEPT.format(name), body.span)
    debug = body.module.debug
    target = debug.target(type_) if known else None
    plain = debug.plain(target)
    if known and debug.qualified(target, "const") and not (approximate and _leads_on(debug, target, set())):
        return
    if known and debug.plain(type_) is not None and plain is None and debug.signed(type_) is not None:
        return  # an integer parameter
    if plain is not None and plain.kind == "DISubroutineType":
        return
    if approximate and (plain is None or _leads_on(debug, target, set())):
        what = f"what `{name}` does with the pointer it gets here"
        raise Unmodelled("unsupported-library-function", what)
    size = 0 if plain is None else plain.number("size") // 8
    root = body.roots.of(operand)
    if (size == 0 and root is None) or (plain is not None and _has_pointers(debug, target, set())):
        what = f"The function `{name}` is not defined and may write through the pointer it gets here."
        hint = f"Define `{name}`, or declare the pointer's target const."
        raise Unmodelled("unsupported-external-function", what, hint)
    if root is not None and _holds_pointers(body, operand):
        what = f"The function `{name}` is not defined and may write through the pointer it gets here."
        raise Unmodelled("unsupported-external-function", what)
    what = f"what `{name}` writes" if approximate else ""
    if root is not None:
        write_extent(body, operand, address, what)
        return
    cells = _cells(body, debug, target, size)

    def exactly() -> None:
        if cells is not None:
            write_cells(body, address, cells, what)
        else:
            write_bytes(body, address, build.integer(size), what)

    one_of(body, exactly, lambda: _around(body, name, address, size))


def _cells(body: Body, debug: Debug, target: int | None, size: int) -> list[tuple[int, int]] | None:
    node = debug.plain(target)
    if node is not None and node.kind == "DIBasicType" and size in (1, 2, 4, 8, 16):
        return [(0, size)]
    if node is not None and node.fields.get("tag") == "DW_TAG_structure_type":
        found: list[tuple[int, int]] = []
        for number in debug.elements(node.reference("elements")):
            member = None if number is None else debug.node(number)
            inner = None if member is None else debug.plain(member.reference("baseType"))
            if member is None or inner is None or inner.kind != "DIBasicType":
                return None
            if "DIFlagBitField" in member.fields.get("flags", ""):
                return None
            found.append((member.number("offset") // 8, inner.number("size") // 8))
        return found
    return None


def _around(body: Body, name: str, address: Expr, size: int) -> None:
    """A pointer may lead into an array, whose other elements are written too. How many there are is not known
    here, so that a counterexample must not depend on it."""
    what = f"how much `{name}` writes"
    width = size if size in (1, 2, 4, 8) else 1
    sort = machine(body.layout.pointer_bits, signed=False)
    before, count = (build.to_int(body.havoc(sort, approximates=what)) for _ in range(2))
    first = build.sub(address, build.scale(max(size, 1), before))
    write_bytes(body, first, count, what, width)


def _leads_on(debug: Debug, type_: int | None, seen: set[int]) -> bool:
    """Whether the memory behind a pointer may hold further pointers to write through, or to call."""
    for node in _parts(debug, type_, seen):
        if node[1].kind == "DISubroutineType":
            return True
        if node[1].fields.get("tag") == "DW_TAG_pointer_type":
            inner = node[1].reference("baseType")
            if not debug.qualified(inner, "const"):
                return True
    return False


def _has_pointers(debug: Debug, type_: int | None, seen: set[int]) -> bool:
    return any(node.fields.get("tag") == "DW_TAG_pointer_type" for _, node in _parts(debug, type_, seen))


def _parts(debug: Debug, type_: int | None, seen: set[int]):  # type: ignore[no-untyped-def]
    stack = [type_]
    while stack:
        number = stack.pop()
        node = debug.plain(number)
        if node is None or number is None or number in seen:
            continue
        seen.add(number)
        yield number, node
        tag = node.fields.get("tag", "")
        if tag == "DW_TAG_array_type":
            stack.append(node.reference("baseType"))
        elif tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            for member in debug.elements(node.reference("elements")):
                if member is not None:
                    stack.append(debug.node(member).reference("baseType"))


def _holds_pointers(body: Body, operand: Operand) -> bool:
    """Whether the object that a pointer leads to has pointers in it."""
    root = body.roots.of(operand)
    if root is None:
        return False
    stack = [root.type]
    while stack:
        type_ = stack.pop()
        if isinstance(type_, PointerType):
            return True
        if isinstance(type_, StructType):
            stack += type_.fields
        elif hasattr(type_, "element"):
            stack.append(type_.element)
    return False


# ------------------------------------------------------------------------------------------- results


def _result(
    body: Body, instruction: ir.Call, name: str, *, approximate: bool, same: list[int | None]
) -> None:
    type_ = instruction.result
    if isinstance(type_, VoidType):
        return
    what = f"the result of `{name}`" if approximate else ""
    if isinstance(type_, StructType):
        parts = []
        for offset, size in cells_between(body.layout, type_, 0, body.layout.size(type_)) or []:
            parts.append(Piece(offset, size, body.havoc(machine(8 * size, signed=False), name, what)))
        body.define(instruction, Pieces(body.layout.size(type_), tuple(parts)))
        return
    if isinstance(type_, IntegerType) and type_.bits == 1:
        body.define(instruction, as_sort(body.havoc(machine(1, signed=False), name, what), BOOL))
        return
    if not isinstance(type_, PointerType):
        signed = body.unit.returns_signed(body.module, name)
        body.define(instruction, body.havoc(sort_of(type_, signed=signed), name, what))
        return
    body.unit.note_foreign(body.module, body.unit.result_type(body.module, name))
    other = body.havoc(INT, name, what)
    body.define(instruction, _pointer(body, instruction, name, other))


def _pointer(body: Body, instruction: ir.Call, name: str, other: Expr) -> Expr:
    """Where the result may point: to an object of its own, which is new or known from a call before; to what
    an argument points to; or anywhere, as `other` says."""
    kept = body.unit.library_variable(f"{name}$result", INT)
    choice, result, after = body.havoc(U8), body.fresh(INT), body.draft.node()
    given = [a.operand for a in instruction.arguments if isinstance(a.operand.type, PointerType)]

    def new() -> Expr:
        made = body.fresh(INT)
        body.emit(Alloc(made, build.integer(LIBRARY_OBJECT), 16, "heap", body.text))
        return made

    makers: list[Callable[[], Expr]] = [new, lambda: kept]
    makers += [lambda operand=operand: address_of(body, operand) for operand in given]  # type: ignore[misc]
    for number, make in enumerate(makers):
        chosen, others = body.draft.node(), body.draft.node()
        body.fork(build.eq(choice, build.constant(number + 1, U8)), chosen, others)
        body.at = chosen
        body.emit(Assign((result,), (make(),)), target=after)
        body.at = others
    body.emit(Assign((result,), (other,)), target=after)
    body.at = after
    body.assign(kept, result)
    return result
