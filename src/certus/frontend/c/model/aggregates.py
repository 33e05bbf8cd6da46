"""Records and arrays that are values: parts are taken out of them and put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core.sorts import BOOL, INT, Sort
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import IntegerType, PointerType
from certus.frontend.c.model.operands import field_place, pieces_at, value_of
from certus.frontend.c.model.terms import Piece, Pieces, as_sort, joined, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def extract(body: Body, instruction: ir.ExtractValue) -> None:
    """Lower `extractvalue`."""
    value, type_, offset = value_of(body, instruction.aggregate), instruction.aggregate.type, 0
    for index in instruction.indices:
        inner, type_ = field_place(body, type_, index)
        offset += inner
    assert isinstance(value, Pieces)
    size = body.layout.store_size(type_)
    if isinstance(type_, IntegerType | PointerType):
        exact = [p for p in value.parts if (p.offset, p.size) == (offset, size)]
        inside = [p for p in value.parts if offset <= p.offset and p.offset + p.size <= offset + size]
        if exact:
            body.define(instruction, as_sort(exact[0].term, _kept_sort(exact[0].term, type_)))
        elif isinstance(type_, IntegerType) and len(inside) > 1:
            body.define(instruction, _part(inside, offset, size))
        else:
            body.define(instruction, as_sort(joined(value, offset, size, body.unset), sort_of(type_)))
        return
    body.define(
        instruction, _part([p for p in value.parts if offset <= p.offset < offset + size], offset, size)
    )


def _part(parts: list[Piece], offset: int, size: int) -> Pieces:
    return Pieces(size, tuple(Piece(p.offset - offset, p.size, p.term) for p in parts))


def _kept_sort(term: Expr, type_: IntegerType | PointerType) -> Sort:
    """The sort of a scalar that a piece holds: its own, if it has the width of the type."""
    wanted = sort_of(type_)
    if term.sort in (BOOL, INT) or wanted in (BOOL, INT):
        return wanted
    return term.sort


def insert(body: Body, instruction: ir.InsertValue) -> None:
    """Lower `insertvalue`."""
    whole = value_of(body, instruction.aggregate)
    type_, offset = instruction.aggregate.type, 0
    size_of_all = body.layout.size(type_)
    for index in instruction.indices:
        inner, type_ = field_place(body, type_, index)
        offset += inner
    size = body.layout.size(type_)
    assert isinstance(whole, Pieces)
    kept = [p for p in whole.parts if p.offset + p.size <= offset or offset + size <= p.offset]
    new = pieces_at(body, value_of(body, instruction.value), offset, type_)
    parts = sorted((*kept, *new), key=lambda p: p.offset)
    body.define(instruction, Pieces(size_of_all, tuple(parts)))
