"""Whether the expression of a witness has a defined value wherever it is evaluated.

An invariant that divides by zero, shifts too far or overflows says nothing, so it must not be confirmed.
While such an expression is lowered, conditions for its operations to be defined are collected. Those of
operands of `&&`, `||` and `?:` that are not always evaluated become conditional themselves: in the term if
the expression takes no steps, and otherwise by control flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assume
from certus.core.sorts import MachineSort
from certus.core.terms import Expr, Kind
from certus.core.witness import UNDEFINED

if TYPE_CHECKING:
    from certus.frontend.c.lower.body import Body

Range = tuple[int, int]


class Evaluation:
    """The evaluation of one expression. `pending` are conditions for what has been evaluated since the last
    branch; `kind` is that of the error sites."""

    def __init__(self, kind: str, span: Span) -> None:
        self.pending: list[Expr] = []
        self._kind = kind
        self._span = span
        self._ranges: dict[Expr, Range] = {}  # of terms whose exact value fits their sort

    def require(self, condition: Expr) -> None:
        if condition is not build.TRUE:
            self.pending.append(condition)

    def part(self) -> list[Expr]:
        """Begin an operand that is not always evaluated, or end one: the conditions so far."""
        before, self.pending = self.pending, []
        return before

    def join(self, before: list[Expr], guard: Expr, conditions: list[Expr]) -> None:
        """Go on after an operand without steps that is evaluated only if `guard` is true."""
        self.pending = before
        self.require(build.implies(guard, build.conjunction(conditions)))

    def claim(self, body: Body, at: int, conditions: list[Expr]) -> int:
        """Make it an error if a condition is false at a node; the node where control goes on."""
        defined = build.conjunction(conditions)
        if defined is build.TRUE:
            return at
        draft, span = body.draft, self._span
        after, failed = draft.node(), draft.node()
        draft.error(failed, self._kind, span, UNDEFINED, statement=body.statement_span)
        draft.edge(at, Assume(defined), after, span, self._kind, branch=True)
        draft.edge(at, Assume(build.not_(defined)), failed, span, self._kind, branch=False)
        return after

    def settle(self, body: Body) -> None:
        """Claim all that is pending, before control branches or the expression ends."""
        after = self.claim(body, body.at, self.part())
        if after != body.at:
            body.go_on_at(after)

    # --------------------------------------------------------------------------------- ranges

    def fits(self, operator: str, a: Expr, b: Expr, result: Expr) -> bool:
        """Whether no values of the operands make the exact result one that does not fit. Then the range of
        the result is remembered, so that sums of converted numbers need no condition."""
        sort = a.sort
        assert isinstance(sort, MachineSort)
        (low, high), (least, most) = self._range(a), self._range(b)
        if operator == "+":
            found = low + least, high + most
        elif operator == "-":
            found = low - most, high - least
        else:
            corners = [x * y for x in (low, high) for y in (least, most)]
            found = min(corners), max(corners)
        inside = sort.low <= found[0] and found[1] <= sort.high
        if inside:
            self._ranges[result] = found
        return inside

    def _range(self, term: Expr) -> Range:
        if term.kind is Kind.CONST:
            return int(term.value), int(term.value)
        if term in self._ranges:
            return self._ranges[term]
        sort = term.sort
        assert isinstance(sort, MachineSort)
        inner = term.args[0].sort if term.kind is Kind.WRAP else None
        if isinstance(inner, MachineSort):
            low, high = self._ranges.get(term.args[0], (inner.low, inner.high))
            if sort.low <= low and high <= sort.high:
                return low, high
        return sort.low, sort.high
