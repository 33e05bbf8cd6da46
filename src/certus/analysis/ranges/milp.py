"""Solve the system by mixed-integer linear programs, as in the paper (Zaks et al. 2006, section 4).

A bound is a vector (C, C_p, ...) for C + sum of C_p * p over nonnegative parameters p; one bound is at least
another if all its coefficients are. In a disjunction `u >= a or u >= b` each part is relaxed by a large M
times a binary, and not all binaries may be 1: `u + M D >= a` (the paper prints the opposite sign for lower
bounds). The objective is the sum of all coefficients of u and of -l.

M is at most `LARGE`: with a larger M, tolerances would make false constraints true. Hence the paper's
heuristics: a part whose right side is close to M, or not bounded, is dropped; if no part remains, the flow
constraint (the first part) is kept without a binary. A component without a solution is unbounded: it has the
bounds of `fallback`.

With parameters this gives the symbolic bounds of a procedure, whose coefficients are rational: a condition
`2 * i <= n` gives the bound n / 2. The solver's numbers become the nearest fractions with small denominators.
Without parameters, bounds are integers, rounded outward; `certus.reference` compares them with strategy
iteration. In both cases the caller checks the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.strategy import LOWER, UPPER
from certus.analysis.ranges.system import (
    Bound,
    Fixed,
    Gate,
    Join,
    Meet,
    Sum,
    System,
    Terms,
    Values,
    dependencies,
)
from certus.core.accounting import Budget
from certus.core.loops import components
from certus.solvers.highs import LinearProgram, LinearSolver

LARGE: Final = 1e5  # the M of the encoding
CLOSE: Final = 0.4 * LARGE  # constants from here on are close to M
RELAXED: Final = 2 * LARGE  # the coefficient of the binary of a part
COEFFICIENT: Final = 1000.0  # limit of the coefficient of a parameter
ROUNDING: Final = 1e-5
DENOMINATOR: Final = 64  # limit of the denominators of rational bounds

Number = int | Fraction
Vector = tuple[Number, ...]  # the constant, then a coefficient for each parameter
Part = tuple[int, Terms, int]  # a right side: constant, terms and divisor


class MixedInteger:
    """The solution of a system under the gates of `outer`. `constants` are bounds of quantities that are
    fixed; `fallback` returns those of quantities whose component has no solution."""

    def __init__(
        self,
        system: System,
        outer: Values,
        constants: Mapping[int, tuple[Vector | None, Vector | None]],
        fallback: Callable[[int], tuple[Vector | None, Vector | None]],
        *,
        parameters: int = 0,
    ) -> None:
        self.system, self.outer, self.fallback = system, outer, fallback
        self.size = parameters + 1
        self.constants = constants
        self.bounds: dict[int, Vector | None] = {}  # by side; None means no bound
        self.wrapped: dict[int, None] = {}  # sums that may leave their type
        self.most: Callable[[Vector], Number] = lambda vector: vector[0]
        self._solver = LinearSolver()
        self._operands = {
            q: self._live(d) for q, d in enumerate(system.definitions) if isinstance(d, Join) and outer.has(q)
        }

    def _live(self, join: Join) -> list[int]:
        pairs = zip(join.operands, join.gates, strict=True)
        return [o for o, gate in pairs if self.outer.has(gate) and self.outer.has(o)]

    def solve(self, budget: Budget) -> dict[int, Vector | None]:
        """Return the bounds of all live quantities by side: u of quantity q at 2 * q, -l at 2 * q + 1."""
        live = [q for q in range(len(self.system)) if self.outer.has(q)]
        for component in components(live, self._uses):
            budget.check()
            self._solve_component(sorted(component), budget)
        return self.bounds

    def _uses(self, quantity: int) -> list[int]:
        definition = self.system.definitions[quantity]
        if quantity in self.constants or isinstance(definition, Gate):
            return []
        if isinstance(definition, Join):
            return self._operands[quantity]
        return list(dependencies(definition))

    # ----------------------------------------------------------------------------------- components

    def _solve_component(self, component: Sequence[int], budget: Budget) -> None:
        for quantity in component:
            if quantity in self.constants:
                self._set(quantity, self.constants[quantity])
        unknown = [q for q in component if q not in self.constants]
        if len(unknown) == 1 and unknown[0] not in self._uses(unknown[0]):
            self._direct(unknown[0])
            if self._leaves(unknown[0]):
                self.wrapped[unknown[0]] = None
                self._direct(unknown[0])
            return
        while unknown:
            solution = self._solve_program(unknown, budget)
            if solution is None:
                for quantity in unknown:
                    self._set(quantity, self.fallback(quantity))
                return
            self.bounds.update(solution)
            leaving = [q for q in unknown if q not in self.wrapped and self._leaves(q)]
            if not leaving:
                return
            self.wrapped.update(dict.fromkeys(leaving))

    def _set(self, quantity: int, bounds: tuple[Vector | None, Vector | None]) -> None:
        self.bounds[2 * quantity + UPPER], self.bounds[2 * quantity + LOWER] = bounds

    def _leaves(self, quantity: int) -> bool:
        """Return whether a sum may leave its type under the present bounds and under those of `outer`."""
        definition = self.system.definitions[quantity]
        if not isinstance(definition, Sum) or not self.outer.wrapped[quantity]:
            return False
        ends = (definition.greatest, -definition.least)
        for side, end in zip((UPPER, LOWER), ends, strict=True):
            value = self._value(definition.constant, definition.terms, side)
            if end < INFINITE and (value is None or self.most(value) > end):
                return True
        return False

    def _value(self, constant: int, terms: Terms, side: int) -> Vector | None:
        total: list[Number] = [constant if side == UPPER else -constant, *[0] * (self.size - 1)]
        for coefficient, quantity in terms:
            vector = self.bounds.get(2 * quantity + (side if coefficient > 0 else 1 - side))
            if vector is None:
                return None
            total = [t + abs(coefficient) * v for t, v in zip(total, vector, strict=True)]
        return tuple(total)

    def parts(self, quantity: int, side: int) -> list[Part]:
        """Return the right sides for a bound: of a join all hold, of others at least one."""
        definition = self.system.definitions[quantity]
        if isinstance(definition, Join):
            return [(0, ((1, operand),), 1) for operand in self._operands[quantity]]
        if isinstance(definition, Sum):
            end = (definition.greatest if side == UPPER else definition.least, (), 1)
            if quantity in self.wrapped:
                return [end]
            return [(definition.constant, definition.terms, 1), end]
        if isinstance(definition, Meet):
            parts: list[Part] = [(0, ((1, definition.of),), 1)]
            for bound in definition.uppers if side == UPPER else definition.lowers:
                if bound.unless is None or bound.unless not in self.wrapped:
                    parts.append((bound.constant, bound.terms, bound.divisor))
            return parts
        low, high = self.outer[quantity]
        if isinstance(definition, Fixed):
            low, high = definition.low, definition.high
        return [(high if side == UPPER else low, (), 1)]

    def _direct(self, quantity: int) -> None:
        """Compute the bounds of a quantity that does not depend on itself, without a program."""
        for side in (UPPER, LOWER):
            vectors = [self._divided(part, side) for part in self.parts(quantity, side)]
            finite = [vector for vector in vectors if vector is not None]
            chosen: Vector | None
            if isinstance(self.system.definitions[quantity], Join):
                whole = len(finite) == len(vectors)
                chosen = tuple(map(max, zip(*finite, strict=True))) if whole else None
            else:
                chosen = min(finite, key=sum) if finite else None
            self.bounds[2 * quantity + side] = chosen
        definition = self.system.definitions[quantity]
        if isinstance(definition, Meet):
            for bound in definition.excluded:
                self._exclude(quantity, bound)

    def _divided(self, part: Part, side: int) -> Vector | None:
        constant, terms, divisor = part
        if abs(constant) >= INFINITE:
            return None
        value = self._value(constant, terms, side)
        if value is None:
            return None
        if divisor == 1:
            return value
        if not any(value[1:]):
            return (value[0] // divisor, *value[1:])
        return tuple(Fraction(each) / divisor for each in value)

    def _exclude(self, quantity: int, bound: Bound) -> None:
        stop = self.stop(bound)
        if stop is None:
            return
        for side in (UPPER, LOWER):
            vector = self.bounds[2 * quantity + side]
            signed = stop if side == UPPER else -stop
            if vector is not None and not any(vector[1:]) and vector[0] == signed:
                self.bounds[2 * quantity + side] = (signed - 1, *vector[1:])

    def stop(self, bound: Bound) -> int | None:
        """Return the excluded value, if it is one constant."""
        if bound.unless is not None and bound.unless in self.wrapped:
            return None
        most = self._value(bound.constant, bound.terms, UPPER)
        least = self._value(bound.constant, bound.terms, LOWER)
        if most is None or least is None or any(most[1:]) or most[0] != -least[0] or most[0] % bound.divisor:
            return None
        return int(most[0] // bound.divisor)

    def _solve_program(self, unknown: Sequence[int], budget: Budget) -> dict[int, Vector | None] | None:
        """Return the least solution of a component under the present wrapping; None if there is none."""
        model = _Model(self, unknown)
        for quantity in unknown:
            for side in (UPPER, LOWER):
                if not model.constrain(quantity, side):
                    return None
        solution = self._solver.minimum(model.program, seconds=budget.remaining())
        budget.check()
        if solution is None:
            return None
        return {
            side: tuple(self._exact(solution[column]) for column in columns)
            for side, columns in model.columns.items()
        }

    def _exact(self, number: float) -> Number:
        if self.size == 1:
            return ceil(number - ROUNDING)
        return Fraction(number).limit_denominator(DENOMINATOR)


class _Model:
    """The mixed-integer program of one component."""

    def __init__(self, whole: MixedInteger, unknown: Sequence[int]) -> None:
        self.whole = whole
        self.program = LinearProgram()
        self.columns: dict[int, list[int]] = {}
        for quantity in unknown:
            for side in (UPPER, LOWER):
                columns = [self.program.column(-LARGE, LARGE, 1.0)]
                columns += [
                    self.program.column(-COEFFICIENT, COEFFICIENT, 1.0) for _ in range(whole.size - 1)
                ]
                self.columns[2 * quantity + side] = columns

    def constrain(self, quantity: int, side: int) -> bool:
        """Add the constraints of one bound; return False if they are unsatisfiable."""
        definition = self.whole.system.definitions[quantity]
        if isinstance(definition, Join):
            return all(self._either(quantity, side, [part]) for part in self.whole.parts(quantity, side))
        if isinstance(definition, Meet):
            stops = [value for bound in definition.excluded if (value := self._stop(bound)) is not None]
            return self._either(quantity, side, self.whole.parts(quantity, side), stops, definition.of)
        return self._either(quantity, side, self.whole.parts(quantity, side))

    def _stop(self, bound: Bound) -> int | None:
        """Return the excluded value, if it does not depend on the component."""
        inside = any(2 * quantity in self.columns for _, quantity in bound.terms)
        return None if inside else self.whole.stop(bound)

    def _either(
        self, quantity: int, side: int, parts: Sequence[Part], stops: Sequence[int] = (), of: int = 0
    ) -> bool:
        """Add that the bound is at least one of the parts, or stops before an excluded value that `of` has
        not passed; return False if no part is left."""
        near = LARGE if len(parts) == 1 and not stops else CLOSE
        rows = [row for part in parts if (row := self._row(quantity, side, part, near)) is not None]
        if not rows and not stops:
            rows = [row for part in parts[:1] if (row := self._row(quantity, side, part, LARGE)) is not None]
        signed = [stop if side == UPPER else -stop for stop in stops]
        count = len(rows) + len(signed)
        if count == 0:
            return False
        binaries: list[int] = []
        if count > 1:
            binaries = [self.program.column(0.0, 1.0, 0.0, whole=True) for _ in range(count)]
            self.program.row([(b, 1.0) for b in binaries], upper=count - 1)
        for n, part in enumerate(rows):
            for entries, least in part:
                relaxed = [*entries, (binaries[n], RELAXED)] if binaries else entries
                self.program.row(relaxed, lower=least)
        for n, stop in enumerate(signed, start=len(rows)):
            self._before(quantity, side, stop, of, binaries[n] if binaries else None)
        return True

    def _before(self, quantity: int, side: int, stop: int, of: int, binary: int | None) -> None:
        relaxed = [] if binary is None else [(binary, RELAXED)]
        for n, column in enumerate(self.columns[2 * quantity + side]):
            self.program.row([(column, 1.0), *relaxed], lower=float(stop - 1) if n == 0 else 0.0)
        columns = self.columns.get(2 * of + side)
        if columns is None:
            bound = self.whole.bounds[2 * of + side]
            if bound is None or any(bound[1:]) or bound[0] > stop:
                self.program.row(relaxed, lower=1.0)
            return
        for n, column in enumerate(columns):
            negative = [(c, -w) for c, w in relaxed]
            self.program.row([(column, 1.0), *negative], upper=float(stop) if n == 0 else 0.0)

    def _row(
        self, quantity: int, side: int, part: Part, limit: float
    ) -> list[tuple[list[tuple[int, float]], float]] | None:
        """Return `divisor * own - terms >= constant` for each coefficient; None if the part is not bounded,
        or its bound exceeds `limit`."""
        constant, terms, divisor = part
        totals = [float(constant if side == UPPER else -constant)] + [0.0] * (self.whole.size - 1)
        rows: list[dict[int, float]] = [{own: float(divisor)} for own in self.columns[2 * quantity + side]]
        for coefficient, used in terms:
            other = 2 * used + (side if coefficient > 0 else 1 - side)
            columns = self.columns.get(other)
            if columns is not None:
                for row, column in zip(rows, columns, strict=True):
                    row[column] = row.get(column, 0.0) - abs(coefficient)
                continue
            vector = self.whole.bounds.get(other)
            if vector is None:
                return None
            totals = [t + abs(coefficient) * v for t, v in zip(totals, vector, strict=True)]
        if abs(totals[0]) > limit:
            return None
        return [(list(row.items()), total) for row, total in zip(rows, totals, strict=True)]
