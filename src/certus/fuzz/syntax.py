"""The syntax of random programs, which are small enough to try all their inputs, and steps to reduce them.

A program reads inputs from small ranges, computes with `x`, `y` and the global `g`, and may call the
procedure `step`. Its loops have counters, so every run ends. Nesting is only a few levels deep, so functions
over these programs may recurse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Operation:
    """An infix operation of both languages; the right operand of `/` and `%` is a constant greater than 1."""

    name: str
    left: Expression
    right: Expression


Expression = int | str | Operation


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`."""

    target: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Step:
    """`target = step(argument)`."""

    target: str
    argument: Expression


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Restrict:
    """An assumption."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Branch:
    """`if (condition) then else otherwise`."""

    condition: Expression
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop whose counter, which nothing else writes, runs from 0 up to `limit` (exclusive)."""

    counter: str
    limit: int | str
    body: Body


Statement = Assign | Step | Check | Restrict | Branch | Loop
Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """An input with a value from `low` to `high`."""

    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class FuzzProgram:
    """A program; `step` is the body of the procedure, which has the parameter `a` and returns `r`."""

    inputs: tuple[Input, ...]
    step: Body
    main: Body


def smaller(program: FuzzProgram) -> Iterator[FuzzProgram]:
    """Yield programs that are one step smaller, those with larger cuts first."""
    for main in _bodies(program.main):
        yield replace(program, main=main)
    for step in _bodies(program.step):
        yield replace(program, step=step)
    for number, each in enumerate(program.inputs):
        for end in (each.low, each.high):
            if each.low < each.high:
                less = replace(each, low=end, high=end)
                inputs = (*program.inputs[:number], less, *program.inputs[number + 1 :])
                yield replace(program, inputs=inputs)


def _bodies(body: Body) -> Iterator[Body]:
    for number, statement in enumerate(body):
        before, after = body[:number], body[number + 1 :]
        yield (*before, *after)
        for instead in _instead(statement):
            yield (*before, *instead, *after)


def _instead(statement: Statement) -> Iterator[Body]:
    match statement:
        case Assign(value=value):
            for less in _expressions(value):
                yield (replace(statement, value=less),)
        case Step(argument=argument):
            for less in _expressions(argument):
                yield (replace(statement, argument=less),)
        case Branch(then=then, otherwise=otherwise):
            yield then
            yield otherwise
            for inner in _bodies(then):
                yield (replace(statement, then=inner),)
            for inner in _bodies(otherwise):
                yield (replace(statement, otherwise=inner),)
        case Loop(limit=limit, body=body):
            yield body
            if isinstance(limit, int) and limit > 1:
                yield (replace(statement, limit=limit - 1),)
            for inner in _bodies(body):
                yield (replace(statement, body=inner),)


def _expressions(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Operation):
        yield expression.left
        yield expression.right
        for less in _expressions(expression.left):
            yield replace(expression, left=less)
    elif expression != 0:
        yield 0
