"""Functions that are called through pointers although their bodies are not what a call means.

A call that names `reach_error`, a library function, or a function that nobody defines, has a meaning of its
own. A pointer may lead to such a function too; then a stand-in is called, which makes that very call.
"""

from __future__ import annotations

from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion, Storage, Variable
from certus.frontend.c.library import LIBRARY
from certus.frontend.c.lower.arguments import library_entry
from certus.frontend.c.lower.world import World
from certus.frontend.c.types import VoidType, unqualified


def callee(world: World, name: str) -> ast.Function:
    """What a call through a pointer to the function runs."""
    function = world.unit.functions[name]
    special = name in world.errors.functions
    return function if function.body is not None and not special else _stand_in(function)


def _stand_in(function: ast.Function) -> ast.Function:
    """`result f(parameters) { return f(parameters); }`, where the call inside has the special meaning."""
    span, type_ = function.span, function.type
    parameters = tuple(
        Variable(f"{function.name}.$argument{number}", "", kind, Storage.PARAMETER, span, function.name)
        for number, kind in enumerate(type_.parameters or ())
    )
    arguments = tuple(
        ast.Cast(p.type, span, Conversion.LOAD, ast.VariableReference(p.type, span, p)) for p in parameters
    )
    call = ast.Call(type_.result, span, ast.FunctionReference(type_, span, function.name), arguments)
    void = isinstance(unqualified(type_.result), VoidType)
    made: ast.Statement = ast.ExpressionStatement(call, span) if void else ast.Return(call, span)
    entry = library_entry(function, function.name)
    inert = entry is not None and LIBRARY[entry].model in ("inert", "output")
    if type_.variadic and not inert:
        what = f"a call of `{function.name}` through a pointer, with a variable number of arguments,"
        made = ast.UnmodelledStatement("unsupported-varargs", what, span)
    body = ast.Block((made,), span)
    return ast.Function(function.name, type_, parameters, body, span, function.noreturn)
