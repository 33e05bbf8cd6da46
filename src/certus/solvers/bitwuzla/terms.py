"""Translate terms to Bitwuzla, each subterm once and without recursion.

Bitwuzla has Booleans, bit-vectors, arrays and functions of these, but no unbounded numbers. An Int in a
machine program is computed from machine integers and therefore bounded: it becomes a bit-vector wide enough
for all its values, so nothing wraps. A variable of sort Int, a Real or a quantifier is `Unfit`.

Bitwuzla does not decide equalities of constant arrays. So a constant array becomes a variable, and `facts`
state its element at every index that is read or written anywhere. No formula loses a model by that. Reads
cannot tell the difference, but equalities of arrays can: where both occur the translation is not `exact`.

Division by zero, oversized shifts and conversions of floats that an integer cannot hold are functions of
their operands, as in the other translations. The definitions of `floats` belong to the formulas that need
them (`solvers.float_definitions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias

from certus.core.errors import CertusError
from certus.core.floats import FORMATS
from certus.core.terms import BOOL, FLOATS, INT, ArraySort, Expr, Function, Kind, MachineSort, Sort
from certus.core.walk import completed
from certus.solvers.bitwuzla.floats import BitwuzlaFloats

if TYPE_CHECKING:
    import bitwuzla

WIDEST: Final = 512  # most bits of a bit-vector that represents an Int

Term: TypeAlias = "bitwuzla.Term"


class Unfit(CertusError):
    """A term has no translation."""


@dataclass(frozen=True, slots=True)
class Number:
    """The translation of an Int: the narrowest signed bit-vector for values from `low` to `high`."""

    term: Term
    low: int
    high: int

    @property
    def width(self) -> int:
        return signed_width(self.low, self.high)


def signed_width(low: int, high: int) -> int:
    """Return the width in two's complement of the range; raise `Unfit` if it exceeds `WIDEST`."""
    width = 1 + max((~low if low < 0 else low).bit_length(), (~high if high < 0 else high).bit_length())
    if width > WIDEST:
        raise Unfit(f"more than {WIDEST} bits for a number")
    return width


Operand: TypeAlias = "Term | Number"


@cache
def load_bitwuzla() -> ModuleType:
    """Import the package at the first use."""
    return import_module("bitwuzla")


class BitwuzlaTerms:
    """A translation with its cache, for one term manager. `facts` are formulas about translated constant
    arrays, to be asserted with every formula."""

    def __init__(self) -> None:
        self.manager: Final = load_bitwuzla().TermManager()
        self.facts: Final[list[Term]] = []
        self._equates_arrays = False
        self._kinds: Final = load_bitwuzla().Kind
        self._terms: Final[dict[Expr, Operand]] = {}
        self._sorts: Final[dict[Sort, bitwuzla.Sort]] = {}
        self._functions: Final[dict[Function | tuple[Kind, tuple[Sort, ...], Sort], Term]] = {}
        self._indexes: Final[dict[Sort, dict[Term, None]]] = {}  # of reads and writes, by array sort
        self._constant: Final[dict[Sort, list[tuple[Term, Term]]]] = {}  # constant arrays and their elements
        self.floats: BitwuzlaFloats | None = None  # created for the first operation
        self._operators: Final = self._table()

    @property
    def exact(self) -> bool:
        """Tell whether every model of the translation and its facts is a model of the terms."""
        return not (self._equates_arrays and self._constant)

    def term(self, root: Expr) -> Term:
        """Return the translation of a term that is not an Int."""
        translated = self._translated(root)
        assert not isinstance(translated, Number)
        return translated

    def number(self, root: Expr) -> Term:
        """Return the translation of any term: for an Int, the signed bit-vector."""
        translated = self._translated(root)
        return translated.term if isinstance(translated, Number) else translated

    def _translated(self, root: Expr) -> Operand:
        return completed(root, self._terms, self._new_term)

    def _new_term(self, term: Expr) -> Operand:
        operator = self._operators.get(term.kind)
        if operator is None:
            raise Unfit(f"bit-vectors have no {term.kind.name}")
        return operator(term, [self._terms[a] for a in term.args])

    def sort(self, sort: Sort) -> bitwuzla.Sort:
        translated = self._sorts.get(sort)
        if translated is None:
            translated = self._sorts[sort] = self._new_sort(sort)
        return translated

    def _new_sort(self, sort: Sort) -> bitwuzla.Sort:
        if sort is BOOL:
            return self.manager.mk_bool_sort()
        if isinstance(sort, MachineSort):
            return self.manager.mk_bv_sort(sort.width)
        if isinstance(sort, ArraySort) and not isinstance(sort.element, ArraySort):
            return self.manager.mk_array_sort(self.sort(sort.index), self.sort(sort.element))
        raise Unfit(f"bit-vectors have no {sort.name}")

    # ------------------------------------------------------------------------------- operators

    def _table(self) -> dict[Kind, Callable[[Expr, Sequence[Operand]], Operand]]:
        kinds = self._kinds
        plain = {
            Kind.NOT: kinds.NOT,
            Kind.AND: kinds.AND,
            Kind.OR: kinds.OR,
            Kind.SUB: kinds.BV_SUB,
            Kind.NEG: kinds.BV_NEG,
            Kind.BIT_AND: kinds.BV_AND,
            Kind.BIT_OR: kinds.BV_OR,
            Kind.BIT_XOR: kinds.BV_XOR,
            Kind.BIT_NOT: kinds.BV_NOT,
        }
        table = {kind: self._plain(name) for kind, name in plain.items()}
        return table | {
            Kind.CONST: self._constant_term,
            Kind.VAR: self._variable,
            Kind.APPLY: self._apply,
            Kind.ITE: self._choice,
            Kind.EQ: self._equation,
            Kind.LE: self._comparison(kinds.BV_SLE, kinds.BV_ULE),
            Kind.LT: self._comparison(kinds.BV_SLT, kinds.BV_ULT),
            Kind.ADD: self._sum,
            Kind.MUL: self._product,
            Kind.QUOT: self._division,
            Kind.REM: self._division,
            Kind.DIV: self._floored,
            Kind.MOD: self._floored,
            Kind.SHL: self._shift,
            Kind.SHR: self._shift,
            Kind.WRAP: self._wrap,
            Kind.TO_INT: self._to_int,
            Kind.SELECT: self._select,
            Kind.STORE: self._store,
            Kind.CONST_ARRAY: self._const_array,
            **dict.fromkeys(FLOATS, self._float),
        }

    def _make(self, kind: bitwuzla.Kind, *args: Term, indexes: Sequence[int] = ()) -> Term:
        return self.manager.mk_term(kind, list(args), list(indexes))

    def _plain(self, kind: bitwuzla.Kind) -> Callable[[Expr, Sequence[Operand]], Operand]:
        return lambda _, args: self._make(kind, *args)

    def _constant_term(self, term: Expr, _: Sequence[Operand]) -> Operand:
        value = term.value
        if isinstance(value, bool):
            return self.manager.mk_true() if value else self.manager.mk_false()
        if isinstance(term.sort, MachineSort):
            return self._bits(int(value), term.sort.width)
        if term.sort is INT:
            return self._known(int(value))
        raise Unfit(f"bit-vectors have no {term.sort.name}")

    def _bits(self, value: int, width: int) -> Term:
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(width), value % (1 << width))

    def _variable(self, term: Expr, _: Sequence[Operand]) -> Term:
        return self.manager.mk_const(self.sort(term.sort), term.name)

    def _apply(self, term: Expr, args: Sequence[Operand]) -> Term:
        function = term.function
        declared = self._functions.get(function)
        if declared is None:
            declared = self._new_function(function.name, function.parameters, function.result)
            self._functions[function] = declared
        return self._make(self._kinds.APPLY, declared, *args) if args else declared

    def _new_function(self, name: str, parameters: Sequence[Sort], result: Sort) -> Term:
        if any(isinstance(sort, ArraySort) for sort in (*parameters, result)):
            raise Unfit("Bitwuzla has no functions of arrays")
        if not parameters:
            return self.manager.mk_const(self.sort(result), name)
        sort = self.manager.mk_fun_sort([self.sort(p) for p in parameters], self.sort(result))
        return self.manager.mk_const(sort, name)

    def _choice(self, term: Expr, args: Sequence[Operand]) -> Operand:
        condition, then, otherwise = args
        if term.sort is not INT:
            if self.floats is not None:
                self.floats.choose(term, args)
            return self._make(self._kinds.ITE, condition, then, otherwise)
        low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
        width = signed_width(low, high)
        chosen = self._make(
            self._kinds.ITE, condition, self._extended(then, width), self._extended(otherwise, width)
        )
        return self._number(chosen, low, high)

    def _equation(self, term: Expr, args: Sequence[Operand]) -> Term:
        self._equates_arrays |= isinstance(term.args[0].sort, ArraySort)
        return self._make(self._kinds.EQUAL, *self._alike(args))

    def _comparison(
        self, signed: bitwuzla.Kind, unsigned: bitwuzla.Kind
    ) -> Callable[[Expr, Sequence[Operand]], Operand]:
        def compare(term: Expr, args: Sequence[Operand]) -> Term:
            sort = term.args[0].sort
            as_unsigned = isinstance(sort, MachineSort) and not sort.signed
            return self._make(unsigned if as_unsigned else signed, *self._alike(args))

        return compare

    def _float(self, term: Expr, args: Sequence[Operand]) -> Operand:
        assert isinstance(term.data, str)
        if any(FORMATS[name].explicit for name in term.data.split()):
            raise Unfit("Bitwuzla has no extended floating-point format")
        if self.floats is None:
            self.floats = BitwuzlaFloats(load_bitwuzla(), self.manager, self._undefined)
        return self.floats.term(term, args)

    # ----------------------------------------------------------------------------------- numbers

    def _number(self, term: Term, low: int, high: int) -> Number:
        """Cut a bit-vector to the width of its range."""
        number = Number(term, low, high)
        surplus = term.sort().bv_size() - number.width
        if surplus:
            cut = self._make(self._kinds.BV_EXTRACT, term, indexes=(number.width - 1, 0))
            number = Number(cut, low, high)
        return number

    def _known(self, value: int) -> Number:
        width = signed_width(value, value)
        return Number(self._bits(value, width), value, value)

    def _extended(self, number: Number, width: int) -> Term:
        more = width - number.width
        if not more:
            return number.term
        return self._make(self._kinds.BV_SIGN_EXTEND, number.term, indexes=(more,))

    def _alike(self, args: Sequence[Operand]) -> Sequence[Term]:
        """Extend the numbers among arguments to compare to the same width."""
        if not any(isinstance(a, Number) for a in args):
            return args
        width = max(a.width for a in args)
        return [self._extended(a, width) for a in args]

    def _sum(self, term: Expr, args: Sequence[Operand]) -> Operand:
        if isinstance(term.sort, MachineSort):
            return self._make(self._kinds.BV_ADD, *args)
        return self._computed(self._kinds.BV_ADD, args, sum(a.low for a in args), sum(a.high for a in args))

    def _product(self, term: Expr, args: Sequence[Operand]) -> Operand:
        if isinstance(term.sort, MachineSort):
            return self._make(self._kinds.BV_MUL, *args)
        low = high = 1
        for a in args:
            corners = [x * y for x in (low, high) for y in (a.low, a.high)]
            low, high = min(corners), max(corners)
        return self._computed(self._kinds.BV_MUL, args, low, high)

    def _computed(self, kind: bitwuzla.Kind, args: Sequence[Number], low: int, high: int) -> Number:
        """Apply a homomorphism modulo powers of two, in a width that fits its result and arguments."""
        width = max(signed_width(low, high), *(a.width for a in args))
        return self._number(self._make(kind, *(self._extended(a, width) for a in args)), low, high)

    def _division(self, term: Expr, args: Sequence[Operand]) -> Operand:
        """Translate QUOT and REM, which round towards zero."""
        kinds, divisor, quotient = self._kinds, term.args[1], term.kind is Kind.QUOT
        if isinstance(term.sort, MachineSort):
            signed = kinds.BV_SDIV if quotient else kinds.BV_SREM
            unsigned = kinds.BV_UDIV if quotient else kinds.BV_UREM
            result = self._make(signed if term.sort.signed else unsigned, *args)
            if divisor.kind is Kind.CONST and divisor.value != 0:
                return result
            is_zero = self._make(kinds.EQUAL, args[1], self._bits(0, term.sort.width))
            return self._make(kinds.ITE, is_zero, self._undefined(term, args), result)
        number, by = self._by_constant(term, args)
        width = max(number.width, signed_width(by, by)) + 1
        kind = kinds.BV_SDIV if quotient else kinds.BV_SREM
        result = self._make(kind, self._extended(number, width), self._bits(by, width))
        most = max(abs(number.low), abs(number.high))
        reach = most // abs(by) if quotient else min(most, abs(by) - 1)
        return self._number(result, -reach, reach)

    def _floored(self, term: Expr, args: Sequence[Operand]) -> Number:
        """Translate DIV and MOD, whose remainder is never negative."""
        number, by = self._by_constant(term, args)
        kinds, width = self._kinds, max(number.width, signed_width(by, by)) + 2
        dividend, divisor = self._extended(number, width), self._bits(by, width)
        remainder = self._make(kinds.BV_SREM, dividend, divisor)
        negative = self._make(kinds.BV_SLT, remainder, self._bits(0, width))
        corrected = self._make(kinds.BV_ADD, remainder, self._bits(abs(by), width))
        modulo = self._make(kinds.ITE, negative, corrected, remainder)
        if term.kind is Kind.MOD:
            return self._number(modulo, 0, abs(by) - 1)
        exact = self._make(kinds.BV_SDIV, self._make(kinds.BV_SUB, dividend, modulo), divisor)
        reach = max(abs(number.low), abs(number.high)) // abs(by) + 1
        return self._number(exact, -reach, reach)

    def _by_constant(self, term: Expr, args: Sequence[Operand]) -> tuple[Number, int]:
        divisor = term.args[1]
        if divisor.kind is not Kind.CONST or divisor.value == 0:
            raise Unfit("a number divided by one that is not constant")
        return args[0], int(divisor.value)

    # -------------------------------------------------------------------------- machine integers

    def _shift(self, term: Expr, args: Sequence[Operand]) -> Term:
        sort, amount, kinds = term.sort, term.args[1], self._kinds
        assert isinstance(sort, MachineSort)
        right = kinds.BV_ASHR if sort.signed else kinds.BV_SHR
        shifted = self._make(kinds.BV_SHL if term.kind is Kind.SHL else right, *args)
        if amount.kind is Kind.CONST and 0 <= amount.value < sort.width:
            return shifted
        defined = self._make(kinds.BV_ULT, args[1], self._bits(sort.width, sort.width))
        return self._make(kinds.ITE, defined, shifted, self._undefined(term, args))

    def _undefined(self, term: Expr, args: Sequence[Operand]) -> Term:
        parameters = tuple(a.sort for a in term.args)
        key = (term.kind, parameters, term.sort)
        declared = self._functions.get(key)
        if declared is None:
            declared = self._new_function(f"{term.kind.name}:{term.sort.name}", parameters, term.sort)
            self._functions[key] = declared
        return self._make(self._kinds.APPLY, declared, *args)

    def _wrap(self, term: Expr, args: Sequence[Operand]) -> Term:
        target, source = term.sort, term.args[0].sort
        assert isinstance(target, MachineSort)
        value, signed = args[0], True
        if isinstance(value, Number):
            value = value.term
        else:
            assert isinstance(source, MachineSort)
            signed = source.signed
        more = target.width - value.sort().bv_size()
        kinds = self._kinds
        if more < 0:
            return self._make(kinds.BV_EXTRACT, value, indexes=(target.width - 1, 0))
        if more > 0:
            return self._make(
                kinds.BV_SIGN_EXTEND if signed else kinds.BV_ZERO_EXTEND, value, indexes=(more,)
            )
        return value

    def _to_int(self, term: Expr, args: Sequence[Operand]) -> Number:
        sort = term.args[0].sort
        assert isinstance(sort, MachineSort)
        value = args[0]
        if not sort.signed:
            value = self._make(self._kinds.BV_ZERO_EXTEND, value, indexes=(1,))
        return Number(value, sort.low, sort.high)

    # ------------------------------------------------------------------------------------ arrays

    def _select(self, term: Expr, args: Sequence[Operand]) -> Term:
        self._touched(term.args[0].sort, args[1])
        return self._make(self._kinds.ARRAY_SELECT, *args)

    def _store(self, term: Expr, args: Sequence[Operand]) -> Term:
        self._touched(term.sort, args[1])
        return self._make(self._kinds.ARRAY_STORE, *args)

    def _const_array(self, term: Expr, args: Sequence[Operand]) -> Term:
        array = self.manager.mk_const(self.sort(term.sort))
        self._constant.setdefault(term.sort, []).append((array, args[0]))
        for index in self._indexes.get(term.sort, ()):
            self._holds(array, index, args[0])
        return array

    def _touched(self, sort: Sort, index: Term) -> None:
        indexes = self._indexes.setdefault(sort, {})
        if index not in indexes:
            indexes[index] = None
            for array, value in self._constant.get(sort, ()):
                self._holds(array, index, value)

    def _holds(self, array: Term, index: Term, value: Term) -> None:
        read = self._make(self._kinds.ARRAY_SELECT, array, index)
        self.facts.append(self._make(self._kinds.EQUAL, read, value))
