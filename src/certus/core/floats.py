"""Compute with IEEE 754 floating-point numbers exactly, on their bit patterns.

A number of a `Format` is the unsigned integer of its bits. Every operation computes the exact result with
integers and rounds it once, in one of five modes. A result that is not a number (NaN) has the bits
`Format.nan`: the language leaves sign and payload open, which is the business of the front end. For rounding
to nearest the hardware's own operations are used where they are exact.

`x87` is the extended format of x86: its leading bit is explicit. A pattern whose leading bit contradicts its
exponent is an invalid operand of the hardware, and counts as NaN; one with exponent 0 and a leading 1 has the
value that the leading bit gives it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

NEAREST: Final = 0  # ties to even; modes 1 to 3 have the order of the control words of x86
DOWN: Final = 1
UP: Final = 2
TO_ZERO: Final = 3
AWAY: Final = 4  # to nearest, ties away from zero
MODES: Final = (NEAREST, DOWN, UP, TO_ZERO, AWAY)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: `exponent` bits of the exponent and `precision` bits of the significand, the leading
    one included. It is stored in the pattern only if `explicit`."""

    name: str
    exponent: int
    precision: int
    explicit: bool = False

    @property
    def width(self) -> int:
        """The number of bits of a pattern."""
        return self.exponent + self.precision + (1 if self.explicit else 0)

    @property
    def fraction(self) -> int:
        """The number of bits below the exponent in a pattern."""
        return self.precision if self.explicit else self.precision - 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """The pattern of positive infinity."""
        leading = 1 << (self.precision - 1) if self.explicit else 0
        return ((1 << self.exponent) - 1) << self.fraction | leading

    @property
    def quiet(self) -> int:
        """The bit that tells a quiet NaN from a signalling one."""
        return 1 << (self.precision - 2)

    @property
    def nan(self) -> int:
        """The pattern of the NaN that operations return."""
        return self.infinity | self.quiet

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.width - 1)

    @property
    def largest(self) -> int:
        """The pattern of the largest finite number."""
        leading = 1 << (self.precision - 1) if self.explicit else 0
        return ((1 << self.exponent) - 2) << self.fraction | leading | ((1 << (self.precision - 1)) - 1)


F16: Final = Format("f16", 5, 11)
F32: Final = Format("f32", 8, 24)
F64: Final = Format("f64", 11, 53)
X87: Final = Format("x87", 15, 64, explicit=True)
FORMATS: Final = {each.name: each for each in (F16, F32, F64, X87)}


class Number(NamedTuple):
    """A finite number: `significand * 2**exponent`, negative if `negative`. Zero has a sign, too."""

    negative: bool
    significand: int
    exponent: int


class Special(NamedTuple):
    """An infinity, or NaN."""

    negative: bool
    nan: bool


_NAN: Final = Special(negative=False, nan=True)


def unpack(format: Format, bits: int) -> Number | Special:
    """Return what a pattern stands for."""
    negative = bool(bits & format.sign)
    biased = (bits >> format.fraction) & ((1 << format.exponent) - 1)
    fraction = bits & ((1 << (format.precision - 1)) - 1)
    leading = biased != 0
    if format.explicit:
        stored = bool(bits >> (format.precision - 1) & 1)
        if leading and not stored:
            return _NAN
        leading = stored
    if biased == (1 << format.exponent) - 1:
        return Special(negative, nan=fraction != 0)
    significand = fraction | (1 << (format.precision - 1) if leading else 0)
    return Number(negative, significand, max(biased, 1) - format.bias - (format.precision - 1))


def rounded(format: Format, mode: int, negative: bool, significand: int, exponent: int) -> int:
    """Return the pattern of `significand * 2**exponent`, rounded. Zero keeps the sign."""
    sign = format.sign if negative else 0
    if not significand:
        return sign
    precision = format.precision
    least = 1 - format.bias
    unit = max(exponent + significand.bit_length() - 1, least) - (precision - 1)
    shift = unit - exponent
    if shift <= 0:
        kept = significand << -shift
    else:
        kept, rest = significand >> shift, significand & ((1 << shift) - 1)
        if rest and _goes_up(mode, negative, kept, rest, 1 << (shift - 1)):
            kept += 1
            if kept >> precision:
                kept, unit = kept >> 1, unit + 1
    biased = 0 if kept < 1 << (precision - 1) else unit + (precision - 1) + format.bias
    if biased >= (1 << format.exponent) - 1:
        return sign | (format.infinity if _overflows(mode, negative) else format.largest)
    stored = kept if format.explicit else kept & ((1 << (precision - 1)) - 1)
    return sign | biased << format.fraction | stored


def _goes_up(mode: int, negative: bool, kept: int, rest: int, half: int) -> bool:
    """Return whether the magnitude grows when the bits `rest` are removed."""
    if mode == DOWN:
        return negative
    if mode == UP:
        return not negative
    if mode == TO_ZERO:
        return False
    if mode == AWAY:
        return rest >= half
    return rest > half or (rest == half and kept & 1 == 1)


def _overflows(mode: int, negative: bool) -> bool:
    """Return whether a magnitude beyond the largest number is rounded to infinity."""
    return not (mode == TO_ZERO or (mode == DOWN and not negative) or (mode == UP and negative))


def is_nan(format: Format, bits: int) -> bool:
    """Return whether a pattern is NaN."""
    value = unpack(format, bits)
    return isinstance(value, Special) and value.nan


def from_fraction(format: Format, mode: int, value: Fraction, *, negative: bool = False) -> int:
    """Return a rational number, rounded; `negative` is the sign of zero."""
    if not value:
        return rounded(format, mode, negative, 0, 0)
    top, bottom = abs(value.numerator), value.denominator
    shift = max(0, format.precision + 3 + bottom.bit_length() - top.bit_length())
    quotient, rest = divmod(top << shift, bottom)
    return rounded(format, mode, value < 0, quotient << 1 | (rest != 0), -shift - 1)


def to_fraction(format: Format, bits: int) -> Fraction | None:
    """Return the value of a pattern; None for an infinity or NaN."""
    value = unpack(format, bits)
    if isinstance(value, Special):
        return None
    magnitude = Fraction(value.significand) * Fraction(2) ** value.exponent
    return -magnitude if value.negative else magnitude


# --------------------------------------------------------------------------------- arithmetic


def _infinite(format: Format, negative: bool) -> int:
    return format.infinity | (format.sign if negative else 0)


def add(format: Format, a: int, b: int, mode: int = NEAREST) -> int:
    """Return a + b."""
    if mode == NEAREST and (by_hardware := _HARDWARE.get(format.name)) is not None:
        return by_hardware(0, a, b)
    return _sum(format, unpack(format, a), unpack(format, b), mode)


def subtract(format: Format, a: int, b: int, mode: int = NEAREST) -> int:
    """Return a - b."""
    return add(format, a, b if is_nan(format, b) else b ^ format.sign, mode)


def _sum(format: Format, x: Number | Special, y: Number | Special, mode: int) -> int:
    if isinstance(x, Special) or isinstance(y, Special):
        if (isinstance(x, Special) and x.nan) or (isinstance(y, Special) and y.nan):
            return format.nan
        if isinstance(x, Special) and isinstance(y, Special) and x.negative != y.negative:
            return format.nan
        return _infinite(format, x.negative if isinstance(x, Special) else y.negative)
    exponent = min(x.exponent, y.exponent)
    first = x.significand << (x.exponent - exponent)
    second = y.significand << (y.exponent - exponent)
    total = (-first if x.negative else first) + (-second if y.negative else second)
    if total:
        return rounded(format, mode, total < 0, abs(total), exponent)
    negative = x.negative if x.negative == y.negative else mode == DOWN
    return rounded(format, mode, negative, 0, 0)


def multiply(format: Format, a: int, b: int, mode: int = NEAREST) -> int:
    """Return a * b."""
    if mode == NEAREST and (by_hardware := _HARDWARE.get(format.name)) is not None:
        return by_hardware(1, a, b)
    product = _product(unpack(format, a), unpack(format, b))
    if isinstance(product, Special):
        return format.nan if product.nan else _infinite(format, product.negative)
    return rounded(format, mode, *product)


def _product(x: Number | Special, y: Number | Special) -> Number | Special:
    """Return the exact product."""
    negative = x.negative != y.negative
    if isinstance(x, Number) and isinstance(y, Number):
        return Number(negative, x.significand * y.significand, x.exponent + y.exponent)
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Special) and (one.nan or (isinstance(other, Number) and not other.significand)):
            return _NAN
    return Special(negative, nan=False)


def divide(format: Format, a: int, b: int, mode: int = NEAREST) -> int:
    """Return a / b."""
    x, y = unpack(format, a), unpack(format, b)
    negative = x.negative != y.negative
    if isinstance(x, Special) or isinstance(y, Special):
        if (isinstance(x, Special) and (x.nan or isinstance(y, Special))) or (
            isinstance(y, Special) and y.nan
        ):
            return format.nan
        return _infinite(format, negative) if isinstance(x, Special) else format.sign * negative
    if not y.significand:
        return _infinite(format, negative) if x.significand else format.nan
    if mode == NEAREST and (by_hardware := _HARDWARE.get(format.name)) is not None:
        return by_hardware(2, a, b)
    shift = max(0, format.precision + 3 + y.significand.bit_length() - x.significand.bit_length())
    quotient, rest = divmod(x.significand << shift, y.significand)
    exponent = x.exponent - y.exponent - shift - 1
    return rounded(format, mode, negative, quotient << 1 | (rest != 0), exponent)


def remainder(format: Format, a: int, b: int) -> int:
    """Return a - n*b for the integer n nearest to a/b, the even one of two: `remainder` of C. It is exact,
    and a zero has the sign of a."""
    x, y = unpack(format, a), unpack(format, b)
    if isinstance(x, Special) or (isinstance(y, Special) and y.nan):
        return format.nan
    if isinstance(y, Special):
        return rounded(format, NEAREST, *x)
    if not y.significand:
        return format.nan
    if x.exponent >= y.exponent:  # 2**distance is reduced: exponents differ by thousands
        distance = x.exponent - y.exponent
        divisor = 2 * y.significand  # one more bit: whether the quotient is odd
        twice = x.significand * pow(2, distance, divisor) % divisor
        odd, rest = twice >= y.significand, twice % y.significand
        unit, exponent = y.significand, y.exponent
    elif y.exponent - x.exponent > x.significand.bit_length() + 1:  # less than half of b
        return rounded(format, NEAREST, *x)
    else:
        unit, exponent = y.significand << (y.exponent - x.exponent), x.exponent
        quotient, rest = divmod(x.significand, unit)
        odd = quotient & 1 == 1
    if 2 * rest > unit or (2 * rest == unit and odd):
        return rounded(format, NEAREST, not x.negative, unit - rest, exponent)
    return rounded(format, NEAREST, x.negative, rest, exponent)


def fused(format: Format, a: int, b: int, c: int, mode: int = NEAREST) -> int:
    """Return a * b + c, rounded once."""
    product, z = _product(unpack(format, a), unpack(format, b)), unpack(format, c)
    return _sum(format, product, z, mode)


def square_root(format: Format, a: int, mode: int = NEAREST) -> int:
    """Return the square root."""
    x = unpack(format, a)
    if isinstance(x, Special):
        return format.nan if x.nan or x.negative else a
    if not x.significand:
        return a
    if x.negative:
        return format.nan
    shift = max(0, 2 * format.precision + 4 - x.significand.bit_length())
    shift += (x.exponent - shift) & 1
    whole = x.significand << shift
    root = math.isqrt(whole)
    return rounded(format, mode, False, root << 1 | (root * root != whole), (x.exponent - shift) // 2 - 1)


def to_integral(format: Format, a: int, mode: int) -> int:
    """Return the nearest integer in the direction of the mode, as a number of the format."""
    x = unpack(format, a)
    if isinstance(x, Special):
        return format.nan if x.nan else a
    if x.exponent >= 0:
        return rounded(format, mode, *x)
    return rounded(format, mode, x.negative, _integral(x, mode), 0)


def _integral(x: Number, mode: int) -> int:
    """Return the magnitude of a number, rounded to an integer."""
    if x.exponent >= 0:
        return x.significand << x.exponent
    shift = -x.exponent
    kept, rest = x.significand >> shift, x.significand & ((1 << shift) - 1)
    return kept + (rest != 0 and _goes_up(mode, x.negative, kept, rest, 1 << (shift - 1)))


# ------------------------------------------------------------------- comparisons and conversions


def _ordered(format: Format, a: int, b: int) -> tuple[int, int] | None:
    """Return two integers in the order of two numbers; None if one is NaN."""
    keys = []
    for bits in (a, b):
        if format.explicit:
            value = unpack(format, bits)
            if isinstance(value, Special) and value.nan:
                return None
        elif bits & ~format.sign > format.infinity:
            return None
        magnitude = _canonical(format, bits) & ~format.sign
        keys.append(-magnitude if bits & format.sign else magnitude)
    return keys[0], keys[1]


def _canonical(format: Format, bits: int) -> int:
    """Return the pattern that the hardware makes for a number: a small extended one has two."""
    value = unpack(format, bits) if format.explicit else None
    return rounded(format, NEAREST, *value) if isinstance(value, Number) else bits


def equal(format: Format, a: int, b: int) -> bool:
    """Return a == b: false if one is NaN, true for zeros of either sign."""
    keys = _ordered(format, a, b)
    return keys is not None and keys[0] == keys[1]


def less(format: Format, a: int, b: int) -> bool:
    """Return a < b."""
    keys = _ordered(format, a, b)
    return keys is not None and keys[0] < keys[1]


def less_equal(format: Format, a: int, b: int) -> bool:
    """Return a <= b."""
    keys = _ordered(format, a, b)
    return keys is not None and keys[0] <= keys[1]


def convert(source: Format, target: Format, a: int, mode: int = NEAREST) -> int:
    """Return a number of another format, rounded."""
    x = unpack(source, a)
    if isinstance(x, Special):
        return target.nan if x.nan else _infinite(target, x.negative)
    return rounded(target, mode, *x)


def from_integer(format: Format, value: int, mode: int = NEAREST) -> int:
    """Return an integer as a number of the format, rounded."""
    return rounded(format, mode, value < 0, abs(value), 0)


def to_integer(format: Format, a: int, low: int, high: int) -> int | None:
    """Return a number without its fraction; None if that is not between the bounds, or there is none."""
    x = unpack(format, a)
    if isinstance(x, Special) or x.significand.bit_length() + x.exponent > high.bit_length() + 1:
        return None
    magnitude = _integral(x, TO_ZERO)
    value = -magnitude if x.negative else magnitude
    return value if low <= value <= high else None


class Range(NamedTuple):
    """The numbers that have an integer part between two bounds: those above `low`, or equal to it if
    `closed`, and below `high`. A bound that is None is beyond all finite numbers."""

    low: int | None
    closed: bool
    high: int | None


def convertible(format: Format, low: int, high: int) -> Range:
    """Return the range of numbers whose integer part is between `low` (0 or minus a power of two) and `high`
    (a power of two, minus 1)."""
    exact = to_fraction(format, from_integer(format, low - 1, TO_ZERO)) == low - 1
    bottom = from_integer(format, low - 1 if exact else low, TO_ZERO)
    top = from_integer(format, high + 1, UP)
    reaches = to_fraction(format, bottom) in (low, low - 1)
    return Range(bottom if reaches else None, not exact, None if top == format.infinity else top)


# -------------------------------------------------------------------------------------- hardware


def _by_double(operation: int, a: int, b: int) -> int:
    """Add, multiply or divide doubles, to nearest. A divisor is not zero."""
    x, y = _DOUBLES.unpack(_WORDS.pack(a, b))
    value = x + y if operation == 0 else x * y if operation == 1 else x / y
    if math.isnan(value):
        return F64.nan
    return int.from_bytes(_DOUBLE.pack(value), "little")


def _by_single(operation: int, a: int, b: int) -> int:
    """Add, multiply or divide floats by the same operation on doubles, whose precision makes the second
    rounding harmless."""
    x, y = _SINGLES.unpack(_HALVES.pack(a, b))
    value = x + y if operation == 0 else x * y if operation == 1 else x / y
    if math.isnan(value):
        return F32.nan
    try:
        return int.from_bytes(_SINGLE.pack(value), "little")
    except OverflowError:
        return _infinite(F32, value < 0)


_DOUBLES, _WORDS, _DOUBLE = struct.Struct("<dd"), struct.Struct("<QQ"), struct.Struct("<d")
_SINGLES, _HALVES, _SINGLE = struct.Struct("<ff"), struct.Struct("<II"), struct.Struct("<f")
_HARDWARE: Final[dict[str, Callable[[int, int, int], int]]] = {"f64": _by_double, "f32": _by_single}
