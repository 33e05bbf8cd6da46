"""Statements. Blocks open scopes; declarations are spliced into their block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.reader_assembly import is_empty_assembly
from certus.frontend.c.reader_constants import evaluate
from certus.frontend.c.reader_core import (
    Handler,
    Part,
    Reading,
    expression,
    inner,
    nothing,
)
from certus.frontend.c.reader_names import Node

_ALLOWED_ATTRIBUTES: Final = frozenset(("FallThroughAttr", "LikelyAttr", "UnlikelyAttr", "UnusedAttr"))


def statements(part: Part, reading: Reading) -> tuple[ast.Statement, ...]:
    """The statements that a part stands for."""
    if part is None:
        return ()
    if isinstance(part, tuple):
        return part
    if isinstance(part, ast.Node):
        return (ast.ExpressionStatement(part, part.span),)
    return (part,)


def statement(part: Part, reading: Reading) -> ast.Statement:
    found = statements(part, reading)
    if len(found) == 1:
        return found[0]
    return ast.Block(found, found[0].span) if found else ast.Empty(reading.span)


def _open(reading: Reading, node: Node) -> Sequence[Node]:
    reading.names.open_scope()
    children: Sequence[Node] = node.get("inner", ())
    return children


def _block(reading: Reading, node: Node, parts: list[Part]) -> Part:
    reading.names.close_scope()
    return ast.Block(tuple(one for part in parts for one in statements(part, reading)), reading.at(node))


def _declarations(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return tuple(one for part in parts for one in statements(part, reading))


def _if(reading: Reading, node: Node, parts: list[Part]) -> Part:
    condition, then, *otherwise = parts
    return ast.If(
        expression(condition),
        statement(then, reading),
        statement(otherwise[0], reading) if otherwise else None,
        reading.at(node),
    )


def _while(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return ast.While(expression(parts[-2]), statement(parts[-1], reading), reading.at(node))


def _do(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return ast.DoWhile(statement(parts[0], reading), expression(parts[1]), reading.at(node))


def _for(reading: Reading, node: Node, parts: list[Part]) -> Part:
    reading.names.close_scope()
    init, _, condition, step, body = parts
    return ast.For(
        None if init is None else statement(init, reading),
        None if condition is None else expression(condition),
        None if step is None else expression(step),
        statement(body, reading),
        reading.at(node),
    )


def _switch_children(reading: Reading, node: Node) -> Sequence[Node]:
    node["$unknown"] = reading.unknown_labels
    return inner(reading, node)


def _switch(reading: Reading, node: Node, parts: list[Part]) -> Part:
    if reading.unknown_labels > node["$unknown"]:  # control may come to any statement then
        what = "a `switch` with a case label that is not modelled"
        return ast.UnmodelledStatement("unsupported-case-label", what, reading.at(node))
    return ast.Switch(expression(parts[-2]), statement(parts[-1], reading), reading.at(node))


def _case(reading: Reading, node: Node, parts: list[Part]) -> Part:
    span = reading.at(node)
    bounds = [evaluate(expression(part), reading.layout) for part in parts[:-1]]
    low, high = bounds[0], bounds[-1]
    if low is None or high is None:
        reading.unknown_labels += 1
        return parts[-1]
    return ast.Case(low, high, statement(parts[-1], reading), span)


def _default(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return ast.Default(statement(parts[0], reading), reading.at(node))


def _label(reading: Reading, node: Node, parts: list[Part]) -> Part:
    return ast.Label(reading.labels[node["declId"]], statement(parts[0], reading), reading.at(node))


def _goto(reading: Reading, node: Node, _: list[Part]) -> Part:
    return ast.Goto(reading.labels[node["targetLabelDeclId"]], reading.at(node))


def _return(reading: Reading, node: Node, parts: list[Part]) -> Part:
    value = expression(parts[0]) if parts and parts[0] is not None else None
    return ast.Return(value, reading.at(node))


def _attributed(reading: Reading, node: Node, parts: list[Part]) -> Part:
    kinds = [child["kind"] for child in node["inner"] if child.get("kind", "").endswith("Attr")]
    for kind in kinds:
        if kind not in _ALLOWED_ATTRIBUTES:
            what = f"the attribute `{kind.removesuffix('Attr')}`"
            refused = ast.UnmodelledStatement("unsupported-attribute", what, reading.at(node))
            return ast.Block((refused, *statements(parts[-1], reading)), refused.span)  # with its labels
    return parts[-1]


def _attributed_children(_: Reading, node: Node) -> Sequence[Node]:
    return [child for child in node["inner"] if not child.get("kind", "").endswith("Attr")]


def _assembly(reading: Reading, node: Node, parts: list[Part]) -> Part:
    """Inline assembly without instructions only evaluates its operands; the tree does not have its text."""
    span = reading.at(node)
    text = reading.positions.spelled(node)
    if text is None or not is_empty_assembly(text):
        return ast.UnmodelledStatement("unsupported-asm", "inline assembly", span)
    operands = tuple(ast.ExpressionStatement(part, part.span) for part in parts if isinstance(part, ast.Node))
    return ast.Block(operands, span) if operands else ast.Empty(span)


def _assembly_children(_: Reading, node: Node) -> Sequence[Node]:
    """The operands; the labels of an `asm goto` without instructions are not jumped to."""
    return [child for child in node.get("inner", ()) if child.get("kind") != "AddrLabelExpr"]


def _simple(make: type[ast.Break] | type[ast.Continue] | type[ast.Empty]) -> Handler:
    return Handler(lambda reading, node, _: make(reading.at(node)), nothing)


def _computed_goto(reading: Reading, node: Node, _: list[Part]) -> Part:
    return ast.UnmodelledStatement("unsupported-computed-goto", "a computed goto", reading.at(node))


HANDLERS: Final[dict[str, Handler]] = {
    "CompoundStmt": Handler(_block, _open),
    "DeclStmt": Handler(_declarations),
    "IfStmt": Handler(_if),
    "WhileStmt": Handler(_while),
    "DoStmt": Handler(_do),
    "ForStmt": Handler(_for, _open),
    "SwitchStmt": Handler(_switch, _switch_children),
    "CaseStmt": Handler(_case),
    "DefaultStmt": Handler(_default),
    "BreakStmt": _simple(ast.Break),
    "ContinueStmt": _simple(ast.Continue),
    "NullStmt": _simple(ast.Empty),
    "GotoStmt": Handler(_goto, nothing),
    "IndirectGotoStmt": Handler(_computed_goto, nothing),
    "LabelStmt": Handler(_label),
    "ReturnStmt": Handler(_return),
    "AttributedStmt": Handler(_attributed, _attributed_children),
    "GCCAsmStmt": Handler(_assembly, _assembly_children),
    "MSAsmStmt": Handler(_assembly, nothing),
}
