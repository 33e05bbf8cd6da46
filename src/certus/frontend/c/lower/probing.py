"""Probes: expressions of others that the program evaluates without noticing (`frontend.c.probes`)."""

from __future__ import annotations

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.program import Assume
from certus.core.terms import Expr
from certus.core.witness import probe_kind
from certus.frontend.c import ast
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.evaluation import Evaluation
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.survey import parts
from certus.frontend.c.lower.values import truth
from certus.frontend.c.lower.world import ErrorRules
from certus.frontend.c.source.probes import FUNCTION as PROBE

__all__ = ["PROBE", "Impure", "probe"]

_EFFECTS = (
    ast.Assignment,
    ast.CompoundAssignment,
    ast.Increment,
    ast.Call,
    ast.StatementExpression,
    ast.VaArg,
    ast.CompoundLiteral,
)
_NOTHING = ErrorRules("unreach-call", {})


class Impure(InputError):
    """The expression of a probe does something."""

    def __init__(self, number: int, span: Span) -> None:
        message = "This expression does more than to look at variables."
        super().__init__([Diagnostic("bad-witness", message, span=span)])
        self.number = number


def probe(body: Body, node: ast.Call) -> Steps[None]:
    """An error site if the second argument is 0, and for an invariant one if its evaluation is undefined;
    nothing else in the expression can be an error by itself."""
    first, tested = node.arguments
    while isinstance(first, ast.Cast):
        first = first.operand
    assert isinstance(first, ast.IntegerConstant)
    number = first.value
    if any(isinstance(each, _EFFECTS) for each in parts(tested)):
        raise Impure(number, node.span)
    rules, body.world.errors = body.world.errors, _NOTHING
    mark = len(body.draft.edges)
    text = probe_kind(number)
    if body.world.invariants:
        body.evaluation = Evaluation(text, node.span)
    term: Expr = yield body.value(tested)
    if body.evaluation is not None:
        body.evaluation.settle(body)
    body.world.errors, body.evaluation = rules, None
    after, failed = body.draft.node(), body.draft.node()
    holds = truth(term)
    body.draft.error(failed, text, node.span, text, statement=body.statement_span)
    body.draft.edge(body.at, Assume(holds), after, node.span, text, branch=True)
    body.draft.edge(body.at, Assume(build.not_(holds)), failed, node.span, text, branch=False)
    for edge in body.draft.edges[mark:]:
        edge.text, edge.call = text, None
    body.go_on_at(after)
