"""Translate operations on floating-point numbers to Bitwuzla.

A term is a bit-vector, and Bitwuzla has no function from floats to bits. So each operation has two
translations: its *view*, a term of a floating-point sort that other operations use directly, and its bits, a
new bit-vector whose *definition*, to be asserted with every formula that needs the bits, says that it
converts to the view and is the one NaN of `core.floats` where the view is NaN. The library has no extended
format: a term with one is not translated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from certus.core import floats
from certus.core.floats import Format
from certus.core.terms import Expr, Kind, MachineSort

if TYPE_CHECKING:
    from types import ModuleType

    import bitwuzla

Term: TypeAlias = "bitwuzla.Term"


class BitwuzlaFloats:
    """The translation of floating point, for one term manager. `undefined` makes the open value of a term."""

    def __init__(
        self,
        package: ModuleType,
        manager: bitwuzla.TermManager,
        undefined: Callable[[Expr, Sequence[Term]], Term],
    ) -> None:
        self.definitions: Final[dict[Expr, Term]] = {}
        self._manager: Final = manager
        self._kinds: Final = package.Kind
        self._undefined: Final = undefined
        self._views: Final[dict[Expr, tuple[Format, Term]]] = {}
        modes = package.RoundingMode
        self._modes: Final = (modes.RNE, modes.RTN, modes.RTP, modes.RTZ, modes.RNA)
        self._operations: Final = {
            Kind.F_ADD: self._kinds.FP_ADD,
            Kind.F_SUB: self._kinds.FP_SUB,
            Kind.F_MUL: self._kinds.FP_MUL,
            Kind.F_DIV: self._kinds.FP_DIV,
            Kind.F_REM: self._kinds.FP_REM,
            Kind.F_FMA: self._kinds.FP_FMA,
            Kind.F_SQRT: self._kinds.FP_SQRT,
            Kind.F_RTI: self._kinds.FP_RTI,
            Kind.F_EQ: self._kinds.FP_EQUAL,
            Kind.F_LT: self._kinds.FP_LT,
            Kind.F_LE: self._kinds.FP_LEQ,
        }

    def term(self, term: Expr, args: Sequence[Term]) -> Term:
        """Return the translation of an operation: a Bool, or the bits of the result."""
        assert isinstance(term.data, str)
        kind, formats = term.kind, [floats.FORMATS[name] for name in term.data.split()]
        if kind is Kind.F_TO:
            return self._to_integer(term, formats[0], args)
        if kind is Kind.F_FROM:
            view = self._from_integer(term, formats[0], args)
        elif kind is Kind.F_CONVERT:
            target = formats[1]
            source = self._view(term.args[0], formats[0], args[0])
            mode = self._mode(term.args[1], args[1])
            indexes = (target.exponent, target.precision)
            view = self._make(self._kinds.FP_TO_FP_FROM_FP, mode, source, indexes=indexes)
        else:
            rounds = kind not in _UNROUNDED
            last = len(args) - 1 if rounds else len(args)
            pairs = zip(term.args[:last], args[:last], strict=True)
            operands = [self._view(expr, formats[0], bits) for expr, bits in pairs]
            mode = [self._mode(term.args[-1], args[-1])] if rounds else []
            view = self._make(self._operations[kind], *mode, *operands)
            if kind in _CONDITIONS:
                return view
        return self._bits(term, formats[-1], view)

    def choose(self, term: Expr, args: Sequence[Term]) -> None:
        """Give a choice between two patterns a view, if one of them is the result of an operation."""
        then, otherwise = (self._views.get(arm) for arm in term.args[1:])
        known = then or otherwise
        if known is not None:
            pairs = zip(term.args[1:], args[1:], strict=True)
            views = [self._view(arm, known[0], bits) for arm, bits in pairs]
            self._views[term] = known[0], self._make(self._kinds.ITE, args[0], *views)

    def _make(self, kind: bitwuzla.Kind, *args: Term, indexes: Sequence[int] = ()) -> Term:
        return self._manager.mk_term(kind, list(args), list(indexes))

    def _number(self, value: int, width: int) -> Term:
        return self._manager.mk_bv_value(self._manager.mk_bv_sort(width), value)

    def _mode(self, mode: Expr, bits: Term) -> Term:
        """Return a rounding mode; numbers without a mode stand for rounding to nearest."""
        if mode.kind is Kind.CONST:
            number = int(mode.value)
            return self._manager.mk_rm_value(self._modes[number if number < len(self._modes) else 0])
        result = self._manager.mk_rm_value(self._modes[0])
        for number in range(1, len(self._modes)):
            same = self._make(self._kinds.EQUAL, bits, self._number(number, 8))
            chosen = self._manager.mk_rm_value(self._modes[number])
            result = self._make(self._kinds.ITE, same, chosen, result)
        return result

    def _view(self, term: Expr, format: Format, bits: Term) -> Term:
        """Return a pattern as a number."""
        known = self._views.get(term)  # its sort determines the format
        if known is None:
            known = self._views[term] = format, self._number_of(format, bits)
        return known[1]

    def _number_of(self, format: Format, bits: Term) -> Term:
        return self._make(self._kinds.FP_TO_FP_FROM_BV, bits, indexes=(format.exponent, format.precision))

    def _bits(self, term: Expr, format: Format, view: Term) -> Term:
        """Create the bits of a result, with their definition."""
        kinds = self._kinds
        bits = self._manager.mk_const(self._manager.mk_bv_sort(format.width))
        is_nan = self._make(kinds.FP_IS_NAN, view)
        canonical = self._make(kinds.EQUAL, bits, self._number(format.nan, format.width))
        same = self._make(kinds.EQUAL, self._number_of(format, bits), view)
        self.definitions[term] = self._make(kinds.ITE, is_nan, canonical, same)
        self._views[term] = format, view
        return bits

    def _from_integer(self, term: Expr, format: Format, args: Sequence[Term]) -> Term:
        sort = term.args[0].sort
        assert isinstance(sort, MachineSort)
        kind = self._kinds.FP_TO_FP_FROM_SBV if sort.signed else self._kinds.FP_TO_FP_FROM_UBV
        mode = self._mode(term.args[1], args[1])
        return self._make(kind, mode, args[0], indexes=(format.exponent, format.precision))

    def _to_integer(self, term: Expr, format: Format, args: Sequence[Term]) -> Term:
        sort, kinds = term.sort, self._kinds
        assert isinstance(sort, MachineSort)
        view = self._view(term.args[0], format, args[0])
        kind = kinds.FP_TO_SBV if sort.signed else kinds.FP_TO_UBV
        zero = self._manager.mk_rm_value(self._modes[floats.TO_ZERO])
        value = self._make(kind, zero, view, indexes=(sort.width,))
        bounds = floats.convertible(format, sort.low, sort.high)
        special = self._make(kinds.OR, self._make(kinds.FP_IS_NAN, view), self._make(kinds.FP_IS_INF, view))
        fits = self._make(kinds.NOT, special)
        if bounds.low is not None:
            low = self._number_of(format, self._number(bounds.low, format.width))
            above = self._make(kinds.FP_LEQ if bounds.closed else kinds.FP_LT, low, view)
            fits = self._make(kinds.AND, fits, above)
        if bounds.high is not None:
            high = self._number_of(format, self._number(bounds.high, format.width))
            fits = self._make(kinds.AND, fits, self._make(kinds.FP_LT, view, high))
        return self._make(kinds.ITE, fits, value, self._undefined(term, args))


_CONDITIONS: Final = frozenset((Kind.F_EQ, Kind.F_LT, Kind.F_LE))
_UNROUNDED: Final = _CONDITIONS | {Kind.F_REM}
