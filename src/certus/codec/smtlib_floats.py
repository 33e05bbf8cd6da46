"""Print operations on floating-point numbers as SMT-LIB text; `codec.smtlib` uses this."""

from __future__ import annotations

from typing import Final

from certus.core import floats
from certus.core.terms import Expr, Kind, MachineSort

CONDITIONS: Final = frozenset((Kind.F_EQ, Kind.F_LT, Kind.F_LE))
UNROUNDED: Final = CONDITIONS | {Kind.F_REM, Kind.F_TO}
OPERATORS: Final = {
    Kind.F_ADD: "fp.add",
    Kind.F_SUB: "fp.sub",
    Kind.F_MUL: "fp.mul",
    Kind.F_DIV: "fp.div",
    Kind.F_REM: "fp.rem",
    Kind.F_FMA: "fp.fma",
    Kind.F_SQRT: "fp.sqrt",
    Kind.F_RTI: "fp.roundToIntegral",
    Kind.F_EQ: "fp.eq",
    Kind.F_LT: "fp.lt",
    Kind.F_LE: "fp.leq",
}
_MODES: Final = ("RNE", "RTN", "RTP", "RTZ", "RNA")  # in the order of `core.floats`


def float_sort(format: floats.Format) -> str:
    return f"(_ FloatingPoint {format.exponent} {format.precision})"


def float_cast(word: str, format: floats.Format) -> str:
    return f"(_ {word} {format.exponent} {format.precision})"


def mode_text(mode: Expr, text: str) -> str:
    """Return a rounding mode; numbers without a mode stand for rounding to nearest."""
    if mode.kind is Kind.CONST:
        return _MODES[int(mode.value)] if mode.value in floats.MODES else _MODES[0]
    chosen = _MODES[0]
    for number in floats.MODES[1:]:
        chosen = f"(ite (= {text} (_ bv{number} 8)) {_MODES[number]} {chosen})"
    return chosen


def explicit_cast(name: str, format: floats.Format) -> str:
    """Define the conversion from a pattern with an explicit leading bit."""
    width, fraction = format.width, format.precision - 1
    sign, leading = f"((_ extract {width - 1} {width - 1}) b)", f"((_ extract {fraction} {fraction}) b)"
    exponent, low = f"((_ extract {width - 2} {fraction + 1}) b)", f"((_ extract {fraction - 1} 0) b)"
    zero, one = f"(_ bv0 {format.exponent})", f"(_ bv1 {format.exponent})"
    denormal = f"(fp {sign} (ite (= {leading} #b1) {one} {zero}) {low})"
    nan = f"(_ NaN {format.exponent} {format.precision})"
    valid = f"(ite (= {leading} #b1) (fp {sign} {exponent} {low}) {nan})"
    body = f"(ite (= {exponent} {zero}) {denormal} {valid})"
    return f"(define-fun {name} ((b (_ BitVec {width}))) {float_sort(format)} {body})"


def integer_text(term: Expr, format: floats.Format, number: str, arbitrary: str) -> str:
    """Return a number without its fraction as an integer; an arbitrary value if that is out of range."""
    sort = term.sort
    assert isinstance(sort, MachineSort)
    bounds = floats.convertible(format, sort.low, sort.high)
    fails = [f"(fp.isNaN {number})", f"(fp.isInfinite {number})"]
    if bounds.low is not None:
        fails.append(f"({'fp.lt' if bounds.closed else 'fp.leq'} {number} {_literal(format, bounds.low)})")
    if bounds.high is not None:
        fails.append(f"(fp.leq {_literal(format, bounds.high)} {number})")
    value = f"((_ {'fp.to_sbv' if sort.signed else 'fp.to_ubv'} {sort.width}) RTZ {number})"
    return f"(ite (or {' '.join(fails)}) {arbitrary} {value})"


def _literal(format: floats.Format, bits: int) -> str:
    """Return a finite number."""
    fraction = format.precision - 1
    exponent = (bits >> format.fraction) & ((1 << format.exponent) - 1)
    low = bits & ((1 << fraction) - 1)
    sign = "#b1" if bits & format.sign else "#b0"
    return f"(fp {sign} (_ bv{exponent} {format.exponent}) (_ bv{low} {fraction}))"
