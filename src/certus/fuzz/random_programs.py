"""Draw random programs, the same for the same seed and number.

Assertions are tight: the program is run on all its inputs first, and its assertion holds for all final values
by the smallest margin, or fails for one of them by the smallest margin.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from certus.fuzz import syntax as p
from certus.fuzz.semantics import Stopped, all_inputs, final_values, unbounded

DEPTH: Final = 3  # of statements and expressions
LOWEST: Final = (
    -2,
    0,
    0,
    0,
    1,
    5,
    2**31 - 4,
    1 - 2**31,
)  # least values of an input; C wraps near the last


def random_program(seed: int, number: int) -> p.FuzzProgram:
    """Draw a program with one assertion, at its end."""
    random = Random(f"{seed}/{number}")
    inputs = tuple(
        p.Input(f"i{n}", low, low + random.randint(0, 3))
        for n in range(random.randint(1, 3))
        for low in (random.choice(LOWEST),)
    )
    step = _Writer(random, ("a", "r", "g"), ("r", "g")).body(1)
    names = tuple(each.name for each in inputs)
    small = tuple(each.name for each in inputs if each.high < 9)
    main = _Writer(random, (*names, "x", "y", "g"), ("x", "y", "g"), small, calls=True).body(DEPTH)
    program = p.FuzzProgram(inputs, step, main)
    return replace(program, main=(*main, p.Check(_claim(program, random))))


def _claim(program: p.FuzzProgram, random: Random) -> p.Expression:
    """Draw a condition on the final values that just holds or just fails."""
    subject: p.Expression = random.choice(
        ("x", "y", "g", p.Operation("-", "x", "y"), p.Operation("+", "x", "g"))
    )
    probe = replace(program, main=(*program.main, p.Assign("g", subject)))
    values: list[int] = []
    for inputs in all_inputs(probe):
        with suppress(Stopped):
            values.append(final_values(probe, inputs, unbounded)["g"])
    if not values:
        return p.Operation("<", "x", "x")  # no execution reaches the end
    low, high = min(values), max(values)
    kind = random.choice(("most", "least", "never"))
    if kind == "never":
        return p.Operation("!=", subject, random.randint(low, high))
    off = random.choice((0, 0, 1))
    if kind == "most":
        return p.Operation("<=", subject, high - off)
    return p.Operation("<=", low + off, subject)


@dataclass(slots=True)
class _Writer:
    """Draws statements over the variables that may be read and those that may be written. `limits` are inputs
    that may limit a loop. With `calls`, as for `main`, there are calls and loops."""

    random: Random
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    limits: tuple[str, ...] = ()
    calls: bool = False
    loops: int = 0

    def body(self, depth: int) -> p.Body:
        return tuple(self.statement(depth) for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int) -> p.Statement:
        dice = self.random.random()
        if depth > 0 and dice < 0.25:
            return p.Branch(self.condition(), self.body(depth - 1), self.body(depth - 1))
        if depth > 1 and dice < 0.5 and self.calls:
            return self.loop(depth)
        if dice < 0.6 and self.calls:
            return p.Step(self.target(), self.value(1))
        if dice < 0.63:
            return p.Restrict(p.Operation("!=", self.value(1), self.value(0)))
        return p.Assign(self.target(), self.value(2))

    def loop(self, depth: int) -> p.Loop:
        counter = f"k{self.loops}"
        self.loops += 1
        limits: tuple[int | str, ...] = (2, 3, 5, *self.limits)
        inner = replace(self, readable=(*self.readable, counter))
        body = inner.body(depth - 2)
        self.loops = inner.loops
        return p.Loop(counter, self.random.choice(limits), body)

    def target(self) -> str:
        return self.random.choice(self.writable)

    def condition(self) -> p.Expression:
        first = p.Operation(self.random.choice(("<", "<=", "==", "!=")), self.value(1), self.value(0))
        if self.random.random() < 0.2:
            return p.Operation(
                self.random.choice(("&&", "||")), first, p.Operation("<", self.value(0), self.value(0))
            )
        return first

    def value(self, depth: int) -> p.Expression:
        dice = self.random.random()
        if depth == 0 or dice < 0.2:
            leaves: tuple[p.Expression, ...] = (*self.readable, *self.readable, self.random.randint(-3, 9))
            return self.random.choice(leaves)
        if dice < 0.8:
            return p.Operation(self.random.choice("+-"), self.value(depth - 1), self.value(depth - 1))
        if dice < 0.9:
            return p.Operation("*", self.value(depth - 1), self.random.choice((-1, 2, 3)))
        return p.Operation(self.random.choice("/%"), self.value(depth - 1), self.random.choice((2, 3, 4)))
