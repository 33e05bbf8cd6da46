"""Build terms. Each constructor has the meaning of the `Kind` of its name, and simplifies its result.

Int and Real sums are in linear normal form: a sum of products `c * t`, sorted by digest, the constant last.
Operations on machine integers are folded if constant, and neutral elements are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Final

from certus.core import terms
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, Function, Kind, MachineSort, Sort, Value
from certus.core.values import fold_bits, fold_division


def constant(value: Value, sort: Sort) -> Expr:
    """Return the constant `value` of `sort`; raise ValueError if the sort has no such value."""
    if sort is BOOL:
        value = bool(value)
    elif sort is REAL:
        value = Fraction(value)
    else:
        original, value = value, int(value)
        in_range = sort is INT or (isinstance(sort, MachineSort) and sort.low <= value <= sort.high)
        if value != original or not in_range:
            raise ValueError(f"{original} is not a value of sort {sort}")
    return Expr(Kind.CONST, (), value, sort)


TRUE: Final = constant(True, BOOL)
FALSE: Final = constant(False, BOOL)
_order: Final = attrgetter("digest")


def boolean(value: bool) -> Expr:
    return TRUE if value else FALSE


def integer(value: int) -> Expr:
    return Expr(Kind.CONST, (), int(value), INT)


def real(value: Fraction | int) -> Expr:
    return Expr(Kind.CONST, (), Fraction(value), REAL)


def var(name: str, sort: Sort) -> Expr:
    return Expr(Kind.VAR, (), name, sort)


def bound(index: int, sort: Sort) -> Expr:
    return Expr(Kind.BOUND, (), index, sort)


# ---------------------------------------------------------------------------------------- Bool


def not_(a: Expr) -> Expr:
    if a.kind is Kind.NOT:
        return a.args[0]
    if a.kind is Kind.CONST:
        return FALSE if a is TRUE else TRUE
    return Expr(Kind.NOT, (a,), None, BOOL)


def and_(*parts: Expr) -> Expr:
    return conjunction(parts)


def or_(*parts: Expr) -> Expr:
    return disjunction(parts)


def conjunction(parts: Iterable[Expr]) -> Expr:
    return _lattice(Kind.AND, parts, TRUE, FALSE)


def disjunction(parts: Iterable[Expr]) -> Expr:
    return _lattice(Kind.OR, parts, FALSE, TRUE)


def _lattice(kind: Kind, parts: Iterable[Expr], neutral: Expr, absorbing: Expr) -> Expr:
    seen: dict[Expr, None] = {}
    for part in parts:
        for item in part.args if part.kind is kind else (part,):
            if item is absorbing:
                return absorbing
            if item is not neutral:
                seen[item] = None
    for item in seen:
        if item.kind is Kind.NOT:
            denied = item.args[0]
            if denied in seen or (denied.kind is kind and all(a in seen for a in denied.args)):
                return absorbing
    if not seen:
        return neutral
    if len(seen) == 1:
        return next(iter(seen))
    return Expr(kind, tuple(sorted(seen, key=_order)), None, BOOL)


def implies(a: Expr, b: Expr) -> Expr:
    return or_(not_(a), b)


def ite(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    assert then.sort is otherwise.sort, f"{then!r}: {then.sort} or {otherwise!r}: {otherwise.sort}"
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if condition.kind is Kind.NOT:
        condition, then, otherwise = condition.args[0], otherwise, then
    if then.sort is BOOL:
        if then is TRUE:
            return or_(condition, otherwise)
        if then is FALSE:
            return and_(not_(condition), otherwise)
        if otherwise is TRUE:
            return or_(not_(condition), then)
        if otherwise is FALSE:
            return and_(condition, then)
    return Expr(Kind.ITE, (condition, then, otherwise), None, then.sort)


def eq(a: Expr, b: Expr) -> Expr:
    assert a.sort is b.sort, f"{a!r}: {a.sort} == {b!r}: {b.sort}"
    if a is b:
        return TRUE
    if a.kind is Kind.CONST and b.kind is Kind.CONST:
        return FALSE  # interned: different objects are different values
    if a.sort is BOOL:
        for one, other in ((a, b), (b, a)):
            if one is TRUE:
                return other
            if one is FALSE:
                return not_(other)
        if a is not_(b):
            return FALSE
    if b.digest < a.digest:
        a, b = b, a
    return Expr(Kind.EQ, (a, b), None, BOOL)


def ne(a: Expr, b: Expr) -> Expr:
    return not_(eq(a, b))


def le(a: Expr, b: Expr) -> Expr:
    assert a.sort is b.sort, f"{a!r}: {a.sort} <= {b!r}: {b.sort}"
    if a is b:
        return TRUE
    if a.kind is Kind.CONST and b.kind is Kind.CONST:
        return boolean(a.value <= b.value)
    if isinstance(a.sort, MachineSort) and (_is_constant(a, a.sort.low) or _is_constant(b, a.sort.high)):
        return TRUE
    return Expr(Kind.LE, (a, b), None, BOOL)


def lt(a: Expr, b: Expr) -> Expr:
    assert a.sort is b.sort, f"{a!r}: {a.sort} < {b!r}: {b.sort}"
    if a is b:
        return FALSE
    if a.kind is Kind.CONST and b.kind is Kind.CONST:
        return boolean(a.value < b.value)
    if isinstance(a.sort, MachineSort) and (_is_constant(b, a.sort.low) or _is_constant(a, a.sort.high)):
        return FALSE
    return Expr(Kind.LT, (a, b), None, BOOL)


def _is_constant(a: Expr, value: int) -> bool:
    return a.kind is Kind.CONST and a.data == value


def ge(a: Expr, b: Expr) -> Expr:
    return le(b, a)


def gt(a: Expr, b: Expr) -> Expr:
    return lt(b, a)


# ---------------------------------------------------------------------------------- arithmetic


def add(*parts: Expr) -> Expr:
    """Return the sum of one or more terms of one numeric sort."""
    sort = parts[0].sort
    if isinstance(sort, MachineSort):
        total = parts[0]
        for part in parts[1:]:
            total = _machine_add(total, part, sort)
        return total
    if len(parts) == 1:
        return parts[0]
    coefficients: dict[Expr, int | Fraction] = {}
    rest: int | Fraction = 0
    for part in parts:
        assert part.sort is sort, f"{part!r} in a sum of sort {sort}"
        for item in part.args if part.kind is Kind.ADD else (part,):
            if item.kind is Kind.CONST:
                rest += item.value
            else:
                factor, base = monomial(item)
                coefficients[base] = coefficients.get(base, 0) + factor
    return _linear(coefficients, rest, sort)


def monomial(item: Expr) -> tuple[int | Fraction, Expr]:
    """Split `item`, an Int or Real term, into a constant factor and the rest; the factor of a sum is 1."""
    if item.kind is Kind.MUL and item.args[0].kind is Kind.CONST:
        rest = item.args[1:]
        base = rest[0] if len(rest) == 1 else Expr(Kind.MUL, rest, None, item.sort)
        return item.args[0].value, base
    return 1, item


def _linear(coefficients: dict[Expr, int | Fraction], rest: int | Fraction, sort: Sort) -> Expr:
    items = [_scaled(c, t) for t, c in coefficients.items() if c != 0]
    items.sort(key=_order)
    if rest != 0 or not items:
        items.append(constant(rest, sort))
    return items[0] if len(items) == 1 else Expr(Kind.ADD, tuple(items), None, sort)


def _scaled(factor: int | Fraction, base: Expr) -> Expr:
    if factor == 1:
        return base
    factors = base.args if base.kind is Kind.MUL else (base,)
    return Expr(Kind.MUL, (constant(factor, base.sort), *factors), None, base.sort)


def scale(factor: int | Fraction, a: Expr) -> Expr:
    """Return `factor * a` for an Int or Real term, distributed over sums."""
    if factor == 0:
        return constant(0, a.sort)
    if a.kind is Kind.CONST:
        return constant(factor * a.value, a.sort)
    coefficients: dict[Expr, int | Fraction] = {}
    rest: int | Fraction = 0
    for item in a.args if a.kind is Kind.ADD else (a,):
        if item.kind is Kind.CONST:
            rest = item.value * factor
        else:
            own, base = monomial(item)
            coefficients[base] = own * factor
    return _linear(coefficients, rest, a.sort)


def _machine_add(a: Expr, b: Expr, sort: MachineSort) -> Expr:
    assert b.sort is sort, f"{b!r} in a sum of sort {sort}"
    if b.kind is Kind.CONST:
        a, b = b, a
    if a.kind is Kind.CONST:
        if b.kind is Kind.CONST:
            return constant(sort.wrap(int(a.value) + int(b.value)), sort)
        if a.value == 0:
            return b
    elif b.digest < a.digest:
        a, b = b, a
    return Expr(Kind.ADD, (a, b), None, sort)


def sub(a: Expr, b: Expr) -> Expr:
    sort = a.sort
    if not isinstance(sort, MachineSort):
        return add(a, scale(-1, b))
    assert b.sort is sort, f"{a!r}: {sort} - {b!r}: {b.sort}"
    if a is b:
        return constant(0, sort)
    if b.kind is Kind.CONST:
        if b.value == 0:
            return a
        if a.kind is Kind.CONST:
            return constant(sort.wrap(int(a.value) - int(b.value)), sort)
    return Expr(Kind.SUB, (a, b), None, sort)


def neg(a: Expr) -> Expr:
    sort = a.sort
    if not isinstance(sort, MachineSort):
        return scale(-1, a)
    if a.kind is Kind.CONST:
        return constant(sort.wrap(-int(a.value)), sort)
    if a.kind is Kind.NEG:
        return a.args[0]
    return Expr(Kind.NEG, (a,), None, sort)


def mul(a: Expr, b: Expr) -> Expr:
    sort = a.sort
    assert b.sort is sort, f"{a!r}: {sort} * {b!r}: {b.sort}"
    if b.kind is Kind.CONST:
        a, b = b, a
    if isinstance(sort, MachineSort):
        if a.kind is Kind.CONST:
            if b.kind is Kind.CONST:
                return constant(sort.wrap(int(a.value) * int(b.value)), sort)
            if a.value == 0:
                return a
            if a.value == 1:
                return b
        elif b.digest < a.digest:
            a, b = b, a
        return Expr(Kind.MUL, (a, b), None, sort)
    if a.kind is Kind.CONST:
        return scale(a.value, b)
    (c, x), (d, y) = monomial(a), monomial(b)  # sums are not multiplied out
    factors = [f for t in (x, y) for f in (t.args if t.kind is Kind.MUL else (t,))]
    product = Expr(Kind.MUL, tuple(sorted(factors, key=_order)), None, sort)
    return _scaled(c * d, product)


def quot(a: Expr, b: Expr) -> Expr:
    return _divide(Kind.QUOT, a, b)


def rem(a: Expr, b: Expr) -> Expr:
    return _divide(Kind.REM, a, b)


def div(a: Expr, b: Expr) -> Expr:
    return _divide(Kind.DIV, a, b)


def mod(a: Expr, b: Expr) -> Expr:
    return _divide(Kind.MOD, a, b)


def _divide(kind: Kind, a: Expr, b: Expr) -> Expr:
    sort = a.sort
    assert b.sort is sort, f"{a!r}: {sort} divided by {b!r}: {b.sort}"
    if b.kind is Kind.CONST and b.value != 0:
        divisor = int(b.value)
        if a.kind is Kind.CONST:
            value = fold_division(kind, int(a.value), divisor)
            return constant(sort.wrap(value) if isinstance(sort, MachineSort) else value, sort)
        if divisor == 1:
            return a if kind in (Kind.QUOT, Kind.DIV) else constant(0, sort)
    return Expr(kind, (a, b), None, sort)


def rdiv(a: Expr, b: Expr) -> Expr:
    if b.kind is Kind.CONST and b.value != 0:
        return scale(1 / Fraction(b.value), a)
    return Expr(Kind.RDIV, (a, b), None, REAL)


# ------------------------------------------------------------------------- bits and conversions


def bit_and(a: Expr, b: Expr) -> Expr:
    return _bitwise(Kind.BIT_AND, a, b)


def bit_or(a: Expr, b: Expr) -> Expr:
    return _bitwise(Kind.BIT_OR, a, b)


def bit_xor(a: Expr, b: Expr) -> Expr:
    return _bitwise(Kind.BIT_XOR, a, b)


def _bitwise(kind: Kind, a: Expr, b: Expr) -> Expr:
    sort = _machine(a)
    assert b.sort is sort, f"{a!r}: {sort} and {b!r}: {b.sort}"
    if a is b:
        return constant(0, sort) if kind is Kind.BIT_XOR else a
    if a.kind is Kind.CONST and b.kind is Kind.CONST:
        return constant(sort.wrap(fold_bits(kind, int(a.value), int(b.value))), sort)
    if b.digest < a.digest:
        a, b = b, a
    return Expr(kind, (a, b), None, sort)


def bit_not(a: Expr) -> Expr:
    if a.kind is Kind.BIT_NOT:
        return a.args[0]
    sort = _machine(a)
    if a.kind is Kind.CONST:
        return constant(sort.wrap(~int(a.value)), sort)
    return Expr(Kind.BIT_NOT, (a,), None, sort)


def shl(a: Expr, b: Expr) -> Expr:
    return _shift(Kind.SHL, a, b)


def shr(a: Expr, b: Expr) -> Expr:
    return _shift(Kind.SHR, a, b)


def _shift(kind: Kind, a: Expr, b: Expr) -> Expr:
    sort = _machine(a)
    assert b.sort is sort, f"{a!r}: {sort} shifted by {b!r}: {b.sort}"
    if b.kind is Kind.CONST and 0 <= b.value < sort.width:
        if b.value == 0:
            return a
        if a.kind is Kind.CONST:
            amount = int(b.value)
            value = int(a.value) << amount if kind is Kind.SHL else int(a.value) >> amount
            return constant(sort.wrap(value), sort)
    return Expr(kind, (a, b), None, sort)


def wrap(a: Expr, sort: MachineSort) -> Expr:
    """Convert an Int or machine integer to `sort`: the value modulo 2**width."""
    if a.sort is sort:
        return a
    if a.kind is Kind.CONST:
        return constant(sort.wrap(int(a.value)), sort)
    if a.kind is Kind.TO_INT:
        return wrap(a.args[0], sort)
    assert a.sort is INT or isinstance(a.sort, MachineSort), f"{a!r} is not an integer"
    if a.kind is Kind.WRAP:  # through a sort at least as wide, or one that keeps every value
        middle, inner = _machine(a), a.args[0]
        if middle.width >= sort.width or terms.keeps(inner.sort, middle):
            return wrap(inner, sort)
    return Expr(Kind.WRAP, (a,), None, sort)


def to_int(a: Expr) -> Expr:
    if a.kind is Kind.CONST:
        return integer(int(a.value))
    if a.kind is Kind.WRAP and terms.keeps(a.args[0].sort, a.sort):
        return to_int(a.args[0])
    return Expr(Kind.TO_INT, (a,), None, INT)


def to_real(a: Expr) -> Expr:
    if a.kind is Kind.CONST:
        return real(int(a.value))
    return Expr(Kind.TO_REAL, (a,), None, REAL)


def floor(a: Expr) -> Expr:
    if a.kind is Kind.CONST:
        value = Fraction(a.value)
        return integer(value.numerator // value.denominator)
    return a.args[0] if a.kind is Kind.TO_REAL else Expr(Kind.FLOOR, (a,), None, INT)


def _machine(a: Expr) -> MachineSort:
    assert isinstance(a.sort, MachineSort), f"{a!r} is not a machine integer"
    return a.sort


# ------------------------------------------------------------- arrays, functions, quantifiers


def _array(a: Expr) -> ArraySort:
    assert isinstance(a.sort, ArraySort), f"{a!r} is not an array"
    return a.sort


def select(a: Expr, index: Expr) -> Expr:
    sort = _array(a)
    assert index.sort is sort.index, f"{index!r}: {index.sort} as index of {a!r}: {sort}"
    if index.kind is Kind.CONST:
        value, a = terms.read(a, index)
        if value is not None:
            return value
    elif a.kind is Kind.STORE and a.args[1] is index:
        return a.args[2]
    if a.kind is Kind.CONST_ARRAY:
        return a.args[0]
    return Expr(Kind.SELECT, (a, index), None, sort.element)


def store(a: Expr, index: Expr, value: Expr) -> Expr:
    sort = _array(a)
    assert (index.sort, value.sort) == (sort.index, sort.element), f"{value!r} at {index!r} of {a!r}: {sort}"
    if value.kind is Kind.SELECT and value.args[0] is a and value.args[1] is index:
        return a
    if a.kind is Kind.STORE and a.args[1] is index:
        a = a.args[0]
    return Expr(Kind.STORE, (a, index, value), None, a.sort)


def const_array(index: Sort, value: Expr) -> Expr:
    return Expr(Kind.CONST_ARRAY, (value,), None, terms.array(index, value.sort))


def apply(function: Function, args: Sequence[Expr]) -> Expr:
    assert tuple(a.sort for a in args) == function.parameters, f"{function!r} applied to {args!r}"
    return Expr(Kind.APPLY, tuple(args), function, function.result)


def forall(sorts: tuple[Sort, ...], body: Expr) -> Expr:
    return body if not sorts or body.kind is Kind.CONST else Expr(Kind.FORALL, (body,), sorts, BOOL)


def exists(sorts: tuple[Sort, ...], body: Expr) -> Expr:
    return body if not sorts or body.kind is Kind.CONST else Expr(Kind.EXISTS, (body,), sorts, BOOL)
