"""Arguments of calls: as the caller has them, as the function that is called takes them, and packed behind
one another for variadic functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Free
from certus.core.sorts import INT, MachineSort, Sort, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import Type
from certus.frontend.c.model.memory import copied_object, copy_object, write
from certus.frontend.c.model.operands import from_integer, value_of
from certus.frontend.c.model.terms import NULL, Value, as_sort, taken

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


@dataclass(frozen=True, slots=True)
class Given:
    """An argument of a call. If an object is passed by value, the value is the address of a copy."""

    value: Value
    type: Type
    passing: ir.Passing


def given_arguments(body: Body, instruction: ir.Call) -> list[Given]:
    """Return the arguments of a call; objects that are passed by value are copied."""
    found: list[Given] = []
    for argument in instruction.arguments:
        operand, passing = argument.operand, argument.passing
        value = value_of(body, operand)
        if passing.byval is not None:
            address = as_sort(body.scalar(value), INT)
            value = copied_object(body, address, passing.byval, passing.align)
        found.append(Given(value, operand.type, passing))
    return found


def end_copies(body: Body, given: Sequence[Given], packed: Expr) -> None:
    """The objects that were made for a call end with it."""
    for base in (*(g.value for g in given if g.passing.byval is not None), packed):
        if isinstance(base, Expr) and base is not NULL:
            body.emit(Free(base, "stack"), text="end of an argument")


def bound(body: Body, given: Sequence[Given], callee: Body, packed: Expr) -> tuple[Expr, ...]:
    """Return the arguments as a function takes them; `packed` is where those behind the named ones are."""
    passed: list[Expr] = []
    for number, cells in enumerate(callee.signature.cells):
        parameter = callee.parameters[len(passed)]
        if number >= len(given):
            count = 1 if cells is None else len(cells)
            wanted = [v.sort for v in callee.parameters[len(passed) : len(passed) + count]]
            passed += [body.havoc(sort, approximates="an argument that is not given") for sort in wanted]
        elif cells is not None:
            passed += taken(given[number].value, cells, body.unset)
        else:
            passed.append(fitted(body, body.scalar(given[number].value), parameter.sort))
    return tuple(passed) if callee.more is None else (*passed, packed)


def fitted(body: Body, term: Expr, sort: Sort) -> Expr:
    """Return an argument as the function expects it: only calls by another type need a conversion."""
    if sort is INT and isinstance(term.sort, MachineSort):
        return from_integer(body, term)
    if isinstance(sort, MachineSort) and isinstance(term.sort, MachineSort) and term.sort.width < sort.width:
        term = build.wrap(term, machine(term.sort.width, signed=False))
    return as_sort(term, sort)


def pack(body: Body, given: Sequence[Given]) -> Expr:
    """Make an object with the arguments behind the named ones, as on a stack; return its address."""
    if not given:
        return NULL
    layout, places, end = body.layout, list[tuple[int, Given]](), 0
    word = layout.word
    for each in given:
        type_ = each.passing.byval or each.type
        align = max(word, each.passing.align or layout.align(type_)) if word == 8 else word
        start = -(-end // align) * align
        places.append((start, each))
        end = start + -(-layout.size(type_) // word) * word
    base = body.local("$&arguments", INT)
    body.emit(Alloc(base, build.integer(end), 16, "stack", "arguments"), text="begin of arguments")
    for start, each in places:
        at = build.add(base, build.integer(start))
        if each.passing.byval is not None:
            copy_object(body, at, as_sort(body.scalar(each.value), INT), each.passing.byval)
        else:
            write(body, at, each.value, each.type, None)
    return base
