"""Print floating-point numbers: as decimals that are read back as the same number, and exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from certus.core.floats import NEAREST, Format, Number, Special, from_fraction, to_fraction, unpack

_SUFFIXES: Final = {"f16": "f16", "f32": "f", "f64": "", "x87": "L"}


def literal(format: Format, bits: int) -> str:
    """Return a number as C writes it: the shortest decimal that is read back as the same number, with the
    suffix of its type; `inf` and `nan` have no literal."""
    value = unpack(format, bits)
    if isinstance(value, Special):
        return "nan" if value.nan else "-inf" if value.negative else "inf"
    return _decimal(format, bits) + _SUFFIXES[format.name]


def exact_literal(format: Format, bits: int) -> str:
    """Return a finite number as a hexadecimal literal of C."""
    return hexadecimal(format, bits) + _SUFFIXES[format.name]


def shown(format: Format, bits: int) -> str:
    """Return a number for a report: `2.5f`, `0.1f (0x1.99999ap-4)` with the exact value where the decimal is
    not exact, or `nan (0x7fc00000)` with the bits."""
    text, value = literal(format, bits), unpack(format, bits)
    if isinstance(value, Special):
        return f"{text} (0x{bits:x})" if value.nan else text
    is_exact = Fraction(_decimal(format, bits)) == to_fraction(format, bits)
    return text if is_exact else f"{text} ({hexadecimal(format, bits)})"


def hexadecimal(format: Format, bits: int) -> str:
    """Return the exact value of a finite number as a hexadecimal literal without a suffix."""
    value = unpack(format, bits)
    assert isinstance(value, Number)
    sign = "-" if value.negative else ""
    if not value.significand:
        return f"{sign}0x0p+0"
    length = value.significand.bit_length()
    digits = -(-(length - 1) // 4)
    fraction = (value.significand - (1 << (length - 1))) << (4 * digits - (length - 1))
    text = f"{fraction:0{digits}x}".rstrip("0") if digits else ""
    return f"{sign}0x1{'.' + text if text else ''}p{value.exponent + length - 1:+d}"


def _decimal(format: Format, bits: int) -> str:
    """Return the shortest decimal between the neighbours of a finite number that is read back as it."""
    exact = to_fraction(format, bits)
    assert exact is not None
    sign = "-" if bits & format.sign else ""
    if not exact:
        return f"{sign}0.0"
    magnitude = abs(exact)
    canonical = from_fraction(format, NEAREST, magnitude)
    exponent = _log10(magnitude)
    for digits in range(1, 40):
        unit = Fraction(10) ** (exponent - digits + 1)
        scaled = round(magnitude / unit)
        if from_fraction(format, NEAREST, scaled * unit) == canonical:
            break
    return sign + _positional(str(scaled), exponent - digits + 1)


def _log10(magnitude: Fraction) -> int:
    """Return the exponent of the first decimal digit."""
    bits = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    guess = math.floor(bits * math.log10(2))
    while Fraction(10) ** (guess + 1) <= magnitude:
        guess += 1
    while Fraction(10) ** guess > magnitude:
        guess -= 1
    return guess


def _positional(digits: str, exponent: int) -> str:
    """Return `digits * 10**exponent` as text."""
    stripped = digits.rstrip("0") or "0"
    exponent += len(digits) - len(stripped)
    first = exponent + len(stripped) - 1  # the exponent of the first digit
    if -5 <= first < 16:
        if exponent >= 0:
            return f"{stripped}{'0' * exponent}.0"
        if first >= 0:
            return f"{stripped[: first + 1]}.{stripped[first + 1 :]}"
        return f"0.{'0' * (-first - 1)}{stripped}"
    rest = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{stripped[0]}{rest}e{first:+03d}"
