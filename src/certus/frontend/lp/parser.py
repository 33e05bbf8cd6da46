"""Parse text to syntax trees.

The automaton in `table` recognises statements. Expressions are flat chains of operands and operators, which
`shape` turns into trees. There is no recursion, so only memory limits the nesting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NoReturn

from certus.core.errors import InputError
from certus.frontend.graph import collection_paused
from certus.frontend.lp import ast
from certus.frontend.lp.ast import read_number
from certus.frontend.lp.messages import unexpected
from certus.frontend.lp.table import Token, UnexpectedToken, Value, run, tokens
from certus.frontend.source import Source

Children = list[Value]  # the values of a rule's right-hand side
Chain = list[Value]  # operand, operator token, operand, operator token, ... operand


def parse(source: Source) -> ast.ProgramText:
    """Parse a program; raise `InputError` for a syntax error."""
    with collection_paused():
        try:
            tree = run(tokens(source), "program", ACTIONS)
        except UnexpectedToken as error:
            _refuse(error, source)
    assert isinstance(tree, ast.ProgramText)
    return tree


def parse_tree_of_expression(source: Source, names: Iterable[str] = ()) -> ast.Expression:
    """Parse a single expression; `names` are further texts that are names."""
    try:
        tree: ast.Expression = run(tokens(source, names), "expression", ACTIONS)
    except UnexpectedToken as error:
        _refuse(error, source)
    return tree


def _refuse(error: UnexpectedToken, source: Source) -> NoReturn:
    raise InputError([unexpected(error.token, error.expected, source)]) from None


def shape(chain: Chain) -> ast.Expression:
    """Return the tree of a chain: operators bind by precedence, those of equal precedence to the left."""
    operands: list[ast.Expression] = [chain[0]]
    operators: list[str] = []

    def join() -> None:
        right = operands.pop()
        left = operands.pop()
        operands.append(ast.Binary(operators.pop(), left, right, start=left.start, end=right.end))

    for i in range(1, len(chain), 2):
        operator: str = chain[i].text
        strength = ast.PRECEDENCE[operator]
        while operators and ast.PRECEDENCE[operators[-1]] >= strength:
            join()
        operators.append(operator)
        operands.append(chain[i + 1])
    while operators:
        join()
    return operands[0]


def _whole(chain: Chain | ast.Expression) -> ast.Expression:
    return shape(chain) if isinstance(chain, list) else chain


def _last(c: Children) -> int:
    end: int = c[-1].end
    return end


# --------------------------------------------------------------------------------------- lists


def _nothing(c: Children) -> list[Value]:
    return []


def _alone(c: Children) -> Value:
    return c[0]


def _single(c: Children) -> list[Value]:
    return [c[0]]


def _append(c: Children) -> list[Value]:
    items: list[Value] = c[0]
    items.append(c[-1])
    return items


def _extend(c: Children) -> list[Value]:
    items: list[Value] = c[0]
    items.extend(c[1])
    return items


# -------------------------------------------------------------------------------- expressions


def _chain(c: Children) -> Chain:
    left = c[0]
    if isinstance(left, list):
        left.append(c[1])
        left.append(c[2])
        return left
    return c


def _conditional(c: Children) -> ast.Conditional:
    condition = _whole(c[0])
    return ast.Conditional(condition, c[2], c[4], start=condition.start, end=_last(c))


def _variable(c: Children) -> ast.Name:
    _, text, start, end = c[0]
    return ast.Name(text, start=start, end=end)


def _number(c: Children) -> ast.Number:
    _, text, start, end = c[0]
    return ast.Number(read_number(text), start=start, end=end)


def _truth(c: Children) -> ast.Truth:
    kind, _, start, end = c[0]
    return ast.Truth(kind == "TRUE", start=start, end=end)


def _nondeterministic(c: Children) -> ast.Nondet:
    return ast.Nondet(start=c[0].start, end=c[0].end)


def _call(c: Children) -> ast.Invocation:
    return ast.Invocation(c[0].text, tuple(c[2]), start=c[0].start, end=c[3].end)


def _parenthesised(c: Children) -> ast.Expression:
    inner: ast.Expression = c[1]
    return replace(inner, start=c[0].start, end=c[2].end)


def _unary(c: Children) -> ast.Unary:
    return ast.Unary(c[0].text, c[1], start=c[0].start, end=c[1].end)


# --------------------------------------------------------------------------------- statements


def _variables(c: Children) -> ast.Declaration:
    kind: Token = c[0]
    return ast.Declaration(kind.text, tuple(c[1]), start=kind.start, end=_last(c))


def _declarator(c: Children) -> ast.Declarator:
    return ast.Declarator(c[0].text, c[2] if len(c) > 1 else None, start=c[0].start, end=_last(c))


def _block(c: Children) -> ast.Block:
    return ast.Block(tuple(c[1]), start=c[0].start, end=_last(c))


def _block_ending_in_labels(c: Children) -> ast.Block:
    return ast.Block((*c[1], *c[2]), start=c[0].start, end=_last(c))


def _label(c: Children) -> list[ast.Label]:
    return [ast.Label(c[0].text, start=c[0].start, end=c[1].end)]


def _labels(c: Children) -> list[ast.Label]:
    items: list[ast.Label] = c[0]
    items.append(ast.Label(c[1].text, start=c[1].start, end=c[2].end))
    return items


def _labelled(c: Children) -> list[ast.Statement]:
    return [*c[0], c[1]]


def _skip(c: Children) -> ast.Skip:
    return ast.Skip(start=c[0].start, end=c[0].end)


def _assignment(c: Children) -> ast.Assignment:
    return ast.Assignment(tuple(c[0]), tuple(c[2]), start=c[0][0].start, end=_last(c))


def _call_statement(c: Children) -> ast.CallStatement:
    return ast.CallStatement(_call(c), start=c[0].start, end=_last(c))


def _append_name(c: Children) -> list[ast.Name]:
    names: list[ast.Name] = c[0]
    names.append(_variable(c[2:]))
    return names


def _body(statements: list[ast.Statement]) -> tuple[ast.Statement, ...]:
    """Return the statements of a body, without braces around all of it."""
    if len(statements) == 1 and isinstance(statements[0], ast.Block):
        return statements[0].body
    return tuple(statements)


def _if_then(c: Children) -> ast.If:
    end = c[4][-1].end
    return ast.If(c[2], _body(c[4]), start=c[0].start, end=end, header=c[3].end)


def _if_else(c: Children) -> ast.If:
    end = c[6][-1].end
    return ast.If(c[2], _body(c[4]), _body(c[6]), start=c[0].start, end=end, header=c[3].end)


def _while(c: Children) -> ast.While:
    return ast.While(c[2], _body(c[4]), start=c[0].start, end=c[4][-1].end, header=c[3].end)


def _jump(c: Children) -> ast.Goto:
    return ast.Goto(c[1].text, start=c[0].start, end=_last(c))


def _break(c: Children) -> ast.Break:
    return ast.Break(start=c[0].start, end=_last(c))


def _continue(c: Children) -> ast.Continue:
    return ast.Continue(start=c[0].start, end=_last(c))


def _assertion(c: Children) -> ast.Assert:
    return ast.Assert(c[2], start=c[0].start, end=_last(c))


def _assumption(c: Children) -> ast.AssumeStatement:
    return ast.AssumeStatement(c[2], start=c[0].start, end=_last(c))


def _return(c: Children) -> ast.ReturnStatement:
    values = tuple(c[1]) if len(c) > 2 else ()
    return ast.ReturnStatement(values, start=c[0].start, end=_last(c))


# ----------------------------------------------------------------------------------- programs


def _parameter(c: Children) -> ast.Parameter:
    return ast.Parameter(c[0].text, c[1].text, start=c[0].start, end=c[1].end)


def _procedure(results: list[Token], start: int, c: Children) -> ast.ProcedureDefinition:
    """Return a procedure; `c` begins at the name: NAME ( parameters ) block."""
    name, _, parameters, closing, block = c
    return ast.ProcedureDefinition(
        tuple(token.text for token in results),
        name.text,
        tuple(parameters),
        block.body,
        start=start,
        end=block.end,
        header=closing.end,
        name_start=name.start,
    )


def _program(c: Children) -> ast.ProgramText:
    return ast.ProgramText(tuple(c[0]))


ACTIONS: Final = {
    "nothing": _nothing,
    "alone": _alone,
    "type": _alone,
    "single": _single,
    "append": _append,
    "append_after": _append,
    "extend": _extend,
    "expression": lambda c: _whole(c[0]),
    "chain": _chain,
    "conditional": _conditional,
    "variable": _variable,
    "number": _number,
    "truth": _truth,
    "nondeterministic": _nondeterministic,
    "call": _call,
    "parenthesised": _parenthesised,
    "unary": _unary,
    "variables": _variables,
    "declarator": _declarator,
    "block": _block,
    "block_ending_in_labels": _block_ending_in_labels,
    "label": _label,
    "labels": _labels,
    "labelled": _labelled,
    "skip": _skip,
    "assignment": _assignment,
    "call_statement": _call_statement,
    "single_name": lambda c: [_variable(c)],
    "append_name": _append_name,
    "if_then": _if_then,
    "if_else": _if_else,
    "while_loop": _while,
    "jump": _jump,
    "break_loop": _break,
    "continue_loop": _continue,
    "assertion": _assertion,
    "assumption": _assumption,
    "return_nothing": _return,
    "return_values": _return,
    "parameter": _parameter,
    "procedure_one": lambda c: _procedure([c[0]], c[0].start, c[1:]),
    "procedure_many": lambda c: _procedure([c[0], *c[2]], c[0].start, c[3:]),
    "procedure_void": lambda c: _procedure([], c[0].start, c[1:]),
    "procedure_bare": lambda c: _procedure([], c[0].start, c),
    "program": _program,
}
