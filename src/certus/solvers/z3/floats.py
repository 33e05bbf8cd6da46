"""Translate operations on floating-point numbers to z3.

As in the translation to Bitwuzla, the bits of a result are a new bit-vector with a definition: it converts
to the result and, where that is NaN, it is the one NaN of `core.floats`. z3's own function from floats to
bits is not used: it leaves the bits of a NaN to z3. A result under a quantifier would need a bit-vector for
each value of the bound variables, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from certus.core import floats
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.floats import Format
from certus.core.terms import Expr, Kind, MachineSort
from certus.core.walk import postorder

if TYPE_CHECKING:
    from certus.solvers.z3.terms import Z3Terms

_MODES: Final = (  # in the order of `core.floats`
    "mk_fpa_round_nearest_ties_to_even",
    "mk_fpa_round_toward_negative",
    "mk_fpa_round_toward_positive",
    "mk_fpa_round_toward_zero",
    "mk_fpa_round_nearest_ties_to_away",
)
_ROUNDED: Final = {
    Kind.F_ADD: "mk_fpa_add",
    Kind.F_SUB: "mk_fpa_sub",
    Kind.F_MUL: "mk_fpa_mul",
    Kind.F_DIV: "mk_fpa_div",
    Kind.F_FMA: "mk_fpa_fma",
    Kind.F_SQRT: "mk_fpa_sqrt",
    Kind.F_RTI: "mk_fpa_round_to_integral",
}
_CONDITIONS: Final = {Kind.F_EQ: "mk_fpa_eq", Kind.F_LT: "mk_fpa_lt", Kind.F_LE: "mk_fpa_leq"}


class Z3Floats:
    """The translation of floating point to one z3 context."""

    def __init__(self, terms: Z3Terms) -> None:
        self.definitions: Final[dict[Expr, tuple[int, ...]]] = {}
        self._terms: Final = terms
        self._numbers: Final[dict[Expr, int]] = {}  # terms as floating-point numbers
        self._sorts: Final[dict[Format, int]] = {}

    def term(self, term: Expr, args: list[int]) -> int:
        """Return the translation of an operation: a Bool, or the bits of the result."""
        assert isinstance(term.data, str)
        kind, format = term.kind, floats.FORMATS[term.data.split()[0]]
        make = self._terms.make
        if kind in _CONDITIONS:
            return make(_CONDITIONS[kind], *self._operands(term.args, args, format))
        if kind is Kind.F_TO:
            return self._to_integer(term, args, format)
        result = floats.FORMATS[term.data.split()[-1]]
        if kind is Kind.F_REM:
            number = make("mk_fpa_rem", *self._operands(term.args, args, format))
        else:
            mode = self._mode(term.args[-1], args[-1])
            if kind is Kind.F_FROM:
                sort = term.args[0].sort
                assert isinstance(sort, MachineSort)
                name = "mk_fpa_to_fp_signed" if sort.signed else "mk_fpa_to_fp_unsigned"
                number = make(name, mode, args[0], self._sort(result))
            else:
                operands = self._operands(term.args[:-1], args[:-1], format)
                if kind is Kind.F_CONVERT:
                    number = make("mk_fpa_to_fp_float", mode, *operands, self._sort(result))
                else:
                    number = make(_ROUNDED[kind], mode, *operands)
        return self._bits(term, result, number)

    def choose(self, term: Expr, args: list[int]) -> None:
        """Note the number that a choice between patterns is, if one of them is the result of an operation."""
        if self._numbers and (term.args[1] in self._numbers or term.args[2] in self._numbers):
            assert isinstance(term.sort, MachineSort)
            format = next(f for f in floats.FORMATS.values() if f.width == term.sort.width)
            arms = self._operands(term.args[1:], args[1:], format)
            self._numbers[term] = self._terms.make("mk_ite", args[0], *arms)

    def _sort(self, format: Format) -> int:
        if format not in self._sorts:
            self._sorts[format] = self._terms.make("mk_fpa_sort", format.exponent, format.precision)
        return self._sorts[format]

    def _mode(self, mode: Expr, ast: int) -> int:
        """Return a rounding mode; numbers without a mode stand for rounding to nearest."""
        make = self._terms.make
        if mode.kind is Kind.CONST:
            return make(_MODES[int(mode.value)] if mode.value in floats.MODES else _MODES[0])
        chosen = make(_MODES[0])
        for number in floats.MODES[1:]:
            same = make("mk_eq", ast, self._terms.number(number, 8))
            chosen = make("mk_ite", same, make(_MODES[number]), chosen)
        return chosen

    def _operands(self, terms: Sequence[Expr], asts: Sequence[int], format: Format) -> list[int]:
        """Return patterns as numbers."""
        numbers: list[int] = []
        for term, ast in zip(terms, asts, strict=True):
            if term not in self._numbers:
                self._numbers[term] = self._number(ast, format)
            numbers.append(self._numbers[term])
        return numbers

    def _number(self, bits: int, format: Format) -> int:
        make, bit_vector = self._terms.make, self._terms.number
        if not format.explicit:
            return make("mk_fpa_to_fp_bv", bits, self._sort(format))
        sign, exponent, leading, fraction = self._parts(bits, format)
        zero, one = bit_vector(0, format.exponent), bit_vector(1, format.exponent)
        is_zero, is_set = make("mk_eq", exponent, zero), make("mk_eq", leading, bit_vector(1, 1))
        denormal = make("mk_fpa_fp", sign, make("mk_ite", is_set, one, zero), fraction)
        normal = make("mk_fpa_fp", sign, exponent, fraction)
        valid = make("mk_ite", is_set, normal, make("mk_fpa_nan", self._sort(format)))
        return make("mk_ite", is_zero, denormal, valid)

    def _parts(self, bits: int, format: Format) -> tuple[int, int, int, int]:
        """Return sign, exponent, leading bit and fraction of a pattern with an explicit leading bit."""
        width, top = format.width, format.precision - 1
        slices = ((width - 1, width - 1), (width - 2, top + 1), (top, top), (top - 1, 0))
        sign, exponent, leading, fraction = (
            self._terms.make("mk_extract", h, low, bits) for h, low in slices
        )
        return sign, exponent, leading, fraction

    def _bits(self, term: Expr, format: Format, number: int) -> int:
        """Create the bits of a result, with their definition."""
        if self._terms.binds and any(part.kind is Kind.BOUND for part in postorder(term)):
            message = "A floating-point result that depends on a quantified variable is not supported."
            raise Unsupported(Diagnostic("unsupported-float", message))
        make, terms = self._terms.make, self._terms
        bits = terms.fresh_constant(make("mk_bv_sort", format.width))
        canonical = make("mk_eq", bits, terms.number(format.nan, format.width))
        same = make("mk_eq", self._number(bits, format), number)
        definition = [make("mk_ite", make("mk_fpa_is_nan", number), canonical, same)]
        if format.explicit:
            _, exponent, leading, _ = self._parts(bits, format)
            is_zero = make("mk_eq", exponent, terms.number(0, format.exponent))
            definition.append(make("mk_eq", is_zero, make("mk_eq", leading, terms.number(0, 1))))
        self.definitions[term] = tuple(definition)
        self._numbers[term] = number
        return bits

    def _to_integer(self, term: Expr, args: list[int], format: Format) -> int:
        sort, make = term.sort, self._terms.make
        assert isinstance(sort, MachineSort)
        (number,) = self._operands(term.args, args, format)
        name = "mk_fpa_to_sbv" if sort.signed else "mk_fpa_to_ubv"
        value = make(name, make(_MODES[floats.TO_ZERO]), number, sort.width)
        bounds = floats.convertible(format, sort.low, sort.high)
        fails = [make("mk_fpa_is_nan", number), make("mk_fpa_is_infinite", number)]
        if bounds.low is not None:
            low = self._number(self._terms.number(bounds.low, format.width), format)
            fails.append(make("mk_fpa_lt" if bounds.closed else "mk_fpa_leq", number, low))
        if bounds.high is not None:
            high = self._number(self._terms.number(bounds.high, format.width), format)
            fails.append(make("mk_fpa_leq", high, number))
        result, open_value = value, self._terms.undefined(term, args)
        for failure in fails:
            result = make("mk_ite", failure, open_value, result)
        return result
