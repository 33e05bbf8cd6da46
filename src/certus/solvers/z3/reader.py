"""Translate z3's answers back to Certus terms: the inverse of `solvers.z3.terms`.

An answer is a quantifier-free term over the variables of a quantifier, which stand for Certus terms. z3 does
not distinguish signed from unsigned machine integers, so all are read as unsigned and converted where an
operation is signed; `build.wrap` removes conversions that cancel. Other terms raise `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from certus.core import build
from certus.core.errors import CertusError
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, MachineSort, Sort, array, machine
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.terms import from_decimal

_NUMERAL, _APPLICATION, _VARIABLE = 0, 1, 2  # kinds of syntax trees
_BOOL, _INT, _REAL, _BITS, _ARRAY = 1, 2, 3, 4, 5  # kinds of sorts


class Unreadable(CertusError):
    """A z3 term has no Certus counterpart."""


class Z3Reader:
    """A reader of the terms of one context; `constants` maps z3 constants to terms."""

    def __init__(self, context: Z3Context, constants: Mapping[int, Expr]) -> None:
        self._context: Final = context
        self._call: Final = context.call
        self._pointer: Final = context.pointer
        self._constants: Final = constants

    def read(self, root: int, bound: Mapping[int, Expr]) -> Expr:
        """Return the term `root`, with `bound[i]` for the quantified variable number i."""
        done: dict[int, Expr] = {}
        stack = [root]
        while stack:
            ast = stack[-1]
            if ast in done:
                stack.pop()
                continue
            arguments = self.arguments(ast)
            missing = [a for a in arguments if a not in done]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            done[ast] = self._term(ast, [done[a] for a in arguments], bound)
        return done[root]

    def arguments(self, ast: int) -> list[int]:
        """Return the arguments of an application; none for other terms."""
        call, pointer = self._call, self._pointer
        if call["get_ast_kind"](pointer, ast) != _APPLICATION:
            return []
        return [call["get_app_arg"](pointer, ast, i) for i in range(call["get_app_num_args"](pointer, ast))]

    def declaration(self, ast: int) -> int | None:
        """Return the function symbol of an application."""
        if self._call["get_ast_kind"](self._pointer, ast) != _APPLICATION:
            return None
        symbol: int = self._call["get_app_decl"](self._pointer, ast)
        return symbol

    def operator(self, ast: int) -> int | None:
        """Return the operator kind of an application."""
        declaration = self.declaration(ast)
        if declaration is None:
            return None
        kind: int = self._call["get_decl_kind"](self._pointer, declaration)
        return kind

    def _term(self, ast: int, args: list[Expr], bound: Mapping[int, Expr]) -> Expr:
        kind = self._call["get_ast_kind"](self._pointer, ast)
        if kind == _VARIABLE:
            return _unsigned(bound[self._call["get_index_value"](self._pointer, ast)])
        if kind == _NUMERAL:
            return self._number(ast)
        if kind != _APPLICATION:
            raise Unreadable("a quantifier inside a formula")
        if not args and ast in self._constants:
            return _unsigned(self._constants[ast])
        operator = self.operator(ast)
        assert operator is not None
        if operator in _OPERATORS:
            return _OPERATORS[operator](args)
        if operator == _CONST_ARRAY:
            sort = self.sort(ast)
            assert isinstance(sort, ArraySort)
            return build.const_array(sort.index, args[0])
        if operator in _SIZED:
            return self._sized(operator, ast, args)
        raise Unreadable(f"operator {operator:#x}")

    def _number(self, ast: int) -> Expr:
        text: bytes = self._call["get_numeral_string"](self._pointer, ast)
        numerator, _, denominator = text.decode().partition("/")
        sort = self.sort(ast)
        if sort is REAL:
            return build.real(Fraction(from_decimal(numerator), from_decimal(denominator or "1")))
        return build.constant(from_decimal(numerator), sort)

    def sort(self, ast: int) -> Sort:
        """Return the sort of a term, unsigned for a bit-vector."""
        return self._sort(self._call["get_sort"](self._pointer, ast))

    def _sort(self, sort: int) -> Sort:
        call, pointer = self._call, self._pointer
        kind = call["get_sort_kind"](pointer, sort)
        if kind == _ARRAY:
            index = self._sort(call["get_array_sort_domain"](pointer, sort))
            return array(index, self._sort(call["get_array_sort_range"](pointer, sort)))
        if kind == _BITS:
            return machine(call["get_bv_sort_size"](pointer, sort), signed=False)
        if kind in (_BOOL, _INT, _REAL):
            return {_BOOL: BOOL, _INT: INT, _REAL: REAL}[kind]
        raise Unreadable("a sort that Certus does not have")

    def _sized(self, operator: int, ast: int, args: list[Expr]) -> Expr:
        """Translate a bit-vector operator whose parameters are in the operator or the sort."""
        declaration = self.declaration(ast)
        target = self.sort(ast)
        assert isinstance(target, MachineSort)
        assert declaration is not None
        if operator == _SIGN_EXTEND:
            return build.wrap(build.wrap(_signed(args[0]), machine(target.width, signed=True)), target)
        if operator in (_ZERO_EXTEND, _INT_TO_BITS):
            return build.wrap(args[0], target)
        if operator == _EXTRACT:
            low = self._call["get_decl_int_parameter"](self._pointer, declaration, 1)
            amount = build.constant(low, args[0].sort)
            return build.wrap(build.shr(args[0], amount), target)
        joined = build.wrap(args[0], target)
        for part in args[1:]:
            assert isinstance(part.sort, MachineSort)
            shifted = build.shl(joined, build.constant(part.sort.width, target))
            joined = build.bit_or(shifted, build.wrap(part, target))
        return joined


def _unsigned(term: Expr) -> Expr:
    if isinstance(term.sort, MachineSort) and term.sort.signed:
        return build.wrap(term, machine(term.sort.width, signed=False))
    if isinstance(term.sort, ArraySort) and any(
        isinstance(s, MachineSort) and s.signed for s in (term.sort.index, term.sort.element)
    ):
        raise Unreadable("an array of signed machine integers")
    return term


def _signed(term: Expr) -> Expr:
    assert isinstance(term.sort, MachineSort)
    return build.wrap(term, machine(term.sort.width, signed=True))


def _fold(combine: Callable[[Expr, Expr], Expr]) -> Callable[[Sequence[Expr]], Expr]:
    def folded(args: Sequence[Expr]) -> Expr:
        total = args[0]
        for part in args[1:]:
            total = combine(total, part)
        return total

    return folded


def _signed_order(order: Callable[[Expr, Expr], Expr]) -> Callable[[Sequence[Expr]], Expr]:
    return lambda a: order(_signed(a[0]), _signed(a[1]))


_SIGN_EXTEND, _ZERO_EXTEND, _EXTRACT, _CONCAT, _INT_TO_BITS = 0x421, 0x422, 0x423, 0x420, 0x430
_CONST_ARRAY: Final = 0x302
_SIZED: Final = (_SIGN_EXTEND, _ZERO_EXTEND, _EXTRACT, _CONCAT, _INT_TO_BITS)

_OPERATORS: Final[Mapping[int, Callable[[Sequence[Expr]], Expr]]] = {
    0x100: lambda _: build.TRUE,
    0x101: lambda _: build.FALSE,
    0x102: lambda a: build.eq(a[0], a[1]),
    0x104: lambda a: build.ite(a[0], a[1], a[2]),
    0x105: build.conjunction,
    0x106: build.disjunction,
    0x107: lambda a: build.eq(a[0], a[1]),
    0x108: lambda a: build.ne(a[0], a[1]),
    0x109: lambda a: build.not_(a[0]),
    0x10A: lambda a: build.implies(a[0], a[1]),
    0x202: lambda a: build.le(a[0], a[1]),
    0x203: lambda a: build.ge(a[0], a[1]),
    0x204: lambda a: build.lt(a[0], a[1]),
    0x205: lambda a: build.gt(a[0], a[1]),
    0x206: lambda a: build.add(*a),
    0x207: _fold(build.sub),
    0x208: lambda a: build.neg(a[0]),
    0x209: _fold(build.mul),
    0x20A: lambda a: build.rdiv(a[0], a[1]),
    0x20B: lambda a: build.div(a[0], a[1]),
    0x20D: lambda a: build.mod(a[0], a[1]),
    0x20E: lambda a: build.to_real(a[0]),
    0x20F: lambda a: build.floor(a[0]),
    0x300: lambda a: build.store(a[0], a[1], a[2]),
    0x301: lambda a: build.select(a[0], a[1]),
    0x403: lambda a: build.neg(a[0]),
    0x404: lambda a: build.add(*a),
    0x405: _fold(build.sub),
    0x406: _fold(build.mul),
    0x411: lambda a: build.le(a[0], a[1]),
    0x412: _signed_order(build.le),
    0x413: lambda a: build.ge(a[0], a[1]),
    0x414: _signed_order(build.ge),
    0x415: lambda a: build.lt(a[0], a[1]),
    0x416: _signed_order(build.lt),
    0x417: lambda a: build.gt(a[0], a[1]),
    0x418: _signed_order(build.gt),
    0x419: _fold(build.bit_and),
    0x41A: _fold(build.bit_or),
    0x41B: lambda a: build.bit_not(a[0]),
    0x41C: _fold(build.bit_xor),
    0x431: lambda a: build.to_int(a[0]),
    0x432: lambda a: build.to_int(_signed(a[0])),
}
