"""Floating-point operations of this machine's processor, on bit patterns: what `core.floats` is compared to.

numpy computes with float, double and the extended format in the registers of the processor, in the rounding
mode that the C library has set. Half-precision numbers are not computed by hardware and are left out.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from random import Random

import numpy

from certus.core import floats
from certus.core.floats import F32, F64, X87, Format

TYPES = {"f32": numpy.float32, "f64": numpy.float64, "x87": numpy.longdouble}
FORMATS = (F32, F64, X87)
HARDWARE_MODES = (floats.NEAREST, floats.DOWN, floats.UP, floats.TO_ZERO)  # in the order of the control word

_library = ctypes.CDLL(ctypes.util.find_library("m"))
_round = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(("rint", _library))
_roundf = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(("rintf", _library))


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    """Let the processor round in a mode."""
    assert _library.fesetround(mode << 10) == 0
    try:
        yield
    finally:
        _library.fesetround(0)


def number(format: Format, bits: int) -> numpy.floating:
    """Return the number with some bits."""
    size = TYPES[format.name]().itemsize
    return numpy.frombuffer(bits.to_bytes(16, "little")[:size], dtype=TYPES[format.name])[0]


def pattern(format: Format, value: numpy.floating) -> int:
    """Return the bits of a number; a NaN has those of `Format.nan`."""
    if value != value:  # noqa: PLR0124
        return format.nan
    return int.from_bytes(value.tobytes()[: format.width // 8], "little")


def rint(a: numpy.floating, _: numpy.floating) -> numpy.floating:
    """Round to an integer; numpy always rounds float and double to nearest here."""
    if isinstance(a, numpy.float32):
        return numpy.float32(_roundf(a))
    return numpy.float64(_round(a)) if isinstance(a, numpy.float64) else numpy.rint(a)


Operation = Callable[..., int]
PAIRS: dict[str, tuple[Operation, Callable[..., numpy.floating]]] = {
    "add": (floats.add, numpy.add),
    "subtract": (floats.subtract, numpy.subtract),
    "multiply": (floats.multiply, numpy.multiply),
    "divide": (floats.divide, numpy.divide),
    "square_root": (lambda f, a, _, mode: floats.square_root(f, a, mode), lambda a, _: numpy.sqrt(a)),
    "rint": (lambda f, a, _, mode: floats.to_integral(f, a, mode), rint),
}


def random_bits(format: Format, random: Random, near: int = 0) -> int:
    """Return a pattern that the hardware makes: special, small, near another one, or any."""
    dice = random.random()
    if dice < 0.15:
        bits = random.choice((0, 1, format.infinity, format.nan, format.largest, 1 << format.fraction))
        bits |= random.choice((0, format.sign))
    elif dice < 0.45:
        small = Fraction(random.randint(-1000, 1000), random.choice((1, 2, 3, 10, 64)))
        bits = floats.from_fraction(format, floats.NEAREST, small)
    elif dice < 0.6:
        bits = near ^ random.getrandbits(8) ^ random.choice((0, format.sign))
    else:
        bits = random.getrandbits(format.width)
    value = floats.unpack(format, bits)
    if isinstance(value, floats.Special):
        return format.nan if value.nan else format.infinity | (format.sign if value.negative else 0)
    return floats.rounded(format, floats.NEAREST, *value)


def disagreements(format: Format, mode: int, count: int, seed: int) -> list[str]:
    """Compute random operations both ways; return those that differ."""
    random, found = Random(f"{format.name}/{mode}/{seed}"), []
    names = sorted(PAIRS)
    with rounding(mode), numpy.errstate(all="ignore"):
        for _ in range(count):
            a = random_bits(format, random)
            b = random_bits(format, random, near=a)
            name = random.choice(names)
            exact, hardware = PAIRS[name]
            expected = pattern(format, hardware(number(format, a), number(format, b)))
            if exact(format, a, b, mode) != expected:
                found.append(f"{name} {format.name} mode {mode}: {a:#x} {b:#x} is {expected:#x}")
    return found


def conversion_disagreements(mode: int, count: int, seed: int) -> list[str]:
    """Convert random numbers between formats both ways; return those that differ."""
    random, found = Random(f"convert/{mode}/{seed}"), []
    with rounding(mode), numpy.errstate(all="ignore"):
        for _ in range(count):
            source, target = random.sample(FORMATS, 2)
            a = random_bits(source, random)
            expected = pattern(target, number(source, a).astype(TYPES[target.name]))
            if floats.convert(source, target, a, mode) != expected:
                found.append(f"{source.name} to {target.name} mode {mode}: {a:#x} is {expected:#x}")
    return found
