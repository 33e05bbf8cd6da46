"""Initialisers: Clang has resolved designators, so that an entry stands for each member or element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.ast import Storage, Variable
from certus.frontend.c.reader_core import Handler, Part, Reading, expression, expressions, nothing
from certus.frontend.c.reader_names import Node
from certus.frontend.c.types import CType, Field, OtherType, RecordType, unqualified


def _list_children(_: Reading, node: Node) -> Sequence[Node]:
    """`array_filler` holds the filler and then the elements, in place of `inner`."""
    children: Sequence[Node] = node.get("array_filler") or node.get("inner", ())
    return children


def _list(reading: Reading, node: Node, parts: list[Part]) -> Part:
    type_, span = reading.type(node), reading.at(node)
    other = unqualified(type_)
    if isinstance(other, OtherType):
        code = other.code.removeprefix("unsupported-") or "initialiser"
        return reading.refuse(node, code, other.what or "an initialiser of this type", parts)
    items = expressions(parts)
    filler: ast.Expression | None = None
    if "array_filler" in node:
        filler, items = items[0], items[1:]
    record = unqualified(type_)
    field: Field | None = None
    if isinstance(record, RecordType) and record.identity in reading.types.records:
        definition = reading.types.records[record.identity]
        members = [one for one in definition.fields if one.name or one.bits is None]
        if definition.union:
            chosen = node.get("field", {}).get("id")
            field = reading.fields[chosen][1] if chosen in reading.fields else None
            if field is None and items:
                field = next(iter(members), None)
        elif not all(_fits(item, one.type) for item, one in zip(items, members, strict=False)):
            return reading.refuse(node, "initialiser", "an initialiser of a record whose name is shadowed")
    return ast.InitialiserList(type_, span, tuple(items), filler, field)


def _fits(item: ast.Expression, type_: CType) -> bool:
    """Whether the record that the entry for a member initialises is the member's own."""
    ours, theirs = unqualified(item.type), unqualified(type_)
    both = isinstance(ours, RecordType) and isinstance(theirs, RecordType)
    return not both or ours == theirs


def _zero(reading: Reading, node: Node, _: list[Part]) -> Part:
    return ast.ZeroInitialiser(reading.type(node), reading.at(node))


def _compound_literal(reading: Reading, node: Node, parts: list[Part]) -> Part:
    type_, span = reading.type(node), reading.at(node)
    if (tag := reading.defined_tag(node, node["type"])) is not None:
        return reading.refuse(node, "tag", f"`{tag}`, which may be defined inside an expression,", parts)
    initialiser = expression(parts[0])
    function = reading.function
    name = reading.unique(f"{function}.$literal" if function else "$literal")
    storage = Storage.STATIC if function is None else Storage.AUTOMATIC
    variable = Variable(name, "", type_, storage, span, function)
    if function is None:
        reading.local_statics.append(variable)
        reading.initialisers.append((variable, initialiser))
    return ast.CompoundLiteral(type_, span, variable, initialiser)


def _update(reading: Reading, node: Node, _: list[Part]) -> Part:
    return reading.refuse(node, "initialiser", "an initialiser that overrides part of another")


HANDLERS: Final[dict[str, Handler]] = {
    "InitListExpr": Handler(_list, _list_children),
    "ImplicitValueInitExpr": Handler(_zero, nothing),
    "CompoundLiteralExpr": Handler(_compound_literal),
    "DesignatedInitUpdateExpr": Handler(_update, nothing),
    "NoInitExpr": Handler(_update, nothing),
}
