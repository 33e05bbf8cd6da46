"""The variables of parameters and results.

The calling convention passes a small record as one or two integers. Where such an integer is stored to an
object of a known type, it is passed cell by cell instead, and so is a record that is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from certus.core.sorts import INT, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local
from certus.frontend.c.ir.module import Parameter
from certus.frontend.c.ir.types import IntegerType, Layout, StructType, Type, VoidType
from certus.frontend.c.model.cells import cells_at
from certus.frontend.c.model.terms import Cell, Piece, Pieces, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


Cells = list[Cell] | None  # how a value is passed: cell by cell, or (None) as one variable


@dataclass(slots=True)
class Signature:
    """How a function takes its parameters and returns its result. `cells` has an element for each parameter;
    `foldable` tells whether a call can be one term (see `folding`), None if this is not known yet."""

    result: Type
    parameters: list[Expr] = field(default_factory=list)
    variadic: Expr | None = None  # the address of the variadic arguments
    results: tuple[Expr, ...] = ()
    cells: list[Cells] = field(default_factory=list)
    result_cells: Cells = None
    result_signed: bool = False
    foldable: bool | None = None


def make_signature(body: Body) -> None:
    """Create the variables of the parameters and results of a function that is defined."""
    function, debug = body.function, body.module.debug
    assert function is not None
    types = debug.signature(function.debug)
    plain = [p for p in function.parameters if p.passing.sret is None]
    declared = types[1:] if len(types) - 1 - function.type.variadic == len(plain) else []
    signs = {p.name: debug.signed(t) for p, t in zip(plain, declared, strict=False)}
    result = function.type.result
    signature = body.signature = Signature(result)
    signature.result_signed = bool(types and types[0] is not None and debug.signed(types[0]))
    signature.cells += [_take(body, p, signs.get(p.name)) for p in function.parameters]
    if function.type.variadic:
        signature.variadic = body.local("$more", INT)
        signature.parameters.append(signature.variadic)
    if not isinstance(result, VoidType):
        cells = signature.result_cells = _returned_cells(body, result)
        signature.results = _variables(body, "$result", result, cells, signature.result_signed)
    _slots_of_parameters(body)
    body.locals.name_variables()


def _take(body: Body, parameter: Parameter, signed: bool | None) -> Cells:
    """Create the variables of a parameter; return its cells, if it is passed cell by cell."""
    name, type_, passing = parameter.name, parameter.type, parameter.passing
    pointed = passing.byval or passing.sret
    if pointed is not None:
        body.roots.declare(name, pointed)
    cells, store = None, store_of(body, name)
    if isinstance(type_, IntegerType) and store is not None:
        cells = cells_at(body.layout, body.roots.of(store.pointer), body.layout.store_size(type_))
        cells = cells if cells is not None and len(cells) > 1 else None
    signed = passing.extension == "signext" if signed is None else signed
    shown = name.replace("_", "a").isalnum() and not name[0].isdigit() and cells is None
    variables = _variables(body, name if shown else f"${name}", type_, cells, signed)
    body.signature.parameters += variables
    if passing.byval is not None:
        body.extents[variables[0]] = body.layout.size(passing.byval)
    value = variables[0] if cells is None else pieces(body.layout, type_, cells, variables)
    body.registers.values[name] = value
    return cells


def _variables(body: Body, name: str, type_: Type, cells: Cells, signed: bool) -> tuple[Expr, ...]:
    """Create the variable of a value of a type, or the variables of its cells."""
    if cells is None:
        return (body.local(name, sort_of(type_, signed=signed)),)
    return tuple(body.local(f"{name}.{o}", machine(8 * w, signed=False)) for o, w in cells)


def pieces(layout: Layout, type_: Type, cells: Iterable[Cell], terms: Iterable[Expr]) -> Pieces:
    """Return a value of a type whose cells are these terms."""
    parts = [Piece(offset, size, term) for (offset, size), term in zip(cells, terms, strict=True)]
    return Pieces(layout.store_size(type_), tuple(parts))


def fields(layout: Layout, type_: StructType) -> list[Cell]:
    """Return the fields of a record as cells."""
    return list(zip(layout.offsets(type_), map(layout.store_size, type_.fields), strict=True))


def store_of(body: Body, name: str) -> ir.Store | None:
    """Return the only use of a value, if it is a store of it."""
    use = body.flow.only_use(name)
    if isinstance(use, ir.Store) and isinstance(use.value, Local) and use.value.name == name:
        return use
    return None


def _returned_cells(body: Body, result: Type) -> Cells:
    """Return the cells of the object that a result is loaded from, or the fields of a record."""
    cells: Cells = None
    for label in body.flow.order:
        last = body.flow.blocks[label].last
        if not isinstance(last, ir.Return) or not isinstance(last.value, Local):
            continue
        load = body.flow.definitions.get(last.value.name)
        root = body.roots.of(load.pointer) if isinstance(load, ir.Load) else None
        if isinstance(load, ir.Load) and root is not None and not isinstance(root.type, IntegerType):
            cells = cells_at(body.layout, root, body.layout.store_size(result))
            break
    if isinstance(result, StructType):
        return fields(body.layout, result) if cells is None else cells
    return cells if cells is not None and len(cells) > 1 else None


def _slots_of_parameters(body: Body) -> None:
    """Let a slot be the parameter itself, if storing the parameter is the first access to the slot."""
    flow = body.flow
    assert body.function is not None
    for parameter in body.function.parameters:
        store, value = store_of(body, parameter.name), body.registers.values[parameter.name]
        if store is None or not isinstance(store.pointer, Local) or not isinstance(value, Expr):
            continue
        slot = body.locals.slots.get(store.pointer.name)
        if slot is None or flow.home[store] != flow.entry:
            continue
        accesses = [u for u in flow.uses[store.pointer.name] if isinstance(u, ir.Load | ir.Store)]
        if min(accesses, key=lambda use: flow.number[use]) is not store:
            continue
        slot.variable = value
        body.registers.skipped.add(store)
        if slot.debug is not None:
            location = body.locals.location(store.pointer.name)
            body.unit.names.declare(body.module, value, slot.debug, location)
