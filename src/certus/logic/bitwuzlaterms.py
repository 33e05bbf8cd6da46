"""Terms as Bitwuzla's: each subterm translated once, without recursion.

Bitwuzla knows Booleans, bit-vectors, arrays and functions of these, no numbers without bound. What the terms
of machine programs have of these is bounded, since it comes from machine integers: such an Int becomes a
bit-vector that is wide enough for all its values, so nothing wraps. A variable of sort Int, a Real or a
quantifier is `Unfit`.

Bitwuzla does not decide equations with constant arrays. So a constant array is one of which it is known what
it holds at every index that is read or written anywhere (`facts`). No formula loses a model by that, and
reads cannot tell the difference, but equations can: where both occur the translation is not `exact`.

Division by zero and oversized shifts are functions of their operands, as for the other solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from certus.core.errors import CertusError
from certus.core.sorts import BOOL, INT, ArraySort, MachineSort, Sort
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import completed

WIDEST: Final = 512  # bits of what stands for an Int

Term = Any  # Bitwuzla's classes have no types


class Unfit(CertusError):
    """A term that has no translation."""


@dataclass(frozen=True, slots=True)
class Number:
    """What stands for an Int: a signed bit-vector with the fewest bits for values from `low` to `high`."""

    term: Term
    low: int
    high: int

    @property
    def width(self) -> int:
        return signed_width(self.low, self.high)


def signed_width(low: int, high: int) -> int:
    """The fewest bits of two's complement from `low` to `high`; raises `Unfit` if these are too many."""
    width = 1 + max((~low if low < 0 else low).bit_length(), (~high if high < 0 else high).bit_length())
    if width > WIDEST:
        raise Unfit(f"more than {WIDEST} bits for a number")
    return width


@cache
def bitwuzla() -> Any:
    """The package, imported when it is first needed."""
    import bitwuzla as package

    return package


class BitwuzlaTerms:
    """The translation for one term manager, and its cache. `facts` are true of all that was translated and
    have to be asserted with it."""

    def __init__(self) -> None:
        self.manager: Final = bitwuzla().TermManager()
        self.facts: Final[list[Term]] = []
        self._equates_arrays = False
        self._kinds: Final = bitwuzla().Kind
        self._terms: Final[dict[Expr, Term | Number]] = {}
        self._sorts: Final[dict[Sort, Any]] = {}
        self._functions: Final[dict[Function | tuple[Kind, Sort], Term]] = {}
        self._indexes: Final[dict[Sort, dict[Term, None]]] = {}  # by sort of array, what it is read at
        self._constant: Final[dict[Sort, list[tuple[Term, Term]]]] = {}  # arrays and what they hold
        self._operators: Final = self._table()

    @property
    def exact(self) -> bool:
        """Whether every model of the translation, with the facts, is one of the terms."""
        return not (self._equates_arrays and self._constant)

    def term(self, root: Expr) -> Term:
        """The translation of a term of any sort but Int."""
        found = self._translated(root)
        assert not isinstance(found, Number)
        return found

    def number(self, root: Expr) -> Term:
        """The translation of any term: for an Int, the signed bit-vector."""
        found = self._translated(root)
        return found.term if isinstance(found, Number) else found

    def _translated(self, root: Expr) -> Term | Number:
        return completed(root, self._terms, self._new_term)

    def _new_term(self, term: Expr) -> Term | Number:
        operator = self._operators.get(term.kind)
        if operator is None:
            raise Unfit(f"bit-vectors have no {term.kind.name}")
        return operator(term, [self._terms[a] for a in term.args])

    def sort(self, sort: Sort) -> Any:
        found = self._sorts.get(sort)
        if found is None:
            found = self._sorts[sort] = self._new_sort(sort)
        return found

    def _new_sort(self, sort: Sort) -> Any:
        if sort is BOOL:
            return self.manager.mk_bool_sort()
        if isinstance(sort, MachineSort):
            return self.manager.mk_bv_sort(sort.width)
        if isinstance(sort, ArraySort) and not isinstance(sort.element, ArraySort):
            return self.manager.mk_array_sort(self.sort(sort.index), self.sort(sort.element))
        raise Unfit(f"bit-vectors have no {sort.name}")

    # ------------------------------------------------------------------------------- operators

    def _table(self) -> dict[Kind, Callable[[Expr, Sequence[Any]], Term | Number]]:
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
        }

    def _make(self, kind: Any, *args: Term, indexes: Sequence[int] = ()) -> Term:
        return self.manager.mk_term(kind, list(args), list(indexes))

    def _plain(self, kind: Any) -> Callable[[Expr, Sequence[Any]], Term | Number]:
        return lambda _, args: self._make(kind, *args)

    def _constant_term(self, term: Expr, _: Sequence[Any]) -> Term | Number:
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

    def _variable(self, term: Expr, _: Sequence[Any]) -> Term:
        return self.manager.mk_const(self.sort(term.sort), term.name)

    def _apply(self, term: Expr, args: Sequence[Any]) -> Term:
        function = term.function
        found = self._functions.get(function)
        if found is None:
            found = self._new_function(function.name, function.parameters, function.result)
            self._functions[function] = found
        return self._make(self._kinds.APPLY, found, *args) if args else found

    def _new_function(self, name: str, parameters: Sequence[Sort], result: Sort) -> Term:
        if any(isinstance(sort, ArraySort) for sort in (*parameters, result)):
            raise Unfit("Bitwuzla has no functions of arrays")
        if not parameters:
            return self.manager.mk_const(self.sort(result), name)
        sort = self.manager.mk_fun_sort([self.sort(p) for p in parameters], self.sort(result))
        return self.manager.mk_const(sort, name)

    def _choice(self, term: Expr, args: Sequence[Any]) -> Term | Number:
        condition, then, otherwise = args
        if term.sort is not INT:
            return self._make(self._kinds.ITE, condition, then, otherwise)
        low, high = min(then.low, otherwise.low), max(then.high, otherwise.high)
        width = signed_width(low, high)
        chosen = self._make(
            self._kinds.ITE, condition, self._extended(then, width), self._extended(otherwise, width)
        )
        return self._number(chosen, low, high)

    def _equation(self, term: Expr, args: Sequence[Any]) -> Term:
        self._equates_arrays |= isinstance(term.args[0].sort, ArraySort)
        return self._make(self._kinds.EQUAL, *self._alike(args))

    def _comparison(self, signed: Any, unsigned: Any) -> Callable[[Expr, Sequence[Any]], Term | Number]:
        def compare(term: Expr, args: Sequence[Any]) -> Term:
            sort = term.args[0].sort
            as_unsigned = isinstance(sort, MachineSort) and not sort.signed
            return self._make(unsigned if as_unsigned else signed, *self._alike(args))

        return compare

    # ----------------------------------------------------------------------------------- numbers

    def _number(self, term: Term, low: int, high: int) -> Number:
        """A bit-vector that is wide enough, cut to what is needed."""
        made = Number(term, low, high)
        surplus = term.sort().bv_size() - made.width
        if surplus:
            cut = self._make(self._kinds.BV_EXTRACT, term, indexes=(made.width - 1, 0))
            made = Number(cut, low, high)
        return made

    def _known(self, value: int) -> Number:
        width = signed_width(value, value)
        return Number(self._bits(value, width), value, value)

    def _extended(self, number: Number, width: int) -> Term:
        more = width - number.width
        if not more:
            return number.term
        return self._make(self._kinds.BV_SIGN_EXTEND, number.term, indexes=(more,))

    def _alike(self, args: Sequence[Any]) -> Sequence[Term]:
        """Arguments to compare: numbers in as many bits as the wider has."""
        if not any(isinstance(a, Number) for a in args):
            return args
        width = max(a.width for a in args)
        return [self._extended(a, width) for a in args]

    def _sum(self, term: Expr, args: Sequence[Any]) -> Term | Number:
        if isinstance(term.sort, MachineSort):
            return self._make(self._kinds.BV_ADD, *args)
        return self._computed(self._kinds.BV_ADD, args, sum(a.low for a in args), sum(a.high for a in args))

    def _product(self, term: Expr, args: Sequence[Any]) -> Term | Number:
        if isinstance(term.sort, MachineSort):
            return self._make(self._kinds.BV_MUL, *args)
        low = high = 1
        for a in args:
            corners = [x * y for x in (low, high) for y in (a.low, a.high)]
            low, high = min(corners), max(corners)
        return self._computed(self._kinds.BV_MUL, args, low, high)

    def _computed(self, kind: Any, args: Sequence[Number], low: int, high: int) -> Number:
        """An operation that is a homomorphism modulo powers of two: wide enough for the result suffices."""
        width = max(signed_width(low, high), *(a.width for a in args))
        return self._number(self._make(kind, *(self._extended(a, width) for a in args)), low, high)

    def _division(self, term: Expr, args: Sequence[Any]) -> Term | Number:
        """QUOT and REM, towards zero."""
        kinds, divisor, quotient = self._kinds, term.args[1], term.kind is Kind.QUOT
        if isinstance(term.sort, MachineSort):
            signed = kinds.BV_SDIV if quotient else kinds.BV_SREM
            unsigned = kinds.BV_UDIV if quotient else kinds.BV_UREM
            made = self._make(signed if term.sort.signed else unsigned, *args)
            if divisor.kind is Kind.CONST and divisor.value != 0:
                return made
            is_zero = self._make(kinds.EQUAL, args[1], self._bits(0, term.sort.width))
            return self._make(kinds.ITE, is_zero, self._undefined(term, args), made)
        number, by = self._by_constant(term, args)
        width = max(number.width, signed_width(by, by)) + 1
        kind = kinds.BV_SDIV if quotient else kinds.BV_SREM
        made = self._make(kind, self._extended(number, width), self._bits(by, width))
        most = max(abs(number.low), abs(number.high))
        reach = most // abs(by) if quotient else min(most, abs(by) - 1)
        return self._number(made, -reach, reach)

    def _floored(self, term: Expr, args: Sequence[Any]) -> Number:
        """DIV and MOD: the remainder is never negative."""
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

    def _by_constant(self, term: Expr, args: Sequence[Any]) -> tuple[Number, int]:
        divisor = term.args[1]
        if divisor.kind is not Kind.CONST or divisor.value == 0:
            raise Unfit("a number divided by one that is not known")
        return args[0], int(divisor.value)

    # -------------------------------------------------------------------------- machine integers

    def _shift(self, term: Expr, args: Sequence[Any]) -> Term:
        sort, amount, kinds = term.sort, term.args[1], self._kinds
        assert isinstance(sort, MachineSort)
        right = kinds.BV_ASHR if sort.signed else kinds.BV_SHR
        made = self._make(kinds.BV_SHL if term.kind is Kind.SHL else right, *args)
        if amount.kind is Kind.CONST and 0 <= amount.value < sort.width:
            return made
        defined = self._make(kinds.BV_ULT, args[1], self._bits(sort.width, sort.width))
        return self._make(kinds.ITE, defined, made, self._undefined(term, args))

    def _undefined(self, term: Expr, args: Sequence[Any]) -> Term:
        key = (term.kind, term.sort)
        found = self._functions.get(key)
        if found is None:
            found = self._new_function(f"{term.kind.name}:{term.sort.name}", (term.sort,) * 2, term.sort)
            self._functions[key] = found
        return self._make(self._kinds.APPLY, found, *args)

    def _wrap(self, term: Expr, args: Sequence[Any]) -> Term:
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

    def _to_int(self, term: Expr, args: Sequence[Any]) -> Number:
        sort = term.args[0].sort
        assert isinstance(sort, MachineSort)
        value = args[0]
        if not sort.signed:
            value = self._make(self._kinds.BV_ZERO_EXTEND, value, indexes=(1,))
        return Number(value, sort.low, sort.high)

    # ------------------------------------------------------------------------------------ arrays

    def _select(self, term: Expr, args: Sequence[Any]) -> Term:
        self._touched(term.args[0].sort, args[1])
        return self._make(self._kinds.ARRAY_SELECT, *args)

    def _store(self, term: Expr, args: Sequence[Any]) -> Term:
        self._touched(term.sort, args[1])
        return self._make(self._kinds.ARRAY_STORE, *args)

    def _const_array(self, term: Expr, args: Sequence[Any]) -> Term:
        made = self.manager.mk_const(self.sort(term.sort))
        self._constant.setdefault(term.sort, []).append((made, args[0]))
        for index in self._indexes.get(term.sort, ()):
            self._holds(made, index, args[0])
        return made

    def _touched(self, sort: Sort, index: Term) -> None:
        known = self._indexes.setdefault(sort, {})
        if index not in known:
            known[index] = None
            for made, value in self._constant.get(sort, ()):
                self._holds(made, index, value)

    def _holds(self, made: Term, index: Term, value: Term) -> None:
        read = self._make(self._kinds.ARRAY_SELECT, made, index)
        self.facts.append(self._make(self._kinds.EQUAL, read, value))
