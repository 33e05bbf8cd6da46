"""The contents of constants: those of static objects, and initialisers of local variables, which Clang
compiles to copies of constants.

An initialiser of a local variable gives no value to padding: it gets any value, on which no counterexample
may depend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Store
from certus.core.terms import Expr, Kind, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import ArrayType, StructType, Type, VectorType
from certus.frontend.c.model import cells as layouts
from certus.frontend.c.model import floats
from certus.frontend.c.model.checks import check
from certus.frontend.c.model.memory import at, fill_loop, loop_width
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import U8, Cell, Piece, Pieces, bits_of, taken

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_MANY: Final = 1024  # stores of one initialiser without a loop


def contents(body: Body, constant: ir.Operand) -> Iterator[Piece]:
    """Yield the scalars of a constant that are not zero, as unsigned integers."""
    layout = body.layout
    stack: list[tuple[int, ir.Operand]] = [(0, constant)]
    while stack:
        offset, part = stack.pop()
        type_ = part.type
        if isinstance(part, ir.Zero | ir.Null | ir.Undefined):
            continue
        if isinstance(part, ir.Bytes):
            values = enumerate(part.data, offset)
            yield from (Piece(at, 1, build.constant(byte, U8)) for at, byte in values if byte)
        elif isinstance(part, ir.Aggregate) and isinstance(type_, StructType):
            places = zip(layout.offsets(type_), part.parts, strict=True)
            stack += reversed([(offset + start, each) for start, each in places])
        elif isinstance(part, ir.Aggregate):
            assert isinstance(type_, ArrayType | VectorType)
            step = layouts.element_step(layout, type_)
            stack += reversed([(offset + i * step, each) for i, each in enumerate(part.parts)])
        elif isinstance(part, ir.Float):
            bits = floats.literal(part)
            if bits.value:
                yield Piece(offset, layout.store_size(type_), bits)
        else:
            size = layout.store_size(type_)
            term = bits_of(term_of(body, part), size)
            if term.kind is not Kind.CONST or term.value:
                yield Piece(offset, size, term)


# ------------------------------------------------------------------------------ local variables


def copy_constant(body: Body, to: ir.Operand, source: ir.Operand, count: ir.Operand) -> bool:
    """Initialise a local variable from a constant of the compiler; return false if this is not such a
    copy."""
    variable = body.module.globals.get(source.name) if isinstance(source, ir.Symbol) else None
    if variable is None or variable.linkage != "private" or not variable.constant:
        return False
    constant = body.module.initialiser(variable)
    size = count.value if isinstance(count, ir.Integer) else None
    if size is None or size > body.layout.size(variable.type) or constant is None:
        return False
    address, root = address_of(body, to), body.roots.of(to)
    check(body, address, size, "write")
    parts = [part for part in contents(body, constant) if part.offset < size]
    cells = layouts.cells_at(body.layout, root, size)
    if cells is not None and root is not None:
        open_ = padding(body, root.type, root.offset, size)
        cells = [cell for cell in cells if cell not in open_]
        value = Pieces(size, tuple(parts))
        terms = taken(value, cells, lambda count: build.constant(0, machine(8 * count, signed=False)))
        for (offset, _), term in zip(cells, terms, strict=True):
            _store(body, at(address, offset), term)
        leave_open(body, address, open_, f"the padding of `{getattr(to, 'name', 'an object')}`")
        return True
    width = 1 if root is None else loop_width(layouts.element(body.layout, root.type), size)
    if any(part.size != width or part.offset % width for part in parts):
        width = 1
    if len(parts) > _MANY or any(part.size != width for part in parts):
        return False
    if size // width <= _MANY:
        stored = dict.fromkeys(range(0, size, width), build.constant(0, machine(8 * width, signed=False)))
    else:
        stored = {}
        fill_loop(body, address, build.constant(0, U8), build.integer(size // width), width)
    stored |= {offset: term for offset, _, term in parts}
    for offset, term in stored.items():
        _store(body, at(address, offset), term)
    return True


def _store(body: Body, address: Expr, term: Expr) -> None:
    """Store a part of an initialiser, with the text that the source may have for it."""
    text = body.unit.symbols.constant_text(term)
    edge = body.emit(Store(address, term), text=text or None)
    if text == "0":
        edge.span, edge.text = None, ""  # most are not written: these steps are not shown


def padding(body: Body, type_: Type, start: int, size: int) -> list[Cell]:
    """Return the bytes of a record that belong to no member, as words, from `start` on."""
    inner = type_
    while isinstance(inner, ArrayType):
        inner = inner.element
    scalars = layouts.scalars(body.layout, type_)
    if not isinstance(inner, StructType) or inner.name.startswith("union.") or scalars is None:
        return []
    inside = [cell for cell in scalars if start <= cell[0] < start + size]
    return [(offset - start, width) for offset, width in layouts.gaps(inside, start, start + size)]


def leave_open(body: Body, address: Expr, cells: list[Cell], what: str) -> None:
    """Give cells any contents, by steps that reports do not show."""
    span, text = body.cursor.span, body.cursor.text
    body.cursor.span, body.cursor.text = None, ""
    for offset, size in cells:
        value = body.havoc(machine(8 * size, signed=False), approximates=what)
        body.emit(Store(at(address, offset), value))
    body.cursor.span, body.cursor.text = span, text
