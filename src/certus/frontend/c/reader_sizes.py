"""What is settled when a program is compiled: sizes, alignments, choices by constants and by types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.reader_constants import evaluate
from certus.frontend.c.reader_core import Handler, Part, Reading, expression, inner, nothing
from certus.frontend.c.reader_lengths import after, fixed, lengthless, size_value
from certus.frontend.c.reader_names import Node
from certus.frontend.c.types import (
    ArrayType,
    CType,
    FloatType,
    IntegerType,
    OtherType,
    PointerType,
    Qualified,
    RecordType,
    VariableArrayType,
    VoidType,
    unqualified,
)


def _size_children(reading: Reading, node: Node) -> Sequence[Node]:
    node["$uncertain"] = reading.uncertain
    return inner(reading, node)


def _size(reading: Reading, node: Node, parts: list[Part]) -> Part:
    name = node["name"]
    argument = node.get("argType")
    if reading.uncertain > node["$uncertain"]:  # nobody evaluates the operand, but its type matters
        return reading.refuse(node, "ambiguous-type", f"`{name}` of an expression whose type is not certain")
    if argument is not None:
        if (tag := reading.defined_tag(node, argument)) is not None:
            return reading.refuse(node, "tag", f"`{tag}`, which may be defined inside an expression,")
        type_ = reading.names.of(argument)
    else:
        type_ = unqualified(expression(parts[0]).type)
        if isinstance(type_, OtherType) or _incomplete(type_):
            type_ = reading.type(node["inner"][0])
    if isinstance(type_, VariableArrayType) and name == "sizeof":
        return _variable_size(reading, node, type_, parts)
    try:
        if name == "sizeof":
            value = reading.layout.size(type_)
        else:
            preferred = name in ("__alignof", "__alignof__")
            value = reading.layout.preferred_align(type_) if preferred else reading.layout.align(type_)
            inherited = _typedef_alignment(reading, node)
            if inherited is None:
                return reading.refuse(node, "alignment", f"`{name}` of a type with the attribute `aligned`")
            if argument is None:
                value = _object_alignment(reading, expression(parts[0]), value)
            value = inherited or value
    except NoSize as reason:
        return reading.refuse(node, reason.code.removeprefix("unsupported-"), f"`{name}` of {reason}")
    return ast.IntegerConstant(reading.type(node), reading.at(node), value)


def _typedef_alignment(reading: Reading, node: Node) -> int | None:
    """The alignment that the typedef of a type asks for, 0 if none does; None if that is not certain."""
    described = node.get("argType") or node["inner"][0]["type"]
    text = described["qualType"]
    words = [word for word in re.findall(r"\w+", text) if reading.names.aligned(word) is not None]
    if "argType" not in node:
        return 0 if not words and not reading.names.has_aligned else None
    if not words:
        return None if reading.names.has_aligned and "typeof" in text else 0
    plain = text == words[0] and not reading.names.doubt("typedef", text)
    return (reading.names.aligned(text) or None) if plain else None


def _object_alignment(reading: Reading, operand: ast.Expression, align: int) -> int:
    """The alignment of what an expression denotes: objects and members may have one of their own."""
    if isinstance(operand, ast.VariableReference):
        if operand.variable.align == 0:
            raise NoSize("a variable whose alignment is not certain", "unsupported-alignment")
        return operand.variable.align or reading.layout.preferred_align(operand.type)
    if not isinstance(operand, ast.Member):
        return align
    record = unqualified(operand.base.type)
    assert isinstance(record, RecordType)
    layout, field = reading.layout.record(record.identity), operand.field
    packed = field.packed or reading.types.records[record.identity].packed
    wanted = 1 if packed else field.type_align or reading.layout.preferred_align(field.type)
    offset = layout.places[field.identity].offset
    return min(max(wanted, field.align or 1), layout.align, offset & -offset or layout.align)


def _variable_size(reading: Reading, node: Node, type_: CType, parts: list[Part]) -> Part:
    """`sizeof` of a variable-length array: the lengths of a type are computed, an operand is evaluated."""
    span = reading.at(node)
    if "argType" not in node and lengthless(type_):
        return reading.refuse(node, "vla", "`sizeof` of this variable-length array", parts)
    fixed_type, lengths = fixed(reading, type_, span)
    size = size_value(reading, fixed_type, span)
    if size is None:
        return reading.refuse(node, "vla", "`sizeof` of this variable-length array", parts)
    operand = expression(parts[0]) if parts and "argType" not in node else None
    if operand is not None and not isinstance(operand, ast.VariableReference):
        return ast.Comma(size.type, span, operand, size)
    return after(lengths, size)


def _incomplete(type_: CType) -> bool:
    return isinstance(type_, ArrayType) and type_.length is None


def _choose(reading: Reading, node: Node, parts: list[Part]) -> Part:
    """`__builtin_choose_expr`: all three are read, one is taken."""
    condition = evaluate(expression(parts[0]), reading.layout)
    if condition is None:
        return reading.refuse(node, "choose-expression", "`__builtin_choose_expr`", parts)
    return parts[1] if condition else parts[2]


def _generic_children(_: Reading, node: Node) -> Sequence[Node]:
    """The expression of the association that Clang selected."""
    for child in node["inner"]:
        if child.get("selected"):
            return [part for part in child["inner"] if "valueCategory" in part][-1:]
    return ()


def _generic(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return parts[0] if parts else reading.refuse(node, "generic-selection", "`_Generic`")


def _type_trait(reading: Reading, node: Node, _: list[Part]) -> Part:
    """`__builtin_types_compatible_p`, the only type trait of C; refused unless the answer is obvious."""
    children = node.get("inner", ())
    compatible: bool | None = None
    if len(children) == 2 and not any(_PARTIAL.search(child["type"]["qualType"]) for child in children):
        compatible = _compatible(*(unqualified(reading.type(child)) for child in children))
    if compatible is None:
        return reading.refuse(node, "type-trait", "`__builtin_types_compatible_p` of these types")
    return ast.IntegerConstant(reading.type(node), reading.at(node), int(compatible))


# What types here do not show, or what may be defined right there.
_PARTIAL: Final = re.compile(r"restrict|_Atomic|__attribute__|\b(?:struct|union|enum)\b")
_SCALARS: Final = (VoidType, IntegerType, FloatType, PointerType)


def _compatible(first: CType, second: CType) -> bool | None:
    """Whether two types without qualifiers are compatible; None if that is not obvious."""
    if not isinstance(first, _SCALARS) or not isinstance(second, _SCALARS):
        return None
    if any(isinstance(type_, IntegerType) and type_.enumeration is not None for type_ in (first, second)):
        return None
    if isinstance(first, PointerType) and isinstance(second, PointerType):
        one, other = first.target, second.target
        same = _compatible(unqualified(one), unqualified(other))
        return same and _qualifiers(one) == _qualifiers(other)
    return first == second


def _qualifiers(type_: CType) -> tuple[bool, bool]:
    return (type_.const, type_.volatile) if isinstance(type_, Qualified) else (False, False)


HANDLERS: Final[dict[str, Handler]] = {
    "UnaryExprOrTypeTraitExpr": Handler(_size, _size_children),
    "ChooseExpr": Handler(_choose),
    "GenericSelectionExpr": Handler(_generic, _generic_children),
    "TypeTraitExpr": Handler(_type_trait, nothing),
}
