"""The constraint system: quantities with a lower and an upper bound each, and their definitions.

A *quantity* is a number: one version of a program variable (e-SSA form), an intermediate value, or a *gate*,
which is 0 if control may pass and has no value otherwise. Bounds are integers; from `INFINITE` on they mean
that there is no bound. `low > high` means that there is no value, because control never reaches it.

The constraints of Zaks et al. 2006, section 3.2, are the definitions: initialisation (`Fixed`), assignment
(`Sum`), flow (`Join`), conditionals (`Meet`); propagation constraints disappear in e-SSA form (3.5).
Nonlinear operators are an `Operation`, those on floating-point numbers a `FloatOperation`, and comparisons of
these are `Compared`. Every definition is a monotone function of the bounds of other
quantities, so the least solution exists, and any solution is sound. `evaluate` is exact for machine integers:
a sum that may leave the range of its type may have any value of the type, unless all its values wrap alike;
and a conditional restricts no variable of a sum that may wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from certus.analysis.ranges.float_constraints import Compared, FloatOperation
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.operations import INFINITE, NOTHING, Bounds, operate
from certus.core.terms import BOOL, ArraySort, Kind, MachineSort, Sort

ANYTHING: Final[Bounds] = (-INFINITE, INFINITE)
Terms = tuple[tuple[int, int], ...]  # (coefficient, quantity), each quantity once
View = MachineSort | FloatOrder  # how the bits of a variable are read: as signed, or as floating point


def element(sort: Sort) -> Sort:
    """Return the sort itself; of arrays, that of their elements."""
    while isinstance(sort, ArraySort):
        sort = sort.element
    return sort


def limits(sort: Sort | FloatOrder) -> Bounds:
    """Return the least and greatest value of a sort; of an array, those of its elements."""
    if isinstance(sort, FloatOrder):
        return sort.limits
    sort = element(sort)
    if isinstance(sort, MachineSort):
        return sort.low, sort.high
    return (0, 1) if sort is BOOL else ANYTHING


@dataclass(frozen=True, slots=True)
class Fixed:
    """Constant bounds."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant` + the terms, modulo the type whose values are `least` .. `greatest`."""

    constant: int
    terms: Terms
    least: int
    greatest: int


@dataclass(slots=True, eq=False)
class Join:
    """One of the operands whose gate is open. `cyclic`: it may depend on itself."""

    operands: list[int] = field(default_factory=list)
    gates: list[int] = field(default_factory=list)
    cyclic: bool = False

    def add(self, operand: int, gate: int) -> None:
        self.operands.append(operand)
        self.gates.append(gate)


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound (`constant` + the terms) / `divisor`, valid only if the sum `unless` does not wrap."""

    constant: int
    terms: Terms
    divisor: int = 1
    unless: int | None = None


@dataclass(frozen=True, slots=True)
class Meet:
    """The quantity `of` if it is at most the uppers, at least the lowers, and none of the excluded."""

    of: int
    uppers: tuple[Bound, ...] = ()
    lowers: tuple[Bound, ...] = ()
    excluded: tuple[Bound, ...] = ()

    def bounds(self) -> Iterator[Bound]:
        yield from self.uppers
        yield from self.lowers
        yield from self.excluded


@dataclass(frozen=True, slots=True)
class Operation:
    """A nonlinear operator on machine integers with these limits (`ANYTHING` for Int)."""

    kind: Kind
    arguments: tuple[int, ...]
    least: int
    greatest: int
    width: int

    def apply(self, arguments: Sequence[Bounds]) -> Bounds:
        return operate(self.kind, arguments, (self.least, self.greatest), self.width)


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that is open if its source is and all quantities in `needs` have a value."""

    source: int
    needs: tuple[int, ...]


Definition = Fixed | Sum | Join | Meet | Operation | Gate | FloatOperation | Compared


class System:
    """The definitions of all quantities by number. Numbers follow control: within a procedure, a definition
    uses greater numbers only in cyclic joins."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self._fixed: dict[Bounds, int] = {}
        self.open = self.fixed(0, 0)  # a gate that is always open
        self.shut = self.fixed(*NOTHING)

    def __len__(self) -> int:
        return len(self.definitions)

    def add(self, definition: Definition) -> int:
        self.definitions.append(definition)
        return len(self.definitions) - 1

    def fixed(self, low: int, high: int) -> int:
        quantity = self._fixed.get((low, high))
        if quantity is None:
            quantity = self._fixed[(low, high)] = self.add(Fixed(low, high))
        return quantity

    def is_constant(self, quantity: int) -> bool:
        definition = self.definitions[quantity]
        return isinstance(definition, Fixed) and definition.low == definition.high

    def users(self) -> list[list[int]]:
        """Return for each quantity those whose definitions depend on it."""
        users: list[list[int]] = [[] for _ in self.definitions]
        for quantity, definition in enumerate(self.definitions):
            for used in dependencies(definition):
                users[used].append(quantity)
        return users


def dependencies(definition: Definition) -> Iterator[int]:
    if isinstance(definition, Join):
        yield from definition.operands
        yield from definition.gates
    elif isinstance(definition, Sum):
        for _, quantity in definition.terms:
            yield quantity
    elif isinstance(definition, Meet):
        yield definition.of
        for bound in definition.bounds():
            for _, quantity in bound.terms:
                yield quantity
            if bound.unless is not None:
                yield bound.unless
    elif isinstance(definition, Operation | FloatOperation):
        yield from definition.arguments
    elif isinstance(definition, Compared):
        yield definition.of
        yield definition.other
    elif isinstance(definition, Gate):
        yield definition.source
        yield from definition.needs


# ----------------------------------------------------------------------------------------- values


class Values:
    """Bounds of all quantities of a system, and the sums that may wrap under them."""

    __slots__ = ("high", "low", "wrapped")

    def __init__(self, count: int) -> None:
        self.low = [INFINITE] * count
        self.high = [-INFINITE] * count
        self.wrapped = bytearray(count)

    def copy(self) -> Values:
        copy = Values(0)
        copy.low, copy.high, copy.wrapped = self.low[:], self.high[:], self.wrapped[:]
        return copy

    def has(self, quantity: int) -> bool:
        return self.low[quantity] <= self.high[quantity]

    def __getitem__(self, quantity: int) -> Bounds:
        return self.low[quantity], self.high[quantity]

    def __setitem__(self, quantity: int, bounds: Bounds) -> None:
        self.low[quantity], self.high[quantity] = bounds

    def most(self, constant: int, terms: Terms) -> int:
        """Return the supremum of a sum over the integers."""
        low, high = self.low, self.high
        for coefficient, quantity in terms:
            if coefficient > 0:
                value = high[quantity]
                if value >= INFINITE:
                    return INFINITE
            else:
                value = low[quantity]
                if value <= -INFINITE:
                    return INFINITE
            constant += coefficient * value
        return constant

    def least(self, constant: int, terms: Terms) -> int:
        """Return the infimum of a sum over the integers."""
        low, high = self.low, self.high
        for coefficient, quantity in terms:
            if coefficient > 0:
                value = low[quantity]
                if value <= -INFINITE:
                    return -INFINITE
            else:
                value = high[quantity]
                if value >= INFINITE:
                    return -INFINITE
            constant += coefficient * value
        return constant

    def evaluate(self, quantity: int, definition: Definition) -> Bounds:
        """Return the bounds by the definition of a quantity; record whether a sum may wrap."""
        if isinstance(definition, Sum):
            return self._sum(quantity, definition)
        if isinstance(definition, Join):
            return self._join(definition)
        if isinstance(definition, Meet):
            return self._meet(definition)
        if isinstance(definition, Fixed):
            return definition.low, definition.high
        if isinstance(definition, Gate):
            passes = self.has(definition.source) and all(self.has(each) for each in definition.needs)
            return (0, 0) if passes else NOTHING
        if isinstance(definition, Compared):
            both = self.has(definition.of) and self.has(definition.other)
            return definition.restrict(self[definition.of], self[definition.other]) if both else NOTHING
        arguments = [self[each] for each in definition.arguments]
        if any(low > high for low, high in arguments):
            return NOTHING
        return definition.apply(arguments)

    def _sum(self, quantity: int, definition: Sum) -> Bounds:
        for _, each in definition.terms:
            if self.low[each] > self.high[each]:
                return NOTHING
        low = self.least(definition.constant, definition.terms)
        high = self.most(definition.constant, definition.terms)
        least, greatest = definition.least, definition.greatest
        if low < least or high > greatest:
            self.wrapped[quantity] = 1
            size = greatest - least + 1
            laps = (low - least) // size
            if laps == (high - least) // size:  # all wrap alike
                return low - laps * size, high - laps * size
            return least, greatest
        self.wrapped[quantity] = 0
        return min(low, INFINITE), max(high, -INFINITE)

    def _join(self, definition: Join) -> Bounds:
        lows, highs = self.low, self.high
        low, high = NOTHING
        for operand, gate in zip(definition.operands, definition.gates, strict=True):
            if lows[gate] <= highs[gate] and lows[operand] <= highs[operand]:
                low = min(low, lows[operand])
                high = max(high, highs[operand])
        return low, high

    def _meet(self, definition: Meet) -> Bounds:
        low, high = self[definition.of]
        if low > high:
            return NOTHING
        for bound in definition.uppers:
            most = self.upper(bound)
            if most is not None and most < high:
                high = most
        for bound in definition.lowers:
            least = self.lower(bound)
            if least is not None and least > low:
                low = least
        for bound in definition.excluded:
            value = self.exactly(bound)
            if value is not None:
                low += value == low
                high -= value == high
        return (low, high) if low <= high else NOTHING

    def upper(self, bound: Bound) -> int | None:
        """Return the value of an upper bound, if it is valid and finite."""
        if bound.unless is not None and self.wrapped[bound.unless]:
            return None
        value = self.most(bound.constant, bound.terms)
        return None if value >= INFINITE else max(value // bound.divisor, -INFINITE)

    def lower(self, bound: Bound) -> int | None:
        """Return the value of a lower bound, if it is valid and finite."""
        if bound.unless is not None and self.wrapped[bound.unless]:
            return None
        value = self.least(bound.constant, bound.terms)
        return None if value <= -INFINITE else min(-(-value // bound.divisor), INFINITE)

    def applies(self, bound: Bound) -> bool:
        return bound.unless is None or not self.wrapped[bound.unless]

    def exactly(self, bound: Bound) -> int | None:
        """Return the value of a bound, if it has only one and that is an integer."""
        if not self.applies(bound):
            return None
        value = self.most(bound.constant, bound.terms)
        if value != self.least(bound.constant, bound.terms) or value % bound.divisor:
            return None
        return value // bound.divisor
