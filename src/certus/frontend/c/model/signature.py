"""Parameters and results as variables.

The calling convention passes a small record as one or two integers. Where such an integer is stored to an
object whose type is known, it is passed cell by cell instead, and so is a record that is returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from certus.core.sorts import INT, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local
from certus.frontend.c.ir.types import FunctionType, IntegerType, StructType, Type, VoidType
from certus.frontend.c.model.cells import cells_between
from certus.frontend.c.model.terms import Cell, Piece, Pieces, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


@dataclass(slots=True)
class Signature:
    """`cells` tells of each parameter how it is passed: cell by cell, or (None) as one variable."""

    type: FunctionType
    cells: list[list[Cell] | None] = field(default_factory=list)
    result_cells: list[Cell] | None = None
    result_signed: bool = False


def make_signature(body: Body) -> Signature:
    """Make the variables of parameters and results of a function that is defined."""
    function, debug = body.function, body.module.debug
    assert function is not None
    made = Signature(function.type)
    types = debug.signature(function.debug)
    made.result_signed = bool(types and types[0] is not None and debug.signed(types[0]))
    plain = [p for p in function.parameters if p.passing.sret is None]
    declared = types[1:] if len(types) - 1 - function.type.variadic == len(plain) else []
    signs = {p.name: debug.signed(t) for p, t in zip(plain, declared, strict=False)}
    body.signature = made
    for parameter in function.parameters:
        name, type_ = parameter.name, parameter.type
        pointed = parameter.passing.byval or parameter.passing.sret
        if pointed is not None:
            body.roots.declare(name, pointed)
        cells = _passed_cells(body, name, type_)
        made.cells.append(cells)
        if cells is None:
            signed = signs.get(name)
            signed = parameter.passing.extension == "signext" if signed is None else signed
            variable = body.local(_shown(name), sort_of(type_, signed=signed))
            body.parameters.append(variable)
            body.values[name] = variable
            continue
        variables = [body.local(f"${name}.{o}", machine(8 * w, signed=False)) for o, w in cells]
        body.parameters += variables
        parts = tuple(Piece(o, w, v) for (o, w), v in zip(cells, variables, strict=True))
        body.values[name] = Pieces(body.layout.store_size(type_), parts)
    if function.type.variadic:
        body.more = body.local("$more", INT)
        body.parameters.append(body.more)
    _results(body, made)
    _slots_of_parameters(body)
    body.births.name_variables()
    return made


def _shown(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and not name[0].isdigit() else f"${name}"


def _passed_cells(body: Body, name: str, type_: Type) -> list[Cell] | None:
    """The cells of the object that a parameter is stored to, if they are several."""
    store = body.flow.only_use(name)
    if not isinstance(type_, IntegerType) or not isinstance(store, ir.Store):
        return None
    if not isinstance(store.value, Local) or store.value.name != name:
        return None
    root = body.roots.of(store.pointer)
    if root is None:
        return None
    cells = cells_between(body.layout, root.type, root.offset, body.layout.store_size(type_))
    return cells if cells is not None and len(cells) > 1 else None


def _results(body: Body, made: Signature) -> None:
    result = made.type.result
    if isinstance(result, VoidType):
        return
    cells = _returned_cells(body, result)
    if cells is None and isinstance(result, StructType):
        offsets = body.layout.offsets(result)
        sizes = [body.layout.store_size(part) for part in result.fields]
        cells = list(zip(offsets, sizes, strict=True))
    if cells is None or (len(cells) == 1 and not isinstance(result, StructType)):
        body.results = (body.local("$result", sort_of(result, signed=made.result_signed)),)
        return
    made.result_cells = cells
    body.results = tuple(body.local(f"$result.{o}", machine(8 * w, signed=False)) for o, w in cells)


def _returned_cells(body: Body, result: Type) -> list[Cell] | None:
    """The cells of the object that a result is loaded from."""
    for label in body.flow.order:
        last = body.flow.blocks[label].last
        if not isinstance(last, ir.Return) or not isinstance(last.value, Local):
            continue
        load = body.flow.definitions.get(last.value.name)
        if isinstance(load, ir.Load):
            root = body.roots.of(load.pointer)
            if root is not None and not isinstance(root.type, IntegerType):
                return cells_between(body.layout, root.type, root.offset, body.layout.store_size(result))
    return None


def _slots_of_parameters(body: Body) -> None:
    """A parameter that is only stored to a slot is that slot."""
    flow = body.flow
    assert body.function is not None
    for parameter in body.function.parameters:
        store, value = flow.only_use(parameter.name), body.values[parameter.name]
        if not isinstance(store, ir.Store) or not isinstance(store.pointer, Local):
            continue
        slot = body.births.slots.get(store.pointer.name)
        if slot is None or not isinstance(value, Expr) or flow.home[store] != flow.entry:
            continue
        if not isinstance(store.value, Local) or store.value.name != parameter.name:
            continue
        accesses = [u for u in flow.uses[store.pointer.name] if isinstance(u, ir.Load | ir.Store)]
        if min(accesses, key=lambda use: flow.number[use]) is not store:
            continue
        slot.variable = value
        body.skipped.add(store)
        if slot.debug is not None and slot.debug.name:
            body.unit.name_variable(body, value, slot.debug)
