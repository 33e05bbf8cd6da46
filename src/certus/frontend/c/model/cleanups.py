"""Thread jumps through the blocks in which Clang ends the lifetimes of variables.

With lifetime markers, `break`, `continue`, `goto` and `return` out of a scope store the number of their
target to `cleanup.dest.slot` and go to a block that all jumps out of the scope share. It ends lifetimes and
then branches on the number. Here each such block is copied for each number that control arrives with, so that
every jump has its own way again, as in the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block
from certus.frontend.c.ir.instructions import Integer, Local, Operand

SLOT: Final = "cleanup.dest.slot"
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
    if not any(_first_access(block) == "load" for block in result):
        for block in result:
            block.instructions = [each for each in block.instructions if not _is_of_slot(each)]
    sources: dict[str, set[str]] = {}
    for block in result:
        for label in ir.successors(block.last):
            sources.setdefault(label, set()).add(block.label)
    for block in result:
        here = sources.get(block.label, set())
        block.instructions = [_with_sources(each, copies, here) for each in block.instructions]
    return result


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
    reading: set[str] = set()
    changed = True
    while changed:
        changed = False
        for block in blocks:
            if block.label in reading or _first_access(block) == "store":
                continue
            loads = _first_access(block) == "load"
            if loads or any(label in reading for label in ir.successors(block.last)):
                reading.add(block.label)
                changed = True
    return reading


def _is_of_slot(instruction: ir.Instruction) -> bool:
    """Return whether an instruction creates or writes the slot."""
    if isinstance(instruction, ir.Store):
        return getattr(instruction.pointer, "name", "") == SLOT
    return isinstance(instruction, ir.Alloca) and instruction.name == SLOT


def _first_access(block: Block) -> str:
    for each in block.instructions:
        if isinstance(each, ir.Store) and getattr(each.pointer, "name", "") == SLOT:
            return "store"
        if isinstance(each, ir.Load) and getattr(each.pointer, "name", "") == SLOT:
            return "load"
    return ""


def _value_behind(block: Block, number: int | None) -> int | None:
    """Return the number in the slot at the end of a block."""
    for each in block.instructions:
        if isinstance(each, ir.Store) and getattr(each.pointer, "name", "") == SLOT:
            number = each.value.value if isinstance(each.value, Integer) else None
    return number


def _decided(block: Block, value: int | None) -> str | None:
    """Return where a branch on the number leads."""
    last = block.last
    if value is None or not isinstance(last, ir.Switch) or not isinstance(last.value, Local):
        return None
    for each in block.instructions:
        if isinstance(each, ir.Load) and each.name == last.value.name:
            if getattr(each.pointer, "name", "") != SLOT:
                return None
            return next((label for case, label in last.cases if case == value), last.default)
    return None


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
    last, dropped = block.last, None
    if target is not None and isinstance(last, ir.Switch) and isinstance(last.value, Local):
        dropped = last.value.name
    kept = [each for each in block.instructions[:-1] if dropped is None or each.name != dropped]
    steps = [_renamed(each, own) if own or name != block.label else each for each in kept]
    return Block(name, [*steps, _redirected(last, own, names, target)])


def _operand(old: Operand, own: Mapping[str | None, str]) -> Operand:
    return Local(old.type, own[old.name]) if isinstance(old, Local) and old.name in own else old


def _renamed(instruction: ir.Instruction, own: Mapping[str | None, str]) -> ir.Instruction:
    """Return an instruction of a copied block with the names of the copy."""
    copy: ir.Instruction = ir.DebugRecord()
    if isinstance(instruction, ir.Load):
        copy = ir.Load(instruction.volatile, instruction.type, _operand(instruction.pointer, own))
    elif isinstance(instruction, ir.Call):
        call, callee = instruction, instruction.callee
        callee = callee if isinstance(callee, ir.Assembly) else _operand(callee, own)
        arguments = [ir.Argument(_operand(a.operand, own), a.passing) for a in call.arguments]
        copy = ir.Call(call.result, callee, arguments, call.declared, call.words, call.targets)
    ir.complete_like(copy, instruction, [_operand(old, own) for old in instruction.operands])
    copy.name = own.get(instruction.name)
    return copy


def _redirected(
    last: ir.Instruction, own: Mapping[str | None, str], names: Mapping[str, str], target: str | None
) -> ir.Instruction:
    """Return the end of a block with the labels of copies."""
    if all(label == name for label, name in names.items()) and target is None and not own:
        return last
    copy: ir.Instruction = last
    if target is not None:
        copy = ir.Jump(names[target])
        ir.complete_like(copy, last, [])
        return copy
    if isinstance(last, ir.Jump):
        copy = ir.Jump(names[last.target])
    elif isinstance(last, ir.Branch):
        copy = ir.Branch(last.condition, names[last.then], names[last.otherwise])
    elif isinstance(last, ir.Switch):
        cases = [(case, names[label]) for case, label in last.cases]
        copy = ir.Switch(_operand(last.value, own), names[last.default], cases)
    if copy is not last:
        ir.complete_like(copy, last, [_operand(old, own) for old in last.operands])
    return copy


def _with_sources(
    instruction: ir.Instruction, copies: Mapping[str, list[Block]], sources: set[str]
) -> ir.Instruction:
    """Return a phi that names all copies of the blocks that control comes from."""
    if not isinstance(instruction, ir.Phi):
        return instruction
    incoming = [
        (value, copy.label)
        for value, label in instruction.incoming
        for copy in copies.get(label, ())
        if copy.label in sources
    ]
    phi = ir.Phi(instruction.type, incoming)
    ir.complete_like(phi, instruction, instruction.operands)
    return phi
