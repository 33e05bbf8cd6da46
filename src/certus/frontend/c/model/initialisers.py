"""Initialisers of local variables, of which Clang makes copies of constants and fills with zeros.

The contents of a constant are stored directly, cell by cell. An initialiser gives no value to padding: it
gets any, on which no counterexample may depend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Store
from certus.core.sorts import machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Integer, Local, Operand, Symbol
from certus.frontend.c.ir.types import ArrayType, StructType, Type
from certus.frontend.c.model.cells import UNROLLED, cells_between, element, scalars, simple, words
from certus.frontend.c.model.constants import contents
from certus.frontend.c.model.memory import fill_loop
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import U8, Piece, Pieces, taken

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_MANY: Final = 1024  # stores of one initialiser without a loop


def copy_constant(body: Body, to: Operand, source: Operand, count: Operand) -> bool:
    """Initialise a local variable from a constant of the compiler; whether this is such a copy."""
    variable = body.module.globals.get(source.name) if isinstance(source, Symbol) else None
    if variable is None or variable.linkage != "private" or not variable.constant:
        return False
    size = body.layout.size(variable.type)
    constant = body.module.initialiser(variable)
    if not isinstance(count, Integer) or count.value > size or constant is None:
        return False
    size = count.value
    address, root = address_of(body, to), body.roots.of(to)
    parts = [part for part in contents(body, constant) if part[0] < size]
    cells = None if root is None else cells_between(body.layout, root.type, root.offset, size)
    if cells is not None and root is not None:
        gaps = padding(body, root.type, root.offset, size)
        kept = [cell for cell in cells if cell not in gaps]
        _store(body, address, parts, size, kept)
        leave_open(body, address, gaps, to)
        return True
    if len(parts) > _MANY:
        return False
    width = 1 if root is None else element(body.layout, root.type)
    width = width if width in (1, 2, 4, 8) and size % width == 0 else 1
    if not all(part[1] == width and part[0] % width == 0 for part in parts):
        width = 1
        if not all(part[1] == 1 for part in parts):
            return False
    if size // width <= _MANY:
        given = {offset: term for offset, _, term in parts}
        zero: Expr = build.constant(0, machine(8 * width, signed=False))
        for offset in range(0, size, width):
            _store_constant(body, build.add(address, build.integer(offset)), given.get(offset, zero))
        return True
    fill_loop(body, address, build.constant(0, U8), size // width, width)
    for offset, _, term in parts:
        _store_constant(body, build.add(address, build.integer(offset)), term)
    return True


def _store_constant(body: Body, address: Expr, term: Expr) -> None:
    text = body.unit.constant_text(term)
    made = body.emit(Store(address, term), text=text or None)
    if text == "0":
        made.span, made.text = None, ""  # most are not written, and nobody wants to see these steps


def _store(
    body: Body, address: Expr, parts: list[tuple[int, int, Expr]], size: int, cells: list[tuple[int, int]]
) -> None:
    value = Pieces(size, tuple(Piece(*part) for part in parts))
    terms = taken(value, cells, lambda count: build.constant(0, machine(8 * count, signed=False)))
    for (offset, _), term in zip(cells, terms, strict=True):
        _store_constant(body, build.add(address, build.integer(offset)), term)


def padding(body: Body, type_: Type, start: int, size: int) -> list[tuple[int, int]]:
    """Return the bytes of a record that no member has, as words, from `start` on."""
    inner = type_
    while isinstance(inner, ArrayType):
        inner = inner.element
    found = scalars(body.layout, type_, UNROLLED)
    if not isinstance(inner, StructType) or inner.name.startswith("union.") or found is None:
        return []
    gaps: list[tuple[int, int]] = []
    at, end = start, start + size
    for offset, width in simple(found):
        if start <= offset < end:
            gaps += words(at, offset)
            at = offset + width
    gaps += words(at, end)
    return [(offset - start, width) for offset, width in gaps]


def leave_open(body: Body, address: Expr, gaps: list[tuple[int, int]], to: Operand) -> None:
    """Give padding any contents."""
    name = to.name if isinstance(to, Local) else "an object"
    span, text = body.span, body.text
    body.span, body.text = None, ""  # nobody wants to see these steps
    for offset, size in gaps:
        value = body.havoc(machine(8 * size, signed=False), approximates=f"the padding of `{name}`")
        body.emit(Store(build.add(address, build.integer(offset)), value))
    body.span, body.text = span, text


def zeroing(body: Body, declare: ir.Instruction, name: str, size: int) -> ir.Call | None:
    """Return the fill with zeros that follows on a declaration and covers all of the object."""
    block = body.flow.blocks[body.flow.home[declare]].instructions
    for instruction in block[block.index(declare) + 1 :]:
        if isinstance(instruction, ir.GetElementPointer | ir.DebugRecord):
            continue
        if not isinstance(instruction, ir.Call) or not isinstance(instruction.callee, Symbol):
            return None
        if not instruction.callee.name.startswith("llvm.memset."):
            return None
        to, byte, count = (argument.operand for argument in instruction.arguments[:3])
        whole = isinstance(count, Integer) and count.value == size
        zero = isinstance(byte, Integer) and byte.value == 0
        same = isinstance(to, Local) and to.name == name
        return instruction if whole and zero and same else None
    return None
