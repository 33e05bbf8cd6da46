"""Compute the exact value of a term from the values of its variables.

The walk is iterative and visits each shared subterm once. Division by zero, oversized shifts and conversions
of floats to integers that cannot hold them have no definite value: such a subterm is *undefined*.
`Undefined` is raised only if the value of the whole term depends on it: `ite` depends on the chosen branch
only, a conjunction with a false part is false, a disjunction with a true part is true. Every other operation
with an undefined argument is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Final

from certus.core.errors import Undefined
from certus.core.sorts import REAL, ArraySort, MachineSort
from certus.core.terms import FLOATS, Expr, Function, Kind
from certus.core.values import ArrayValue, Datum, as_value, fold_bits, fold_division, fold_float


class _Undefined(Enum):
    """The result of an operation without a definite value."""

    MARK = 0


_UNDEFINED: Final = _Undefined.MARK
Result = Datum | _Undefined
Operation = Callable[..., Result]  # from a term and the values of its arguments, which are as its kind says


def evaluate(
    term: Expr,
    env: Mapping[Expr, Datum],
    functions: Mapping[Function, Callable[..., Datum]] | None = None,
) -> Datum:
    """Return the value of `term` where `env` gives the values of variables and `functions` their meaning.

    Raise `Undefined` if there is no definite value, KeyError for a variable or function without a
    meaning, ValueError for a quantifier or a value that does not fit its variable."""
    values: dict[Expr, Result] = {}
    stack = [term]
    while stack:
        top = stack[-1]
        if top in values:
            stack.pop()
            continue
        needed = _needed(top, values)
        if needed:
            stack.extend(reversed(needed))
        else:
            stack.pop()
            values[top] = _value(top, values, env, functions or {})
    result = values[term]
    if result is _UNDEFINED:
        raise Undefined(
            "the value depends on a division by zero, an oversized shift or a float beyond an integer"
        )
    return result


def _needed(term: Expr, values: Mapping[Expr, Result]) -> list[Expr]:
    """Return the subterms that must be evaluated before `term`."""
    args = term.args
    if term.kind is Kind.ITE:
        condition = values.get(args[0])
        if condition is None:
            return [args[0]]
        if condition is _UNDEFINED:
            return []
        args = args[1:2] if condition else args[2:3]
    elif term.kind is Kind.STORE:
        base, writes = _store_chain(term, values)
        args = (base, *(part for write in reversed(writes) for part in write.args[1:]))
    elif term.kind in _QUANTIFIED:
        raise ValueError(f"a quantified formula has no computable value: {term!r}")
    return [a for a in args if a not in values]


def _store_chain(term: Expr, values: Mapping[Expr, Result]) -> tuple[Expr, list[Expr]]:
    """Return the array below successive stores, and the stores, last one first. Applied together, they cost
    one copy of the array instead of one each."""
    writes = [term]
    base = term.args[0]
    while base.kind is Kind.STORE and base not in values:
        writes.append(base)
        base = base.args[0]
    return base, writes


def _value(
    term: Expr,
    values: Mapping[Expr, Result],
    env: Mapping[Expr, Datum],
    functions: Mapping[Function, Callable[..., Datum]],
) -> Result:
    """Return the value of a term whose arguments have values."""
    kind = term.kind
    if kind is Kind.CONST:
        return term.value
    if kind is Kind.VAR:
        return as_value(env[term], term.sort)
    if kind is Kind.ITE:
        condition = values[term.args[0]]
        return _UNDEFINED if condition is _UNDEFINED else values[term.args[1 if condition else 2]]
    if kind is Kind.STORE:
        return _stored(term, values)
    args = [values[a] for a in term.args]
    if kind is Kind.AND or kind is Kind.OR:
        absorbing = kind is Kind.OR
        if any(a is absorbing for a in args):
            return absorbing
        return _UNDEFINED if any(a is _UNDEFINED for a in args) else not absorbing
    if any(a is _UNDEFINED for a in args):
        return _UNDEFINED
    if kind is Kind.APPLY:
        return as_value(functions[term.function](*args), term.sort)
    if kind is Kind.BOUND:
        raise ValueError("a bound variable outside its quantifier has no value")
    result = _OPERATIONS[kind](term, args)
    if isinstance(term.sort, MachineSort) and isinstance(result, int):
        return term.sort.wrap(result)
    return result


def _stored(term: Expr, values: Mapping[Expr, Result]) -> Result:
    """Return the value of successive stores."""
    base, writes = _store_chain(term, values)
    array = values[base]
    if not isinstance(array, ArrayValue):
        return _UNDEFINED
    entries = dict(array.entries)
    for write in reversed(writes):
        index, value = values[write.args[1]], values[write.args[2]]
        if index is _UNDEFINED or value is _UNDEFINED:
            return _UNDEFINED
        entries[index] = value
    return ArrayValue(array.sort, array.default, entries)


def _product(_: Expr, args: Sequence[int | Fraction]) -> Result:
    total = args[0]
    for factor in args[1:]:
        total *= factor
    return total


def _division(kind: Kind) -> Operation:
    def divide(_: Expr, args: Sequence[int]) -> Result:
        return fold_division(kind, args[0], args[1]) if args[1] else _UNDEFINED

    return divide


def _bits(kind: Kind) -> Operation:
    return lambda _, a: fold_bits(kind, a[0], a[1])


def _shift(kind: Kind) -> Operation:
    def shift(term: Expr, args: Sequence[int]) -> Result:
        assert isinstance(term.sort, MachineSort)
        value, amount = args
        if not 0 <= amount < term.sort.width:
            return _UNDEFINED
        return value << amount if kind is Kind.SHL else value >> amount

    return shift


def _const_array(term: Expr, args: Sequence[Datum]) -> Result:
    assert isinstance(term.sort, ArraySort)
    return ArrayValue(term.sort, args[0])


def _float(term: Expr, args: Sequence[int]) -> Result:
    assert isinstance(term.data, str)
    value = fold_float(term.kind, term.data, args, term.sort)
    return _UNDEFINED if value is None else value


_QUANTIFIED: Final = (Kind.FORALL, Kind.EXISTS)

# The value of each operation; on machine integers it is wrapped afterwards.
_OPERATIONS: dict[Kind, Operation] = {
    Kind.NOT: lambda _, a: not a[0],
    Kind.EQ: lambda _, a: a[0] == a[1],
    Kind.LE: lambda _, a: a[0] <= a[1],
    Kind.LT: lambda _, a: a[0] < a[1],
    Kind.ADD: lambda t, a: sum(a, Fraction(0)) if t.sort is REAL else sum(a),
    Kind.MUL: _product,
    Kind.SUB: lambda _, a: a[0] - a[1],
    Kind.NEG: lambda _, a: -a[0],
    Kind.QUOT: _division(Kind.QUOT),
    Kind.REM: _division(Kind.REM),
    Kind.DIV: _division(Kind.DIV),
    Kind.MOD: _division(Kind.MOD),
    Kind.RDIV: lambda _, a: a[0] / a[1] if a[1] else _UNDEFINED,
    Kind.BIT_AND: _bits(Kind.BIT_AND),
    Kind.BIT_OR: _bits(Kind.BIT_OR),
    Kind.BIT_XOR: _bits(Kind.BIT_XOR),
    Kind.BIT_NOT: lambda _, a: ~a[0],
    Kind.SHL: _shift(Kind.SHL),
    Kind.SHR: _shift(Kind.SHR),
    Kind.WRAP: lambda _, a: a[0],
    Kind.TO_INT: lambda _, a: a[0],
    Kind.TO_REAL: lambda _, a: Fraction(a[0]),
    Kind.FLOOR: lambda _, a: a[0].numerator // a[0].denominator,
    Kind.SELECT: lambda _, a: a[0][a[1]],
    Kind.CONST_ARRAY: _const_array,
    **dict.fromkeys(FLOATS, _float),
}
