"""Conditions: `&&`, `||` and `!` become control flow only where their parts take steps.

A condition that has been lowered is a term still to be tested at the present node, and the nodes where
control already knows that the condition is true, or false. A condition without steps is just a term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assign
from certus.core.terms import Expr
from certus.core.witness import BRANCH
from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion
from certus.frontend.c.lower.arguments import called_function
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import from_bool, integer_sort, truth
from certus.frontend.c.types import VoidType, unqualified
from certus.frontend.graph import Order


@dataclass(frozen=True, slots=True)
class Condition:
    """`true` and `false`: the nodes, if any, where control already knows the answer."""

    term: Expr
    true: int | None = None
    false: int | None = None

    @property
    def is_term(self) -> bool:
        return self.true is None and self.false is None


def condition(body: Body, node: ast.Expression) -> Any:
    """A routine for the `Condition` of an expression."""
    if isinstance(node, ast.Logical):
        return _logical(body, node)
    if isinstance(node, ast.Unary) and node.operator == "!":
        return _not(body, node)
    if isinstance(node, ast.Cast) and node.conversion in _KEEPING and _is_logical(node.operand):
        return condition(body, node.operand)
    if isinstance(node, ast.Call) and called_function(node.function) == "__builtin_expect":
        return condition(body, node.arguments[0])
    if isinstance(node, ast.Comma):
        return _comma(body, node)
    return _value(body, node)


_KEEPING = (Conversion.INTEGER, Conversion.TO_BOOL, Conversion.NONE)


def _is_logical(node: ast.Expression) -> bool:
    """Whether a value is only 0 or 1, so that no conversion changes whether it is 0."""
    while isinstance(node, ast.Cast) and node.conversion in _KEEPING:
        node = node.operand
    if isinstance(node, ast.Call):
        return called_function(node.function) == "__builtin_expect" and _is_logical(node.arguments[0])
    return isinstance(node, ast.Logical) or (isinstance(node, ast.Unary) and node.operator == "!")


def _value(body: Body, node: ast.Expression) -> Steps[Condition]:
    term: Expr = yield body.value(node)
    return Condition(truth(term))


def _comma(body: Body, node: ast.Comma) -> Steps[Condition]:
    yield body.effect(node.left)
    found: Condition = yield condition(body, node.right)
    return found


def _not(body: Body, node: ast.Unary) -> Steps[Condition]:
    inner: Condition = yield condition(body, node.operand)
    return Condition(build.not_(inner.term), inner.false, inner.true)


def _logical(body: Body, node: ast.Logical) -> Steps[Condition]:
    outer, begin = body.condition_start, body.at
    first: Condition = yield condition(body, node.left)
    conjunction, order = node.operator == "&&", (body.draft.reserve(), 0)
    body.condition_start = begin
    evaluation, before = body.evaluation, [] if body.evaluation is None else body.evaluation.part()
    second, start, end = yield from body.conditionally(condition(body, node.right))
    body.condition_start = outer
    if first.is_term and second.is_term and start == end:
        both = (first.term, second.term)
        if evaluation is not None:
            guard = first.term if conjunction else build.not_(first.term)
            evaluation.join(before, guard, evaluation.part())
        return Condition(build.and_(*both) if conjunction else build.or_(*both))
    if evaluation is not None:
        end = evaluation.claim(body, end, evaluation.part())
        evaluation.pending = before
        evaluation.settle(body)
    where = node.left.span, body.text(node.left.span)
    known = first.false if conjunction else first.true
    decided = body.draft.node() if known is None else known
    through = first.true if conjunction else first.false
    ways = (start, decided) if conjunction else (decided, start)
    body.branch(first.term, *ways, *where, order=order)
    if through is not None:
        body.draft.skip(through, start)
    body.at = end
    if conjunction:
        return Condition(second.term, second.true, _merged(body, decided, second.false))
    return Condition(second.term, _merged(body, decided, second.true), second.false)


def _merged(body: Body, node: int, other: int | None) -> int:
    """One node for both."""
    if other is not None and other != node:
        body.draft.skip(other, node)
    return node


def logical_value(body: Body, node: ast.Logical) -> Steps[Expr]:
    """The value of `&&` and `||`: 0 or 1."""
    sort = integer_sort(node.type)
    found: Condition = yield condition(body, node)
    if found.is_term:
        return from_bool(found.term, sort)
    result, join, text = body.fresh(sort), body.draft.node(), body.text(node.span)
    ends = [(body.at, from_bool(found.term, sort))]
    if found.true is not None:
        ends.append((found.true, build.constant(1, sort)))
    if found.false is not None:
        ends.append((found.false, build.constant(0, sort)))
    for at, value in ends:
        body.draft.edge(at, Assign((result,), (value,)), join, node.span, text)
    body.at = join
    return result


def branch_on(
    body: Body, node: ast.Expression, then: int, otherwise: int, span: Span, text: str
) -> Steps[None]:
    """Evaluate a condition and go to one of two nodes."""
    body.statement_span = node.span
    found: Condition = yield condition(body, node)
    _branch(body, found, then, otherwise, span, text)


def _branch(
    body: Body,
    found: Condition,
    then: int,
    otherwise: int,
    span: Span,
    text: str,
    order: Order | None = None,
) -> None:
    body.branch(found.term, then, otherwise, span, text, order=order)
    if found.true is not None:
        body.draft.skip(found.true, then)
    if found.false is not None:
        body.draft.skip(found.false, otherwise)


# -------------------------------------------------------------------------------------- choices


def conditional(body: Body, node: ast.Conditional) -> Steps[Expr | None]:
    """`condition ? then : otherwise`: one term if no part takes a step."""
    outer, begin = body.condition_start, body.at
    if node.then is None:
        tested: Expr = yield body.value(node.condition)
        kept = body.fresh(tested.sort)
        body.assign(kept, tested, node.condition.span, body.text(node.condition.span))
        found = Condition(truth(kept))
    else:
        found = yield condition(body, node.condition)
    first = first_end = body.draft.node()
    order, mark = (body.draft.reserve(), 0), len(body.draft.edges)
    body.condition_start = begin
    evaluation, before = body.evaluation, [] if body.evaluation is None else body.evaluation.part()
    yes: Expr | None
    if node.then is None:
        yes = kept
    else:
        yes, first, first_end = yield from body.conditionally(body.value(node.then))
    if_true = [] if evaluation is None else evaluation.part()
    no, second, second_end = yield from body.conditionally(body.value(node.otherwise))
    if_false = [] if evaluation is None else evaluation.part()
    body.condition_start = outer
    if found.is_term and first == first_end and second == second_end and not _is_watched(body, node):
        if evaluation is not None:
            evaluation.join(before, found.term, if_true)
            evaluation.join(evaluation.part(), build.not_(found.term), if_false)
        return build.ite(found.term, yes, no) if yes is not None and no is not None else None
    if evaluation is not None:
        first_end = evaluation.claim(body, first_end, if_true)
        second_end = evaluation.claim(body, second_end, if_false)
        evaluation.pending = before
        evaluation.settle(body)
    inside = body.draft.edges[mark:]
    as_term = bool(body.world.watched) and found.is_term and all(edge.text == BRANCH for edge in inside)
    where = node.condition.span, body.text(node.condition.span)
    _branch(body, found, first, second, *where, order)
    result = _joined(body, node, (first_end, yes), (second_end, no))
    if as_term:  # but for what a witness speaks of
        for edge in body.draft.edges[mark:]:
            edge.text = BRANCH
    return result


def _is_watched(body: Body, node: ast.Conditional) -> bool:
    """Whether a witness speaks of this branch."""
    watched = body.world.watched
    place = body.world.text.question_mark(node.condition.span) if watched else None
    return place is not None and (place in watched or (place[0], None) in watched)


def _joined(
    body: Body, node: ast.Conditional, a: tuple[int, Expr | None], b: tuple[int, Expr | None]
) -> Expr | None:
    """Both ways come together; the value is that of the way taken."""
    join = body.draft.node()
    body.at = join
    if a[1] is None or b[1] is None or isinstance(unqualified(node.type), VoidType):
        body.draft.skip(a[0], join)
        body.draft.skip(b[0], join)
        return None
    result = body.fresh(a[1].sort)
    for (end, term), part in ((a, node.then or node.condition), (b, node.otherwise)):
        assert term is not None
        body.draft.edge(end, Assign((result,), (term,)), join, part.span, body.text(part.span))
    return result
