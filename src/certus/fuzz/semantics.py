"""The semantics of random programs: a run on chosen inputs, and the verdict by trying all inputs.

This is a second implementation that uses nothing else of Certus, so that it does not repeat mistakes made
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from certus.fuzz import syntax as p

Wrap = Callable[[int], int]
Values = dict[str, int]


def unbounded(value: int) -> int:
    """Return an integer of the small language, which is unbounded."""
    return value


def machine(value: int) -> int:
    """Return an `int` of C, which wraps around."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


class Failed(Exception):
    """Raised if an assertion does not hold."""


class Stopped(Exception):
    """Raised if an assumption does not hold."""


def all_inputs(program: p.FuzzProgram) -> Iterator[Values]:
    """Yield every combination of input values."""
    ranges = [range(each.low, each.high + 1) for each in program.inputs]
    for values in product(*ranges):
        yield {each.name: value for each, value in zip(program.inputs, values, strict=True)}


def holds(program: p.FuzzProgram, wrap: Wrap) -> bool:
    """Say whether no run violates an assertion."""
    for inputs in all_inputs(program):
        try:
            final_values(program, inputs, wrap)
        except Stopped:
            continue
        except Failed:
            return False
    return True


def final_values(program: p.FuzzProgram, inputs: Values, wrap: Wrap) -> Values:
    """Return the values of `g` and the variables of `main` at its end. Raises `Failed` or `Stopped` if the
    run does not reach the end."""
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
    """One run of a program."""

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
