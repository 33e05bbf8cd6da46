"""Expand calls through pointers: a choice between the functions whose address is taken.

All these functions are known only when everything is lowered, so the calls are expanded at the end. A call
may mean every function whose type fits. The address of a function may have been converted, which IR does not
show: a function of another type that a machine can call is also meant if it fits no call of the program, or
if no function fits the call. If both hold and a machine cannot call it, it is refused. For all other values
of the pointer the behaviour is undefined, which is a step of its own; if the pointer may come from outside
the program, the call is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Assign, Assume
from certus.core.terms import Expr, machine
from certus.core.vocabulary import NO_FUNCTION, OTHER_TYPE, READ
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.types import IntegerType, PointerType, Type, VoidType
from certus.frontend.c.model import checks, library
from certus.frontend.c.model.calls import IndirectCall, adapted, argument_as, enter, fits, passes_alike
from certus.frontend.c.model.terms import NULL, Unmodelled, Value, as_sort, taken

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body
    from certus.frontend.c.model.unit import Unit


class Match(Enum):
    """How the type of a possible callee agrees with the type of the call."""

    FITS = auto()
    PASSES_ALIKE = auto()
    DIFFERS = auto()


Callee = tuple[Module, str, Expr, Match]  # where a function is, its name, its address and type


def _fits(call: IndirectCall, function: Function) -> bool:
    return fits(call.body, call.instruction.result, call.arguments, function)


def resolved(unit: Unit) -> Iterator[tuple[IndirectCall, list[Callee]]]:
    """Yield each call through a pointer with the functions that it may mean."""
    functions = [(each, home.functions[name]) for home, name, each in unit.symbols.addresses.values()]
    unfit = {address for address, f in functions if not any(_fits(call, f) for call in unit.indirect)}
    for call in unit.indirect:
        yield call, _callees(unit, call, unfit)


def _callees(unit: Unit, call: IndirectCall, unfit: Collection[Expr]) -> list[Callee]:
    """Return the functions that a call may mean; `unfit` are the addresses of those that fit no call."""
    arguments, result, body = call.arguments, call.instruction.result, call.body
    functions = [(*each, _fits(call, each[0].functions[each[1]])) for each in unit.symbols.addresses.values()]
    none = unit.is_program(body.module) and not any(fit for *_, fit in functions)
    meant: list[Callee] = []
    for module, name, address, fit in functions:
        lone = address in unfit
        if fit:
            meant.append((module, name, address, Match.FITS))
        elif (none or lone) and passes_alike(body, result, arguments, module.functions[name]):
            meant.append((module, name, address, Match.PASSES_ALIKE))
        elif none and lone:
            meant.append((module, name, address, Match.DIFFERS))
    return meant


def expand(call: IndirectCall, functions: Sequence[Callee]) -> None:
    """Add the steps of a call: one branch for each function, and one for all other values of the pointer."""
    body, cursor = call.body, call.body.cursor
    cursor.span, cursor.statement, text, cursor.number = call.place
    cursor.text = text
    body.checked.clear()
    sort = machine(body.layout.pointer_bits, signed=False)
    bits = build.wrap(call.pointer, sort)
    addresses, meant = [address for _, _, address, _ in functions], list[Expr]()
    for module, name, address, match in functions:
        condition = build.eq(bits, build.wrap(address, sort))
        meant.append(condition)
        if condition is build.FALSE:
            continue
        body.at = call.source
        callee = _defined(body.unit, module, name)
        body.emit(Assume(condition), text=f"{text} calls {name if callee is None else callee.name}")
        try:
            what = f"a call of `{name}` as a function of another type"
            if match is Match.DIFFERS:
                raise Unmodelled("unsupported-call", what)
            if match is Match.PASSES_ALIKE:
                body.bar_counterexamples(f"what {what} does")
            if callee is None:
                _external(call, module.functions[name])
            else:
                _enter(call, callee)
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)
            body.stop()
        body.draft.skip(body.at, call.target)
        cursor.span, cursor.statement, cursor.text, cursor.number = call.place
    body.at = call.source
    none = build.conjunction(map(build.not_, meant))
    if none is build.FALSE:
        return
    body.emit(Assume(none), text=f"{text} calls no function of the program")
    unit = body.unit
    defined = [address for *_, address in unit.symbols.addresses.values()]
    if unit.environment.foreign:
        _from_outside(call, [build.ne(bits, build.wrap(a, sort)) for a in defined if a not in addresses])
        return
    if READ in unit.rules.memory:
        function = build.disjunction(build.eq(bits, build.wrap(address, sort)) for address in defined)
        by = text if unit.is_program(body.module) else "the C library"
        body.claim(function, READ, f"the pointer that is called in {by} is that of a function")
    body.undefined(NO_FUNCTION)


def _defined(unit: Unit, module: Module, name: str) -> Body | None:
    """Return the body of a function; None if it has none, or if its call is an error."""
    try:
        return None if unit.error_function(module, name) is not None else unit.definition(module, name)
    except Unmodelled:
        return None


def _enter(call: IndirectCall, callee: Body) -> None:
    """Call a function that is defined; it writes the results directly if it returns them in the wanted
    form."""
    body, own, wanted = call.body, callee.signature.result, call.instruction.result
    alike = own is wanted and [v.sort for v in callee.signature.results] == [v.sort for v in call.results]
    if alike and callee.signature.result_cells == call.cells:
        enter(body, call.arguments, callee, body.cursor.span, call.results)
        return
    _give(call, enter(body, call.arguments, callee, body.cursor.span), own)


def _give(call: IndirectCall, value: Value | None, type_: Type) -> None:
    """Write the value of this type that a function returns to the results."""
    if not call.results:
        return
    body, results = call.body, call.results
    value = adapted(body, value, type_, call.instruction.result)
    if call.cells is not None:
        pairs = zip(taken(value, call.cells, body.unset), results, strict=True)
        body.emit(Assign(results, tuple(as_sort(term, v.sort) for term, v in pairs)))
        return
    term = body.scalar(value)
    body.registers.assign(results[0], as_sort(term, results[0].sort), spare=term)


def _external(call: IndirectCall, function: Function) -> None:
    """Call a function without a body, or one whose call is an error."""
    body, name, own = call.body, function.name, function.type
    program = body.unit.program
    error = body.unit.error_function(program, name)
    if error is not None:
        body.cursor.span = body.unit.span_of(program, program.functions.get(name)) or body.cursor.span
        checks.lower_error_call(body, body.unit.rules.functions[error], error)
        return
    types = (*own.parameters, *(a.type for a in call.arguments[len(own.parameters) :] if own.variadic))
    arguments = []
    for number, type_ in enumerate(types):
        operand = Local(type_, f"$argument{number}")
        body.registers.values[operand.name] = argument_as(body, call.arguments, number, type_)
        passing = call.arguments[number].passing if number < len(call.arguments) else ir.PLAIN
        arguments.append(ir.Argument(operand, passing))
    callee, result = Symbol(body.module.types.pointer, name), own.result
    named = None if isinstance(result, VoidType) else "$result"
    instruction = ir.Call(result, callee, arguments, None, frozenset(), name=named)
    body.registers.folding = True  # the instruction is not part of the function, so its value stays a term
    try:
        library.call(body, instruction, name)
    finally:
        body.registers.folding = False
    value = body.registers.values.pop("$result", None)
    if value is not None or own.result is not call.instruction.result:
        _give(call, value, own.result)


def _from_outside(call: IndirectCall, unlike: Sequence[Expr]) -> None:
    """Call a function that is not in the program, as if by name. Null is not a function, and `unlike` says
    that the pointer is none of the functions that the call cannot mean."""
    body = call.body
    outside, undefined = body.draft.node(), body.draft.node()
    body.fork(build.conjunction((build.ne(call.pointer, NULL), *unlike)), outside, undefined)
    body.at = undefined
    if READ in body.unit.rules.memory:
        null = build.eq(call.pointer, NULL)
        body.claim(build.not_(null), READ, f"the pointer in {body.cursor.text} is not null")
    body.undefined(OTHER_TYPE if unlike else "a call through a null pointer")
    body.at = outside
    used = bool(body.flow.uses.get(call.instruction.name or ""))
    number = isinstance(call.instruction.result, VoidType | IntegerType) or not used
    if not number or any(isinstance(a.type, PointerType) and a.value is not NULL for a in call.arguments):
        what = "A function outside the program may be called here, and takes or returns pointers."
        body.refuse("unsupported-external-function", what)
    elif call.results:
        value = body.havoc(call.results[0].sort)
        body.emit(Assign(call.results, (value,)))
    body.draft.skip(body.at, call.target)
