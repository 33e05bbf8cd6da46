"""Build terms that compute with floating-point numbers, which are bit patterns (`core.floats`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core import build, floats
from certus.core.terms import BOOL, Expr, Kind, MachineSort, Sort, machine
from certus.core.values import fold_float


def float_sort(format: floats.Format) -> MachineSort:
    """Return the sort of the bit patterns of a format."""
    return machine(format.width, signed=False)


ROUNDING: Final = machine(8, signed=False)  # the sort of rounding modes
TO_NEAREST: Final = Expr(Kind.CONST, (), floats.NEAREST, ROUNDING)


def float_term(kind: Kind, data: str, args: Sequence[Expr], sort: Sort | None = None) -> Expr:
    """Return the operation `kind` on floating-point numbers; `data` names the formats, and `sort` is the
    result of F_TO. Only constants are folded: no law of real numbers holds for NaN and both zeros."""
    if sort is None:
        sort = BOOL if kind in _FLOAT_CONDITIONS else float_sort(floats.FORMATS[data.rsplit(maxsplit=1)[-1]])
    operands = tuple(args)
    if all(a.kind is Kind.CONST for a in operands):
        value = fold_float(kind, data, [int(a.value) for a in operands], sort)
        if value is not None:
            return build.constant(value, sort)
    return Expr(kind, operands, data, sort)


def float_fits(a: Expr, format: floats.Format, sort: MachineSort) -> Expr:
    """Return the condition that a number without its fraction is an integer of `sort`."""
    bits, name = float_sort(format), format.name
    bounds = floats.convertible(format, sort.low, sort.high)
    least = build.constant(format.infinity | format.sign if bounds.low is None else bounds.low, bits)
    most = build.constant(format.infinity if bounds.high is None else bounds.high, bits)
    above = float_term(Kind.F_LE if bounds.closed and bounds.low is not None else Kind.F_LT, name, (least, a))
    return build.and_(above, float_term(Kind.F_LT, name, (a, most)))


_FLOAT_CONDITIONS: Final = (Kind.F_EQ, Kind.F_LT, Kind.F_LE)
