"""Which sorts each operator takes and gives: the definition of a well-sorted term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from certus.core.sorts import BOOL, INT, REAL, ArraySort, MachineSort, Sort
from certus.core.terms import Data, Expr, Function, Kind


def well_sorted(kind: Kind, args: Sequence[Expr], data: Data, sort: Sort) -> bool:
    """Whether a term of these parts, its arguments being well-sorted, is so too."""
    given = tuple(a.sort for a in args)
    if kind is Kind.APPLY:
        return isinstance(data, Function) and given == data.parameters and sort is data.result
    if kind in (Kind.FORALL, Kind.EXISTS):
        return isinstance(data, tuple) and data != () and given == (BOOL,) and sort is BOOL
    return _RULES[kind](given, sort) and isinstance(data, _DATA.get(kind, type(None)))


def _number(sort: Sort) -> bool:
    return sort is INT or sort is REAL or isinstance(sort, MachineSort)


def _machine(sort: Sort) -> bool:
    return isinstance(sort, MachineSort)


def _integer(sort: Sort) -> bool:
    return sort is INT or isinstance(sort, MachineSort)


Rule = Callable[[tuple[Sort, ...], Sort], bool]


def _leaf(given: tuple[Sort, ...], _: Sort) -> bool:
    return given == ()


def _exactly(*parameters: Sort, result: Sort) -> Rule:
    return lambda given, sort: given == parameters and sort is result


def _connective(given: tuple[Sort, ...], sort: Sort) -> bool:
    return len(given) >= 2 and all(s is BOOL for s in given) and sort is BOOL


def _comparison(of: Callable[[Sort], bool]) -> Rule:
    return lambda given, sort: len(given) == 2 and given[0] is given[1] and of(given[0]) and sort is BOOL


def _within(count: int, of: Callable[[Sort], bool]) -> Rule:
    """`count` arguments of one sort, which is the result's."""
    return lambda given, sort: given == (sort,) * count and of(sort)


def _sum(given: tuple[Sort, ...], sort: Sort) -> bool:
    enough = len(given) == 2 if isinstance(sort, MachineSort) else len(given) >= 2
    return enough and _number(sort) and all(s is sort for s in given)


def _converted(of: Callable[[Sort], bool], to: Callable[[Sort], bool]) -> Rule:
    return lambda given, sort: len(given) == 1 and of(given[0]) and to(sort)


def _is(wanted: Sort) -> Callable[[Sort], bool]:
    return lambda sort: sort is wanted


def _element(given: tuple[Sort, ...], sort: Sort) -> bool:
    if len(given) != 2 or not isinstance(given[0], ArraySort):
        return False
    return given[1] is given[0].index and sort is given[0].element


def _stored(given: tuple[Sort, ...], sort: Sort) -> bool:
    return isinstance(sort, ArraySort) and given == (sort, sort.index, sort.element)


def _everywhere(given: tuple[Sort, ...], sort: Sort) -> bool:
    return isinstance(sort, ArraySort) and given == (sort.element,)


_DATA: Final[dict[Kind, type | tuple[type, ...]]] = {
    Kind.CONST: (bool, int, Fraction),
    Kind.VAR: str,
    Kind.BOUND: int,
}

_RULES: Final[dict[Kind, Rule]] = {
    Kind.CONST: lambda given, sort: given == () and not isinstance(sort, ArraySort),
    Kind.VAR: _leaf,
    Kind.BOUND: _leaf,
    Kind.NOT: _exactly(BOOL, result=BOOL),
    Kind.AND: _connective,
    Kind.OR: _connective,
    Kind.ITE: lambda given, sort: given == (BOOL, sort, sort),
    Kind.EQ: _comparison(lambda _: True),
    Kind.LE: _comparison(_number),
    Kind.LT: _comparison(_number),
    Kind.ADD: _sum,
    Kind.MUL: _sum,
    Kind.SUB: _within(2, _machine),
    Kind.NEG: _within(1, _machine),
    Kind.QUOT: _within(2, _integer),
    Kind.REM: _within(2, _integer),
    Kind.DIV: _exactly(INT, INT, result=INT),
    Kind.MOD: _exactly(INT, INT, result=INT),
    Kind.RDIV: _exactly(REAL, REAL, result=REAL),
    Kind.BIT_AND: _within(2, _machine),
    Kind.BIT_OR: _within(2, _machine),
    Kind.BIT_XOR: _within(2, _machine),
    Kind.BIT_NOT: _within(1, _machine),
    Kind.SHL: _within(2, _machine),
    Kind.SHR: _within(2, _machine),
    Kind.WRAP: _converted(_integer, _machine),
    Kind.TO_INT: _converted(_machine, _is(INT)),
    Kind.TO_REAL: _exactly(INT, result=REAL),
    Kind.FLOOR: _exactly(REAL, result=INT),
    Kind.SELECT: _element,
    Kind.STORE: _stored,
    Kind.CONST_ARRAY: _everywhere,
}
