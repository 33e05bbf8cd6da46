"""Check ranges by runs: every value at a location must lie in its range there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from random import Random

from certus.analysis.ranges.bounded import BoundedRanges, bounded_ranges
from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.members import FewValues
from certus.analysis.ranges.result import Ranges, analyse, interval
from certus.analysis.ranges.symbolic import Affine, Case, symbolic_ranges
from certus.analysis.ranges.system import View
from certus.core.accounting import Budget
from certus.core.intervals import Interval
from certus.core.loops import loop_forest
from certus.core.program import Edge, Location, Program
from certus.core.terms import Expr, Kind, MachineSort
from certus.core.values import ArrayValue, Datum
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import RandomInputs, constants
from certus.interpreter.interpreter import Machine, run


class OutOfRange(AssertionError):
    """A value that the ranges exclude."""


Seen = tuple[Expr, View | None]  # a variable, and the type its bits are read as if it is not its own
Known = dict[Location, dict[Seen, Interval]]  # the ranges at locations that are reached
Few = dict[Location, dict[Seen, tuple[int, ...]]]  # and the values, of variables that have only a few


class Watch:
    """An observer that compares what it sees with ranges, everywhere or `only` at some locations. `seen`
    counts the values."""

    def __init__(
        self,
        program: Program,
        known: Known,
        few: Few | None = None,
        *,
        only: Iterable[Location] | None = None,
    ) -> None:
        self.seen = 0
        everywhere = (at for p in program.procedures.values() for at in p.locations)
        self.watched = frozenset(everywhere if only is None else only)
        self._known, self._few = known, few or {}

    def start(self, machine: Machine) -> None:
        """Nothing has been seen of the run."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        at = machine.location
        if at not in self._known:
            raise OutOfRange(f"{at} is reached")
        for (x, view), found in self._known[at].items():
            for value in numbers(machine.value(x), view):
                self.compare(x, value, found.low, found.high, at)
        for (x, view), values in self._few.get(at, {}).items():
            for value in numbers(machine.value(x), view):
                if value not in values:
                    raise OutOfRange(f"{x.name} is {value} at {at}, none of {values}")

    def compare(
        self, x: Expr, value: int, low: int | Fraction | None, high: int | Fraction | None, at: Location
    ) -> None:
        self.seen += 1
        if (low is not None and value < low) or (high is not None and value > high):
            raise OutOfRange(f"{x.name} is {value} at {at}, not from {low} to {high}")

    def enter(self, machine: Machine, edge: Edge) -> None:
        """The arrival at the entry follows."""

    def leave(self, machine: Machine, edge: Edge) -> None:
        """The arrival after the call follows."""


class BoundReached(Exception):
    """A run exceeds the bound."""


class BoundedWatch(Watch):
    """Up to the first entry of a loop head beyond a bound."""

    def __init__(self, program: Program, known: Known, bound: int, few: Few) -> None:
        super().__init__(program, known, few)
        self._bound = bound
        forests = [loop_forest(p) for p in program.procedures.values()]
        self._loops = {entry: loop for forest in forests for loop in forest.loops for entry in loop.entries}
        self._entered: dict[Location, int] = {}

    def start(self, machine: Machine) -> None:
        self._entered.clear()

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        at = machine.location
        loop = self._loops.get(at)
        if loop is not None:
            again = edge is not None and edge.source in loop.body
            self._entered[at] = self._entered.get(at, 0) + 1 if again else 1
            if self._entered[at] > self._bound:
                raise BoundReached
        super().arrive(machine, edge)


class SymbolicWatch(Watch):
    """Bounds in parameters that are never written, at some locations only."""

    def __init__(self, program: Program, cases: Sequence[Case], parameters: Sequence[Expr]) -> None:
        super().__init__(program, {})
        self._cases, self._parameters = cases, parameters
        self.watched = frozenset(at for case in cases for at in case.at)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        given = {x: int(machine.value(x)) for x in self._parameters}  # type: ignore[arg-type]
        cases = [c for c in self._cases if all(_inside(given[x], r) for x, r in c.parameters.items())]
        assert len(cases) == 1, "the cases are a partition"
        for x, found in cases[0].at[machine.location].items():
            value = machine.value(x)
            assert isinstance(value, int)
            bounds = (None if b is None else _at(b, given) for b in (found.low, found.high))
            self.compare(x, value, *bounds, machine.location)  # type: ignore[misc]


def _inside(value: int, found: Interval) -> bool:
    return (found.low is None or found.low <= value) and (found.high is None or value <= found.high)


def _at(bound: Affine, given: Mapping[Expr, int]) -> int | Fraction:
    return bound.constant + sum(c * given[x] for c, x in bound.terms)


def numbers(value: Datum, view: View | None = None) -> list[int]:
    """The integers in a value, or their bits in a view: all elements of an array."""
    if isinstance(value, ArrayValue):
        return [n for each in (value.default, *value.entries.values()) for n in numbers(each, view)]
    if not isinstance(value, int | bool):
        return []
    if isinstance(view, FloatOrder):
        return [view.rank(int(value))]
    return [int(value) if view is None else view.wrap(int(value))]


def observe(
    program: Program,
    *,
    runs: int,
    steps: int,
    seed: str = "",
    ranges: Ranges | None = None,
    budget: Budget | None = None,
) -> int:
    """Run a program on random inputs; gives how many values lay in their ranges, or raises `OutOfRange`."""
    found = ranges or _analysed(program, budget)
    watches = [Watch(program, known(found), few(found))]
    if ranges is None:  # as facts are made: with less to remember
        sparse = analyse(program, budget=budget)
        watches.append(Watch(program, known(sparse), few(sparse), only=sparse.essa.at))
    return sum(run_observed(program, watch, runs, steps, seed) for watch in watches)


def observe_bounded(program: Program, bound: int, *, runs: int, steps: int, seed: str = "") -> int:
    """The same for bounded ranges, as far as runs are within the bound."""
    found = bounded_ranges(_analysed(program), bound)
    return run_observed(program, BoundedWatch(program, known(found), bound, few(found)), runs, steps, seed)


def observe_symbolic(program: Program, *, runs: int, steps: int, seed: str = "") -> int:
    """The same for bounds in the parameters of the main procedure, for the loops and the exit."""
    cases = symbolic_ranges(program, program.main)
    parameters = program.procedures[program.main].parameters
    return run_observed(program, SymbolicWatch(program, cases, parameters), runs, steps, seed)


def _analysed(program: Program, budget: Budget | None = None) -> Ranges:
    return analyse(program, Scope(everywhere=True), budget=budget)


def known(ranges: Ranges | BoundedRanges) -> Known:
    """Check facts about locations, and facts about bits that are read as signed."""
    views, found = ranges.essa.translation.views, Known()
    for at, state in ranges.essa.at.items():
        if ranges.reaches(at):
            told = found[at] = {_seen(term): each for term, each in ranges.at(at).items()}
            for x, q in state.environment.items():
                if x in views and ranges.values.has(q):
                    told[x, views[x]] = interval(ranges.values[q])
    return found


def _seen(term: Expr) -> Seen:
    if term.kind is not Kind.WRAP:
        return term, None
    assert isinstance(term.sort, MachineSort)
    return term.args[0], term.sort


def few(ranges: Ranges | BoundedRanges) -> Few:
    essa = ranges.essa
    found, views = FewValues(essa.system, ranges.values, Budget()), essa.translation.views
    return {
        at: {
            (x, views.get(x)): values
            for x, q in state.environment.items()
            if (values := found.of([q])) is not None
        }
        for at, state in essa.at.items()
        if ranges.reaches(at)
    }


def run_observed(program: Program, watch: Watch, runs: int, steps: int, seed: str = "") -> int:
    """Run a program on random inputs under a watch; return the number of values that were compared."""
    compiled, numbers_ = compile_program(program), constants(program)
    for n in range(runs):
        inputs = RandomInputs(Random(f"{seed}/{n}"), numbers_)
        with suppress(BoundReached):
            run(compiled, inputs, step_limit=steps, budget=Budget(), observer=watch)
    return watch.seen
