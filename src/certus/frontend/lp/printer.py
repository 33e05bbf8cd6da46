"""Print syntax trees. Parsing the text again gives an equal tree.

Parentheses appear only where precedence needs them; bodies always have braces.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from certus.frontend.lp import ast
from certus.frontend.lp.ast import decimal_text, numeral

_CONDITIONAL: Final = 0  # precedence below all operators
_PREFIX: Final = 7  # precedence above all binary operators
_INDENT: Final = "    "


def print_lp(program: ast.ProgramText) -> str:
    """Return the text of a program."""
    lines: list[str] = []
    for unit in program.units:
        if isinstance(unit, ast.Declaration):
            lines.append(_declaration(unit))
        else:
            results = ", ".join(unit.results) or "void"
            parameters = ", ".join(f"{p.type} {p.name}" for p in unit.parameters)
            lines += ["", f"{results} {unit.name}({parameters}) {{"]
            lines += _body(unit.body)
            lines.append("}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _declaration(declaration: ast.Declaration) -> str:
    parts = [
        d.name if d.value is None else f"{d.name} = {expression_text(d.value)}"
        for d in declaration.declarators
    ]
    return f"{declaration.type} {', '.join(parts)};"


def _body(body: Sequence[ast.Statement]) -> list[str]:
    """Return the lines of a body, indented by one step."""
    lines: list[str] = []
    todo: list[tuple[ast.Statement | str, int, str]] = [(s, 1, "") for s in reversed(body)]
    while todo:
        item, depth, prefix = todo.pop()
        indent = _INDENT * depth
        if isinstance(item, str):
            lines.append(indent + item)
        elif isinstance(item, (ast.If, ast.While, ast.Block)):
            lines.append(indent + prefix + _opening(item))
            todo += reversed(_inside(item, depth))
        else:
            lines.append(indent + _simple(item))
    return lines


def _opening(statement: ast.If | ast.While | ast.Block) -> str:
    if isinstance(statement, ast.Block):
        return "{"
    word = "if" if isinstance(statement, ast.If) else "while"
    return f"{word} ({expression_text(statement.condition)}) {{"


def _inside(
    statement: ast.If | ast.While | ast.Block, depth: int
) -> list[tuple[ast.Statement | str, int, str]]:
    """Return the items after the opening line of a statement, each with its depth and prefix."""
    if not isinstance(statement, ast.If):
        return [*((s, depth + 1, "") for s in statement.body), ("}", depth, "")]
    items: list[tuple[ast.Statement | str, int, str]] = [(s, depth + 1, "") for s in statement.then]
    otherwise = statement.otherwise
    if not otherwise:
        return [*items, ("}", depth, "")]
    if len(otherwise) == 1 and isinstance(otherwise[0], ast.If):
        return [*items, (otherwise[0], depth, "} else ")]
    return [*items, ("} else {", depth, ""), *((s, depth + 1, "") for s in otherwise), ("}", depth, "")]


def _simple(statement: ast.Statement) -> str:
    match statement:
        case ast.Declaration():
            return _declaration(statement)
        case ast.Label(name):
            return f"{name}:"
        case ast.Assignment(targets, values):
            return f"{', '.join(t.name for t in targets)} = {_listed(values)};"
        case ast.CallStatement(call):
            return f"{expression_text(call)};"
        case ast.Goto(label):
            return f"goto {label};"
        case ast.Break():
            return "break;"
        case ast.Continue():
            return "continue;"
        case ast.Assert(condition):
            return f"assert({expression_text(condition)});"
        case ast.AssumeStatement(condition):
            return f"assume({expression_text(condition)});"
        case ast.ReturnStatement(values):
            return f"return {_listed(values)};" if values else "return;"
        case _:
            return ";"


def _listed(values: Sequence[ast.Expression]) -> str:
    return ", ".join(expression_text(value) for value in values)


def expression_text(root: ast.Expression) -> str:
    """Return the text of an expression."""
    pieces: list[str] = []
    todo: list[str | tuple[ast.Expression, int]] = [(root, _CONDITIONAL)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, least = item  # below the precedence `least`, parentheses are needed
        parts = _parts(node)
        if _strength(node) < least:
            parts = ["(", *parts, ")"]
        todo += reversed(parts)
    return "".join(pieces)


def _strength(node: ast.Expression) -> int:
    if isinstance(node, ast.Conditional):
        return _CONDITIONAL
    if isinstance(node, ast.Binary):
        return ast.PRECEDENCE[node.operator]
    return _PREFIX if isinstance(node, ast.Unary) else _PREFIX + 1


def _parts(node: ast.Expression) -> list[str | tuple[ast.Expression, int]]:
    """Return texts and operands, each operand with the least precedence that needs no parentheses."""
    match node:
        case ast.Name(name):
            return [name]
        case ast.Number(value):
            return [decimal_text(value) if isinstance(value, Fraction) else numeral(value)]
        case ast.Truth(value):
            return ["true" if value else "false"]
        case ast.Nondet():
            return ["*"]
        case ast.Unary(operator, operand):
            twice = isinstance(operand, ast.Unary) and operator == operand.operator == "-"
            return [operator, (operand, _PREFIX + twice)]  # `-(-x)`, because `--x` is a decrement in C
        case ast.Binary(operator, left, right):
            own = ast.PRECEDENCE[operator]
            return [(left, own), f" {operator} ", (right, own + 1)]
        case ast.Conditional(condition, then, otherwise):
            return [(condition, 1), " ? ", (then, _CONDITIONAL), " : ", (otherwise, _CONDITIONAL)]
        case ast.Invocation(procedure, arguments):
            parts: list[str | tuple[ast.Expression, int]] = [f"{procedure}("]
            for i, argument in enumerate(arguments):
                parts += [", "] if i else []
                parts.append((argument, _CONDITIONAL))
            return [*parts, ")"]
