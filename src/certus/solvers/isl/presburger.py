"""Translate formulas of linear integer arithmetic to isl sets.

A formula over *columns* (variables) becomes the set of their values that satisfy it. Bool columns are 0 or 1.
Machine integers are integers within their range; `eliminate_machine` rewrites their arithmetic. A nonlinear
subterm (a product of variables, an array read, a bit operation) is *opaque*: it gets one more column, one for
all its occurrences, which is projected out at the end. So the set always over-approximates the solutions, and
`exact` says whether it equals them.

isl holds the interpreter lock and has no time limit, so `quota` bounds the operations of one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import islpy as isl

from certus.core import build
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort
from certus.encoding.integers import eliminate_machine
from certus.encoding.linear_terms import linear_operands, normal_form, opaque_terms

SET = isl.dim_type.set


class TooHard(Exception):
    """isl exceeded its quota of operations."""


@contextmanager
def quota(context: isl.Context, operations: int) -> Iterator[None]:
    """Raise `TooHard` after this number of basic isl operations inside the `with` block."""
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    except isl.Error as error:
        if "operations exceeded" not in str(error):
            raise
        context.resume()
        raise TooHard from None
    finally:
        context.set_max_operations(0)
        context.reset_operations()


@dataclass(frozen=True, slots=True)
class Solutions:
    """The column values that satisfy some formulas; if not `exact`, a superset of them."""

    set: isl.Set
    exact: bool


def solutions(formulas: Sequence[Expr], columns: Sequence[Expr], context: isl.Context) -> Solutions:
    """Return the values of `columns` that satisfy all formulas for some values of the other variables."""
    encoded = eliminate_machine(formulas, style="ite")
    encoded_columns = [encoded.symbols.get(column, _integer(column)) for column in columns]
    parts: Sequence[Expr] = (*encoded.formulas, *encoded.ranges)
    opaque = opaque_terms(parts, encoded_columns)
    if any(term.kind is not Kind.VAR for term in opaque):
        parts = normal_form(parts)
        opaque = opaque_terms(parts, encoded_columns)
    translation = _Translation((*encoded_columns, *opaque), context)
    elements = translation.universe
    for number, column in enumerate(columns):
        if isinstance(column.sort, MachineSort):
            elements = _bounded(elements, number, column.sort.low, column.sort.high)
    for part in parts:
        elements = elements.intersect(translation.formula(part))
    exact = encoded.exact and all(column.kind is Kind.VAR for column in opaque)
    if opaque:
        elements = elements.project_out(SET, len(encoded_columns), len(opaque))
    return Solutions(elements, exact)


def _integer(column: Expr) -> Expr:
    """Return the column itself; for a machine integer that no formula mentions, its Int column."""
    if isinstance(column.sort, MachineSort):
        return build.var(f"{column.name}:{column.sort.name}", INT)
    return column


def _bounded(elements: isl.Set, number: int, low: int, high: int) -> isl.Set:
    """Keep the elements whose `number`-th column is between `low` and `high`."""
    context = elements.get_ctx()
    elements = elements.lower_bound_val(SET, number, value(low, context))
    return elements.upper_bound_val(SET, number, value(high, context))


def value(number: int, context: isl.Context) -> isl.Val:
    return isl.Val.read_from_str(context, str(number))


class _Translation:
    """A translation of terms over fixed columns to piecewise quasi-affine functions, of formulas to sets."""

    def __init__(self, columns: Sequence[Expr], context: isl.Context) -> None:
        self._context: Final = context
        self._space: Final = isl.Space.set_alloc(context, 0, len(columns))
        self._local: Final = isl.LocalSpace.from_space(self._space)
        self._index: Final = {column: number for number, column in enumerate(columns)}
        self._numbers: Final[dict[Expr, isl.PwAff]] = {}
        self._sets: Final[dict[Expr, isl.Set]] = {}
        self.universe: Final = self._universe(columns)

    def _universe(self, columns: Sequence[Expr]) -> isl.Set:
        universe = isl.Set.universe(self._space)
        for number, column in enumerate(columns):
            if column.sort is BOOL:
                universe = _bounded(universe, number, 0, 1)
        return universe

    def formula(self, root: Expr) -> isl.Set:
        """Return the set where `root` is true."""
        self._translate(root)
        return self._sets[root]

    def _translate(self, root: Expr) -> None:
        stack = [root]
        while stack:
            term = stack[-1]
            if term in self._sets or term in self._numbers:
                stack.pop()
            elif term in self._index:
                stack.pop()
                self._column(term)
            else:
                missing = [a for a in linear_operands(term) if a not in self._sets and a not in self._numbers]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                stack.pop()
                if term.sort is BOOL:
                    self._sets[term] = self._boolean(term)
                else:
                    self._numbers[term] = self._number(term)

    def _column(self, term: Expr) -> None:
        variable = isl.PwAff.from_aff(isl.Aff.var_on_domain(self._local, SET, self._index[term]))
        if term.sort is BOOL:
            self._sets[term] = variable.eq_set(self._constant(1))
        else:
            self._numbers[term] = variable

    def _boolean(self, term: Expr) -> isl.Set:
        kind, args = term.kind, term.args
        if kind is Kind.CONST:
            full = isl.Set.universe(self._space)
            return full if term.value else isl.Set.empty(self._space)
        if kind is Kind.NOT:
            return self._complement(args[0])
        if kind in (Kind.AND, Kind.OR):
            combined = self._sets[args[0]]
            for part in args[1:]:
                other = self._sets[part]
                combined = combined.intersect(other) if kind is Kind.AND else combined.union(other)
            return combined
        if kind is Kind.ITE:
            chosen, then, otherwise = (self._sets[a] for a in args)
            return chosen.intersect(then).union(chosen.complement().intersect(otherwise))
        if args[0].sort is BOOL:
            a, b = self._sets[args[0]], self._sets[args[1]]
            return a.intersect(b).union(a.complement().intersect(b.complement()))
        x, y = self._numbers[args[0]], self._numbers[args[1]]
        if kind is Kind.EQ:
            return x.eq_set(y)
        return x.le_set(y) if kind is Kind.LE else x.lt_set(y)

    def _complement(self, term: Expr) -> isl.Set:
        """Return the set where `term` is false. The opposite comparison, if any, keeps sets small."""
        if term.kind in (Kind.EQ, Kind.LE, Kind.LT) and term not in self._index and term.args[0].sort is INT:
            x, y = (self._numbers[a] for a in term.args)
            if term.kind is Kind.EQ:
                return x.ne_set(y)
            return x.gt_set(y) if term.kind is Kind.LE else x.ge_set(y)
        return self._sets[term].complement()

    def _number(self, term: Expr) -> isl.PwAff:
        kind, args = term.kind, term.args
        if kind is Kind.CONST:
            assert isinstance(term.value, int)
            return self._constant(term.value)
        if kind is Kind.ADD:
            total = self._numbers[args[0]]
            for part in args[1:]:
                total = total.add(self._numbers[part])
            return total
        if kind is Kind.MUL:
            factor, (base,) = args[0].value, linear_operands(term)[-1:]
            assert isinstance(factor, int)
            return self._numbers[base].scale_val(value(factor, self._context))
        if kind is Kind.ITE:
            chosen = self._sets[args[0]]
            then = self._numbers[args[1]].intersect_domain(chosen)
            return then.union_add(self._numbers[args[2]].intersect_domain(chosen.complement()))
        return self._divided(kind, self._numbers[args[0]], args[1])

    def _divided(self, kind: Kind, a: isl.PwAff, divisor: Expr) -> isl.PwAff:
        assert isinstance(divisor.value, int)
        by = self._constant(divisor.value)
        if kind is Kind.QUOT:
            return a.tdiv_q(by)
        if kind is Kind.REM:
            return a.sub(a.tdiv_q(by).scale_val(value(divisor.value, self._context)))
        remainder = a.mod_val(value(abs(divisor.value), self._context))
        if kind is Kind.MOD:
            return remainder
        return a.sub(remainder).div(by)

    def _constant(self, number: int) -> isl.PwAff:
        return isl.PwAff.from_aff(isl.Aff.val_on_domain(self._local, value(number, self._context)))
