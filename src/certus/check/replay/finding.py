"""Say what is wrong at the error that a replayed counterexample reaches, with the values there.

The claim of an error site names the operation (`a + b does not overflow`). The condition under which the
error is reached contains the exact result, or the amount of a shift; its value in the last state of the run
completes the sentence: `a + b is 2147483648, outside int`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from certus.core.errors import Undefined
from certus.core.program import Assume, ErrorSite, Program
from certus.core.terms import Expr, Kind, MachineSort
from certus.core.values import Datum, evaluate
from certus.core.vocabulary import operation_of
from certus.core.walk import postorder, variables

INT_BITS: Final = 32


def finding(program: Program, site: ErrorSite, value_of: Callable[[Expr], Datum]) -> str:
    """Return what is wrong at an error, or nothing if the claim says it all. `value_of` has the values of
    variables in the last state."""
    edges = program.procedures[site.location.procedure].predecessors[site.location]
    conditions = [edge.op.condition for edge in edges if isinstance(edge.op, Assume)]
    if len(conditions) != 1 or site.kind not in ("overflow", "shift"):
        return ""
    operation = operation_of(site.kind, site.text)
    for term, limit in _compared(conditions[0]):
        value = _value(term, value_of)
        if value is None:
            continue
        if site.kind == "shift" and value > limit:
            own = _value(_without_conversion(term), value_of)
            return f"{operation} shifts by {own}, and the type has {limit + 1} bits"
        bits = _bits(limit)
        if site.kind == "overflow" and bits and not -(1 << bits - 1) <= value < 1 << bits - 1:
            return f"{operation} is {value}, outside {_type(bits)}"
    return f"the result of {operation} does not fit its type"


def _compared(condition: Expr) -> Iterator[tuple[Expr, int]]:
    """Yield the terms that a condition compares with constants, and the constants."""
    for term in postorder(condition):
        if term.kind in (Kind.LE, Kind.LT):
            left, right = term.args
            for constant, other in ((left, right), (right, left)):
                if constant.kind is Kind.CONST and other.kind is not Kind.CONST:
                    yield other, int(constant.value)


def _bits(limit: int) -> int:
    """Return the width of the type with this least or greatest value; 0 if there is none."""
    bits = (limit if limit >= 0 else ~limit).bit_length() + 1
    return bits if bits > 8 and limit in (-(1 << bits - 1), (1 << bits - 1) - 1) else 0


def _type(bits: int) -> str:
    return "int" if bits == INT_BITS else f"a signed integer of {bits} bits"


def _without_conversion(amount: Expr) -> Expr:
    """Return the amount of a shift as the program computes it: the check takes it as unsigned."""
    inner = amount.args[0] if amount.kind is Kind.WRAP else amount
    own, sort = inner.sort, amount.sort
    alike = isinstance(own, MachineSort) and isinstance(sort, MachineSort) and own.width == sort.width
    return inner if alike else amount


def _value(term: Expr, value_of: Callable[[Expr], Datum]) -> int | None:
    """Return the value of a term; None if it has none, or is not a number."""
    try:
        value = evaluate(term, {x: value_of(x) for x in variables(term)})
    except (Undefined, KeyError, ValueError, TypeError):
        return None
    return int(value) if isinstance(value, int) else None
