"""How the source has an instruction: the part of a statement whose step it is.

A load is the place that is read (`p->next`), a store the assignment, a call the call. A branch is the head of
its statement, unless it belongs to `&&`, `||` or `?:` inside of it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core.diagnostic import Span
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local, Operand, Symbol
from certus.frontend.c.source import expressions
from certus.frontend.c.source.statements import Statements

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body
    from certus.frontend.c.model.sources import Finder

_DEEPEST: Final = 100  # subscripts that are counted


def part_of(body: Body, instruction: ir.Instruction) -> tuple[Span, str] | None:
    """Return stretch and text of what an instruction does; None if that is all of its statement."""
    if instruction.location is None:
        return _parameter(body, instruction)
    find = _finder(body, instruction)
    return None if find is None else body.unit.sources.part(instruction.location, find)


def _finder(body: Body, instruction: ir.Instruction) -> Finder | None:
    if isinstance(instruction, ir.Load):
        return partial(expressions.place, subscripts=_subscripts(body, instruction))
    if isinstance(instruction, ir.Store | ir.AtomicUpdate):
        return expressions.effect
    if isinstance(instruction, ir.Binary | ir.Compare):
        return expressions.operation
    if isinstance(instruction, ir.Call):
        intrinsic = isinstance(instruction.callee, Symbol) and instruction.callee.name.startswith("llvm.")
        return expressions.effect if intrinsic else Statements.call
    return None


def _parameter(body: Body, instruction: ir.Instruction) -> tuple[Span, str] | None:
    """The declaration of the parameter that a function stores to its variable."""
    pointer: Operand | None = instruction.pointer if isinstance(instruction, ir.Store) else None
    while isinstance(pointer, Local):
        declared = body.births.declared.get(pointer.name)
        if declared is not None:
            return body.unit.sources.part(declared.location, expressions.parameter)
        made = body.flow.definitions.get(pointer.name)
        pointer = made.base if isinstance(made, ir.GetElementPointer) else None
    return None


def chosen_text(body: Body, phis: list[ir.Phi]) -> str:
    """Return the text of `a && b` or `a || b`, if that is the value which a block begins with."""
    location = phis[0].location if len(phis) == 1 else None
    if body.unit.sources.part(location, expressions.left_operand) is None:
        return ""
    found = body.unit.sources.part(location, expressions.operation)
    return "" if found is None else found[1]


def condition_of(body: Body, branch: ir.Branch) -> tuple[Span, str] | None:
    """Return the part of a condition that a branch decides, if blocks of `&&`, `||` or `?:` follow."""
    sources, ways = body.unit.sources, (branch.then, branch.otherwise)
    if all(label.startswith("cond.") for label in ways):
        return sources.part(branch.location, expressions.tested)
    return sources.part(branch.location, expressions.left_operand)


def _subscripts(body: Body, load: ir.Load) -> int:
    """How many subscripts at the place of a load lead to what it reads."""
    pointer: Operand = load.pointer
    count = 0
    for _ in range(_DEEPEST):
        made = body.flow.definitions.get(pointer.name) if isinstance(pointer, Local) else None
        if isinstance(made, ir.GetElementPointer):
            count += made.location == load.location
            pointer = made.base
        elif isinstance(made, ir.Load):
            pointer = made.pointer
        else:
            break
    return count
