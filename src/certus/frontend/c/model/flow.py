"""The control flow of one function: order, predecessors and dominators of blocks, definitions and uses of
values.

In Clang's IR, the check of a sanitizer is a branch to a block that calls a handler and ends there. Here it
becomes one call of the handler inside a block, with the condition that must hold and the description of the
operation as its arguments, so that the code behind the check belongs to the same block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Final

from certus.core.loops import postdominators, reverse_postorder
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block, reachable
from certus.frontend.c.ir.instructions import Integer, Local, Symbol

SLOT: Final = "cleanup.dest.slot"  # the variable that holds the targets of jumps, with lifetime markers
HANDLER: Final = "__ubsan_handle_"  # how the functions are called that report a failed check
QUOTIENT: Final = f"{HANDLER}divrem_overflow_abort"  # of a quotient: the divisor is 0, or it overflows
DIVISOR: Final = f"{HANDLER}division_by_zero_abort"  # our name for the first of these


class Flow:
    """The reachable blocks of a function, in an order in which definitions come before uses."""

    def __init__(self, blocks: list[Block], mark: Callable[[list[Block]], list[Block]] | None = None) -> None:
        """`mark` adds markers of lifetimes."""
        self.entry = blocks[0].label
        if any(isinstance(each, ir.Alloca) and each.name == SLOT for each in blocks[0].instructions):
            from certus.frontend.c.model.cleanups import threaded

            blocks = threaded(blocks)
        blocks = blocks if mark is None else mark(blocks)
        if any(block.label.startswith(("handler.", "trap")) for block in blocks):
            blocks = _with_checks_inside(blocks)
        everything = {block.label: block for block in blocks}
        self.order = reverse_postorder(
            self.entry, lambda label: reversed(ir.successors(everything[label].last))
        )
        self.blocks = {label: everything[label] for label in self.order}
        self.rank = {label: number for number, label in enumerate(self.order)}
        self.predecessors: dict[str, list[str]] = {label: [] for label in self.order}
        self.definitions: dict[str, ir.Instruction] = {}
        self.uses: dict[str, list[ir.Instruction]] = {}
        self.home: dict[ir.Instruction, str] = {}  # the block of an instruction
        self.number: dict[ir.Instruction, int] = {}  # its place in the text
        for block in blocks:
            if block.label in self.blocks:
                self._add(block)

    def _add(self, block: Block) -> None:
        label = block.label
        for instruction in block.instructions:
            self.home[instruction] = label
            self.number[instruction] = len(self.number) + 1
            if instruction.name is not None:
                self.definitions[instruction.name] = instruction
            for operand in instruction.operands:
                if isinstance(operand, Local):
                    self.uses.setdefault(operand.name, []).append(instruction)
        for target in ir.successors(block.last):
            self.predecessors[target].append(label)

    def instructions(self) -> Iterator[ir.Instruction]:
        """Yield all instructions, in order."""
        for label in self.order:
            yield from self.blocks[label].instructions

    def definition(self, operand: ir.Operand | None) -> ir.Instruction | None:
        """Return the instruction whose result an operand is."""
        return self.definitions.get(operand.name) if isinstance(operand, Local) else None

    def base(self, pointer: ir.Operand) -> ir.Operand:
        """Return the pointer to the object that a pointer is computed to be inside."""
        while True:
            definition = self.definition(pointer)
            if isinstance(definition, ir.GetElementPointer):
                pointer = definition.base
            elif isinstance(pointer, ir.Expression) and pointer.operation == "getelementptr":
                pointer = pointer.operands[0]
            else:
                return pointer

    def is_used_elsewhere(self, instruction: ir.Instruction) -> bool:
        """Return whether a value is used in another block; the phis of a successor use it in its own
        block."""
        home, name = self.home[instruction], instruction.name or ""
        for use in self.uses.get(name, ()):
            if isinstance(use, ir.Phi):
                ways = use.incoming.items()
                if any(getattr(value, "name", "") == name and label != home for label, value in ways):
                    return True
            elif self.home[use] != home:
                return True
        return False

    def last_use(self, name: str) -> float:
        """Return the number of the last use of a value; a phi uses it at the end of a block."""
        uses = self.uses.get(name, ())
        return max((inf if isinstance(use, ir.Phi) else self.number[use] for use in uses), default=0)

    def only_use(self, name: str) -> ir.Instruction | None:
        """Return the only instruction that uses a value."""
        uses = [use for use in self.uses.get(name, ()) if not isinstance(use, ir.Declare | ir.DebugRecord)]
        return uses[0] if len(uses) == 1 else None

    def behind(self, label: str) -> set[str]:
        """Return the blocks that control can reach from the end of a block."""
        return set(reachable(self.blocks, ir.successors(self.blocks[label].last)))

    # ------------------------------------------------------------------------------ dominators

    def dominates(self, first: ir.Instruction, second: ir.Instruction) -> bool:
        """Return whether every path to `second` goes through `first`."""
        a, b = self.home[first], self.home[second]
        return self.number[first] < self.number[second] if a == b else self._above(a, b)

    def _above(self, a: str, b: str) -> bool:
        """Return whether block `a` is on every path to block `b`."""
        while self.rank[b] > self.rank[a]:
            b = self._dominator[b]
        return a == b

    @cached_property
    def _dominator(self) -> dict[str, str]:
        """The immediate dominators: postdominators in the reversed graph, which ends at the entry."""
        labels = self.order[::-1]
        number = {label: n for n, label in enumerate(labels)}
        above = postdominators([[number[p] for p in self.predecessors[label]] for label in labels])
        return {label: labels[n] for label, n in zip(labels, above, strict=True)}


# --------------------------------------------------------------------------------------- checks


def _with_checks_inside(blocks: list[Block]) -> list[Block]:
    """Put each check into the block that it ends, together with the code behind it. A check of another form
    stays."""
    by_label = {block.label: block for block in blocks}
    entering = Counter(label for block in blocks for label in ir.successors(block.last))
    straight: list[Block] = []
    joined: dict[str, str] = {}  # blocks that are part of another one now
    for block in blocks:
        if block.label in joined:
            continue
        steps, here = list(block.instructions), block.label
        while isinstance(branch := steps[-1], ir.Branch) and "nosanitize" in branch.attached:
            first, second = by_label[branch.then], by_label[branch.otherwise]
            if entering[first.label] != 1:
                break
            if checks := _checks(branch, second, steps):
                steps[-1:] = [*checks, *first.instructions]
                here = first.label
            elif entering[second.label] == 2 and (choice := _choice(branch, here, first, second)) is not None:
                steps[-1:] = [*first.instructions[:-1], choice, *second.instructions[1:]]
                here = second.label
            else:
                break
            joined |= {first.label: block.label, second.label: block.label}
        straight.append(Block(block.label, steps))
    for block in straight:
        block.instructions = [
            ir.with_sources(each, lambda label: [joined.get(label, label)]) for each in block.instructions
        ]
    return straight


def _checks(branch: ir.Branch, failed: Block, before: list[ir.Instruction]) -> list[ir.Call]:
    """Return the checks that a branch stands for, if its false target calls a handler.

    Clang has one handler for quotients. If it checks both the divisor and the overflow, the condition is a
    conjunction; here it becomes two checks, that of the divisor first and under a name of its own."""
    match failed.instructions:
        case [*_, ir.Call(callee=Symbol() as callee) as call, ir.Unreachable()]:
            tests = [(callee, branch.condition)] if callee.name.startswith(HANDLER) else []
            if callee.name == QUOTIENT:
                divisor = Symbol(callee.type, DIVISOR)
                match _definition(branch.condition, before), call.arguments[-1].operand:
                    case ir.Binary(operation="and", left=left, right=right), _:
                        tests = [(divisor, left), (callee, right)]
                    case (ir.Compare(floating=False, right=Integer(value=0)), _) | (None, Integer(value=0)):
                        tests = [(divisor, branch.condition)]
            return [_check(branch, call, *each) for each in tests]
    return []


def _check(branch: ir.Branch, call: ir.Call, handler: Symbol, condition: ir.Operand) -> ir.Call:
    """Return a call of a handler with the condition that must hold, and Clang's description of the operation
    as arguments."""
    return replace(
        call,
        callee=handler,
        arguments=[ir.Argument(condition, ir.PLAIN), call.arguments[0]],
        location=branch.location,
        text=branch.text,
        operands=[handler, condition],
    )


def _definition(operand: ir.Operand, before: list[ir.Instruction]) -> ir.Instruction | None:
    """Return the instruction in front of a check that computes its condition; None for a constant."""
    if not isinstance(operand, Local):
        return None
    return next((each for each in reversed(before) if each.name == operand.name), None)


def _choice(branch: ir.Branch, here: str, first: Block, second: Block) -> ir.Select | None:
    """Return the phi of the block `second` as a choice, if `first` only computes a value of it. This is the
    check of a signed shift: Clang checks the base if the amount is less than the width, and lets other
    amounts pass. These overflow as well, so here the check fails for them."""
    match first.last, second.instructions:
        case [ir.Jump(target=target), [ir.Phi() as phi, following, *_]]:
            passes, alone = phi.incoming[here], not isinstance(following, ir.Phi)
            pure = all(isinstance(i, ir.Binary | ir.Compare | ir.Convert) for i in first.instructions[:-1])
            only_value = alone and pure and target == second.label
            if only_value and isinstance(passes, Integer) and passes.value:
                operands = [branch.condition, phi.incoming[first.label], Integer(phi.type, 0)]
                return ir.Select(
                    *operands, name=phi.name, location=phi.location, text=phi.text, operands=operands
                )
    return None
