"""Errors in constants are found: random expressions, evaluated by the rules of C, as initialisers."""

from __future__ import annotations

import operator
import random
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from certus.frontend.c.compile import compile_file
from certus.frontend.c.unchecked import unchecked
from certus.system.tools import run_clang

TYPES: Final = {"int": (32, True), "unsigned": (32, False), "long": (64, True), "unsigned long": (64, False)}
NARROW: Final = {"signed char": (8, True), "unsigned char": (8, False), "short": (16, True)}
SUFFIXES: Final = {"int": "", "unsigned": "u", "long": "L", "unsigned long": "UL"}
RESULTS: Final = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor, "<": operator.lt, "==": operator.eq},
}


class Constant(NamedTuple):
    """An expression, its type and value, and whether an operation in it is an error."""

    text: str
    type: str
    value: int
    is_error: bool = False


def converted(value: int, type_: str) -> int:
    width, signed = (TYPES | NARROW)[type_]
    value %= 1 << width
    return value - (1 << width) if signed and value >> (width - 1) else value


def promoted(part: Constant) -> str:
    return "int" if part.type in NARROW else part.type


def result(text: str, type_: str, value: int, *parts: Constant) -> Constant:
    """Return an operation with an exact result, which is an error if a signed type cannot hold it."""
    overflows = TYPES[type_][1] and converted(value, type_) != value
    return Constant(text, type_, converted(value, type_), overflows or any(part.is_error for part in parts))


def constant(draw: random.Random, depth: int) -> Constant:
    """Return a random constant."""
    kind = draw.random()
    if depth == 0 or kind < 0.15:
        type_ = draw.choice(("int", "int", "unsigned", "long", "unsigned long"))
        large = [2**63 - 1, 2**62] if "long" in type_ else []
        value = draw.choice([0, 1, 2, 3, 7, 31, 32, 64, 65535, 2**30, 2**31 - 2, 2**31 - 1, *large])
        return Constant(f"{value}{SUFFIXES[type_]}", type_, value)
    a, b = constant(draw, depth - 1), constant(draw, depth - 1)
    if kind < 0.25:
        return result(f"(- {a.text})", promoted(a), -converted(a.value, promoted(a)), a)
    if kind < 0.35:
        type_ = draw.choice([*TYPES, *NARROW])
        return Constant(f"(({type_}){a.text})", type_, converted(a.value, type_), a.is_error)
    common = max(promoted(a), promoted(b), key=list(TYPES).index)
    x, y = converted(a.value, common), converted(b.value, common)
    if kind < 0.4:
        return result(f"(1 ? {a.text} : {b.text})", common, x, a)
    if kind < 0.55 and y != 0:
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        text = f"({a.text} {draw.choice('/%')} {b.text})"
        checked = result(text, common, quotient, a, b)
        return checked if "/" in text else checked._replace(value=converted(x - quotient * y, common))
    if kind < 0.7:
        type_, amount = promoted(a), b.value
        if not 0 <= amount < TYPES[type_][0]:
            return a
        left = converted(a.value, type_)
        if draw.random() < 0.5:
            return result(f"({a.text} >> {b.text})", type_, left >> amount, a, b)
        shifted = result(f"({a.text} << {b.text})", type_, left << amount, a, b)
        return shifted._replace(is_error=shifted.is_error or left < 0)
    symbol = draw.choice(list(RESULTS))
    compares = symbol in ("<", "==")
    return result(f"({a.text} {symbol} {b.text})", "int" if compares else common, RESULTS[symbol](x, y), a, b)


@pytest.mark.parametrize("seed", range(3))
def test_errors_in_constants_are_found(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    constants = [constant(draw, draw.choice((1, 2, 2, 3))) for _ in range(400)]
    lines = [f"long a{at}[] = {{ {each.text} }};" for at, each in enumerate(constants)]
    path = tmp_path / "constants.c"
    path.write_text("\n".join(["int main(void) {", *lines, "return 0; }"]))
    tree = run_clang(path, model="LP64", flags=("-w", "-fsyntax-only", "-Xclang", "-ast-dump")).text
    refused = {each.line for each in unchecked(tree, ("overflow", "shift"), long=64)}
    errors = {at + 2 for at, each in enumerate(constants) if each.is_error}
    assert errors <= refused, [lines[line - 2] for line in sorted(errors - refused)]
    assert len(errors) > 5
    assert len(refused) < 120, "most constants without errors are accepted"
    assert compile_file(path, "overflow,shift", "LP64").unchecked is not None
