"""Thread jumps through the blocks in which Clang ends the lifetimes of variables.

With lifetime markers, `break`, `continue`, `goto` and `return` out of a scope store the number of their
target to `cleanup.dest.slot` and go to a block that all jumps out of the scope share. It ends lifetimes and
then branches on the number. Here each such block is copied for each number that control arrives with, so that
every jump has its own way again, as in the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block, predecessors
from certus.frontend.c.ir.instructions import Integer, Local, Operand
from certus.frontend.c.model.flow import SLOT

Point = tuple[str, int | None]  # a block, and the number that it is entered with if that matters


def threaded(blocks: list[Block]) -> list[Block]:
    """Return the blocks of a function with separate ways for its jumps. A block that cannot be copied stays
    shared: then the slot remains an ordinary variable."""
    by_label = {block.label: block for block in blocks}
    used = _used_elsewhere(blocks)
    copied = {label for label in _reading(blocks) if _can_be_copied(by_label[label], used)}
    order: list[Point] = [(blocks[0].label, None)]
    reached = set(order)
    copies: dict[str, list[Block]] = {}
    for label, number in order:
        block = by_label[label]
        value = _value_behind(block, number)
        target = _decided(block, value)
        names: dict[str, str] = {}
        for successor in ir.successors(block.last) if target is None else [target]:
            point = (successor, value if successor in copied else None)
            names[successor] = _name(point)
            if point not in reached:
                reached.add(point)
                order.append(point)
        copies.setdefault(label, []).append(_copy(block, _name((label, number)), names, target))
    result = [copy for block in blocks for copy in copies.get(block.label, ())]
    if all(isinstance(each, ir.Store) for block in result for each in _accesses(block)):
        for block in result:
            stores = _accesses(block)
            block.instructions = [e for e in block.instructions if e not in stores and e.name != SLOT]
    entering = predecessors(result)
    for block in result:
        sources = partial(_sources, copies, entering[block.label])
        block.instructions = [ir.with_sources(each, sources) for each in block.instructions]
    return result


def _sources(copies: Mapping[str, list[Block]], entering: list[str], label: str) -> list[str]:
    """Return the labels of the copies of a block from which control comes."""
    return [copy.label for copy in copies.get(label, ()) if copy.label in entering]


def _name(point: Point) -> str:
    return point[0] if point[1] is None else f"{point[0]}.{point[1]}"


def _used_elsewhere(blocks: list[Block]) -> set[str]:
    """Return the values that another block than their own uses."""
    home = {each.name: block.label for block in blocks for each in block.instructions}
    return {
        operand.name
        for block in blocks
        for each in block.instructions
        for operand in each.operands
        if isinstance(operand, Local) and home.get(operand.name) != block.label
    }


def _reading(blocks: list[Block]) -> set[str]:
    """Return the blocks that may read the number with which they are entered, or pass it on to one that
    does."""
    first = {block.label: next(iter(_accesses(block)), None) for block in blocks}
    reading = {label for label, access in first.items() if isinstance(access, ir.Load)}
    changed = True
    while changed:
        changed = False
        for block in blocks:
            passes = first[block.label] is None and block.label not in reading
            if passes and not reading.isdisjoint(ir.successors(block.last)):
                reading.add(block.label)
                changed = True
    return reading


def _accesses(block: Block) -> list[ir.Load | ir.Store]:
    """Return the loads and stores of the slot in a block."""
    accesses = [each for each in block.instructions if isinstance(each, ir.Load | ir.Store)]
    return [each for each in accesses if getattr(each.pointer, "name", "") == SLOT]


def _value_behind(block: Block, number: int | None) -> int | None:
    """Return the number in the slot at the end of a block."""
    for each in _accesses(block):
        if isinstance(each, ir.Store):
            number = each.value.value if isinstance(each.value, Integer) else None
    return number


def _decided(block: Block, value: int | None) -> str | None:
    """Return where a branch on the number leads."""
    last = block.last
    if value is None or not isinstance(last, ir.Switch) or not isinstance(last.value, Local):
        return None
    if all(each.name != last.value.name for each in _accesses(block)):
        return None
    return next((label for case, label in last.cases if case == value), last.default)


_COPIED: Final = ir.Call | ir.Load | ir.Jump | ir.Switch | ir.DebugRecord


def _can_be_copied(block: Block, used: set[str]) -> bool:
    """Return whether a block only ends lifetimes and branches, and nothing outside uses its values."""
    simple = all(isinstance(each, _COPIED) and each.name not in used for each in block.instructions)
    return simple and isinstance(block.last, ir.Jump | ir.Switch)


def _copy(block: Block, name: str, names: Mapping[str, str], target: str | None) -> Block:
    """Return a block for one number, with its own names for values and labels. If the number decides where
    the block leads, it is not read any more."""
    own: dict[str | None, str] = {}
    if name != block.label:
        suffix = name.removeprefix(block.label)
        own = {each.name: f"{each.name}{suffix}" for each in block.instructions if each.name is not None}
    *steps, last = block.instructions
    if target is not None and isinstance(last, ir.Switch) and isinstance(last.value, Local):
        number = last.value.name
        steps = [each for each in steps if each.name != number]
        steps.append(ir.Jump(names[target], location=last.location, attached=last.attached, text=last.text))
    else:
        steps.append(ir.redirected(last, names.__getitem__))
    return Block(name, steps if name == block.label else [_renamed(each, own) for each in steps])


def _operand(old: Operand, own: Mapping[str | None, str]) -> Operand:
    return Local(old.type, own[old.name]) if isinstance(old, Local) and old.name in own else old


def _renamed(instruction: ir.Instruction, own: Mapping[str | None, str]) -> ir.Instruction:
    """Return an instruction of a copied block with the names of the copy."""
    operands = [_operand(old, own) for old in instruction.operands]
    copy = replace(instruction, name=own.get(instruction.name), operands=operands)
    match copy:
        case ir.Load():
            copy.pointer = _operand(copy.pointer, own)
        case ir.Switch():
            copy.value = _operand(copy.value, own)
        case ir.Call():
            copy.arguments = [ir.Argument(_operand(a.operand, own), a.passing) for a in copy.arguments]
            if not isinstance(copy.callee, ir.Assembly):
                copy.callee = _operand(copy.callee, own)
    return copy
