"""Programs small enough to try all their inputs, and all programs that are a step smaller.

A program reads inputs from small ranges, computes with `x`, `y` and the global `g`, may call the procedure
`step`, and counts its loops, so every run ends. Nesting is a few levels deep, never more than was drawn:
walks over these programs may recurse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Operation:
    """An infix operator of both languages; `/` and `%` have constants greater than 1 on their right."""

    name: str
    left: Expression
    right: Expression


Expression = int | str | Operation


@dataclass(frozen=True, slots=True)
class Assign:
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
    condition: Expression
    then: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Loop:
    """The counter, which nothing else writes, goes from 0 to a limit, exclusive."""

    counter: str
    limit: int | str
    body: Body


Statement = Assign | Step | Check | Restrict | Branch | Loop
Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class FuzzProgram:
    """`step` is the body of the procedure, which has the parameter `a`, writes `r` and returns it."""

    inputs: tuple[Input, ...]
    step: Body
    main: Body


def smaller(program: FuzzProgram) -> Iterator[FuzzProgram]:
    """Programs that lack one thing; large cuts first."""
    for main in _bodies(program.main):
        yield replace(program, main=main)
    for step in _bodies(program.step):
        yield replace(program, step=step)
    for number, given in enumerate(program.inputs):
        for end in (given.low, given.high):
            if given.low < given.high:
                less = replace(given, low=end, high=end)
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
