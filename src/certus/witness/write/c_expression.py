"""Translate terms to C expressions of exactly the same value, for other tools to read.

The value of an expression, as a mathematical integer, is the value of its term. `low` and `high` bound it,
and `type` is the C type in which it is computed. Where C would wrap and the term does not, the expression is
computed in a wider type (`long long`, finally `__int128`); where the term wraps, it is converted. Truth
values are of type `int`, 0 or 1.

Terms that C cannot express over named variables raise `Inexpressible`: whole arrays, quantifiers, addresses,
internal variables, numbers of more than 127 bits, and operations that may be undefined in C (division by 0,
shifts by too much) unless the bounds of their operands rule that out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.build import monomial
from certus.core.errors import CertusError
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, machine
from certus.core.walk import postorder

LONGEST: Final = 2000  # characters of one expression

_NAMES: Final = {
    (8, True): "signed char",
    (8, False): "unsigned char",
    (16, True): "short",
    (16, False): "unsigned short",
    (32, True): "int",
    (32, False): "unsigned int",
    (64, True): "long long",
    (64, False): "unsigned long long",
    (128, True): "__int128",
}


class Inexpressible(CertusError):
    """Raised for a term that no C expression can express."""


@dataclass(frozen=True, slots=True)
class CType:
    """An integer type of C."""

    width: int
    signed: bool

    @property
    def name(self) -> str:
        return _NAMES[self.width, self.signed]

    @property
    def low(self) -> int:
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1

    def holds(self, low: int, high: int) -> bool:
        return self.low <= low and high <= self.high

    def promoted(self) -> CType:
        return _INT if self.width < 32 else self


_INT, _LONG, _LONGEST = CType(32, True), CType(64, True), CType(128, True)
_UNSIGNED_LONG: Final = CType(64, False)


@dataclass(frozen=True, slots=True)
class CExpression:
    """A C expression: its text, whether that can be an operand without parentheses (`atomic`), its type, and
    bounds of its value. `pointer` says that it is a pointer and no number. `opposite` is the text of the
    negation, for comparisons."""

    text: str
    atomic: bool
    type: CType
    low: int
    high: int
    pointer: bool = False
    opposite: str = ""

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def operand(self) -> str:
        return self.text if self.atomic else f"({self.text})"


def c_expression(term: Expr, names: Mapping[Expr, str], pointers: Collection[Expr] = ()) -> CExpression:
    """Translate a term whose variables have these names. Variables of sort Int are pointers, and so are
    `pointers`. Raises `Inexpressible`."""
    done: dict[Expr, CExpression] = {}
    for part in postorder(term):
        if part.kind is Kind.VAR:
            expression = _variable(part, names, pointers)
        else:
            handler = _HANDLERS.get(part.kind)
            if handler is None:
                raise Inexpressible(f"C has no {part.kind.name}")
            arguments = _sides(part, done) or [done[arg] for arg in part.args]
            expression = _difference(part, done) or handler(part, arguments)
        if len(expression.text) > LONGEST:
            raise Inexpressible("the expression is too long")
        done[part] = expression
    return done[term]


def _sides(term: Expr, done: Mapping[Expr, CExpression]) -> list[CExpression] | None:
    """Return the sides of a comparison of sums, with negative items moved to the other side."""
    if term.kind not in (Kind.EQ, Kind.LE, Kind.LT) or term.args[0].sort is not INT:
        return None
    if not any(arg.kind is Kind.ADD for arg in term.args):
        return None
    difference = build.sub(*term.args)
    parts = _monomials(difference, done)
    if parts is None:
        return None
    return [_sum([part for factor, part in parts if (factor > 0) is own]) for own in (True, False)]


def _monomials(term: Expr, done: Mapping[Expr, CExpression]) -> list[tuple[int, CExpression]] | None:
    """Return the items of a sum, as positive amounts with the sign of their factor; constants last."""
    items: list[tuple[int, CExpression]] = []
    for item in term.args if term.kind is Kind.ADD else (term,):
        factor, base = (int(item.value), None) if item.kind is Kind.CONST else monomial(item)
        if base is not None and base not in done:
            return None
        amount = number(abs(int(factor)))
        if base is not None and abs(factor) == 1:
            amount = done[base]
        elif base is not None:
            amount = exact("*", amount, done[base], *_bounds("*", amount, done[base]))
        if factor != 0:
            items.append((int(factor), amount))
    return sorted(items, key=lambda each: each[1].is_constant)


def _sum(items: list[CExpression]) -> CExpression:
    total = items[0] if items else number(0)
    for item in items[1:]:
        total = exact("+", total, item, *_bounds("+", total, item))
    return total


def _difference(term: Expr, done: Mapping[Expr, CExpression]) -> CExpression | None:
    """Translate a sum of mathematical integers: first the positive items, then the negative ones."""
    if term.kind is not Kind.ADD or term.sort is not INT:
        return None
    parts = _monomials(term, done)
    if parts is None:
        return None
    total = _sum([part for factor, part in parts if factor > 0])
    for factor, less in parts:
        if factor < 0:
            total = exact("-", total, less, *_bounds("-", total, less))
    return total


def _variable(term: Expr, names: Mapping[Expr, str], pointers: Collection[Expr]) -> CExpression:
    name = names.get(term)
    if name is None:
        raise Inexpressible(f"{term.name} has no name there")
    if term.sort is INT or term in pointers:
        return CExpression(name, True, _UNSIGNED_LONG, 0, _UNSIGNED_LONG.high, pointer=True)
    sort = term.sort
    if not isinstance(sort, MachineSort) or (sort.width, sort.signed) not in _NAMES:
        raise Inexpressible(f"{name} is no integer of C")
    return CExpression(name, True, CType(sort.width, sort.signed), sort.low, sort.high)


def _constant(term: Expr, _: list[CExpression]) -> CExpression:
    if term.sort is BOOL:
        return number(int(bool(term.value)))
    if not isinstance(term.value, int):
        raise Inexpressible("a fraction")
    return number(int(term.value))


def number(value: int) -> CExpression:
    """Return a literal. The least number of a signed type has none in C, so it becomes a difference."""
    for type_ in (_INT, _LONG, _UNSIGNED_LONG):
        if type_.low < value <= type_.high:
            suffix = {_INT: "", _LONG: "LL", _UNSIGNED_LONG: "ULL"}[type_]
            return CExpression(f"{value}{suffix}", value >= 0, type_, value, value)
        if type_.signed and value == type_.low:
            suffix = "" if type_ is _INT else "LL"
            return CExpression(f"{value + 1}{suffix} - 1", False, type_, value, value)
    raise Inexpressible("a number of more than 64 bits")


# ------------------------------------------------------------------------------------------ arithmetic


def exact(operator: str, a: CExpression, b: CExpression, low: int, high: int) -> CExpression:
    """Return `a operator b` over mathematical integers; `low` and `high` bound the result."""
    type_ = _common(a, b, low, high)
    left, right = _as(a, type_, beside=b), _as(b, type_, beside=a)
    return CExpression(f"{left.operand} {operator} {right.operand}", False, type_, low, high)


def _common(a: CExpression, b: CExpression, low: int, high: int) -> CType:
    """Return a type that holds both operands and the result."""
    _numbers(a, b)
    low, high = min(low, a.low, b.low), max(high, a.high, b.high)
    for type_ in (_INT, _LONG, _LONGEST):
        if type_.holds(low, high):
            return type_
    raise Inexpressible("numbers of more than 128 bits")


def _numbers(*parts: CExpression) -> None:
    if any(part.pointer for part in parts):
        raise Inexpressible("a pointer as a number")


def _as(part: CExpression, type_: CType, *, beside: CExpression) -> CExpression:
    """Return the same value in a type that holds it. A constant needs no cast: C converts it to the type of
    the other operand."""
    if part.type.promoted() == type_ or (part.is_constant and part.type.signed and not beside.is_constant):
        return part
    return CExpression(f"({type_.name}){part.operand}", True, type_, part.low, part.high)


def _converted(part: CExpression, sort: MachineSort) -> CExpression:
    """Return the value modulo 2**width: a conversion, unless the value is one of the sort already."""
    type_ = CType(sort.width, sort.signed)
    if type_.holds(part.low, part.high):
        return part
    if (sort.width, sort.signed) not in _NAMES:
        raise Inexpressible(f"C has no integers of {sort.width} bits")
    return CExpression(f"({type_.name}){part.operand}", True, type_, sort.low, sort.high)


def _modular(operator: str, term: Expr, a: CExpression, b: CExpression) -> CExpression:
    """Translate arithmetic of a machine sort. Where the exact result does not fit `long long`, it is computed
    modulo 2**64, which gives the same result modulo any smaller power of 2."""
    sort = term.sort
    assert isinstance(sort, MachineSort)
    _numbers(a, b)
    low, high = _bounds(operator, a, b)
    if _LONG.holds(min(low, a.low, b.low), max(high, a.high, b.high)):
        return _converted(exact(operator, a, b, low, high), sort)
    if sort.width > 64:
        raise Inexpressible(f"C has no integers of {sort.width} bits")
    word = _UNSIGNED_LONG
    left, right = (f"({word.name}){part.operand}" for part in (a, b))
    return _converted(CExpression(f"{left} {operator} {right}", False, word, word.low, word.high), sort)


def _bounds(operator: str, a: CExpression, b: CExpression) -> tuple[int, int]:
    if operator == "+":
        return a.low + b.low, a.high + b.high
    if operator == "-":
        return a.low - b.high, a.high - b.low
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _arithmetic(operator: str) -> Callable[[Expr, list[CExpression]], CExpression]:
    def handle(term: Expr, args: list[CExpression]) -> CExpression:
        if isinstance(term.sort, MachineSort):
            return _modular(operator, term, args[0], args[1])
        result = args[0]
        for operand in args[1:]:
            result = _accumulated(operator, result, operand)
        return result

    return handle


def _accumulated(operator: str, a: CExpression, b: CExpression) -> CExpression:
    """Return `a operator b`, written `a - 3` instead of `a + -3` and `0 - a` instead of `-1 * a`."""
    if operator == "+" and b.low == b.high < 0:
        operator, b = "-", number(-b.low)
    elif operator == "*" and a.low == a.high == -1:
        operator, a = "-", number(0)
    return exact(operator, a, b, *_bounds(operator, a, b))


def _negation_of(term: Expr, args: list[CExpression]) -> CExpression:
    return _modular("-", term, number(0), args[0])


def _division(operator: str) -> Callable[[Expr, list[CExpression]], CExpression]:
    """Translate `/` or `%` if the divisor is never 0."""

    def handle(term: Expr, args: list[CExpression]) -> CExpression:
        a, b = args
        if b.low <= 0 <= b.high:
            raise Inexpressible("the divisor may be 0")
        most = max(abs(a.low), abs(a.high))
        low, high = -most, most
        if a.low >= 0:
            low = 0 if operator == "%" or b.low > 0 else low
        if operator == "%":
            size = max(abs(b.low), abs(b.high)) - 1
            low, high = max(low, -size), min(high, size)
        result = exact(operator, a, b, low, high)
        return _converted(result, term.sort) if isinstance(term.sort, MachineSort) else result

    return handle


def _floored(term: Expr, args: list[CExpression]) -> CExpression:
    """Translate SMT-LIB's `div` and `mod` by a positive constant, whose remainder is never negative."""
    a, b = args
    _numbers(a, b)
    if b.low != b.high or b.low <= 0:
        raise Inexpressible("a division that rounds downwards")
    size = b.low
    width = size.bit_length() - 1
    if term.kind is Kind.MOD and size == 1 << width and (width, False) in _NAMES:
        return _converted(a, machine(width, signed=False))
    remainder = exact("%", a, b, -size + 1, size - 1)
    if a.low < 0:
        remainder = exact("%", exact("+", remainder, b, 1, 2 * size - 1), b, 0, size - 1)
    if term.kind is Kind.MOD:
        return remainder
    low, high = a.low // size, a.high // size
    return exact("/", exact("-", a, remainder, low * size, a.high), b, low, high)


def _bitwise(operator: str) -> Callable[[Expr, list[CExpression]], CExpression]:
    def handle(term: Expr, args: list[CExpression]) -> CExpression:
        sort = term.sort
        assert isinstance(sort, MachineSort)
        _numbers(*args)
        if sort.width > 64:
            raise Inexpressible(f"C has no integers of {sort.width} bits")
        result = args[0]
        for other in args[1:]:
            type_ = _LONG if sort.signed or sort.width < 64 else _UNSIGNED_LONG
            if not sort.signed and min(result.low, other.low) < 0:
                raise Inexpressible("a negative number of an unsigned type")
            left, right = (f"({type_.name}){part.operand}" for part in (result, other))
            result = CExpression(f"{left} {operator} {right}", False, type_, sort.low, sort.high)
        return result

    return handle


def _complement(term: Expr, args: list[CExpression]) -> CExpression:
    """Translate `~a`, which is `-1 - a` modulo 2**width."""
    return _modular("-", term, number(-1), args[0])


def _shift(term: Expr, args: list[CExpression]) -> CExpression:
    sort = term.sort
    assert isinstance(sort, MachineSort)
    a, b = args
    _numbers(a, b)
    if not 0 <= b.low <= b.high < min(sort.width, 64) or sort.width > 64:
        raise Inexpressible("the shift may be too far")
    if term.kind is Kind.SHR:
        type_ = _LONG if sort.signed else _UNSIGNED_LONG
        text = f"({type_.name}){a.operand} >> {b.operand}"
        return CExpression(text, False, type_, min(a.low, 0), max(a.high, 0))
    word = _UNSIGNED_LONG
    text = f"({word.name}){a.operand} << {b.operand}"
    return _converted(CExpression(text, False, word, word.low, word.high), sort)


def _wrap(term: Expr, args: list[CExpression]) -> CExpression:
    _numbers(args[0])
    assert isinstance(term.sort, MachineSort)
    return _converted(args[0], term.sort)


def _to_int(_: Expr, args: list[CExpression]) -> CExpression:
    return args[0]


# ---------------------------------------------------------------------------------------------- truth


_OPPOSITES: Final = {"==": "!=", "<=": ">", "<": ">=", ">=": "<", ">": "<="}


def _truth(text: str, *, opposite: str = "") -> CExpression:
    return CExpression(text, False, _INT, 0, 1, opposite=opposite)


def _comparison(operator: str) -> Callable[[Expr, list[CExpression]], CExpression]:
    def handle(term: Expr, args: list[CExpression]) -> CExpression:
        a, b = args
        if a.pointer or b.pointer:
            return _pointers(operator, a, b)
        if operator != "==" and (a.high < b.low or (operator == "<=" and a.high <= b.low)):
            return number(1)
        if a.low > b.high or (operator == "==" and a.high < b.low):
            return number(0)
        if a.is_constant and not b.is_constant:
            mirrored = {"==": "==", "<=": ">=", "<": ">"}[operator]
            return _compared(mirrored, b, a)
        return _compared(operator, a, b)

    return handle


def _compared(operator: str, a: CExpression, b: CExpression) -> CExpression:
    one, other = a.type.promoted(), b.type.promoted()
    unsigned = not one.signed or not other.signed
    if one == other or (one.signed and other.signed) or (unsigned and min(a.low, b.low) >= 0):
        left, right = a.operand, b.operand
    else:
        type_ = _common(a, b, 0, 0)
        left, right = _as(a, type_, beside=b).operand, _as(b, type_, beside=a).operand
    return _truth(f"{left} {operator} {right}", opposite=f"{left} {_OPPOSITES[operator]} {right}")


def _pointers(operator: str, a: CExpression, b: CExpression) -> CExpression:
    """Compare pointers for equality with each other or with null."""
    if operator != "==":
        raise Inexpressible("the order of pointers")
    if not a.pointer:
        a, b = b, a
    if not b.pointer and (b.low, b.high) != (0, 0):
        raise Inexpressible("an address")
    left, right = f"(void *){a.operand}", f"(void *){b.operand}"
    return _truth(f"{left} == {right}", opposite=f"{left} != {right}")


def _equality(term: Expr, args: list[CExpression]) -> CExpression:
    return _comparison("==")(term, args)


def _joined(operator: str, neutral: int) -> Callable[[Expr, list[CExpression]], CExpression]:
    def handle(_: Expr, args: list[CExpression]) -> CExpression:
        if any(arg.is_constant and arg.low != neutral for arg in args):
            return number(1 - neutral)
        kept = [arg for arg in args if not arg.is_constant]
        if len(kept) <= 1:
            return kept[0] if kept else number(neutral)
        texts = dict.fromkeys(arg.text if arg.opposite else arg.operand for arg in kept)
        return _truth(f" {operator} ".join(texts))

    return handle


def _not(term: Expr, args: list[CExpression]) -> CExpression:
    (a,) = args
    if a.is_constant:
        return number(1 - a.low)
    return _truth(a.opposite, opposite=a.text) if a.opposite else _truth(f"!{a.operand}")


def _choice(term: Expr, args: list[CExpression]) -> CExpression:
    test, a, b = args
    _numbers(a, b)
    type_ = _common(a, b, 0, 0)
    left, right = _as(a, type_, beside=b), _as(b, type_, beside=a)
    text = f"{test.operand} ? {left.operand} : {right.operand}"
    return CExpression(text, False, type_, min(a.low, b.low), max(a.high, b.high))


_HANDLERS: Final[dict[Kind, Callable[[Expr, list[CExpression]], CExpression]]] = {
    Kind.CONST: _constant,
    Kind.NOT: _not,
    Kind.AND: _joined("&&", 1),
    Kind.OR: _joined("||", 0),
    Kind.ITE: _choice,
    Kind.EQ: _equality,
    Kind.LE: _comparison("<="),
    Kind.LT: _comparison("<"),
    Kind.ADD: _arithmetic("+"),
    Kind.SUB: _arithmetic("-"),
    Kind.MUL: _arithmetic("*"),
    Kind.NEG: _negation_of,
    Kind.QUOT: _division("/"),
    Kind.REM: _division("%"),
    Kind.DIV: _floored,
    Kind.MOD: _floored,
    Kind.BIT_AND: _bitwise("&"),
    Kind.BIT_OR: _bitwise("|"),
    Kind.BIT_XOR: _bitwise("^"),
    Kind.BIT_NOT: _complement,
    Kind.SHL: _shift,
    Kind.SHR: _shift,
    Kind.WRAP: _wrap,
    Kind.TO_INT: _to_int,
}
