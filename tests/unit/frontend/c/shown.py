"""Syntax trees as short text, for tests: `(= x (+ (load x) 1))`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from certus.frontend.c import ast
from certus.frontend.c.reader import read_unit
from certus.frontend.c.types import DATA_MODELS


def read(text: str, model: str = "LP64", *arguments: str, name: str = "test.c") -> ast.Unit:
    with TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_text(text)
        return read_unit(path, model=DATA_MODELS[model], arguments=arguments)


def body(text: str, model: str = "LP64") -> str:
    """The statements of `main`, with `text` between its braces."""
    unit = read("int main(void) {" + text + "}", model)
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    return " ".join(show(statement) for statement in main.statements)


def show(node: Any) -> str:
    if node is None:
        return "-"
    if isinstance(node, tuple):
        return "[" + " ".join(show(one) for one in node) + "]"
    if isinstance(node, ast.IntegerConstant):
        return str(node.value)
    if isinstance(node, ast.VariableReference):
        return node.variable.name
    if isinstance(node, ast.FunctionReference):
        return node.name
    if isinstance(node, ast.StringLiteral | ast.ChooseConstant):
        return repr(node.data)
    if isinstance(node, ast.Cast):
        return f"({node.conversion.value} {show(node.operand)})"
    if isinstance(node, ast.Member):
        return f"({show(node.base)}.{node.field.name})"
    if isinstance(node, ast.Unmodelled | ast.UnmodelledStatement):
        return f"<{node.code}>"
    if isinstance(node, ast.Binary | ast.Logical):
        return f"({node.operator} {show(node.left)} {show(node.right)})"
    if isinstance(node, ast.Unary):
        return f"({node.operator} {show(node.operand)})"
    if isinstance(node, ast.Subscript):
        written = (node.index, node.pointer) if node.index_first else (node.pointer, node.index)
        return f"(Subscript {show(written[0])} {show(written[1])})"
    if isinstance(node, ast.ExpressionStatement):
        return show(node.expression)
    return _general(node)


def _general(node: Any) -> str:
    parts = []
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name in ("type", "span", "computation"):
            continue
        if isinstance(value, ast.Variable):
            parts.append(value.name)
        elif isinstance(value, str | int | bool):
            parts.append(str(value))
        elif field.name == "field":
            parts.append("." + value.name if value is not None else "-")
        else:
            parts.append(show(value))
    return f"({type(node).__name__} {' '.join(parts)})"
