"""What a program of ours means: its run on given inputs, and its verdict by trying all of them.

Written without regard to the rest of Certus, so that a mistake there is not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from certus.pipeline.fuzz import programs as p

Wrap = Callable[[int], int]
Values = dict[str, int]


def unbounded(value: int) -> int:
    """Integers of the small language."""
    return value


def machine(value: int) -> int:
    """`int` of C, which wraps here."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


class Failed(Exception):
    """An assertion does not hold."""


class Stopped(Exception):
    """An assumption does not hold."""


def all_inputs(program: p.FuzzProgram) -> Iterator[Values]:
    ranges = [range(given.low, given.high + 1) for given in program.inputs]
    for values in product(*ranges):
        yield {given.name: value for given, value in zip(program.inputs, values, strict=True)}


def holds(program: p.FuzzProgram, wrap: Wrap) -> bool:
    """Whether no run violates an assertion."""
    for inputs in all_inputs(program):
        try:
            final_values(program, inputs, wrap)
        except Stopped:
            continue
        except Failed:
            return False
    return True


def final_values(program: p.FuzzProgram, inputs: Values, wrap: Wrap) -> Values:
    """All variables of `main`, and `g`, at its end. Raises `Failed` or `Stopped` if it does not get there."""
    run = _Run(program, wrap)
    values = dict(inputs)
    run.execute(program.main, values)
    return {"x": 0, "y": 0, **values, "g": run.shared}


_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}


@dataclass(slots=True)
class _Run:
    program: p.FuzzProgram
    wrap: Wrap
    shared: int = 0  # the global

    def execute(self, body: p.Body, values: Values) -> None:
        for statement in body:
            match statement:
                case p.Assign(target, value):
                    self.write(target, self.value(value, values), values)
                case p.Step(target, argument):
                    inner = {"a": self.value(argument, values)}
                    self.execute(self.program.step, inner)
                    self.write(target, inner.get("r", 0), values)
                case p.Check(condition):
                    if not self.value(condition, values):
                        raise Failed
                case p.Restrict(condition):
                    if not self.value(condition, values):
                        raise Stopped
                case p.Branch(condition, then, otherwise):
                    self.execute(then if self.value(condition, values) else otherwise, values)
                case p.Loop(counter, limit, inside):
                    values[counter] = 0
                    while values[counter] < self.value(limit, values):
                        self.execute(inside, values)
                        values[counter] += 1

    def write(self, target: str, value: int, values: Values) -> None:
        if target == "g":
            self.shared = value
        else:
            values[target] = value

    def value(self, expression: p.Expression, values: Values) -> int:
        match expression:
            case p.Operation(name, left, right):
                return self.operation(name, self.value(left, values), self.value(right, values))
            case str():
                return self.shared if expression == "g" else values.get(expression, 0)
            case _:
                return expression

    def operation(self, name: str, a: int, b: int) -> int:
        if name in _COMPARISONS:
            return int(_COMPARISONS[name](a, b))
        if name in ("/", "%"):
            quotient = abs(a) // b if a >= 0 else -(abs(a) // b)
            return quotient if name == "/" else a - quotient * b
        return self.wrap({"+": a + b, "-": a - b, "*": a * b}[name])
