"""What must be known of a function before it is lowered: one walk over its tree, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from certus.frontend.c import ast

Tree = Any  # an expression or a statement


@dataclass(slots=True)
class Survey:
    """`addressed`: identities of variables whose address is taken. `variables`: identities of all variables
    mentioned. `functions`: names of the functions mentioned. `labels`: whether `goto` can reach back."""

    addressed: dict[str, None] = field(default_factory=dict)
    variables: dict[str, None] = field(default_factory=dict)
    functions: dict[str, None] = field(default_factory=dict)
    labels: bool = False


def survey(root: Tree) -> Survey:
    found = Survey()
    stack: list[Tree] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.VariableReference):
            found.variables[node.variable.identity] = None
            continue
        if isinstance(node, ast.AddressOf) and isinstance(node.operand, _OBJECTS):
            found.addressed[node.operand.variable.identity] = None
        elif isinstance(node, ast.FunctionReference):
            found.functions[node.name] = None
        elif isinstance(node, ast.Label):
            found.labels = True
        stack.extend(inner(node))
    return found


def parts(root: Tree) -> Iterator[Tree]:
    """An expression and all that stands in it."""
    stack: list[Tree] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(inner(node))


def inner(node: Tree) -> Iterable[Tree]:
    """What stands directly in an expression or a statement."""
    found = _PARTS.get(type(node))
    return () if found is None else (part for part in found(node) if part is not None)


_OBJECTS: Final = (ast.VariableReference, ast.CompoundLiteral)
_PARTS: Final[dict[type, Callable[[Any], Iterable[Tree]]]] = {
    ast.Member: lambda n: (n.base,),
    ast.Subscript: lambda n: (n.pointer, n.index),
    ast.Dereference: lambda n: (n.pointer,),
    ast.AddressOf: lambda n: (n.operand,),
    ast.Cast: lambda n: (n.operand,),
    ast.Unary: lambda n: (n.operand,),
    ast.Increment: lambda n: (n.operand,),
    ast.Binary: lambda n: (n.left, n.right),
    ast.Logical: lambda n: (n.left, n.right),
    ast.Conditional: lambda n: (n.condition, n.then, n.otherwise),
    ast.Comma: lambda n: (n.left, n.right),
    ast.Assignment: lambda n: (n.target, n.value),
    ast.CompoundAssignment: lambda n: (n.target, n.value),
    ast.Call: lambda n: (n.function, *n.arguments),
    ast.StatementExpression: lambda n: (n.body,),
    ast.InitialiserList: lambda n: (*n.items, n.filler),
    ast.CompoundLiteral: lambda n: (n.initialiser,),
    ast.VaArg: lambda n: (n.operand,),
    ast.Unmodelled: lambda n: n.operands,
    ast.Block: lambda n: n.statements,
    ast.Declaration: lambda n: (n.initialiser,),
    ast.ExpressionStatement: lambda n: (n.expression,),
    ast.If: lambda n: (n.condition, n.then, n.otherwise),
    ast.While: lambda n: (n.condition, n.body),
    ast.DoWhile: lambda n: (n.body, n.condition),
    ast.For: lambda n: (n.init, n.condition, n.step, n.body),
    ast.Switch: lambda n: (n.condition, n.body),
    ast.Case: lambda n: (n.body,),
    ast.Default: lambda n: (n.body,),
    ast.Label: lambda n: (n.body,),
    ast.Return: lambda n: (n.value,),
}
