"""What of an object has a name in the source, from its debug type."""

from __future__ import annotations

from typing import Final

from certus.core.objects import ArrayShape, RecordShape, ScalarShape, Shape
from certus.frontend.c.ir.debug import Node
from certus.frontend.c.ir.module import Module

_DEEPEST: Final = 20


def shape_of(module: Module, type_: int | None, depth: int = 0) -> Shape | None:
    """Return the shape of a C type; None for what has no name: floating point, bit-fields, unknown sizes."""
    debug = module.debug
    node = debug.plain(type_)
    if node is None or depth > _DEEPEST:
        return None
    tag = node.fields.get("tag", "")
    if tag == "DW_TAG_pointer_type":
        return ScalarShape(module.layout.pointer_bits, signed=False, pointer=True)
    if tag == "DW_TAG_array_type":
        return _array(module, node, depth)
    if tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
        return _record(module, node, depth)
    signed = debug.signed(type_)
    if signed is None:
        return None
    size = node.number("size")
    return ScalarShape(size, signed) if size else None


def _array(module: Module, node: Node, depth: int) -> Shape | None:
    element = node.reference("baseType")
    found = shape_of(module, element, depth + 1)
    plain = module.debug.plain(element)
    size = 0 if plain is None else plain.number("size") // 8
    counts = []
    for number in module.debug.elements(node.reference("elements")):
        count = -1 if number is None else module.debug.node(number).number("count")
        if count <= 0:
            return None
        counts.append(count)
    for count in reversed(counts):
        if found is None:
            return None
        found = ArrayShape(count, size, found)
        size *= count
    return found


def _record(module: Module, node: Node, depth: int) -> Shape | None:
    members: list[tuple[str, int, Shape]] = []
    for number in module.debug.elements(node.reference("elements")):
        if number is None:
            continue
        member = module.debug.node(number)
        if "DIFlagBitField" in member.fields.get("flags", ""):
            continue
        inner = shape_of(module, member.reference("baseType"), depth + 1)
        if inner is not None:
            members.append((member.string("name"), member.number("offset") // 8, inner))
    return RecordShape(tuple(members))
