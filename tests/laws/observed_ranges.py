"""Runs against ranges: every value seen at a location must lie in its range there."""

from __future__ import annotations

from random import Random

from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.result import Ranges, analyse
from certus.core.budget import Budget
from certus.core.program import Edge, Location, Program
from certus.core.terms import Expr
from certus.core.values import ArrayValue, Datum
from certus.logic.intervals import Interval
from certus.validate.compile import compile_program
from certus.validate.inputs import RandomInputs, constants
from certus.validate.interpreter import Machine, run


class OutOfRange(AssertionError):
    """A value that the ranges exclude."""


class Watch:
    """An observer that compares what it sees with ranges. `seen` counts the values."""

    def __init__(self, ranges: Ranges) -> None:
        self.seen = 0
        self.watched = frozenset(at for p in ranges.program.procedures.values() for at in p.locations)
        self._reached = {at: at in ranges.version.at and ranges.reaches(at) for at in self.watched}
        self._known: dict[Location, dict[Expr, Interval]] = {
            at: ranges.at(at) for at, reached in self._reached.items() if reached
        }

    def start(self, machine: Machine) -> None:
        """Nothing has been seen of the run."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        at = machine.location
        if not self._reached[at]:
            raise OutOfRange(f"{at} is reached")
        for x, found in self._known[at].items():
            for value in numbers(machine.value(x)):
                self.seen += 1
                if (found.low is not None and value < found.low) or (
                    found.high is not None and value > found.high
                ):
                    raise OutOfRange(f"{x.name} is {value} at {at}, not in {found}")

    def enter(self, machine: Machine, edge: Edge) -> None:
        """The arrival at the entry follows."""

    def leave(self, machine: Machine, edge: Edge) -> None:
        """The arrival after the call follows."""


def numbers(value: Datum) -> list[int]:
    """The integers in a value: all elements of an array."""
    if isinstance(value, ArrayValue):
        return [n for each in (value.default, *value.entries.values()) for n in numbers(each)]
    return [int(value)] if isinstance(value, int | bool) else []


def observe(program: Program, *, runs: int, steps: int, seed: str = "") -> int:
    """Run a program on random inputs; gives how many values lay in their ranges, or raises `OutOfRange`."""
    watch = Watch(analyse(program, Scope(everywhere=True)))
    compiled, known = compile_program(program), constants(program)
    for n in range(runs):
        run(
            compiled,
            RandomInputs(Random(f"{seed}/{n}"), known),
            step_limit=steps,
            budget=Budget(),
            observer=watch,
        )
    return watch.seen
