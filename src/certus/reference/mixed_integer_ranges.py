"""Ranges by the mixed-integer programs of Zaks et al. 2006, section 4, to compare strategy iteration with."""

from __future__ import annotations

from certus.analysis.ranges.essa import EssaForm
from certus.analysis.ranges.milp import MixedInteger, Vector
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.system import Values
from certus.core.accounting import Budget


def by_mixed_integer(essa: EssaForm, outer: Values, budget: Budget) -> tuple[Values, int]:
    """Solve the system under the gates of `outer`; a `SystemSolver` that counts no linear programs."""
    system, types = essa.system, essa.translation.limits

    def unbounded(quantity: int) -> tuple[Vector | None, Vector | None]:
        low, high = types.get(quantity, outer[quantity])
        return (None if high >= INFINITE else (high,)), (None if low <= -INFINITE else (-low,))

    bounds = MixedInteger(system, outer, {}, unbounded).solve(budget)
    values = Values(len(system))
    for side, vector in bounds.items():
        value = INFINITE if vector is None else int(vector[0])
        if side & 1:
            values.low[side >> 1] = -value
        else:
            values.high[side >> 1] = value
    for quantity in range(len(system)):
        values.evaluate(quantity, system.definitions[quantity])  # marks sums that may wrap
    return values, 0
