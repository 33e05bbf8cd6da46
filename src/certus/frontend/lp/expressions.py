"""Elaborate expressions to terms: check types, and collect the conditions under which divisions are defined.

Each position in an expression requires a sort: the operands of `+` Int, a condition Bool, the two sides of
`==` the sort that one of them has by itself. So a `*` has the sort of its position, and a type error is
reported at the operand that does not fit. An int becomes a real where a real is required: arithmetic and
comparisons are on reals if an operand is one.

`divisions` lists, in order of evaluation, each division with its guard: the divisor is not zero if C
evaluates the division at all. In `b != 0 && a / b > 1` the guard is `b != 0 -> b != 0`. Divisions by a
non-zero constant need no guard.

The elaboration uses a stack of pending visits and combinations and a stack of results instead of recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import prod
from typing import Final, Protocol, TypeVarTuple

from certus.core import build
from certus.core.terms import BOOL, INT, REAL, Expr, Kind, Sort
from certus.frontend.lp import ast
from certus.frontend.lp.messages import Findings

Arguments = TypeVarTuple("Arguments")
Guarded = tuple[ast.Binary, Expr]  # a division and its guard


@dataclass(frozen=True, slots=True)
class Elaborated:
    """A term, with the divisions that must be defined for it to have a value."""

    term: Expr
    divisions: tuple[Guarded, ...] = ()


COMPARISONS: Final[Mapping[str, Callable[[Expr, Expr], Expr]]] = {
    "<": build.lt,
    "<=": build.le,
    ">": build.gt,
    ">=": build.ge,
}
EQUALITIES: Final[Mapping[str, Callable[[Expr, Expr], Expr]]] = {"==": build.eq, "!=": build.ne}
SUMS: Final = ("+", "-")
MAX_GUARDS: Final = 1_000_000  # most conditions in the guards of one expression


def type_name(sort: Sort) -> str:
    return {BOOL: "a bool", REAL: "a real"}.get(sort, "an int")


class Scope(Protocol):
    """The meaning of names in an expression. A method that returns None has reported an error."""

    def variable(self, name: ast.Name) -> Expr | None: ...

    def any_value(self, star: ast.Nondet, sort: Sort) -> Expr | None:
        """Return a variable for this nondeterministic value."""
        ...

    def invocation(self, call: ast.Invocation) -> Expr | None: ...

    def sort_of(self, name: str) -> Sort | None:
        """Return the sort of a variable, if there is one of that name, without reporting errors."""
        ...


class Elaborator:
    """An elaborator of expressions in one scope."""

    def __init__(self, scope: Scope, findings: Findings) -> None:
        self._scope = scope
        self._findings = findings
        self._todo: list[Callable[[], None]] = []
        self._done: list[Expr] = []
        self._path: list[Expr] = []  # all false where C evaluates the current subexpression
        self._divisions: list[Guarded] = []
        self._size = 0  # conditions in all guards so far
        self._number_sorts: dict[int, tuple[Sort, ast.Expression]] = {}  # by the identity of the expression

    def elaborate(self, expression: ast.Expression, sort: Sort) -> Elaborated:
        """Return the meaning of an expression at a position of sort `sort`. Errors are reported; the term is
        then some constant."""
        self._divisions, self._size, self._number_sorts = [], 0, {}
        self._visit(expression, sort)
        while self._todo:
            self._todo.pop()()
        return Elaborated(self._done.pop(), tuple(self._divisions))

    def natural_sort(self, expression: ast.Expression) -> Sort | None:
        """Return the sort of an expression by itself; None if it may have any. The sort of a conditional is
        Real if one alternative is a real and the other an int."""
        candidates = [expression]
        sorts: dict[Sort, None] = {}
        while candidates:
            node = candidates.pop()
            if isinstance(node, ast.Conditional):
                candidates += [node.otherwise, node.then]
                continue
            sort = self._own_sort(node)
            if sort is not None:
                sorts[sort] = None
        return _wider(sorts)

    def _own_sort(self, node: ast.Expression) -> Sort | None:
        if isinstance(node, ast.Name):
            return self._scope.sort_of(node.name)
        if isinstance(node, ast.Number):
            return REAL if isinstance(node.value, Fraction) else INT
        if isinstance(node, ast.Truth):
            return BOOL
        if isinstance(node, ast.Unary):
            return BOOL if node.operator == "!" else self._number_sort(node)
        if isinstance(node, ast.Binary):
            is_number = ast.PRECEDENCE[node.operator] >= ast.PRECEDENCE["+"]
            return self._number_sort(node) if is_number else BOOL
        return None

    def _number_sort(self, root: ast.Expression) -> Sort:
        """Return the sort of arithmetic: Real if an operand is, otherwise Int."""
        known = self._number_sorts
        stack = [root]
        while stack:
            node = stack[-1]
            parts = _number_parts(node)
            missing = [part for part in parts if id(part) not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            real = any(known[id(part)][0] is REAL for part in parts) or self._is_real(node)
            known[id(node)] = (REAL if real else INT, node)
        return known[id(root)][0]

    def _is_real(self, leaf: ast.Expression) -> bool:
        if isinstance(leaf, ast.Name):
            return self._scope.sort_of(leaf.name) is REAL
        return isinstance(leaf, ast.Number) and isinstance(leaf.value, Fraction)

    # ------------------------------------------------------------------ visits, operands last

    def _visit(self, node: ast.Expression, sort: Sort) -> None:
        if isinstance(node, ast.Name):
            self._leaf(self._scope.variable(node), node, sort)
        elif isinstance(node, ast.Number):
            number = node.value
            term = build.real(number) if isinstance(number, Fraction) else build.integer(number)
            self._leaf(term, node, sort)
        elif isinstance(node, ast.Truth):
            self._leaf(build.boolean(node.value), node, sort)
        elif isinstance(node, ast.Nondet):
            self._leaf(self._scope.any_value(node, sort), node, sort)
        elif isinstance(node, ast.Invocation):
            self._leaf(self._scope.invocation(node), node, sort)
        elif isinstance(node, ast.Conditional):
            self._conditional(node, sort)
        else:
            own = self._own_sort(node)
            assert own is not None
            if own is INT and sort is REAL:
                self._later(self._convert)
            elif own is not sort:
                self._mismatch(node, own, sort)
                self._later(self._replace, sort)
            self._operation(node)

    def _later(self, step: Callable[[*Arguments], None], *arguments: *Arguments) -> None:
        self._todo.append(partial(step, *arguments))

    def _parts(self, *parts: tuple[ast.Expression, Sort]) -> None:
        """Schedule visits of the parts, in this order."""
        self._todo.extend(partial(self._visit, *part) for part in reversed(parts))

    def _leaf(self, term: Expr | None, node: ast.Node, sort: Sort) -> None:
        if term is not None and term.sort is INT and sort is REAL:
            term = build.to_real(term)
        if term is not None and term.sort is not sort:
            self._mismatch(node, term.sort, sort)
            term = None
        self._done.append(term if term is not None else placeholder(sort))

    def _convert(self) -> None:
        self._done[-1] = build.to_real(self._done[-1])

    def _replace(self, sort: Sort) -> None:
        self._done[-1] = placeholder(sort)

    def _mismatch(self, node: ast.Node, own: Sort, wanted: Sort) -> None:
        message = f"Expected {type_name(wanted)} here, but this is {type_name(own)}."
        hint = "Write `b ? 1 : 0`."
        if own is REAL:
            hint = "A real is not converted; declare the variable `real`."
        if wanted is BOOL:
            number = isinstance(node, ast.Number)
            hint = "Write `true` or `false`." if number else "Write a comparison such as `x != 0`."
        self._findings.error("type-mismatch", message, node.start, node.end, hint)

    def _operation(self, node: ast.Unary | ast.Binary) -> None:
        operator = node.operator
        if operator == "!":
            self._later(self._join_not)
            self._parts((node.operand, BOOL))  # type: ignore[union-attr]
        elif operator in SUMS:
            terms = _summands(node)
            self._later(self._join_sum, [sign for _, sign in terms])
            sort = self._number_sort(node)
            self._parts(*((term, sort) for term, _ in terms))
        else:
            assert isinstance(node, ast.Binary)
            self._binary(node)

    def _conditional(self, node: ast.Conditional, sort: Sort) -> None:
        self._later(self._join_conditional)
        self._later(self._forget, 1)
        self._parts((node.otherwise, sort))
        self._later(self._only_if, -2, False)
        self._later(self._forget, 1)
        self._parts((node.then, sort))
        self._later(self._only_if, -1, True)
        self._parts((node.condition, BOOL))

    def _binary(self, node: ast.Binary) -> None:
        operator = node.operator
        if operator in ("&&", "||"):
            self._logical(_operands(node), operator == "&&")
        elif operator == "*":
            factors = _operands(node)
            self._later(self._join_product, len(factors))
            sort = self._number_sort(node)
            self._parts(*((factor, sort) for factor in factors))
        else:
            sort = self._operand_sort(node)
            self._later(self._join_division if operator in "/%" else self._join_comparison, node)
            self._parts((node.left, sort), (node.right, sort))

    def _operand_sort(self, node: ast.Binary) -> Sort:
        """Return the sort that both sides of a division or comparison should have."""
        if node.operator == "%":
            return INT
        if node.operator in EQUALITIES:
            return self._common_sort(node)
        real = REAL in (self._number_sort(node.left), self._number_sort(node.right))
        return REAL if real else INT

    def _common_sort(self, node: ast.Binary) -> Sort:
        """Return the sort that both sides of an equality should have."""
        sides = (self.natural_sort(node.left), self.natural_sort(node.right))
        sort = _wider([each for each in sides if each is not None])
        if sort is None:
            message = f"The types of both sides of this `{node.operator}` cannot be inferred."
            hint = "Compare with a variable or a constant."
            self._findings.error("unclear-type", message, node.start, node.end, hint)
        return sort or INT

    def _logical(self, operands: Sequence[ast.Expression], conjunctive: bool) -> None:
        """Schedule a chain of `&&`, which evaluates an operand only if the one before is true, or of `||`."""
        self._later(self._join_logical, len(operands), conjunctive)
        self._later(self._forget, len(operands) - 1)
        for i in range(len(operands) - 1, -1, -1):
            self._parts((operands[i], BOOL))
            if i:
                self._later(self._only_if, -1, conjunctive)

    # -------------------------------------------------------------- conditions of evaluation

    def _only_if(self, position: int, value: bool) -> None:
        """Record that later visits are evaluated only if the result at `position` has this value."""
        condition = self._done[position]
        self._path.append(build.not_(condition) if value else condition)

    def _forget(self, count: int) -> None:
        if count:
            del self._path[-count:]

    # --------------------------------------------------------------- combinations of results

    def _take(self, count: int) -> list[Expr]:
        parts = self._done[-count:]
        del self._done[-count:]
        return parts

    def _join_not(self) -> None:
        self._done[-1] = build.not_(self._done[-1])

    def _join_sum(self, signs: Sequence[int]) -> None:
        parts = self._take(len(signs))
        terms = [part if sign > 0 else build.neg(part) for part, sign in zip(parts, signs, strict=True)]
        self._done.append(build.add(*terms))

    def _join_product(self, count: int) -> None:
        """Multiply constants last, since they are distributed over sums, and the rest in pairs, so that long
        products stay cheap."""
        parts = self._take(count)
        factors = [part for part in parts if part.kind is not Kind.CONST]
        while len(factors) > 1:
            pairs = [factors[i : i + 2] for i in range(0, len(factors), 2)]
            factors = [build.mul(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
        constants = [part.value for part in parts if part.kind is Kind.CONST]
        self._done.append(
            build.scale(prod(constants), factors[0] if factors else build.constant(1, parts[0].sort))
        )

    def _join_logical(self, count: int, conjunctive: bool) -> None:
        parts = self._take(count)
        self._done.append(build.conjunction(parts) if conjunctive else build.disjunction(parts))

    def _join_comparison(self, node: ast.Binary) -> None:
        left, right = self._take(2)
        make = COMPARISONS.get(node.operator) or EQUALITIES[node.operator]
        self._done.append(make(left, right))

    def _join_division(self, node: ast.Binary) -> None:
        left, right = self._take(2)
        divide = build.rdiv if left.sort is REAL else build.quot
        self._done.append((divide if node.operator == "/" else build.rem)(left, right))
        defined = build.ne(right, build.constant(0, right.sort))
        if defined is build.TRUE:
            return
        self._size += len(self._path)
        if self._size <= MAX_GUARDS:
            self._divisions.append((node, build.or_(*self._path, defined)))
        elif self._size - len(self._path) <= MAX_GUARDS:  # report it once
            message = "This expression has too many divisions that depend on conditions."
            hint = "Split it into several statements."
            self._findings.error("expression-too-large", message, node.start, node.end, hint)

    def _join_conditional(self) -> None:
        condition, then, otherwise = self._take(3)
        self._done.append(build.ite(condition, then, otherwise))


def _wider(sorts: Collection[Sort]) -> Sort | None:
    """Return the sort that values of these sorts have in common: the first, or Real for ints and reals."""
    return REAL if REAL in sorts and BOOL not in sorts else next(iter(sorts), None)


def placeholder(sort: Sort) -> Expr:
    """Return the term for an expression with an error."""
    return build.FALSE if sort is BOOL else build.constant(0, sort)


def _number_parts(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """Return the operands of arithmetic that decide its sort."""
    if isinstance(node, ast.Conditional):
        return (node.then, node.otherwise)
    if isinstance(node, ast.Unary):
        return (node.operand,) if node.operator == "-" else ()
    if isinstance(node, ast.Binary) and ast.PRECEDENCE[node.operator] >= ast.PRECEDENCE["+"]:
        return (node.left, node.right)
    return ()


def _summands(root: ast.Expression) -> list[tuple[ast.Expression, int]]:
    """Return the terms of nested sums, differences and negations from left to right, with their signs."""
    summands: list[tuple[ast.Expression, int]] = []
    stack = [(root, 1)]
    while stack:
        node, sign = stack.pop()
        if isinstance(node, ast.Binary) and node.operator in SUMS:
            stack.append((node.right, sign if node.operator == "+" else -sign))
            stack.append((node.left, sign))
        elif isinstance(node, ast.Unary) and node.operator == "-":
            stack.append((node.operand, -sign))
        else:
            summands.append((node, sign))
    return summands


def _operands(root: ast.Binary) -> list[ast.Expression]:
    """Return the operands of nested uses of one operator, from left to right."""
    operands: list[ast.Expression] = []
    stack: list[ast.Expression] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Binary) and node.operator == root.operator:
            stack += [node.right, node.left]
        else:
            operands.append(node)
    return operands
