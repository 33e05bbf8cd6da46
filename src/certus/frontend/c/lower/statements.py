"""Statements: control flow, declarations, jumps."""

from __future__ import annotations

from typing import Any

from certus.core import build
from certus.core.program import Alloc, Assume, Havoc, Return
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.lower import places
from certus.frontend.c.lower.body import Body, SwitchFrame, Target
from certus.frontend.c.lower.conditions import branch_on
from certus.frontend.c.lower.initialisers import initialise
from certus.frontend.c.lower.padding import leave_open
from certus.frontend.c.lower.scopes import Scope
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import is_record
from certus.frontend.c.lower.world import Home
from certus.frontend.c.types import ArrayType, VariableArrayType, VoidType, unqualified
from certus.frontend.graph import Draft


def enter(body: Body, node: Any) -> None:
    """A scope begins."""
    scope, start = Scope(body.scope, node.span, whole=isinstance(node, ast.For)), body.draft.node()
    body.passages.add(body.at, start, body.scope, scope, node.span, "{")
    body.scope = scope
    body.go_on_at(start)


def leave(body: Body, node: Any) -> None:
    """The present scope ends."""
    scope, after = body.scope, body.draft.node()
    assert scope.parent is not None
    body.passages.add(body.at, after, scope, scope.parent, node.span, "}")
    body.scope = scope.parent
    body.go_on_at(after)


def block(body: Body, node: ast.Block) -> Steps[None]:
    enter(body, node)
    for statement in node.statements:
        yield body.statement(statement)
    leave(body, node)


def statement_expression(body: Body, node: ast.StatementExpression) -> Steps[Expr | None]:
    """The value of the last statement is kept while its scope ends; it is then used at once."""
    into = body.temporary_object(node.type, node.span) if is_record(node.type) else None
    enter(body, node.body)
    statements, result = node.body.statements, None
    for statement in statements[:-1]:
        yield body.statement(statement)
    if statements:
        last = statements[-1]
        while isinstance(last, ast.Label):
            _define_label(body, last)
            last = last.body
        if isinstance(last, ast.ExpressionStatement):
            result = yield body.value(last.expression)
        else:
            yield body.statement(last)
    if into is not None and result is not None:
        places.copy_object(body, into, result, node.type, node.span, body.text(node.span))
        result = into
    leave(body, node.body)
    if isinstance(unqualified(node.type), VoidType):
        return None
    return result


def expression_statement(body: Body, node: ast.ExpressionStatement) -> Steps[None]:
    yield body.effect(node.expression)


def empty(body: Body, node: ast.Empty) -> None:
    return None


def unmodelled(body: Body, node: ast.UnmodelledStatement) -> None:
    body.refuse(node.span, node.code, node.what)


# -------------------------------------------------------------------------------- declarations


def declaration(body: Body, node: ast.Declaration) -> Steps[None]:
    variable = node.variable
    if variable.storage is ast.Storage.STATIC:
        body.world.static_scopes[variable.identity] = body.scope.from_here(variable.span)
        return
    if isinstance(unqualified(variable.type), VariableArrayType):
        _variable_length(body, node)
        return
    text = body.text(node.span)
    in_memory = body.world.in_memory(variable)
    wide = isinstance(node.initialiser, ast.InitialiserList | ast.StringLiteral | ast.ZeroInitialiser)
    zeroed = in_memory and wide and not body.has_labels
    if in_memory and _is_array(variable) and node.initialiser is None:
        plain = unqualified(variable.type)
        if isinstance(plain, ArrayType) and plain.length is None:
            body.refuse(node.span, "unsupported-type", "an array of unknown length")
            return
    home = places.declare_home(body, variable, zero=zeroed)
    if node.initialiser is not None:
        place = places.place_of(variable.type, home)
        if zeroed:
            leave_open(body, place.address, variable.type, variable.name, node.span)
        yield initialise(body, place, node.initialiser, node.span, zeroed=zeroed, local=variable.name)
    elif not in_memory:
        body.emit(Havoc((home.variable,)), node.span, text, declares=True)


def _is_array(variable: ast.Variable) -> bool:
    return isinstance(unqualified(variable.type), ArrayType)


def _variable_length(body: Body, node: ast.Declaration) -> None:
    """The lengths of its type are known: they were computed before."""
    variable, text = node.variable, body.text(node.span)
    size, align = body.extent(variable.type, node.span), body.world.align_of(variable)
    base = body.name_local(f"$&{variable.name}", INT)
    home = body.homes[variable.identity] = Home(base, in_memory=True)
    body.world.declare(variable, home, body.scope.from_here(variable.span))
    zero = node.initialiser is not None  # an initialiser can only be empty
    body.emit(Alloc(base, size, align, "stack", variable.name, zero), node.span, text)
    body.scope.dynamic.append(base)


# ------------------------------------------------------------------------------------ branches


def if_(body: Body, node: ast.If) -> Steps[None]:
    then, otherwise, join = body.draft.node(), body.draft.node(), body.draft.node()
    text = body.text(node.condition.span)
    if body.text(node.span).startswith("if"):  # and no macro such as `assert`
        text = f"if ({text})"
    outer, start = body.condition_start, body.at
    yield from branch_on(body, node.condition, then, otherwise, node.span, text)
    body.condition_start = start
    body.at = then
    yield body.statement(node.then)
    body.draft.skip(body.at, join)
    body.at = otherwise
    if node.otherwise is not None:
        yield body.statement(node.otherwise)
    body.condition_start = outer
    body.draft.skip(body.at, join)
    body.at = join


def while_(body: Body, node: ast.While) -> Steps[None]:
    head, inside, after = body.draft.node(), body.draft.node(), body.draft.node()
    body.draft.skip(body.at, head)
    body.draft.loops[head] = node.span
    body.at = head
    text = f"while ({body.text(node.condition.span)})"
    yield from branch_on(body, node.condition, inside, after, node.span, text)
    body.at = inside
    yield from _loop_body(body, node.body, head, after)
    body.draft.skip(body.at, head)
    body.at = after


def _loop_body(body: Body, inner: ast.Statement, again: int, after: int) -> Steps[None]:
    body.breaks.append(Target(after, body.scope))
    body.continues.append(Target(again, body.scope))
    yield body.statement(inner)
    body.breaks.pop()
    body.continues.pop()


def do_while(body: Body, node: ast.DoWhile) -> Steps[None]:
    head, inside, test, after = (body.draft.node() for _ in range(4))
    body.draft.skip(body.at, head)
    body.draft.loops[head] = node.span
    body.draft.edge(head, Assume(build.TRUE), inside, node.span, "do")
    body.at = inside
    yield from _loop_body(body, node.body, test, after)
    body.draft.skip(body.at, test)
    body.at = test
    text = f"while ({body.text(node.condition.span)})"
    yield from branch_on(body, node.condition, head, after, node.span, text)
    body.at = after


def for_(body: Body, node: ast.For) -> Steps[None]:
    enter(body, node)
    first = node.init.statements if isinstance(node.init, ast.Block) else (node.init,)
    for statement in first:  # declarations here live as long as the loop
        if statement is not None:
            at = body.at
            yield body.statement(statement)
            body.draft.starts[at] = node.span  # what stands in the head is no statement by itself
    head, inside, step, after = (body.draft.node() for _ in range(4))
    body.draft.skip(body.at, head)
    body.draft.loops[head] = node.span
    body.at = head
    if node.condition is not None:
        text = f"for (; {body.text(node.condition.span)};)"
        yield from branch_on(body, node.condition, inside, after, node.span, text)
    else:
        body.branch(build.TRUE, inside, after, node.span, "for (;;)")
    body.at = inside
    yield from _loop_body(body, node.body, step, after)
    body.draft.skip(body.at, step)
    body.at = step
    if node.step is not None:
        body.statement_span = node.step.span
        yield body.effect(node.step)
    body.draft.skip(body.at, head)
    body.at = after
    leave(body, node)


def switch(body: Body, node: ast.Switch) -> Steps[None]:
    body.statement_span = node.condition.span
    tested: Expr = yield body.value(node.condition)
    head, after, order = body.at, body.draft.node(), body.draft.reserve()
    frame = SwitchFrame()
    body.switches.append(frame)
    body.breaks.append(Target(after, body.scope))
    body.stop()
    yield body.statement(node.body)
    body.draft.skip(body.at, after)
    body.breaks.pop()
    body.switches.pop()
    _dispatch(body, node, tested, frame, (head, after, order))
    body.at = after


def _dispatch(
    body: Body, node: ast.Switch, tested: Expr, frame: SwitchFrame, place: tuple[int, int, int]
) -> None:
    """From the head of a `switch` to its cases, and to `default` if no case fits."""
    head, after, order = place
    text = f"switch ({body.text(node.condition.span)})"
    others: list[Expr] = []
    for number, (low, high, target, span) in enumerate(frame.cases):
        condition = _in_range(tested, low, high)
        others.append(build.not_(condition))
        label = f"case {low}" if low == high else f"case {low} ... {high}"
        if condition is not build.FALSE:
            start = body.draft.node()
            op = Assume(condition)
            body.draft.edge(head, op, start, span, f"{text} {label}", branch=True, order=(order, number))
            body.passages.add(start, target.node, body.scope, target.scope, span, label)
    condition = build.conjunction(others)
    if condition is build.FALSE:
        return
    start = body.draft.node()
    last, label = (order, len(frame.cases)), f"{text} default"
    body.draft.edge(head, Assume(condition), start, node.span, label, branch=False, order=last)
    default = frame.default or Target(after, body.scope)
    body.passages.add(start, default.node, body.scope, default.scope, node.span, "default")


def _in_range(tested: Expr, low: int, high: int) -> Expr:
    sort = tested.sort
    assert isinstance(sort, MachineSort)
    first, last = (build.constant(sort.wrap(bound), sort) for bound in (low, high))
    if low == high:
        return build.eq(tested, first)
    return build.and_(build.le(first, tested), build.le(tested, last))


def case(body: Body, node: ast.Case) -> Steps[None]:
    _label_here(body, body.switches[-1], node)
    yield body.statement(node.body)


def default(body: Body, node: ast.Default) -> Steps[None]:
    _label_here(body, body.switches[-1], node)
    yield body.statement(node.body)


def _label_here(body: Body, frame: SwitchFrame, node: ast.Case | ast.Default) -> None:
    start = body.draft.node()
    body.draft.skip(body.at, start)
    body.at = start
    target = Target(start, body.scope)
    if isinstance(node, ast.Default):
        frame.default = target
    else:
        frame.cases.append((node.low, node.high, target, node.span))


# --------------------------------------------------------------------------------------- jumps


def label(body: Body, node: ast.Label) -> Steps[None]:
    _define_label(body, node)
    yield body.statement(node.body)


def _define_label(body: Body, node: ast.Label) -> None:
    start = body.draft.node()
    body.draft.skip(body.at, start)
    body.at = start
    body.labels[node.name] = Target(start, body.scope)


def goto(body: Body, node: ast.Goto) -> None:
    text = f"goto {node.label};"
    body.gotos.append((node.label, body.passages.add(body.at, Draft.EXIT, body.scope, None, node.span, text)))
    body.stop()


def break_(body: Body, node: ast.Break) -> None:
    _jump(body, body.breaks[-1], node, "break;")


def continue_(body: Body, node: ast.Continue) -> None:
    _jump(body, body.continues[-1], node, "continue;")


def _jump(body: Body, target: Target, node: Any, text: str) -> None:
    body.passages.add(body.at, target.node, body.scope, target.scope, node.span, text)
    body.stop()


def return_(body: Body, node: ast.Return) -> Steps[None]:
    text = body.text(node.span) or "return"
    values: tuple[Expr, ...] = ()
    if node.value is not None:
        term: Expr | None = yield body.value(node.value)
        if body.into is not None and term is not None and body.result_type is not None:
            places.copy_object(body, body.into, term, body.result_type, node.span, text)
        elif body.results and term is not None:
            values = (term,)
    if body.results and not values:
        values = (body.havoc(body.results[0].sort, node.span, text),)
    last = body.draft.node()
    body.passages.add(body.at, last, body.scope, None, node.span, text)
    body.draft.edge(last, Return(values), Draft.EXIT, node.span, text)
    body.stop()
