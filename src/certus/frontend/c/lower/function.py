"""One function: the rules for every kind of node, parameters, the end of the body."""

from __future__ import annotations

from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import Unsupported
from certus.core.program import Return
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.lower import calls, conditions, expressions, places, statements, variadic
from certus.frontend.c.lower.body import Body, Rules
from certus.frontend.c.lower.steps import run
from certus.frontend.c.lower.values import is_record, sort_of
from certus.frontend.c.lower.world import Home, World
from certus.frontend.c.typenames import HINTS, refusal
from certus.frontend.c.types import unqualified
from certus.frontend.graph import Draft

RULES: Final = Rules(
    values={
        ast.IntegerConstant: expressions.integer_constant,
        ast.StringLiteral: expressions.lvalue,
        ast.ChooseConstant: expressions.lvalue,
        ast.VariableReference: expressions.lvalue,
        ast.FunctionReference: expressions.function_address,
        ast.Member: expressions.lvalue,
        ast.Subscript: expressions.lvalue,
        ast.Dereference: expressions.dereference,
        ast.AddressOf: expressions.address_of,
        ast.Cast: expressions.cast,
        ast.Unary: expressions.unary,
        ast.Increment: expressions.increment,
        ast.Binary: expressions.binary,
        ast.Logical: conditions.logical_value,
        ast.Conditional: conditions.conditional,
        ast.Comma: expressions.comma,
        ast.Assignment: expressions.assignment,
        ast.CompoundAssignment: expressions.compound_assignment,
        ast.Call: calls.call_value,
        ast.StatementExpression: statements.statement_expression,
        ast.InitialiserList: expressions.aggregate,
        ast.ZeroInitialiser: expressions.zero,
        ast.CompoundLiteral: expressions.lvalue,
        ast.VaArg: variadic.va_arg,
        ast.Unmodelled: expressions.unmodelled,
    },
    effects={
        ast.Call: calls.call_effect,
        ast.Increment: expressions.increment_effect,
        ast.Cast: expressions.cast_effect,
    },
    places={
        ast.VariableReference: places.variable_place,
        ast.Member: places.member_place,
        ast.Subscript: places.subscript_place,
        ast.Dereference: places.dereference_place,
        ast.StringLiteral: places.string_place,
        ast.ChooseConstant: places.string_place,
        ast.Comma: places.comma_place,
        ast.Cast: places.cast_place,
        ast.CompoundLiteral: expressions.compound_literal_place,
        ast.Node: places.value_place,
    },
    statements={
        ast.Block: statements.block,
        ast.Declaration: statements.declaration,
        ast.ExpressionStatement: statements.expression_statement,
        ast.If: statements.if_,
        ast.While: statements.while_,
        ast.DoWhile: statements.do_while,
        ast.For: statements.for_,
        ast.Switch: statements.switch,
        ast.Case: statements.case,
        ast.Default: statements.default,
        ast.Label: statements.label,
        ast.Goto: statements.goto,
        ast.Break: statements.break_,
        ast.Continue: statements.continue_,
        ast.Return: statements.return_,
        ast.Empty: statements.empty,
        ast.UnmodelledStatement: statements.unmodelled,
    },
)


def lower_function(world: World, function: ast.Function) -> Body:
    """The body of a function that has one."""
    body = Body(world, RULES, function.name, function.span)
    surveyed = world.surveys.get(function.name)  # not of a stand-in
    body.has_labels = surveyed is not None and surveyed.labels
    if function is not world.unit.functions[function.name]:
        body.unseen = f"{function.name}(...)"
    first, start = body.draft.node(), body.draft.node()
    body.draft.skip(Draft.ENTRY, first)
    body.passages.add(first, start, None, body.scope, function.span, "{")
    body.at = start
    assert function.body is not None
    try:
        _result(body, function)
        for number, parameter in enumerate(function.parameters):
            _parameter(body, parameter, number)
        variadic.declare(body, function)
        run(body.statement(function.body))
    except NoSize as reason:
        what = f"{function.name} uses {reason}, which is not modelled."
        hint = HINTS.get(reason.code)
        raise Unsupported(Diagnostic(reason.code, what, span=function.span, hint=hint)) from reason
    except AssertionError as failure:
        if not body.draft.refusals:
            raise
        # What depends on a value that is not modelled may have no meaning either.
        raise Unsupported(body.draft.refusals[0][1]) from failure
    _fall_off_the_end(body, function)
    finish_jumps(body)
    return body


def _result(body: Body, function: ast.Function) -> None:
    body.result_type = function.type.result
    if is_record(function.type.result):
        body.into = body.name_local("$into", INT)
        body.parameters.append(body.into)
        return
    sort = sort_of(function.type.result)
    if sort is not None:
        body.results = (body.name_local("$result", sort),)


def _parameter(body: Body, parameter: ast.Variable, number: int) -> None:
    sort = sort_of(parameter.type)
    if sort is None:
        code, _ = refusal(unqualified(parameter.type))
        body.refuse(parameter.span, code, f"the type of the parameter `{parameter.name}`")
        return
    name, text = parameter.name or f"${number}", body.text(parameter.span)
    if not body.world.in_memory(parameter):
        variable = body.name_local(name, sort)
        body.parameters.append(variable)
        body.homes[parameter.identity] = Home(variable, in_memory=False)
        if parameter.name:
            body.world.source_names[variable] = parameter.name
            body.world.scopes[variable] = body.scope.from_here(parameter.span)
        return
    variable = body.name_local(f"${name}", sort)
    body.parameters.append(variable)
    home = places.declare_home(body, parameter)
    if is_record(parameter.type):
        places.copy_object(body, home.variable, variable, parameter.type, parameter.span, text)
    else:
        places.write(body, places.place_of(parameter.type, home), variable, parameter.span, text)


def _fall_off_the_end(body: Body, function: ast.Function) -> None:
    """Control reaches the closing brace: `main` returns 0, the result of others is arbitrary."""
    end, last = _end(function.span), body.draft.node()
    body.passages.add(body.at, last, body.scope, None, end, "}")
    if not body.results:
        body.draft.skip(last, Draft.EXIT)
    elif function.name == "main":
        zero: Expr = build.constant(0, body.results[0].sort)
        body.draft.edge(last, Return((zero,)), Draft.EXIT, end, "return 0;")
    else:
        body.at = last
        body.set_freely(body.results, end, "}")
        body.draft.skip(body.at, Draft.EXIT)


def _end(span: Span) -> Span:
    """The last character of a stretch."""
    column = max(span.end_column - 1, 1)
    line = span.presumed_line
    if line is not None:
        line += span.end_line - span.line
    return Span(span.file, span.end_line, column, span.end_line, span.end_column, span.presumed_file, line)


def finish_jumps(body: Body) -> None:
    """All labels and all objects of all scopes are known: make the steps of jumps."""
    for name, passage in body.gotos:
        target = body.labels.get(name)
        if target is not None:
            passage.target, passage.entered = target.node, target.scope
    body.passages.resolve()
