"""What the front end states about functions of `math.h` without an exact value holds for the C library."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from tests.laws.float_hardware import HARDWARE_MODES, number, pattern, random_bits, rounding

from certus.core import build, float_terms
from certus.core.floats import F32, F64, NEAREST, Format
from certus.core.terms import Expr
from certus.core.values import evaluate
from certus.frontend.c.model.math_bounds import known
from certus.frontend.c.model.math_functions import BOUNDED
from certus.interpreter.inputs import special_floats

_LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
_TYPES = {"f32": (ctypes.c_float, "f"), "f64": (ctypes.c_double, "")}


def computed(name: str, format: Format, mode: int, arguments: tuple[int, ...]) -> int:
    """Return the result of the C library."""
    type_, suffix = _TYPES[format.name]
    function = ctypes.CFUNCTYPE(type_, *[type_] * len(arguments))((name + suffix, _LIBRARY))
    operands = [number(format, bits).item() for bits in arguments]
    with rounding(mode):
        result = function(*operands)
    return pattern(format, number(format, 0).dtype.type(result))


def arguments(format: Format, count: int, random: Random, *, drawn: int) -> Iterator[tuple[int, ...]]:
    """Yield special and small arguments in all combinations, and random ones."""
    small = [pattern(format, number(format, 0).dtype.type(n / 2)) for n in range(-7, 8)]
    yield from product((*special_floats(format), *small), repeat=count)
    for _ in range(drawn):
        yield tuple(random_bits(format, random) for _ in range(count))


@pytest.mark.parametrize("format", [F32, F64], ids=lambda f: f.name)
@pytest.mark.parametrize("name", BOUNDED)
def test_results_of_the_c_library_are_known(name: str, format: Format) -> None:
    """Bounds in rounding to nearest, exact values in every mode."""
    count = BOUNDED[name]
    operands: list[Expr] = [build.var(f"x{n}", float_terms.float_sort(format)) for n in range(count)]
    result = build.var("r", float_terms.float_sort(format))
    exact, bounds = known(format, name, operands, result)
    for mode in HARDWARE_MODES:
        for values in arguments(format, count, Random(name), drawn=400 if mode == NEAREST else 0):
            bits = computed(name, format, mode, values)
            env = dict(zip(operands, values, strict=True)) | {result: bits}
            case = (mode, hex(bits), *map(hex, values))
            assert mode != NEAREST or evaluate(bounds, env) is True, case
            for condition, value in exact:
                assert not evaluate(condition, env) or evaluate(value, env) == bits, case
