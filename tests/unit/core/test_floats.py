"""Single values of floating-point operations, written down by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.core import float_text, floats
from certus.core.floats import AWAY, DOWN, F16, F32, F64, NEAREST, TO_ZERO, UP, X87, Format


def double(value: float) -> int:
    return floats.from_fraction(F64, NEAREST, Fraction(value), negative=str(value).startswith("-"))


def test_formats() -> None:
    assert [(f.width, f.bias) for f in (F16, F32, F64, X87)] == [(16, 15), (32, 127), (64, 1023), (80, 16383)]
    assert (F32.nan, F32.infinity, F32.largest) == (0x7FC00000, 0x7F800000, 0x7F7FFFFF)
    assert (X87.nan, X87.largest) == (0x7FFFC000000000000000, 0x7FFEFFFFFFFFFFFFFFFF)


def test_a_tenth_and_two_tenths() -> None:
    total = floats.add(F64, double(0.1), double(0.2))
    assert total == 0x3FD3333333333334
    assert not floats.equal(F64, total, double(0.3))


def test_zeros() -> None:
    negative = double(-0.0)
    assert negative == 1 << 63
    assert floats.equal(F64, negative, 0)
    assert floats.add(F64, negative, negative) == negative
    assert floats.subtract(F64, 0, 0, DOWN) == negative
    assert floats.divide(F64, double(1.0), negative) == F64.infinity | F64.sign
    assert floats.square_root(F64, negative) == negative


def test_nan_is_not_equal_to_itself() -> None:
    assert not floats.equal(F32, F32.nan, F32.nan)
    assert not floats.less(F32, F32.nan, 0)
    assert not floats.less_equal(F32, 0, F32.nan)
    assert floats.divide(F32, 0, 0) == floats.multiply(F32, F32.infinity, 0) == F32.nan
    assert floats.square_root(F32, F32.sign | 1) == F32.nan


@pytest.mark.parametrize(("mode", "whole"), [(NEAREST, 2), (DOWN, 2), (UP, 3), (TO_ZERO, 2), (AWAY, 3)])
def test_rounding_of_two_and_a_half(mode: int, whole: int) -> None:
    assert floats.to_integral(F64, double(2.5), mode) == double(whole)


def test_overflow_depends_on_the_mode() -> None:
    two = floats.from_integer(F32, 2)
    assert floats.multiply(F32, F32.largest, two) == F32.infinity
    assert floats.multiply(F32, F32.largest, two, TO_ZERO) == F32.largest
    assert floats.multiply(F32, F32.largest | F32.sign, two, UP) == F32.largest | F32.sign


def test_integers_round() -> None:
    assert floats.from_integer(F32, 16777217) == floats.from_integer(F32, 16777216)
    assert floats.from_integer(F32, 16777217, UP) == floats.from_integer(F32, 16777218)
    assert floats.to_integer(F64, double(-3.99), -128, 127) == -3
    assert floats.to_integer(F64, double(128.0), -128, 127) is None
    assert floats.to_integer(F64, double(-128.5), -128, 127) == -128
    assert floats.to_integer(F64, F64.nan, -128, 127) is None


def test_a_float_is_rounded_once_from_its_decimal() -> None:
    """Through double, 1 + 2**-24 + 2**-54 would become 1 + 2**-24, and then 1."""
    exact = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert floats.from_fraction(F32, NEAREST, exact) == 0x3F800001
    assert floats.convert(F64, F32, floats.from_fraction(F64, NEAREST, exact)) == 0x3F800000


def test_remainders() -> None:
    assert floats.remainder(F64, double(5.0), double(3.0)) == double(-1.0)
    assert floats.remainder(F64, double(3.0), double(2.0)) == double(-1.0)
    assert floats.remainder(F64, double(-4.0), double(2.0)) == double(-0.0)
    assert floats.remainder(F64, double(1e300), double(3e-300)) < F64.infinity | F64.sign
    assert floats.remainder(F64, double(1.0), F64.infinity) == double(1.0)


def test_fused_multiplication_rounds_once() -> None:
    a = floats.from_fraction(F64, NEAREST, 1 + Fraction(1, 2**30))
    product = floats.multiply(F64, a, a)
    assert floats.fused(F64, a, a, product ^ F64.sign) == double(2.0**-60)


@pytest.mark.parametrize(
    ("format", "bits", "text"),
    [
        (F32, 0x3DCCCCCD, "0.1f (0x1.99999ap-4)"),
        (F64, 0x4004000000000000, "2.5"),
        (F64, 0x8000000000000000, "-0.0"),
        (F64, 1, "5e-324 (0x1p-1074)"),
        (F64, 0x7FEFFFFFFFFFFFFF, "1.7976931348623157e+308 (0x1.fffffffffffffp+1023)"),
        (F64, 0x41DFFFFFFFC00000, "2147483647.0"),
        (F32, 0x7F800000, "inf"),
        (F32, 0xFFC00001, "nan (0xffc00001)"),
        (X87, 0x3FFFC000000000000000, "1.5L"),
        (F16, 0x3C01, "1.001f16 (0x1.004p+0)"),
    ],
)
def test_texts(format: Format, bits: int, text: str) -> None:
    assert float_text.shown(format, bits) == text


@pytest.mark.parametrize("format", [F16, F32, F64, X87], ids=lambda f: f.name)
@pytest.mark.parametrize(("low", "high"), [(-128, 127), (0, 255), (-(2**31), 2**31 - 1), (0, 2**64 - 1)])
def test_which_numbers_an_integer_holds(format: Format, low: int, high: int) -> None:
    bounds = floats.convertible(format, low, high)
    for number in (low - 1, low, high, high + 1):
        for bits in (floats.from_integer(format, number, mode) for mode in (DOWN, UP)):
            for near in (bits - 1, bits, bits + 1):
                if isinstance(floats.unpack(format, near % (1 << format.width)), floats.Special) or near < 0:
                    continue
                compare = floats.less_equal if bounds.closed else floats.less
                above = bounds.low is None or compare(format, bounds.low, near)
                below = bounds.high is None or floats.less(format, near, bounds.high)
                assert (floats.to_integer(format, near, low, high) is not None) == (above and below)
