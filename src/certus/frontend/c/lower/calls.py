"""Calls: of functions with a body, through pointers, of library functions, of functions nobody defines."""

from __future__ import annotations

from dataclasses import replace

from certus.core import build
from certus.core.program import Assume, Call
from certus.core.sorts import INT
from certus.core.terms import Expr, Kind
from certus.frontend.c import ast
from certus.frontend.c.library import ENDING, LIBRARY, Entry, known
from certus.frontend.c.lower import variadic
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    called_function,
    doubtful,
    evaluated,
    fitted,
    library_entry,
    parts,
)
from certus.frontend.c.lower.body import Body, IndirectCall, Joint
from certus.frontend.c.lower.models import MODELS
from certus.frontend.c.lower.probing import PROBE, probe
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.undefined import undefined
from certus.frontend.c.lower.values import is_record, sort_of, way_of_passing
from certus.frontend.c.lower.world import World
from certus.frontend.c.signatures import SIGNATURES, may_be
from certus.frontend.c.types import (
    INT_TYPE,
    CType,
    FunctionType,
    IntegerType,
    PointerType,
    VoidType,
    unqualified,
)


def call_value(body: Body, node: ast.Call) -> Steps[Expr | None]:
    return _call(body, node, wanted=True)


def call_effect(body: Body, node: ast.Call) -> Steps[Expr | None]:
    return _call(body, node, wanted=False)


def _call(body: Body, node: ast.Call, *, wanted: bool) -> Steps[Expr | None]:
    into, body.destination = body.destination, None
    name = called_function(node.function)
    if name is None:
        return (yield from _indirect_call(body, node))
    if name == PROBE:
        yield from probe(body, node)
        return None
    errors, function = body.world.errors.functions, body.world.unit.functions.get(name)
    if name in errors:
        yield from _error(body, node, name, errors[name])
        return _nothing(body, node)
    if function is not None and function.body is not None:
        return (yield from _direct_call(body, node, function, into))
    entry = library_entry(function, name)
    if entry is not None and _is_as_declared(node, entry):
        return (yield from _library_call(body, node, LIBRARY[entry], wanted))
    if known(name) in ENDING:  # whoever is meant, it may not come back
        what = f"a call of `{name}`, which is called otherwise in the library,"
        refused = body.refuse(node.span, "unsupported-library-function", what, sort_of(node.type))
        return refused  # type: ignore[no-any-return]
    return (yield from undefined(body, node, name, function))


def _is_as_declared(node: ast.Call, entry: str) -> bool:
    """Whether a call, perhaps without a prototype, is one that the library's declaration allows."""
    return may_be(entry, FunctionType(node.type, tuple(argument.type for argument in node.arguments)))


def _library_call(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr | None]:
    if isinstance(unqualified(node.type), VoidType) and SIGNATURES.get(entry.name, "v")[0] != "v":
        node, wanted = replace(node, type=INT_TYPE), False
    result: Expr | None = yield MODELS[entry.model](body, node, entry, wanted)
    return any_result(body, node) if result is None and wanted else result


def _nothing(body: Body, node: ast.Call) -> Expr | None:
    """A value after a call that does not return."""
    sort = sort_of(node.type)
    return None if sort is None else body.fresh(sort)


def _error(body: Body, node: ast.Call, function: str, kind: str) -> Steps[None]:
    """A call that must not happen."""
    claimed = body.text(node.span)
    for argument in node.arguments:
        yield evaluated(body, argument)
        if kind == "assertion" and argument is node.arguments[0]:
            claimed = _literal(argument) or claimed
    failed = body.draft.node()
    body.draft.edge(body.at, Assume(build.TRUE), failed, node.span, body.text(node.span))
    start, statement = body.condition_start, body.statement_span
    body.draft.error(failed, kind, node.span, claimed, statement=statement, function=function, start=start)
    body.stop()


def _literal(node: ast.Expression) -> str | None:
    while isinstance(node, ast.Cast):
        node = node.operand
    if not isinstance(node, ast.StringLiteral):
        return None
    return node.data.rstrip(b"\0").decode("utf-8", "replace")


# --------------------------------------------------------------------------------- direct calls


def _direct_call(body: Body, node: ast.Call, function: ast.Function, into: Expr | None) -> Steps[Expr | None]:
    given = yield from arguments(body, node)
    text = body.text(node.span)
    body.world.wanted[function.name] = None
    passed: list[Expr] = []
    for number, parameter in enumerate(function.parameters):
        sort = sort_of(parameter.type)
        if sort is None:
            body.refuse(node.span, "unsupported-float", f"the type of the parameter `{parameter.name}`")
        elif number < len(given) and given[number] is not None:
            passed.append(fitted(body, given[number], sort, node.span))
        else:
            passed.append(body.havoc(sort, node.span, text))
    if variadic.reads_more(body.world, function.name):
        named = len(function.parameters)
        types = [argument.type for argument in node.arguments[named:]]
        passed.append(variadic.pack(body, given[named:], types, node.span))
    result = function.type.result
    if is_record(result):
        into = into if into is not None else body.temporary_object(result, node.span)
        body.emit(Call(function.name, (into, *passed), ()), node.span, text, call=node.span)
        return into
    sort = sort_of(result)
    if sort is None:
        if not isinstance(unqualified(result), VoidType):
            body.refuse_type(node)
        body.emit(Call(function.name, tuple(passed), ()), node.span, text, call=node.span)
        return None
    target = body.fresh(sort)
    body.emit(Call(function.name, tuple(passed), (target,)), node.span, text, call=node.span)
    return target


# ------------------------------------------------------------------------------- indirect calls


def _indirect_call(body: Body, node: ast.Call) -> Steps[Expr | None]:
    type_ = _function_type(node.function)
    if type_ is None:
        return body.refuse(node.span, "unsupported-call", "this call", sort_of(node.type))  # type: ignore[no-any-return]
    joints: list[Joint] = []
    pointer: Expr = yield body.value(node.function)
    body.separate(joints)
    given: list[Expr] = yield arguments(body, node)
    (pointer,) = body.hold([pointer], joints)
    result = type_.result
    into: tuple[Expr, ...] = ()
    target: Expr | None = None
    if is_record(result):
        into = (body.temporary_object(result, node.span),)
    elif (sort := sort_of(result)) is not None:
        target = body.fresh(sort)
    elif not isinstance(unqualified(result), VoidType):
        body.refuse_type(node)
    if type_.variadic and type_.parameters is not None:
        named = len(type_.parameters)
        types = [argument.type for argument in node.arguments[named:]]
        given = [*given, variadic.pack(body, given[named:], types, node.span)]
    after = body.draft.node()
    kinds = tuple(a.type for a in node.arguments)
    body.world.indirect.append(
        IndirectCall(
            body,
            body.at,
            after,
            pointer,
            type_,
            (*into, *given),
            kinds,
            target,
            node.span,
            body.text(node.span),
            body.draft.reserve(),
        )
    )
    body.wrote_anything()
    body.at = after
    return into[0] if into else target


def _function_type(node: ast.Expression) -> FunctionType | None:
    plain = unqualified(node.type)
    if isinstance(plain, PointerType):
        plain = unqualified(plain.target)
    return plain if isinstance(plain, FunctionType) else None


def fits(call: IndirectCall, type_: FunctionType) -> bool:
    """Whether a function of this type can be meant: as many parameters, each passed the same way."""
    if way_of_passing(call.type.result) != way_of_passing(type_.result):
        return False
    wanted = type_.parameters
    if wanted is None:
        return True
    given = call.kinds if call.type.parameters is None else call.type.parameters
    if len(given) < len(wanted) or (len(given) > len(wanted) and not type_.variadic):
        return False
    return all(way_of_passing(a) == way_of_passing(b) for a, b in zip(given, wanted, strict=False))


def runs_anyway(call: IndirectCall, function: ast.Function) -> bool:
    """Whether a function of another type may be called: its address may have been converted. That is
    undefined, but machines just call it; how they pass records is not told here."""
    recast = call.body.world.recast
    if None not in recast and function.name not in recast and call.type.parameters is not None:
        return False
    types = (call.type.result, function.type.result, *call.kinds, *(function.type.parameters or ()))
    return not any(is_record(type_) for type_ in types)


def expand(call: IndirectCall, functions: list[ast.Function]) -> None:
    """Make the call a choice between functions. If the pointer is none of them, and cannot be that of a
    function from outside, the execution ends: the behaviour is undefined."""
    world, draft = call.body.world, call.body.draft
    sort = world.pointer_sort
    bits = build.wrap(call.pointer, sort)
    meant = [build.eq(bits, build.wrap(world.addresses[function.name], sort)) for function in functions]
    for number, (function, condition) in enumerate(zip(functions, meant, strict=True)):
        if condition is build.FALSE:
            continue
        start, order = draft.node(), (call.order, 2 * number)
        text = f"{call.text} calls {function.name}"
        draft.edge(call.source, Assume(condition), start, call.span, text, order=order)
        body, at = call.body, call.body.at
        body.at = start
        if fits(call, function.type):
            target = call.result
        else:
            doubtful(body, call.span, f"what a call of `{function.name}` as a function of another type does")
            given = sort_of(function.type.result)
            target = None if given is None else body.fresh(given)
        passed = _matched(call, function)
        op = Call(function.name, passed, () if target is None else (target,))
        order = (call.order, 2 * number + 1)
        if target is call.result:
            draft.edge(body.at, op, call.target, call.span, call.text, order=order, call=call.span)
        else:
            body.emit(op, call.span, call.text, call=call.span)
            if call.result is not None:
                any_of_type = body.havoc(call.result.sort, call.span, call.text)
                body.assign(call.result, any_of_type, call.span, call.text)
            draft.skip(body.at, call.target)
        body.at = at
    if any(_gives(world, type_, call) for type_ in world.foreign):
        _from_outside(call, build.conjunction(map(build.not_, meant)), 2 * len(functions))


def _gives(world: World, type_: CType, call: IndirectCall) -> bool:
    """Whether a value of the type, or what it leads to, may be a pointer to a function that can be meant."""
    return any(
        isinstance(part, VoidType) or (isinstance(part, FunctionType) and fits(call, part))
        for part in parts(world, type_, beyond=True)
    )


def _from_outside(call: IndirectCall, condition: Expr, order: int) -> None:
    """The call of a function that is not in the program, as if it were called by name."""
    body, draft, text = call.body, call.body.draft, f"{call.text} calls a function from outside"
    pointer = build.wrap(call.pointer, body.world.pointer_sort)
    start, at = draft.node(), body.at
    there = build.and_(build.ne(pointer, build.constant(0, pointer.sort)), condition)
    draft.edge(call.source, Assume(there), start, call.span, text, order=(call.order, order))
    body.at = start
    result = call.type.result
    simple = isinstance(unqualified(result), VoidType | IntegerType)
    if not simple or any(a.sort is INT and a.kind is not Kind.CONST for a in call.arguments):
        what = "A function that is not in the program may be called here, and gets or gives pointers."
        body.refuse(call.span, "unsupported-external-function", what)
    elif call.result is not None:
        body.assign(call.result, body.havoc(call.result.sort, call.span, text), call.span, text)
    draft.skip(body.at, call.target)
    body.at = at


def _matched(call: IndirectCall, function: ast.Function) -> tuple[Expr, ...]:
    """The arguments as a function takes them. Those of a variadic call end with where the others are."""
    skipped = 1 if is_record(function.type.result) else 0
    passed = list(call.arguments[:skipped])
    given, more = call.arguments[skipped:], None
    if call.type.variadic and call.type.parameters is not None:
        given, more = given[:-1], given[-1]
    for number, parameter in enumerate(function.parameters):
        sort = sort_of(parameter.type) or INT
        if number < len(given):
            passed.append(fitted(call.body, given[number], sort, call.span))
        else:
            passed.append(call.body.havoc(sort, call.span, call.text))
    if variadic.reads_more(call.body.world, function.name):
        passed.append(call.body.havoc(INT, call.span, call.text) if more is None else more)
    return tuple(passed)
