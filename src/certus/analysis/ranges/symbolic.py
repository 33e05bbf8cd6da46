"""Compute symbolic bounds: ranges of variables in terms of parameters (Zaks et al. 2006, section 4).

The procedure is analysed alone: parameters and globals are arbitrary except for the assumption. First numeric
ranges are computed. If a parameter may have both signs, each sign is a case. Then each parameter is counted
from the end of its range that is nearer to zero, so that it is not negative, and the mixed-integer program
computes bounds C + sum of C_p * p with rational C and C_p: `while (2 * i <= n) i++` gives i <= n / 2 + 1.

Each bound is checked in exact rational numbers: for all parameters in their ranges it must be at least the
value of its definition. A bound that fails, or exceeds the numbers of the encoding, is replaced by its
numeric bound, until all others hold. Numeric bounds hold by themselves, so every symbolic bound may use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import lcm
from operator import add, sub
from typing import Final

from certus.analysis.ranges.essa import EssaForm, Scope, translate
from certus.analysis.ranges.intervals import Propagation
from certus.analysis.ranges.milp import MixedInteger, Number, Part, Vector
from certus.analysis.ranges.operations import INFINITE, NOTHING
from certus.analysis.ranges.result import Ranges, interval, solve
from certus.analysis.ranges.strategy import LOWER, UPPER
from certus.analysis.ranges.system import Bound, Join, Meet, Sum, Terms
from certus.core import build
from certus.core.accounting import Budget
from certus.core.intervals import Interval
from certus.core.loops import loop_forest, recursive
from certus.core.program import Assume, Call, Edge, Location, Procedure, Program
from certus.core.terms import INT, Expr, MachineSort

SPLIT: Final = 4  # limit of symbolic parameters; further ones have numeric ranges only


@dataclass(frozen=True, slots=True)
class Affine:
    """The rational number `constant` + the sum of coefficient * parameter."""

    constant: Number
    terms: tuple[tuple[Number, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolicRange:
    """Bounds of a variable; None means no bound."""

    low: Affine | None
    high: Affine | None


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable that bounds may mention: a parameter that is never assigned, or a variable that is assigned
    once, by `edge`."""

    variable: Expr
    edge: Edge | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The bounds of variables at locations, if the parameters are in these ranges; `unreached` are the
    locations that control does not reach under these bounds."""

    parameters: dict[Expr, Interval]
    at: dict[Location, dict[Expr, SymbolicRange]]
    unreached: frozenset[Location] = frozenset()


def symbolic_ranges(
    program: Program, function: str, assumption: Expr = build.TRUE, *, budget: Budget | None = None
) -> list[Case]:
    """Return the possible cases, by the signs that the assumption leaves open."""
    parameters = [Symbol(x) for x in program.procedures[function].parameters]
    scope = Scope(everywhere=True, lasting=True)
    return cases(alone(program, function, assumption), parameters, scope, budget or Budget())


def cases(program: Program, parameters: Sequence[Symbol], scope: Scope, budget: Budget) -> list[Case]:
    """Return the cases of the main procedure, whose entry no edge leads to."""
    marked, places = _marked(program, parameters, ())
    numeric = solve(translate(marked, scope), budget)
    views = numeric.essa.translation.views
    symbols: list[Symbol] = []
    ranges: list[list[Interval]] = []
    for symbol, place in zip(parameters, places, strict=True):
        x = symbol.variable
        range_ = _at(numeric, place).get(x)
        if range_ is not None and _number(x) and x not in views and len(symbols) < SPLIT:
            symbols.append(symbol)
            ranges.append(_signs(range_))
    result = []
    for choice in product(*ranges):
        budget.check()
        marked, places = _marked(program, symbols, choice)
        case = solve(translate(marked, scope), budget)
        first = case.program.procedures[program.main].successors[case.program.entry][0]
        if all(case.reaches(at) for at in (first.target, *places)):
            result.append(_Case(case, [s.variable for s in symbols], places).solve(budget))
    return result


def _number(x: Expr) -> bool:
    return x.sort is INT or isinstance(x.sort, MachineSort)


def _signs(range_: Interval) -> list[Interval]:
    if (range_.low is None or range_.low < 0) and (range_.high is None or range_.high >= 0):
        return [Interval(0, range_.high), Interval(range_.low, -1)]
    return [range_]


def in_range(x: Expr, range_: Interval) -> Expr:
    parts = []
    if range_.low is not None:
        parts.append(build.le(build.constant(range_.low, x.sort), x))
    if range_.high is not None:
        parts.append(build.le(x, build.constant(range_.high, x.sort)))
    return build.conjunction(parts)


# ----------------------------------------------------------------------------------- the procedure alone


def alone(program: Program, function: str, assumption: Expr = build.TRUE) -> Program:
    """Return the program that starts in one procedure with any values that satisfy the assumption. If the
    procedure is recursive, its calls lead to a copy of it: there its parameters have other values."""
    if any(function in group for group in recursive(program)):
        program = _with_copy(program, function)
    procedure = program.procedures[function]
    index, edge = _next_numbers(program)
    start = Location(index, function, procedure.entry.span)
    first = Edge(edge, start, Assume(assumption), procedure.entry, procedure.entry.span)
    entered: Procedure = replace(procedure, entry=start, edges=(first, *procedure.edges))
    return replace(program, procedures={**program.procedures, function: entered}, main=function, initial={})


def _with_copy(program: Program, function: str) -> Program:
    """Return the program in which all calls of a procedure lead to a copy of it."""
    index, number = _next_numbers(program)
    procedure, copy = program.procedures[function], f"{function}@called"
    at = {each: Location(index + n, copy, each.span) for n, each in enumerate(procedure.locations)}

    def called(edge: Edge) -> Edge:
        if isinstance(edge.op, Call) and edge.op.procedure == function:
            return replace(edge, op=replace(edge.op, procedure=copy))
        return edge

    procedures = {
        name: replace(each, edges=tuple(map(called, each.edges))) for name, each in program.procedures.items()
    }
    edges = tuple(
        replace(edge, index=number + n, source=at[edge.source], target=at[edge.target])
        for n, edge in enumerate(procedures[function].edges)
    )
    procedures[copy] = replace(
        procedure, name=copy, entry=at[procedure.entry], exit=at[procedure.exit], edges=edges
    )
    return replace(program, procedures=procedures)


def _next_numbers(program: Program) -> tuple[int, int]:
    """Return numbers of locations and edges that a program does not use."""
    index = max((at.index for p in program.procedures.values() for at in p.locations), default=0)
    edge = max((e.index for p in program.procedures.values() for e in p.edges), default=0)
    return index + 1, edge + 1


def _marked(
    program: Program, symbols: Sequence[Symbol], ranges: Sequence[Interval]
) -> tuple[Program, list[Location]]:
    """Return the program that assumes a range of each symbol, as far as ranges are given, where the symbol
    gets its value, and for each symbol the location after that assumption."""
    main = program.procedures[program.main]
    index, number = _next_numbers(program)
    edges = list(main.edges)
    places = []
    for n, symbol in enumerate(symbols):
        edge = symbol.edge or main.successors[main.entry][0]
        position = next(m for m, each in enumerate(edges) if each.index == edge.index)
        before, after = (Location(index + 2 * n + m, main.name, edge.span) for m in range(2))
        assumed = build.TRUE if n >= len(ranges) else in_range(symbol.variable, ranges[n])
        last = edges[position]
        edges[position : position + 1] = [
            replace(last, target=before),
            Edge(number + 2 * n, before, Assume(assumed), after, edge.span),
            Edge(number + 2 * n + 1, after, Assume(build.TRUE), last.target, edge.span),
        ]
        places.append(after)
    marked = replace(main, edges=tuple(edges))
    return replace(program, procedures={**program.procedures, main.name: marked}), places


def _at(ranges: Ranges, at: Location) -> dict[Expr, Interval]:
    return ranges.at(at) if at in ranges.essa.at and ranges.reaches(at) else {}


# -------------------------------------------------------------------------------------------- one case


class _Case:
    """The symbolic bounds under numeric ranges in which every symbol has one sign."""

    def __init__(self, numeric: Ranges, symbols: Sequence[Expr], places: Sequence[Location]) -> None:
        self.numeric, self.symbols = numeric, symbols
        self.essa: EssaForm = numeric.essa
        self.system = numeric.essa.system
        at = self.essa.at
        self.entered = [at[place].environment[x] for x, place in zip(symbols, places, strict=True)]
        self.ranges = [interval(numeric.values[each]) for each in self.entered]
        self.bases = [self._base(each) for each in self.ranges]

    def _base(self, range_: Interval) -> tuple[int, int]:
        """Return base and sign to write a parameter as `base + sign * p` with nonnegative p."""
        if range_.low is not None and (range_.low >= 0 or range_.high is None):
            return range_.low, 1
        assert range_.high is not None
        return range_.high, -1

    def solve(self, budget: Budget) -> Case:
        constants: dict[int, tuple[Vector | None, Vector | None]] = {}
        for n, (base, sign) in enumerate(self.bases):
            unit = tuple(sign if n == m else 0 for m in range(len(self.symbols)))
            upper: Vector = (base, *unit)
            constants[self.entered[n]] = upper, tuple(-each for each in upper)
        values = self.numeric.values
        search = MixedInteger(self.system, values, constants, self._fallback, parameters=len(self.symbols))
        search.most = self._most
        bounds = search.solve(budget)
        self._check(search, bounds, constants)
        places = self._places()
        return Case(
            dict(zip(self.symbols, self.ranges, strict=True)),
            {at: self._at(at, bounds) for at in places if self.numeric.reaches(at)},
            self._unreached(search, bounds),
        )

    def _fallback(self, quantity: int) -> tuple[Vector | None, Vector | None]:
        low, high = self.numeric.values[quantity]
        rest = (0,) * len(self.symbols)
        return (None if high >= INFINITE else (high, *rest)), (None if low <= -INFINITE else (-low, *rest))

    def _most(self, vector: Vector) -> Number:
        """Return the greatest value over all parameters."""
        total = vector[0]
        for coefficient, range_ in zip(vector[1:], self.ranges, strict=True):
            if coefficient > 0:
                if range_.low is None or range_.high is None:
                    return INFINITE
                total += coefficient * (range_.high - range_.low)
        return total

    # --------------------------------------------------------------------------------------- checking

    def _check(
        self,
        search: MixedInteger,
        bounds: dict[int, Vector | None],
        constants: dict[int, tuple[Vector | None, Vector | None]],
    ) -> None:
        """Replace bounds by numeric ones until all others follow from their definitions."""
        numeric = {2 * q + s: v for q in self._live() for s, v in enumerate(self._fallback(q))}
        replaced = {side for side, vector in bounds.items() if vector == numeric.get(side)}
        changed = True
        while changed:
            changed = False
            for side in bounds:
                if side in replaced or side >> 1 in constants:
                    continue
                if not self._follows(search, side, bounds, numeric):
                    bounds[side] = numeric[side]
                    replaced.add(side)
                    changed = True

    def _live(self) -> Iterator[int]:
        return (q for q in range(len(self.system)) if self.numeric.values.has(q))

    def _follows(
        self,
        search: MixedInteger,
        side: int,
        bounds: dict[int, Vector | None],
        numeric: dict[int, Vector | None],
    ) -> bool:
        own = bounds[side]
        if own is None:
            return True
        quantity = side >> 1
        definition = self.system.definitions[quantity]
        parts = self._parts(search, quantity, side & 1)
        if isinstance(definition, Join):
            return all(self._covers(own, part, side & 1, (bounds, numeric)) for part in parts)
        return any(self._covers(own, part, side & 1, (bounds, numeric)) for part in parts)

    def _parts(self, search: MixedInteger, quantity: int, side: int) -> list[Part]:
        """Return the valid right sides of a bound: those of sums only if they stay in their type."""
        definition = self.system.definitions[quantity]
        wrapped = self.numeric.values.wrapped
        if isinstance(definition, Sum):
            end = definition.greatest if side == UPPER else definition.least
            stays = not wrapped[quantity] or not search._leaves(quantity)
            return [(definition.constant, definition.terms, 1)] if stays else [(end, (), 1)]
        if isinstance(definition, Meet):
            parts: list[Part] = [(0, ((1, definition.of),), 1)]
            for bound in definition.uppers if side == UPPER else definition.lowers:
                sum_ = bound.unless
                if sum_ is None or not wrapped[sum_] or not search._leaves(sum_):
                    parts.append((bound.constant, bound.terms, bound.divisor))
            return parts
        return search.parts(quantity, side)

    def _covers(
        self,
        own: Vector,
        part: Part,
        side: int,
        candidates: tuple[dict[int, Vector | None], dict[int, Vector | None]],
    ) -> bool:
        """Return whether `own` is at least a right side for all parameters, by symbolic or numeric bounds.

        Values are integers. An integer above `own`, whose denominator is d, is at least `own` + 1 / d. So the
        right side may exceed `own` by less than that."""
        constant, terms, divisor = part
        gap = Fraction(1, lcm(*(each.denominator for each in own)))
        for bounds in candidates:
            rest = self._total(constant, terms, side, bounds)
            if rest is not None:
                difference = tuple(r - divisor * o for r, o in zip(rest, own, strict=True))
                if self._most(difference) < divisor * gap:
                    return True
        return False

    def _total(
        self, constant: int, terms: Terms, side: int, bounds: dict[int, Vector | None]
    ) -> list[Number] | None:
        """Return a bound of a sum from the bounds of its terms; None if one has no bound."""
        if abs(constant) >= INFINITE:
            return None
        total: list[Number] = [constant if side == UPPER else -constant, *[0] * len(self.symbols)]
        for coefficient, used in terms:
            vector = bounds.get(2 * used + (side if coefficient > 0 else 1 - side))
            if vector is None:
                return None
            total = [t + abs(coefficient) * v for t, v in zip(total, vector, strict=True)]
        return total

    # --------------------------------------------------------------------------------- reachability

    def _unreached(self, search: MixedInteger, bounds: dict[int, Vector | None]) -> frozenset[Location]:
        """Return the locations behind conditions that no value within the bounds satisfies."""
        values = self.numeric.values.copy()
        for quantity in self._live():
            if self._is_empty(search, quantity, bounds):
                values[quantity] = NOTHING
        reached = Propagation(self.system, self.essa.translation).reached(values)
        return frozenset(at for at, state in self.essa.at.items() if not reached.has(state.gate))

    def _is_empty(self, search: MixedInteger, quantity: int, bounds: dict[int, Vector | None]) -> bool:
        """Return whether an upper bound of a condition is less than a lower one for all parameters. A bound
        that is excluded is the one next to it."""
        definition = self.system.definitions[quantity]
        if not isinstance(definition, Meet):
            return False
        sides = []
        for side in (UPPER, LOWER):
            parts = [self._divided(part, side, bounds) for part in self._parts(search, quantity, side)]
            sides.append([each for each in parts if each is not None])
        for bound in definition.excluded:
            if self.numeric.values.applies(bound):
                self._exclude(sides, bound, bounds)
        pairs = product(*sides)
        return any(self._most(tuple(map(add, upper, lower))) < 0 for upper, lower in pairs)

    def _exclude(self, sides: list[list[Vector]], bound: Bound, bounds: dict[int, Vector | None]) -> None:
        """Add the bounds next to an excluded value, if it is one number for given parameters."""
        part = (bound.constant, bound.terms, bound.divisor)
        upper, lower = self._divided(part, UPPER, bounds), self._divided(part, LOWER, bounds)
        if upper is None or lower is None or any(map(add, upper, lower)):
            return
        if any(each.denominator != 1 for each in upper):  # no integer next to it
            return
        for vectors, end in zip(sides, (upper, lower), strict=True):
            if any(self._most(tuple(map(sub, each, end))) <= 0 for each in vectors):
                vectors.append((end[0] - 1, *end[1:]))

    def _divided(self, part: Part, side: int, bounds: dict[int, Vector | None]) -> Vector | None:
        """Return a right side under the bounds; None if it is not bounded."""
        constant, terms, divisor = part
        total = self._total(constant, terms, side, bounds)
        return None if total is None else tuple(Fraction(each) / divisor for each in total)

    # ---------------------------------------------------------------------------------------- results

    def _places(self) -> list[Location]:
        procedure = self.numeric.program.procedures[self.numeric.program.main]
        heads = loop_forest(procedure).heads
        return [*heads, procedure.exit] if procedure.exit in self.essa.at else list(heads)

    def _at(self, at: Location, bounds: dict[int, Vector | None]) -> dict[Expr, SymbolicRange]:
        environment = self.essa.at[at].environment
        variables = self.numeric.program.procedures[self.numeric.program.main].variables
        views = self.essa.translation.views
        return {
            x: self._range(environment[x], bounds)
            for x in variables
            if x in environment and _number(x) and x not in views and self.numeric.values.has(environment[x])
        }

    def _range(self, quantity: int, bounds: dict[int, Vector | None]) -> SymbolicRange:
        upper, lower = (self._better(2 * quantity + side, bounds) for side in (UPPER, LOWER))
        low = None if lower is None else self._affine(tuple(-each for each in lower))
        return SymbolicRange(low, None if upper is None else self._affine(upper))

    def _better(self, side: int, bounds: dict[int, Vector | None]) -> Vector | None:
        """Return the symbolic bound, unless the numeric one is at least as good for all parameters."""
        symbolic, numeric = bounds[side], self._fallback(side >> 1)[side & 1]
        if symbolic is None or numeric is None:
            return symbolic if numeric is None else numeric
        worse = self._most(tuple(n - s for n, s in zip(numeric, symbolic, strict=True))) > 0
        return symbolic if worse else numeric

    def _affine(self, vector: Vector) -> Affine:
        """Return a bound in terms of the parameters themselves."""
        constant = vector[0]
        terms = []
        for coefficient, (base, sign), x in zip(vector[1:], self.bases, self.symbols, strict=True):
            if coefficient:
                constant -= coefficient * sign * base
                terms.append((coefficient * sign, x))
        return Affine(constant, tuple(terms))
