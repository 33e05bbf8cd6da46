"""Calls through pointers: a choice between the functions whose address is taken and whose type fits.

Which these are is known only when everything is lowered, so the calls are collected. If the pointer is none
of them, the behaviour is undefined, which is a step of its own; if it may come from outside the program, the
call is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assign, Assume, Call
from certus.core.sorts import INT, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local, Operand, Symbol
from certus.frontend.c.ir.types import (
    FunctionType,
    IntegerType,
    PointerType,
    StructType,
    Type,
    VoidType,
)
from certus.frontend.c.model.arguments import Given, bound, end_copies, given_arguments, pack
from certus.frontend.c.model.cells import cells_between, simple
from certus.frontend.c.model.hints import value_is_signed
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.redirect import redirected
from certus.frontend.c.model.terms import (
    NULL,
    Cell,
    Piece,
    Pieces,
    Unmodelled,
    Value,
    as_sort,
    sort_of,
    taken,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


@dataclass(slots=True, eq=False)
class IndirectCall:
    """A call from `source` to `target`. `results` get the result, as the scalar or the cells that the caller
    wants; `named` is how many arguments are not variable ones, `packed` where the others are."""

    body: Body
    source: int
    target: int
    pointer: Expr
    type: Type
    given: list[Given]
    named: int
    packed: Expr
    results: tuple[Expr, ...]
    cells: list[Cell] | None
    span: Span | None
    statement: Span | None
    text: str
    number: int


def call(body: Body, instruction: ir.Call, callee: Operand) -> None:
    """Note a call through a pointer."""
    pointer = address_of(body, callee)
    given = given_arguments(body, instruction)
    body.before_call()
    declared, named, packed = instruction.declared, len(given), NULL
    if declared is not None and declared.variadic and declared.parameters:
        named = len(declared.parameters)
        packed = pack(body, given[named:])
    results, cells, value = _results(body, instruction)
    after = body.draft.node()
    body.unit.indirect.append(
        IndirectCall(
            body,
            body.at,
            after,
            pointer,
            instruction.result,
            given,
            named,
            packed,
            results,
            cells,
            body.span,
            body.statement,
            body.text,
            body.number,
        )
    )
    body.at = after
    end_copies(body, given, packed)
    if value is not None:
        body.define(instruction, value)


def _results(body: Body, instruction: ir.Call) -> tuple[tuple[Expr, ...], list[Cell] | None, Value | None]:
    type_, name = instruction.result, instruction.name or ""
    if isinstance(type_, VoidType):
        return (), None, None
    cells = _wanted_cells(body, name, type_)
    if cells is not None:
        made = tuple(body.fresh(machine(8 * w, signed=False)) for _, w in cells)
        parts = tuple(Piece(o, w, t) for (o, w), t in zip(cells, made, strict=True))
        return made, cells, Pieces(body.layout.store_size(type_), parts)
    hint = value_is_signed(body, name)
    signed = hint if hint is not None else isinstance(type_, IntegerType) and type_.bits == 32
    target = body.fresh(sort_of(type_, signed=signed))
    return (target,), None, target


def _wanted_cells(body: Body, name: str, type_: Type) -> list[Cell] | None:
    """The cells of the object that a result is stored to."""
    layout, use = body.layout, body.flow.only_use(name)
    if isinstance(use, ir.Store) and isinstance(use.value, Local):
        root = body.roots.of(use.pointer)
        if root is not None:
            cells = cells_between(layout, root.type, root.offset, layout.store_size(type_))
            if cells is not None and (len(cells) > 1 or isinstance(type_, StructType)):
                return cells
    if isinstance(type_, StructType):
        sizes = [layout.store_size(field) for field in type_.fields]
        return simple(list(zip(layout.offsets(type_), sizes, strict=True)))
    return None


def fits(each: IndirectCall, function: FunctionType) -> bool:
    """Whether a function of this type can be meant: the same result, and the same parameters."""
    types = [given.type for given in each.given]
    if each.type is not function.result:
        return False
    if function.variadic:
        return len(types) >= len(function.parameters) and _same(types, function.parameters)
    return len(types) == len(function.parameters) and _same(types, function.parameters)


def _same(types: Sequence[Type], parameters: Sequence[Type]) -> bool:
    return all(a is b for a, b in zip(types, parameters, strict=False))


def passes_alike(each: IndirectCall, function: FunctionType) -> bool:
    """Whether a machine can call a function of another type: all is passed in one register or slot each."""
    types = (each.type, function.result, *(g.type for g in each.given), *function.parameters)
    plain = all(isinstance(t, IntegerType | PointerType | VoidType) for t in types)
    return plain and not function.variadic and all(g.passing.byval is None for g in each.given)


def expand(each: IndirectCall, functions: Sequence[tuple[Expr, Body | str, bool]]) -> None:
    """Make the steps of a call: one way for each function, given with its address, and whether it fits."""
    body = each.body
    body.span, body.statement, body.text, body.number = each.span, each.statement, each.text, each.number
    sort = machine(body.layout.pointer_bits, signed=False)
    bits = build.wrap(each.pointer, sort)
    meant: list[Expr] = []
    for address, callee, fit in functions:
        condition = build.eq(bits, build.wrap(address, sort))
        meant.append(condition)
        if condition is build.FALSE:
            continue
        body.at = each.source
        name = callee if isinstance(callee, str) else callee.name
        body.emit(Assume(condition), text=f"{each.text} calls {name}")
        if isinstance(callee, str):
            _external(each, callee)
        else:
            _enter(each, callee, fit=fit)
    body.at = each.source
    others = build.conjunction(map(build.not_, meant))
    if others is build.FALSE:
        return
    body.emit(Assume(others), text=f"{each.text} calls no function of the program")
    if body.unit.foreign:
        _from_outside(each)
    else:
        body.undefined("a call through a pointer that is no function of this type")


def _from_outside(each: IndirectCall) -> None:
    """A function that is not in the program is called, as if it were by name; null is no function."""
    body = each.body
    outside, null = body.draft.node(), body.draft.node()
    body.fork(build.ne(each.pointer, NULL), outside, null)
    body.at = null
    body.undefined("a call through a null pointer")
    body.at = outside
    simple = isinstance(each.type, VoidType | IntegerType)
    if not simple or any(isinstance(g.type, PointerType) for g in each.given):
        what = "A function that is not in the program may be called here, and gets or gives pointers."
        body.refuse("unsupported-external-function", what)
    elif each.results:
        value = body.havoc(each.results[0].sort)
        body.emit(Assign(each.results, (value,)))
    body.draft.skip(body.at, each.target)


def _external(each: IndirectCall, name: str) -> None:
    """Call a function without a body, or one whose call is an error."""
    from certus.frontend.c.model import calls, externals

    body = each.body
    if name in body.unit.rules.functions:
        defined = body.unit.span_of(body.unit.program, body.unit.program.functions.get(name))
        body.span = body.span if defined is None else defined
        calls.error(body, body.unit.rules.functions[name], name)
        return
    arguments = []
    for number, given in enumerate(each.given):
        operand = Local(given.type, f"$given{number}")
        body.values[operand.name] = given.value
        arguments.append(ir.Argument(operand, given.passing))
    made = ir.Call(each.type, Symbol(body.module.types.pointer, name), arguments, None, frozenset())
    ir.complete(made, "$given")
    try:
        externals.call(body, made, name)
        if each.results and "$given" in body.values:
            value, last = body.scalar(body.values["$given"]), body.draft.edges[-1]
            same = value in body.temporaries and value.sort is each.results[0].sort
            op = redirected(last.op, value, each.results[0]) if same and last.target == body.at else None
            if op is not None:
                last.op = op
            else:
                body.emit(Assign(each.results, (as_sort(value, each.results[0].sort),)))
    except Unmodelled as error:
        body.refuse(error.code, error.what, error.hint)
        body.stop()
    body.values.pop("$given", None)
    body.draft.skip(body.at, each.target)


def _enter(each: IndirectCall, callee: Body, *, fit: bool) -> None:
    body = each.body
    if not fit:
        body.doubtful(f"what a call of `{callee.name}` as a function of another type does")
    packed = each.packed
    if callee.more is not None and packed is NULL and len(each.given) > len(callee.signature.cells):
        packed = pack(body, each.given[len(callee.signature.cells) :])
    try:
        passed = bound(body, each.given, callee, packed)
    except Unmodelled as error:
        body.refuse(error.code, error.what)
        body.stop()
        return
    results = callee.results
    same = fit and [v.sort for v in results] == [v.sort for v in each.results]
    if same and callee.signature.result_cells == each.cells:
        body.emit(Call(callee.name, passed, each.results), target=each.target, call=body.span)
        return
    targets = tuple(body.fresh(v.sort) for v in results)
    body.emit(Call(callee.name, passed, targets), call=body.span)
    if each.results:
        body.emit(Assign(each.results, _converted(each, callee, targets)), target=each.target)
    else:
        body.draft.skip(body.at, each.target)


def _converted(each: IndirectCall, callee: Body, targets: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The result of a function as the caller wants it."""
    body, cells = each.body, callee.signature.result_cells
    if not targets:
        what = "the result of a function that returns none"
        return tuple(body.havoc(v.sort, approximates=what) for v in each.results)
    value: Value = targets[0]
    if cells is not None:
        size = callee.layout.store_size(callee.signature.type.result)
        value = Pieces(size, tuple(Piece(o, w, t) for (o, w), t in zip(cells, targets, strict=True)))
    if each.cells is not None:
        terms = taken(value, each.cells, body.unset)
        return tuple(as_sort(t, v.sort) for t, v in zip(terms, each.results, strict=True))
    term = body.scalar(value)
    wanted = each.results[0].sort
    if wanted is INT and term.sort is not INT:
        return (build.to_int(build.wrap(term, machine(body.layout.pointer_bits, signed=False))),)
    return (as_sort(term, wanted),)
