"""Compute symbolic bounds: ranges of variables in terms of parameters (Zaks et al. 2006, section 4).

The procedure is analysed alone: parameters and globals are arbitrary except for the assumption. First numeric
ranges are computed. If a parameter may have both signs, each sign is a case. Then each parameter is counted
from the end of its range that is nearer to zero, so that it is not negative, and the mixed-integer program
computes bounds C + sum of C_p * p.

Each bound is checked in exact integers: for all parameters in their ranges it must be at least the value of
its definition. A bound that fails, or exceeds the numbers of the encoding, is replaced by its numeric bound,
until all others hold. Numeric bounds hold by themselves, so every symbolic bound may use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from certus.analysis.ranges.essa import EssaForm, Scope, translate
from certus.analysis.ranges.milp import MixedInteger, Part, Vector
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.result import Ranges, interval, solve
from certus.analysis.ranges.strategy import LOWER, UPPER
from certus.analysis.ranges.system import Join, Meet, Sum
from certus.core import build
from certus.core.budget import Budget
from certus.core.intervals import Interval
from certus.core.loops import loop_forest
from certus.core.program import Assume, Edge, Location, Procedure, Program
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr

SPLIT: Final = 4  # limit of symbolic parameters; further ones have numeric ranges only


@dataclass(frozen=True, slots=True)
class Affine:
    """The term `constant` + the sum of coefficient * parameter."""

    constant: int
    terms: tuple[tuple[int, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolicRange:
    """Bounds of a variable; None means no bound."""

    low: Affine | None
    high: Affine | None


@dataclass(frozen=True, slots=True)
class Case:
    """The bounds of variables at locations, if the parameters are in these ranges."""

    parameters: dict[Expr, Interval]
    at: dict[Location, dict[Expr, SymbolicRange]]


def symbolic_ranges(
    program: Program, function: str, assumption: Expr = build.TRUE, *, budget: Budget | None = None
) -> list[Case]:
    """Return the possible cases, by the signs that the assumption leaves open."""
    budget = budget or Budget()
    numeric = _numeric(program, function, assumption, budget)
    at_entry = _at_entry(numeric, function)
    views = numeric.essa.translation.views
    parameters = [x for x in program.procedures[function].parameters if _number(x) and x not in views]
    symbols = [x for x in parameters if x in at_entry][:SPLIT]
    cases = []
    for choice in product(*(_signs(at_entry[x]) for x in symbols)):
        budget.check()
        within = [build.TRUE, *(_in(x, each) for x, each in zip(symbols, choice, strict=True))]
        case = _numeric(program, function, build.and_(assumption, *within), budget)
        if case.reaches(_body_entry(case.program, function)):
            cases.append(_Case(case, function, symbols).solve(budget))
    return cases


def _number(x: Expr) -> bool:
    return x.sort is INT or isinstance(x.sort, MachineSort)


def _signs(range_: Interval) -> list[Interval]:
    if (range_.low is None or range_.low < 0) and (range_.high is None or range_.high >= 0):
        return [Interval(0, range_.high), Interval(range_.low, -1)]
    return [range_]


def _in(x: Expr, range_: Interval) -> Expr:
    parts = []
    if range_.low is not None:
        parts.append(build.le(build.constant(range_.low, x.sort), x))
    if range_.high is not None:
        parts.append(build.le(x, build.constant(range_.high, x.sort)))
    return build.conjunction(parts)


# ----------------------------------------------------------------------------------- the procedure alone


def alone(program: Program, function: str, assumption: Expr) -> Program:
    """Return the program that starts in one procedure with any values that satisfy the assumption."""
    procedure = program.procedures[function]
    index = 1 + max((at.index for p in program.procedures.values() for at in p.locations), default=0)
    edge = 1 + max((e.index for p in program.procedures.values() for e in p.edges), default=0)
    start = Location(index, function, procedure.entry.span)
    first = Edge(edge, start, Assume(assumption), procedure.entry, procedure.entry.span)
    entered: Procedure = replace(procedure, entry=start, edges=(first, *procedure.edges))
    return replace(program, procedures={**program.procedures, function: entered}, main=function, initial={})


def _body_entry(program: Program, function: str) -> Location:
    procedure = program.procedures[function]
    return procedure.successors[procedure.entry][0].target


def _numeric(program: Program, function: str, assumption: Expr, budget: Budget) -> Ranges:
    essa = translate(alone(program, function, assumption), Scope(everywhere=True, lasting=True))
    return solve(essa, budget)


def _at_entry(ranges: Ranges, function: str) -> dict[Expr, Interval]:
    at = _body_entry(ranges.program, function)
    return ranges.at(at) if ranges.reaches(at) else {}


# -------------------------------------------------------------------------------------------- one case


class _Case:
    """The symbolic bounds under numeric ranges in which every symbol has one sign."""

    def __init__(self, numeric: Ranges, function: str, symbols: Sequence[Expr]) -> None:
        self.numeric, self.function, self.symbols = numeric, function, symbols
        self.essa: EssaForm = numeric.essa
        self.system = numeric.essa.system
        entry = numeric.essa.at[_body_entry(numeric.program, function)]
        self.quantities = [self.essa.at[numeric.program.entry].environment[x] for x in symbols]
        self.ranges = [interval(numeric.values[entry.environment[x]]) for x in symbols]
        self.bases = [self._base(each) for each in self.ranges]
        self.entered = [entry.environment[x] for x in symbols]

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
            for quantity in (self.quantities[n], self.entered[n]):
                constants[quantity] = upper, tuple(-each for each in upper)
        values = self.numeric.values
        search = MixedInteger(self.system, values, constants, self._fallback, parameters=len(self.symbols))
        search.most = self._most
        bounds = search.solve(budget)
        self._check(search, bounds, constants)
        places = self._places()
        return Case(
            dict(zip(self.symbols, self.ranges, strict=True)),
            {at: self._at(at, bounds) for at in places if self.numeric.reaches(at)},
        )

    def _fallback(self, quantity: int) -> tuple[Vector | None, Vector | None]:
        low, high = self.numeric.values[quantity]
        rest = (0,) * len(self.symbols)
        return (None if high >= INFINITE else (high, *rest)), (None if low <= -INFINITE else (-low, *rest))

    def _most(self, vector: Vector) -> int:
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
        """Return whether `own` is at least a right side for all parameters, by symbolic or numeric bounds."""
        constant, terms, divisor = part
        for bounds in candidates:
            rest = [constant if side == UPPER else -constant] + [0] * len(self.symbols)
            for coefficient, used in terms:
                vector = bounds.get(2 * used + (side if coefficient > 0 else 1 - side))
                if vector is None:
                    break
                rest = [r + abs(coefficient) * v for r, v in zip(rest, vector, strict=True)]
            else:
                difference = tuple(r - divisor * o for r, o in zip(rest, own, strict=True))
                if self._most(difference) < divisor:  # bounds are integers
                    return True
        return False

    # ---------------------------------------------------------------------------------------- results

    def _places(self) -> list[Location]:
        procedure = self.numeric.program.procedures[self.function]
        heads = loop_forest(procedure).heads
        return [*heads, procedure.exit] if procedure.exit in self.essa.at else list(heads)

    def _at(self, at: Location, bounds: dict[int, Vector | None]) -> dict[Expr, SymbolicRange]:
        environment = self.essa.at[at].environment
        variables = self.numeric.program.procedures[self.function].variables
        return {
            x: self._range(environment[x], bounds)
            for x in variables
            if _number(x) and self.numeric.values.has(environment[x])
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
