"""Calls of functions with a body, and the dispatch to all other kinds of calls.

The caller evaluates the arguments and copies objects that are passed by value. The callee takes the arguments
as its signature says: cell by cell, or packed into one object (`...`). A function may also be called as a
function of another type: see `adapted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, Call
from certus.core.terms import INT, Expr, Kind, MachineSort, machine
from certus.core.vocabulary import WRITE
from certus.core.witness import PROBE
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand, Symbol
from certus.frontend.c.ir.module import Function, Parameter
from certus.frontend.c.ir.types import IntegerType, PointerType, Type, VoidType
from certus.frontend.c.model import checks, intrinsics, library, memory, probes
from certus.frontend.c.model.cells import Cells, passed, passed_cells, store_of
from certus.frontend.c.model.checks import is_checked
from certus.frontend.c.model.folding import folded, is_foldable
from certus.frontend.c.model.operands import address_of, from_integer, term_of, value_is_signed, value_of
from certus.frontend.c.model.terms import NULL, Unmodelled, Value, as_sort, sort_of, taken

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call. If an object is passed by value, the value is the address of a copy."""

    value: Value
    type: Type
    passing: ir.Passing


@dataclass(slots=True, eq=False)
class IndirectCall:
    """A call through a pointer, from the node `source` to the node `target`. `results` receive the result:
    one scalar, or the cells that the caller wants. `place` is the span, the statement, the text and the
    number of the step."""

    body: Body
    instruction: ir.Call
    source: int
    target: int
    pointer: Expr
    arguments: list[Argument]
    results: tuple[Expr, ...]
    cells: Cells
    place: tuple[Span | None, Span | None, str, int]


def call(body: Body, instruction: ir.Call) -> None:
    """Lower a call of any kind."""
    callee, unit = instruction.callee, body.unit
    if isinstance(callee, ir.Assembly):
        intrinsics.assembly(body, instruction, callee)
        return
    if not isinstance(callee, Symbol):
        _indirect(body, instruction, callee)
        return
    name = callee.name
    if name.startswith("llvm."):
        intrinsics.lower(body, instruction, name)
    elif body.cursor.probe is not None and name == PROBE:
        probes.lower_probe(body, instruction)
    elif name.startswith("__ubsan_handle_"):
        checks.lower_check(body, instruction, name)
    elif (error := unit.error_function(body.module, name)) is not None:
        checks.lower_error_call(body, unit.rules.functions[error], error, instruction)
    elif (defined := unit.definition(body.module, name)) is not None:
        direct(body, instruction, defined)
    else:
        library.call(body, instruction, name)


def direct(body: Body, instruction: ir.Call, callee: Body) -> None:
    """Call a function that is defined."""
    function = callee.function
    assert function is not None
    arguments = evaluated(body, instruction)
    if not fits(body, instruction.result, arguments, function):
        if not passes_alike(body, instruction.result, arguments, function):
            raise Unmodelled("unsupported-call", f"a call of `{callee.name}` as a function of another type")
        body.bar_counterexamples(f"what a call of `{callee.name}` as a function of another type does")
    if not body.unit.is_program(callee.module) and is_foldable(callee):
        value: Value | None = folded(body, callee, bound(body, arguments, callee))
    else:
        body.registers.before_call()
        value = enter(body, arguments, callee, body.cursor.call()[0])
        end_copies(body, arguments)
    if instruction.name is not None:
        body.registers.define(instruction, adapted(body, value, function.type.result, instruction.result))


def enter(
    body: Body,
    arguments: Sequence[Argument],
    callee: Body,
    span: Span | None,
    results: tuple[Expr, ...] | None = None,
) -> Value | None:
    """Call a function; `results`, or new variables, receive its result. Return the result as a value."""
    signature, packed = callee.signature, NULL
    if signature.variadic is not None:
        packed = pack(body, arguments[len(signature.cells) :])
    bindings = bound(body, arguments, callee, packed)
    if results is None:
        results = tuple(body.fresh(v.sort) for v in signature.results)
        if signature.result_cells is None and results:
            body.unit.names.note_format(results[0], signature.result)
    body.emit(Call(callee.name, bindings, results), call=span)
    if packed is not NULL:
        body.end_object(packed, "an argument")
    if signature.result_cells is None:
        return results[0] if results else None
    return passed(callee.layout, signature.result, signature.result_cells, results)


# ------------------------------------------------------------------------------------- arguments


def evaluated(body: Body, instruction: ir.Call) -> list[Argument]:
    """Evaluate the arguments of a call; objects that are passed by value are copied."""
    arguments: list[Argument] = []
    for argument in instruction.arguments:
        operand, passing = argument.operand, argument.passing
        value = value_of(body, operand)
        if passing.byval is not None:
            address = as_sort(body.scalar(value), INT)
            value = memory.copied_object(body, address, passing.byval, passing.align)
        arguments.append(Argument(value, operand.type, passing))
    return arguments


def end_copies(body: Body, arguments: Sequence[Argument]) -> None:
    """End the lifetimes of the copies of objects that were passed by value."""
    for argument in arguments:
        if argument.passing.byval is not None and isinstance(argument.value, Expr):
            body.end_object(argument.value, "an argument")


def bound(body: Body, arguments: Sequence[Argument], callee: Body, packed: Expr = NULL) -> tuple[Expr, ...]:
    """Return the arguments as a function takes them; `packed` is the address of the variadic arguments."""
    assert callee.function is not None
    passed: list[Expr] = []
    for number, parameter in enumerate(callee.function.parameters):
        value, cells = argument_as(body, arguments, number, parameter.type), callee.signature.cells[number]
        if cells is None:
            passed.append(as_sort(body.scalar(value), callee.signature.parameters[len(passed)].sort))
        else:
            passed += taken(value, cells, body.unset)
    return tuple(passed) if callee.signature.variadic is None else (*passed, packed)


def pack(body: Body, arguments: Sequence[Argument]) -> Expr:
    """Create an object with the variadic arguments, laid out as on a stack; return its address."""
    if not arguments:
        return NULL
    layout, places, end = body.layout, list[tuple[int, Argument]](), 0
    word = layout.word
    for each in arguments:
        type_ = each.passing.byval or each.type
        align = max(word, each.passing.align or layout.align(type_)) if word == 8 else word
        start = -(-end // align) * align
        places.append((start, each))
        end = start + -(-layout.size(type_) // word) * word
    base = body.local("$&arguments", INT)
    body.emit(Alloc(base, build.integer(end), 16, "stack", "arguments"), text="begin of arguments")
    body.extents[base] = end
    for start, each in places:
        at = build.add(base, build.integer(start))
        if each.passing.byval is not None:
            memory.copy_object(body, at, as_sort(body.scalar(each.value), INT), each.passing.byval)
        else:
            memory.write(body, at, each.value, each.type, None)
    return base


# --------------------------------------------------------------------- functions of another type


def fits(body: Body, result: Type, arguments: Sequence[Argument], function: Function) -> bool:
    """Return whether a call has the type of a function: the same result, and the same arguments passed in the
    same way."""
    own, count = function.type, len(function.parameters)
    enough = len(arguments) >= count if own.variadic else len(arguments) == count
    pairs = zip(arguments, function.parameters, strict=False)
    return enough and result is own.result and all(_same(body, a, p) for a, p in pairs)


def passes_alike(body: Body, result: Type, arguments: Sequence[Argument], function: Function) -> bool:
    """Return whether a machine can call a function of another type: each argument that differs takes one
    register or stack slot, so the function finds all of them, and so does the result. In C the behaviour
    is undefined: proofs cover such a call, and no counterexample gets past it."""
    own, missing = function.type.result, function.parameters[len(arguments) :]
    if result is not own and not all(isinstance(t, VoidType) or _bits(body, t) for t in (result, own)):
        return False
    pairs = [each for each in zip(arguments, function.parameters, strict=False) if not _same(body, *each)]
    return all(_in_slot(body, each) for each in (*missing, *(each for pair in pairs for each in pair)))


def _same(body: Body, argument: Argument, parameter: Parameter) -> bool:
    """Return whether an argument is passed in the way a parameter is taken. A copied object may have another
    type of the same size."""
    here, there = argument.passing, parameter.passing
    sizes = [None if copied is None else body.layout.size(copied) for copied in (here.byval, there.byval)]
    placed = (here.sret is None) == (there.sret is None)
    return argument.type is parameter.type and sizes[0] == sizes[1] and placed


def _in_slot(body: Body, each: Argument | Parameter) -> bool:
    """Return whether an argument or a parameter takes one register or stack slot."""
    plain = each.passing.byval is None and each.passing.sret is None
    return plain and 0 < _bits(body, each.type) <= 8 * body.layout.word


def _bits(body: Body, type_: Type) -> int:
    """Return the width of a scalar type, and 0 for any other type."""
    bits = type_.bits if isinstance(type_, IntegerType) else 0
    return body.layout.pointer_bits if isinstance(type_, PointerType) else bits


def argument_as(body: Body, arguments: Sequence[Argument], number: int, type_: Type) -> Value:
    """Return the argument that a function takes as its parameter of this number and type."""
    if number >= len(arguments):
        return body.havoc(sort_of(type_), approximates="an argument that is missing")
    return adapted(body, arguments[number].value, arguments[number].type, type_)


def adapted(body: Body, value: Value | None, type_: Type, wanted: Type) -> Value:
    """Return a value that is passed as one type and taken as another. Machines pass the low bits of numbers;
    the other bits are arbitrary, and so is the result of a function that returns none."""
    if value is not None and type_ is wanted:
        return value
    if value is not None and _bits(body, type_) >= _bits(body, wanted) >= 32:
        term = body.scalar(value)
        return from_integer(body, term) if isinstance(wanted, PointerType) else as_sort(term, sort_of(wanted))
    return body.havoc(sort_of(wanted), approximates="what a function of another type takes or returns")


# ------------------------------------------------------------------------- calls through pointers


def _indirect(body: Body, instruction: ir.Call, callee: Operand) -> None:
    """Record a call through a pointer; its possible callees are known when everything is lowered."""
    pointer, arguments = address_of(body, callee), evaluated(body, instruction)
    body.registers.before_call()
    type_, results = instruction.result, tuple[Expr, ...]()
    value: Value | None = None
    cells, store = None, store_of(body, instruction.name or "")  # of the object that the result is stored to
    if not isinstance(type_, VoidType):
        cells = passed_cells(body, type_, None if store is None else store.pointer)
    if cells is not None:
        results = tuple(body.fresh(machine(8 * w, signed=False)) for _, w in cells)
        value = passed(body.layout, type_, cells, results)
    elif not isinstance(type_, VoidType):
        hint = value_is_signed(body, instruction.name or "")
        signed = hint if hint is not None else isinstance(type_, IntegerType) and type_.bits == 32
        results = (body.fresh(sort_of(type_, signed=signed)),)
        body.unit.names.note_format(results[0], type_)
        value = results[0]
    source, after = body.at, body.draft.node()
    cursor = body.cursor
    cursor.begin()
    place = cursor.span, cursor.statement, cursor.text, cursor.number
    body.unit.indirect.append(
        IndirectCall(body, instruction, source, after, pointer, arguments, results, cells, place)
    )
    body.at = after
    end_copies(body, arguments)
    if value is not None:
        body.registers.define(instruction, value)


def allocate(body: Body, instruction: ir.Alloca) -> None:
    """Make an object whose size is known only at run time, or that is not made at the start of the function;
    all others are local variables (`model.local_variables`)."""
    if instruction.count is None and body.cursor.block == body.flow.entry:
        return
    size: Expr = build.integer(body.layout.size(instruction.type))
    if instruction.count is not None:
        _check_length(body, instruction, instruction.count)
        size = build.mul(as_sort(term_of(body, instruction.count), INT), size)
    base = body.fresh(INT)
    align = instruction.align or body.layout.align(instruction.type)
    body.emit(Alloc(base, size, align, "stack", body.locals.shown(instruction.name or "")))
    body.registers.define(instruction, base)
    if body.locals.arrays is not None:
        body.locals.arrays.begin(instruction, base)


def _check_length(body: Body, instruction: ir.Alloca, count: Operand) -> None:
    """Make it an error where an array is declared if a length is negative, or if the array is larger than any
    object can be: its size would wrap. `alloca` takes a `size_t`."""
    if not is_checked(body, "write") or body.cursor.probe is not None:
        return
    stack, lengths = [count], list[Expr]()
    while stack:
        operand = stack.pop()
        definition = body.flow.definition(operand)
        if isinstance(definition, ir.Convert) and definition.operation in ("zext", "sext"):
            stack.append(definition.operand)
        elif isinstance(definition, ir.Binary) and definition.operation == "mul":
            stack += [definition.left, definition.right]
        else:
            lengths.append(term_of(body, operand))
    size: Expr = build.integer(body.layout.size(instruction.type))
    most = body.layout.size(instruction.type)
    for length in lengths:
        if not isinstance(length.sort, MachineSort):
            return
        if length.sort.signed and length.kind is not Kind.CONST:
            natural = build.le(build.constant(0, length.sort), length)
            body.claim(natural, WRITE, f"the length of the array is not negative: {body.cursor.text}")
        size = build.mul(size, build.to_int(length))
        most *= int(length.value) if length.kind is Kind.CONST else length.sort.high
    largest = 2 ** (body.layout.pointer_bits - 1) - 1
    if most > largest and (instruction.name or "").startswith("vla"):  # Clang's name of an array
        fits = build.le(size, build.integer(largest))
        body.claim(fits, WRITE, f"the size of the array does not wrap: {body.cursor.text}")
