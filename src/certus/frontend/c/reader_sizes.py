"""What is settled when a program is compiled: sizes, alignments, choices by constants and by types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.reader_constants import evaluate
from certus.frontend.c.reader_core import Handler, Part, Reading, expression, nothing
from certus.frontend.c.reader_lengths import after, fixed, size_value
from certus.frontend.c.reader_names import Node
from certus.frontend.c.types import (
    ArrayType,
    CType,
    FunctionType,
    OtherType,
    RecordType,
    VariableArrayType,
    unqualified,
)


def _size(reading: Reading, node: Node, parts: list[Part]) -> Part:
    name = node["name"]
    argument = node.get("argType")
    if argument is not None:
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
            if argument is None:
                value = _object_alignment(reading, expression(parts[0]), value)
    except NoSize as reason:
        return reading.refuse(node, reason.code.removeprefix("unsupported-"), f"`{name}` of {reason}")
    return ast.IntegerConstant(reading.type(node), reading.at(node), value)


def _object_alignment(reading: Reading, operand: ast.Expression, align: int) -> int:
    """The alignment of what an expression denotes: objects and members may have one of their own."""
    if isinstance(operand, ast.VariableReference):
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
    """`__builtin_types_compatible_p`, the only type trait of C."""
    types = [unqualified(reading.type(child)) for child in node.get("inner", ())]
    if len(types) != 2 or any(isinstance(type_, OtherType) for type_ in types):
        return reading.refuse(node, "type-trait", "a type trait")
    return ast.IntegerConstant(reading.type(node), reading.at(node), int(_compatible(*types)))


def _compatible(first: CType, second: CType) -> bool:
    if isinstance(first, ArrayType) and isinstance(second, ArrayType):
        lengths = first.length is None or second.length is None or first.length == second.length
        return lengths and _compatible(first.element, second.element)
    if isinstance(first, FunctionType) and isinstance(second, FunctionType):
        if first.parameters is None or second.parameters is None:
            return _compatible(first.result, second.result)
        return first == second
    return first == second


HANDLERS: Final[dict[str, Handler]] = {
    "UnaryExprOrTypeTraitExpr": Handler(_size),
    "ChooseExpr": Handler(_choose),
    "GenericSelectionExpr": Handler(_generic, _generic_children),
    "TypeTraitExpr": Handler(_type_trait, nothing),
}
