"""Translate terms to z3, each subterm once per context and without recursion.

Machine integers become bit-vectors. SMT-LIB defines division by zero and oversized shifts, Certus leaves
their values open: they become uninterpreted functions of the operands, as do conversions of floats that an
integer cannot hold. So do truncating divisions of Int by
zero, whose value must not follow from that of `div` and `mod`.

Variables and functions keep their names unless z3 would confuse two of them: `x` signed and `x` unsigned are
the same bit-vector to z3. Fresh symbols are numbers, which never equal a name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from certus.core.terms import BOOL, FLOATS, INT, REAL, ArraySort, Expr, Function, Kind, MachineSort, Sort
from certus.core.values import decimal
from certus.core.walk import bottom_up, completed
from certus.solvers.z3.api import Z3Context, pointers
from certus.solvers.z3.floats import Z3Floats

_INT64: Final = 1 << 63
_CHUNK: Final = 4000  # decimal digits within Python's conversion limit


class Z3Terms:
    """A translation to one z3 context, with its cache."""

    def __init__(self, context: Z3Context) -> None:
        self.context: Final = context
        self._call: Final = context.call
        self._pointer: Final = context.pointer
        self._asts: Final[dict[Expr, int]] = {}  # the translation of each term
        self._sorts: Final[dict[Sort, int]] = {}
        self._functions: Final[dict[Function, int]] = {}
        self._open: Final[
            dict[tuple[Kind, tuple[Sort, ...], Sort], int]
        ] = {}  # functions for undefined values
        self._taken: Final[set[tuple[str, tuple[int, ...]]]] = set()  # names with the sorts z3 sees
        self._invented = 0
        self.floats: Z3Floats | None = None  # created for the first operation
        self.binds = False  # whether the context has bound variables
        self._operators: Final = self._table()

    def __len__(self) -> int:
        return len(self._asts)

    def ast(self, root: Expr) -> int:
        """Return the z3 term for `root`."""
        asts, operators, keep = self._asts, self._operators, self.context.keep
        return completed(root, asts, lambda t: keep(operators[t.kind](t, [asts[a] for a in t.args])))

    def fresh_literal(self) -> int:
        """Create a Boolean constant."""
        return self.context.keep(self._call["mk_const"](self._pointer, self._fresh_symbol(), self.sort(BOOL)))

    def sort(self, sort: Sort) -> int:
        return bottom_up(
            sort,
            lambda each: (each.index, each.element) if isinstance(each, ArraySort) else (),
            lambda each, _: self.context.keep(self._new_sort(each)),
            self._sorts,
        )

    def _new_sort(self, sort: Sort) -> int | None:
        call, pointer = self._call, self._pointer
        ast: int | None
        if isinstance(sort, MachineSort):
            ast = call["mk_bv_sort"](pointer, sort.width)
        elif isinstance(sort, ArraySort):
            ast = call["mk_array_sort"](pointer, self._sorts[sort.index], self._sorts[sort.element])
        else:
            name = {BOOL: "mk_bool_sort", INT: "mk_int_sort", REAL: "mk_real_sort"}[sort]
            ast = call[name](pointer)
        return ast

    def function(self, function: Function) -> int:
        """Return the declaration of an uninterpreted function."""
        declaration = self._functions.get(function)
        if declaration is None:
            symbol = self._symbol(function.name, (*function.parameters, function.result))
            declaration = self._declare(symbol, function.parameters, function.result)
            self._functions[function] = declaration
        return declaration

    def _symbol(self, name: str, sorts: tuple[Sort, ...]) -> int:
        """Return a symbol for `name` that is unique among those with the same sorts."""
        key = (name, tuple(self.sort(s) for s in sorts))
        if key in self._taken or "\0" in name:
            return self._fresh_symbol()
        self._taken.add(key)
        symbol: int = self._call["mk_string_symbol"](self._pointer, name.encode())
        return symbol

    def _declare(self, symbol: int, parameters: tuple[Sort, ...], result: Sort) -> int:
        domain = pointers([self.sort(s) for s in parameters])
        return self.context.keep(
            self._call["mk_func_decl"](self._pointer, symbol, len(parameters), domain, self.sort(result))
        )

    def _fresh_symbol(self) -> int:
        self._invented += 1
        symbol: int = self._call["mk_int_symbol"](self._pointer, self._invented)
        return symbol

    # ------------------------------------------------------------------------------ operators

    def _table(self) -> dict[Kind, Callable[[Expr, list[int]], int | None]]:
        table: dict[Kind, Callable[[Expr, list[int]], int | None]] = {
            Kind.CONST: self._constant,
            Kind.VAR: self._variable,
            Kind.BOUND: self._bound,
            Kind.APPLY: self._apply,
            Kind.SUB: self._plain("mk_bvsub"),
            Kind.NEG: self._plain("mk_bvneg"),
            Kind.LE: self._by_sort("mk_le", "mk_bvsle", "mk_bvule"),
            Kind.LT: self._by_sort("mk_lt", "mk_bvslt", "mk_bvult"),
            Kind.ADD: self._sum("mk_add", "mk_bvadd"),
            Kind.MUL: self._sum("mk_mul", "mk_bvmul"),
            Kind.AND: self._sum("mk_and", "mk_and"),
            Kind.OR: self._sum("mk_or", "mk_or"),
            Kind.SHL: self._shift,
            Kind.SHR: self._shift,
            Kind.WRAP: self._wrap,
            Kind.TO_INT: self._to_int,
            Kind.CONST_ARRAY: self._const_array,
            Kind.FORALL: self._quantifier,
            Kind.EXISTS: self._quantifier,
        }
        for kind in (Kind.QUOT, Kind.REM):
            table[kind] = self._truncating
        for kind, name in _PLAIN.items():
            table[kind] = self._plain(name)
        for kind in FLOATS:
            table[kind] = self._float
        table[Kind.ITE] = self._choice
        return table

    def _float(self, term: Expr, args: list[int]) -> int:
        if self.floats is None:
            self.floats = Z3Floats(self)
        return self.floats.term(term, args)

    def _choice(self, term: Expr, args: list[int]) -> int | None:
        if self.floats is not None:
            self.floats.choose(term, args)
        ast: int | None = self._call["mk_ite"](self._pointer, *args)
        return ast

    def _plain(self, name: str) -> Callable[[Expr, list[int]], int | None]:
        function, pointer = self._call[name], self._pointer
        return lambda _, args: function(pointer, *args)

    def _by_sort(self, plain: str, signed: str, unsigned: str) -> Callable[[Expr, list[int]], int | None]:
        functions = {n: self._call[n] for n in (plain, signed, unsigned)}
        pointer = self._pointer

        def compare(term: Expr, args: list[int]) -> int | None:
            sort = term.args[0].sort
            name = (signed if sort.signed else unsigned) if isinstance(sort, MachineSort) else plain
            ast: int | None = functions[name](pointer, args[0], args[1])
            return ast

        return compare

    def _sum(self, many: str, two: str) -> Callable[[Expr, list[int]], int | None]:
        n_ary, binary, pointer = self._call[many], self._call[two], self._pointer

        def combine(term: Expr, args: list[int]) -> int | None:
            ast: int | None
            if isinstance(term.sort, MachineSort):
                ast = binary(pointer, args[0], args[1])
            else:
                ast = n_ary(pointer, len(args), pointers(args))
            return ast

        return combine

    def _constant(self, term: Expr, _: list[int]) -> int | None:
        value, call, pointer = term.value, self._call, self._pointer
        ast: int | None
        if value is True or value is False:
            ast = call["mk_true" if value else "mk_false"](pointer)
            return ast
        sort = self.sort(term.sort)
        if isinstance(value, Fraction):
            text = f"{decimal(value.numerator)}/{decimal(value.denominator)}"
            ast = call["mk_numeral"](pointer, text.encode(), sort)
        elif isinstance(term.sort, MachineSort):
            ast = self._number(value & ((1 << term.sort.width) - 1), sort)
        else:
            ast = self._number(value, sort)
        return ast

    def _number(self, value: int, sort: int) -> int | None:
        ast: int | None
        if -_INT64 <= value < _INT64:
            ast = self._call["mk_int64"](self._pointer, value, sort)
        else:
            ast = self._call["mk_numeral"](self._pointer, decimal(value).encode(), sort)
        return ast

    def _variable(self, term: Expr, _: list[int]) -> int | None:
        symbol = self._symbol(term.name, (term.sort,))
        ast: int | None = self._call["mk_const"](self._pointer, symbol, self.sort(term.sort))
        return ast

    def _bound(self, term: Expr, _: list[int]) -> int | None:
        self.binds = True
        ast: int | None = self._call["mk_bound"](self._pointer, term.data, self.sort(term.sort))
        return ast

    def _apply(self, term: Expr, args: list[int]) -> int | None:
        return self._application(self.function(term.function), args)

    def _application(self, declaration: int, args: list[int]) -> int | None:
        ast: int | None = self._call["mk_app"](self._pointer, declaration, len(args), pointers(args))
        return ast

    def _truncating(self, term: Expr, args: list[int]) -> int | None:
        """Translate QUOT and REM; on Int by SMT-LIB's division of absolute values."""
        if isinstance(term.sort, MachineSort):
            name = _MACHINE_DIVISION[term.kind, term.sort.signed]
            defined = self.make(name, *args)
        else:
            defined = self._truncated(term, args)
        divisor = term.args[1]
        if divisor.kind is Kind.CONST and divisor.value != 0:
            return defined
        zero = self.context.keep(self._number(0, self.sort(term.sort)))
        return self._where(self.make("mk_eq", args[1], zero), self.undefined(term, args), defined)

    def _truncated(self, term: Expr, args: list[int]) -> int:
        name = "mk_div" if term.kind is Kind.QUOT else "mk_mod"
        dividend, divisor = args
        zero = self.context.keep(self._number(0, self.sort(INT)))
        below = self.make(name, self.make("mk_unary_minus", dividend), divisor)
        return self._where(
            self.make("mk_ge", dividend, zero),
            self.make(name, dividend, divisor),
            self.make("mk_unary_minus", below),
        )

    def _shift(self, term: Expr, args: list[int]) -> int | None:
        sort, amount = term.sort, term.args[1]
        assert isinstance(sort, MachineSort)
        name = "mk_bvshl" if term.kind is Kind.SHL else ("mk_bvashr" if sort.signed else "mk_bvlshr")
        shifted = self.make(name, *args)
        if amount.kind is Kind.CONST and 0 <= amount.value < sort.width:
            return shifted
        width = self.context.keep(self._number(sort.width, self.sort(sort)))
        return self._where(self.make("mk_bvult", args[1], width), shifted, self.undefined(term, args))

    def undefined(self, term: Expr, args: list[int]) -> int:
        """Return the open value of a division by zero or another undefined operation: a function of the
        operands."""
        parameters = tuple(a.sort for a in term.args)
        key = (term.kind, parameters, term.sort)
        declaration = self._open.get(key)
        if declaration is None:
            declaration = self._declare(self._fresh_symbol(), parameters, term.sort)
            self._open[key] = declaration
        return self.context.keep(self._application(declaration, args))

    def _wrap(self, term: Expr, args: list[int]) -> int | None:
        target, source = term.sort, term.args[0].sort
        assert isinstance(target, MachineSort)
        call, pointer = self._call, self._pointer
        ast: int | None
        if not isinstance(source, MachineSort):
            ast = call["mk_int2bv"](pointer, target.width, args[0])
        elif target.width == source.width:
            ast = args[0]
        elif target.width < source.width:
            ast = call["mk_extract"](pointer, target.width - 1, 0, args[0])
        else:
            name = "mk_sign_ext" if source.signed else "mk_zero_ext"
            ast = call[name](pointer, target.width - source.width, args[0])
        return ast

    def _to_int(self, term: Expr, args: list[int]) -> int | None:
        source = term.args[0].sort
        assert isinstance(source, MachineSort)
        ast: int | None = self._call["mk_bv2int"](self._pointer, args[0], source.signed)
        return ast

    def _const_array(self, term: Expr, args: list[int]) -> int | None:
        assert isinstance(term.sort, ArraySort)
        index = self.sort(term.sort.index)
        ast: int | None = self._call["mk_const_array"](self._pointer, index, args[0])
        return ast

    def _quantifier(self, term: Expr, args: list[int]) -> int | None:
        sorts = pointers([self.sort(s) for s in term.bound_sorts])
        names = pointers([self._fresh_symbol() for _ in term.bound_sorts])
        make = self._call["mk_forall" if term.kind is Kind.FORALL else "mk_exists"]
        ast: int | None = make(self._pointer, 1, 0, None, len(term.bound_sorts), sorts, names, args[0])
        return ast

    def make(self, name: str, *args: int) -> int:
        return self.context.keep(self._call[name](self._pointer, *args))

    def fresh_constant(self, sort: int) -> int:
        """Create a constant of a sort."""
        return self.context.keep(self._call["mk_const"](self._pointer, self._fresh_symbol(), sort))

    def number(self, value: int, width: int) -> int:
        """Return a bit-vector."""
        sort = self.context.keep(self._call["mk_bv_sort"](self._pointer, width))
        return self.context.keep(self._number(value, sort))

    def _where(self, condition: int, then: int, otherwise: int) -> int:
        return self.make("mk_ite", condition, then, otherwise)


_PLAIN: Final = {
    Kind.NOT: "mk_not",
    Kind.EQ: "mk_eq",
    Kind.DIV: "mk_div",
    Kind.MOD: "mk_mod",
    Kind.RDIV: "mk_div",
    Kind.BIT_AND: "mk_bvand",
    Kind.BIT_OR: "mk_bvor",
    Kind.BIT_XOR: "mk_bvxor",
    Kind.BIT_NOT: "mk_bvnot",
    Kind.TO_REAL: "mk_int2real",
    Kind.FLOOR: "mk_real2int",
    Kind.SELECT: "mk_select",
    Kind.STORE: "mk_store",
}

_MACHINE_DIVISION: Final = {
    (Kind.QUOT, True): "mk_bvsdiv",
    (Kind.QUOT, False): "mk_bvudiv",
    (Kind.REM, True): "mk_bvsrem",
    (Kind.REM, False): "mk_bvurem",
}


def from_decimal(text: str) -> int:
    """Return the integer with these decimal digits; `int` refuses more than some thousand."""
    if text.startswith("-"):
        return -from_decimal(text[1:])
    value = 0
    for start in range(0, len(text), _CHUNK):
        part = text[start : start + _CHUNK]
        value = value * 10 ** len(part) + int(part)
    return value
