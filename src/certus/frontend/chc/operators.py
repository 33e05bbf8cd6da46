"""Translate the operators of SMT-LIB to terms.

Machine integers are unsigned here: SMT-LIB's bit-vectors have no sign, its operations do. Division by zero
and oversized shifts, which Certus terms leave open, get the values that SMT-LIB defines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from certus.core import build
from certus.core.errors import CertusError
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, MachineSort, Sort, machine

Operator = Callable[[Sequence[Expr]], Expr]
WIDEST: Final = 1 << 16  # most bits of a bit-vector


class IllSorted(CertusError):
    """An operator is applied to arguments of wrong sorts; the message is a sentence."""


def same(args: Sequence[Expr]) -> Sequence[Expr]:
    """Return the arguments with one sort; mixed numbers become Real."""
    sorts = {a.sort for a in args}
    if len(sorts) == 1:
        return args
    if sorts == {INT, REAL}:
        return [real(a) for a in args]
    raise IllSorted(f"Its arguments have different sorts: {', '.join(a.sort.name for a in args[:8])}.")


def real(a: Expr) -> Expr:
    return build.to_real(a) if a.sort is INT else a


def _take(args: Sequence[Expr], count: int) -> Sequence[Expr]:
    if len(args) != count:
        raise IllSorted(f"It takes {count} argument{'s' * (count != 1)}, not {len(args)}.")
    return args


def _some(args: Sequence[Expr], least: int = 1) -> Sequence[Expr]:
    if len(args) < least:
        raise IllSorted(f"It takes at least {least} argument{'s' * (least != 1)}, not {len(args)}.")
    return args


def _of(args: Sequence[Expr], sort: Sort) -> Sequence[Expr]:
    for a in args:
        if a.sort is not sort:
            raise IllSorted(f"It takes {sort}, not {a.sort}.")
    return args


def _numbers(args: Sequence[Expr]) -> Sequence[Expr]:
    for a in args:
        if a.sort not in (INT, REAL):
            raise IllSorted(f"It takes numbers, not {a.sort}.")
    return same(args)


def _bits(args: Sequence[Expr]) -> Sequence[Expr]:
    for a in args:
        if not isinstance(a.sort, MachineSort):
            raise IllSorted(f"It takes bit-vectors, not {a.sort}.")
    return same(args)


def _width(a: Expr) -> int:
    assert isinstance(a.sort, MachineSort)
    return a.sort.width


def _signed(a: Expr) -> Expr:
    return build.wrap(a, machine(_width(a), signed=True))


def _unsigned(a: Expr) -> Expr:
    return build.wrap(a, machine(_width(a), signed=False))


# --------------------------------------------------------------------------------------- shapes


def _connective(make: Callable[[Sequence[Expr]], Expr]) -> Operator:
    return lambda args: make(_of(args, BOOL))


def _left(make: Callable[[Expr, Expr], Expr], check: Callable[[Sequence[Expr]], Sequence[Expr]]) -> Operator:
    def folded(args: Sequence[Expr]) -> Expr:
        first, *rest = check(_some(args))
        for a in rest:
            first = make(first, a)
        return first

    return folded


def _chain(make: Callable[[Expr, Expr], Expr], check: Callable[[Sequence[Expr]], Sequence[Expr]]) -> Operator:
    def chained(args: Sequence[Expr]) -> Expr:
        checked = check(_some(args, 2))
        return build.conjunction(make(a, b) for a, b in pairwise(checked))

    return chained


def _pair(make: Callable[[Expr, Expr], Expr]) -> Operator:
    def paired(args: Sequence[Expr]) -> Expr:
        a, b = _bits(_take(args, 2))
        return make(a, b)

    return paired


def _implies(args: Sequence[Expr]) -> Expr:
    *premises, last = _of(_some(args), BOOL)
    return build.disjunction([*(build.not_(p) for p in premises), last])


def _distinct(args: Sequence[Expr]) -> Expr:
    unified = same(_some(args))
    return build.conjunction(build.ne(a, b) for i, a in enumerate(unified) for b in unified[i + 1 :])


def _ite(args: Sequence[Expr]) -> Expr:
    condition, *branches = _take(args, 3)
    _of([condition], BOOL)
    then, otherwise = same(branches)
    return build.ite(condition, then, otherwise)


def _minus(args: Sequence[Expr]) -> Expr:
    first, *rest = _numbers(_some(args))
    return build.sub(first, build.add(*rest)) if rest else build.neg(first)


def _integer_pair(make: Callable[[Expr, Expr], Expr]) -> Operator:
    return lambda args: make(*_of(_take(args, 2), INT))


def _one(make: Callable[[Expr], Expr], sort: Sort) -> Operator:
    return lambda args: make(*_of(_take(args, 1), sort))


def _to_real(args: Sequence[Expr]) -> Expr:
    return real(*_numbers(_take(args, 1)))


def _to_int(args: Sequence[Expr]) -> Expr:
    (a,) = _numbers(_take(args, 1))
    return a if a.sort is INT else build.floor(a)


def _is_int(args: Sequence[Expr]) -> Expr:
    (a,) = _of(_take(args, 1), REAL)
    return build.eq(build.to_real(build.floor(a)), a)


def _abs(a: Expr) -> Expr:
    return build.ite(build.ge(a, build.integer(0)), a, build.neg(a))


def _select(args: Sequence[Expr]) -> Expr:
    a, index = _take(args, 2)
    if not isinstance(a.sort, ArraySort):
        raise IllSorted(f"It takes an array, not {a.sort}.")
    return build.select(a, fitting(index, a.sort.index))


def _store(args: Sequence[Expr]) -> Expr:
    a, index, value = _take(args, 3)
    if not isinstance(a.sort, ArraySort):
        raise IllSorted(f"It takes an array, not {a.sort}.")
    return build.store(a, fitting(index, a.sort.index), fitting(value, a.sort.element))


def fitting(a: Expr, sort: Sort) -> Expr:
    """Convert Int to Real if needed; raise `IllSorted` if the term does not have the sort."""
    if a.sort is INT and sort is REAL:
        return real(a)
    if a.sort is not sort:
        raise IllSorted(f"A term of sort {sort} is expected, not of sort {a.sort}.")
    return a


# ----------------------------------------------------------------------------------------- bits


def _number(value: int, like: Expr) -> Expr:
    assert isinstance(like.sort, MachineSort)
    return build.constant(like.sort.wrap(value), like.sort)


def _udiv(a: Expr, b: Expr) -> Expr:
    return build.ite(build.eq(b, _number(0, b)), _number(-1, a), build.quot(a, b))


def _urem(a: Expr, b: Expr) -> Expr:
    return build.ite(build.eq(b, _number(0, b)), a, build.rem(a, b))


def _negative(a: Expr) -> Expr:
    return build.lt(_signed(a), _number(0, _signed(a)))


def _sdiv(a: Expr, b: Expr) -> Expr:
    by_zero = build.ite(_negative(a), _number(1, a), _number(-1, a))
    return build.ite(build.eq(b, _number(0, b)), by_zero, _unsigned(build.quot(_signed(a), _signed(b))))


def _srem(a: Expr, b: Expr) -> Expr:
    return build.ite(build.eq(b, _number(0, b)), a, _unsigned(build.rem(_signed(a), _signed(b))))


def _smod(a: Expr, b: Expr) -> Expr:
    """Return the remainder with the sign of the divisor."""
    rest = _srem(a, b)
    kept = build.or_(build.eq(rest, _number(0, a)), build.eq(_negative(rest), _negative(b)))
    return build.ite(build.eq(b, _number(0, b)), a, build.ite(kept, rest, build.add(rest, b)))


def _within(b: Expr) -> Expr:
    return build.lt(b, _number(_width(b), b))


def _shl(a: Expr, b: Expr) -> Expr:
    return build.ite(_within(b), build.shl(a, b), _number(0, a))


def _lshr(a: Expr, b: Expr) -> Expr:
    return build.ite(_within(b), build.shr(a, b), _number(0, a))


def _ashr(a: Expr, b: Expr) -> Expr:
    filled = build.ite(_negative(a), _number(-1, a), _number(0, a))
    return build.ite(_within(b), _unsigned(build.shr(_signed(a), _signed(b))), filled)


def _signed_order(order: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: order(_signed(a), _signed(b))


def _comp(a: Expr, b: Expr) -> Expr:
    one, zero = (build.constant(n, machine(1, signed=False)) for n in (1, 0))
    return build.ite(build.eq(a, b), one, zero)


def _concat(args: Sequence[Expr]) -> Expr:
    first, *rest = _some(args)
    for a in rest:
        for part in (first, a):
            _bits([part])
        target = machine(_width(first) + _width(a), signed=False)
        shifted = build.shl(build.wrap(first, target), build.constant(_width(a), target))
        first = build.bit_or(shifted, build.wrap(a, target))
    return first


def _from_bits(args: Sequence[Expr]) -> Expr:
    return build.to_int(*_bits(_take(args, 1)))


def _from_signed(args: Sequence[Expr]) -> Expr:
    return build.to_int(_signed(*_bits(_take(args, 1))))


def _unary_bits(make: Callable[[Expr], Expr]) -> Operator:
    return lambda args: make(*_bits(_take(args, 1)))


def indexed(name: str, numbers: Sequence[int], args: Sequence[Expr]) -> Expr | None:
    """Apply an indexed operator such as `(_ extract 7 0)`; None if there is no such operator."""
    if any(n > WIDEST for n in numbers):
        raise IllSorted(f"Bit-vectors of more than {WIDEST} bits are not supported.")
    if name in ("int2bv", "int_to_bv", "nat2bv") and len(numbers) == 1 and numbers[0] > 0:
        (a,) = _of(_take(args, 1), INT)
        return build.wrap(a, machine(numbers[0], signed=False))
    if name == "extract" and len(numbers) == 2:
        return _extract(numbers[0], numbers[1], args)
    if name not in _RESIZED or len(numbers) != 1:
        return None
    (a,) = _bits(_take(args, 1))
    return _RESIZED[name](a, numbers[0])


def _extract(high: int, low: int, args: Sequence[Expr]) -> Expr:
    (a,) = _bits(_take(args, 1))
    if not 0 <= low <= high < _width(a):
        raise IllSorted(f"There are no bits {high} to {low} in {_width(a)} bits.")
    return build.wrap(build.shr(a, _number(low, a)), machine(high - low + 1, signed=False))


def _zero_extend(a: Expr, by: int) -> Expr:
    return build.wrap(a, machine(_width(a) + by, signed=False))


def _sign_extend(a: Expr, by: int) -> Expr:
    return _unsigned(build.wrap(_signed(a), machine(_width(a) + by, signed=True)))


def _rotate_left(a: Expr, by: int) -> Expr:
    width = _width(a)
    by %= width
    if by == 0:
        return a
    return build.bit_or(build.shl(a, _number(by, a)), build.shr(a, _number(width - by, a)))


def _repeat(a: Expr, times: int) -> Expr:
    return _concat([a] * max(1, times))


_RESIZED: Final[Mapping[str, Callable[[Expr, int], Expr]]] = {
    "zero_extend": _zero_extend,
    "sign_extend": _sign_extend,
    "rotate_left": _rotate_left,
    "rotate_right": lambda a, by: _rotate_left(a, -by),
    "repeat": _repeat,
}


def _not_equal(a: Expr, b: Expr) -> Expr:
    return build.ne(a, b)


OPERATORS: Final[Mapping[str, Operator]] = {
    "not": _one(build.not_, BOOL),
    "and": _connective(build.conjunction),
    "or": _connective(build.disjunction),
    "=>": _implies,
    "implies": _implies,
    "xor": _left(_not_equal, lambda args: _of(args, BOOL)),
    "=": _chain(build.eq, same),
    "iff": _chain(build.eq, lambda args: _of(args, BOOL)),
    "distinct": _distinct,
    "ite": _ite,
    "+": lambda args: build.add(*_numbers(_some(args))),
    "-": _minus,
    "*": _left(build.mul, _numbers),
    "/": _left(build.rdiv, lambda args: [real(a) for a in _numbers(args)]),
    "div": _left(build.div, lambda args: _of(args, INT)),
    "mod": _integer_pair(build.mod),
    "abs": _one(_abs, INT),
    "<=": _chain(build.le, _numbers),
    "<": _chain(build.lt, _numbers),
    ">=": _chain(build.ge, _numbers),
    ">": _chain(build.gt, _numbers),
    "to_real": _to_real,
    "to_int": _to_int,
    "is_int": _is_int,
    "select": _select,
    "store": _store,
    "bvnot": _unary_bits(build.bit_not),
    "bvneg": _unary_bits(build.neg),
    "bvand": _left(build.bit_and, _bits),
    "bvor": _left(build.bit_or, _bits),
    "bvxor": _left(build.bit_xor, _bits),
    "bvnand": _pair(lambda a, b: build.bit_not(build.bit_and(a, b))),
    "bvnor": _pair(lambda a, b: build.bit_not(build.bit_or(a, b))),
    "bvxnor": _pair(lambda a, b: build.bit_not(build.bit_xor(a, b))),
    "bvadd": _left(build.add, _bits),
    "bvsub": _pair(build.sub),
    "bvmul": _left(build.mul, _bits),
    "bvudiv": _pair(_udiv),
    "bvurem": _pair(_urem),
    "bvsdiv": _pair(_sdiv),
    "bvsrem": _pair(_srem),
    "bvsmod": _pair(_smod),
    "bvshl": _pair(_shl),
    "bvlshr": _pair(_lshr),
    "bvashr": _pair(_ashr),
    "bvcomp": _pair(_comp),
    "bvult": _pair(build.lt),
    "bvule": _pair(build.le),
    "bvugt": _pair(build.gt),
    "bvuge": _pair(build.ge),
    "bvslt": _pair(_signed_order(build.lt)),
    "bvsle": _pair(_signed_order(build.le)),
    "bvsgt": _pair(_signed_order(build.gt)),
    "bvsge": _pair(_signed_order(build.ge)),
    "concat": _concat,
    "bv2nat": _from_bits,
    "ubv_to_int": _from_bits,
    "bv2int": _from_bits,
    "sbv_to_int": _from_signed,
}
