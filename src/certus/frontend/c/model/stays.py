"""Where control enters and leaves a block of the source: the markers of one object's lifetime.

Steps between two rounds of a loop are outside its body, but a jump from round to round may leave no such
step. It names its loop (`!llvm.loop`), and so the scope around the loop, which control passes there. A label
has a place as well. A step without a place decides nothing, and one that only jumps begins no stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.ir.types import VoidType

START: Final = "llvm.lifetime.start.block"
END: Final = "llvm.lifetime.end.block"
_JUMPS: Final = (ir.Jump, ir.Branch, ir.Switch)


@dataclass(slots=True)
class Stay:
    """When control is in a block of the source. `pointer` is the address of an object of the block, which is
    declared at `location`. `passed` returns the scopes that control is in at an instruction and after it.

    A stay begins with a step in the block that does more than to jump. It ends with any step outside, and
    where the function returns. So it may end before the jump out of the block, and begin after the jump into
    it: no access to the object is in between."""

    block: int
    pointer: Local
    location: int | None
    code: list[Block]
    passed: Callable[[ir.Instruction], Iterable[frozenset[int]]]

    def marked(self) -> list[Block] | None:
        """Return the code with markers at each beginning and end; None if it is open at some step whether
        control is in the block."""
        needs = self._needs()
        ends = self._after(needs)
        if ends is None:
            return None
        result = {each.label: self._within(each, needs[each.label]) for each in self.code}
        entering = _predecessors(self.code)
        for label, sources in entering.items():
            wanted = ends[label] if needs[label] is None else needs[label]
            crossing = [source for source in sources if needs[label] is not None and ends[source] != wanted]
            if not crossing:
                continue
            if len(crossing) == len(sources):
                self._insert_at_start(result[label], begins=wanted)
                continue
            for source in crossing:
                if not self._insert_between(result, source, label, begins=wanted):
                    return None
        return list(result.values())

    def _needs(self) -> dict[str, bool | None]:
        """Return whether control must be in the block of the source where each block of the code begins: at
        its first step that decides it or, if none does, at those of the blocks behind it."""
        needs = {each.label: self._inside(each, None) for each in self.code}
        needs[self.code[0].label] = False
        changed = True
        while changed:
            changed = False
            for each in self.code:
                behind = {needs[label] for label in ir.successors(each.last)}
                if needs[each.label] is None and len(behind) == 1 and None not in behind:
                    needs[each.label], changed = behind.pop(), True
        return needs

    def _inside(self, block: Block, inside: bool | None, *, last: bool = False) -> bool | None:
        """Return whether control is in the block of the source at the first or the last step of a block of
        the code that decides it; `inside` if none does."""
        for each in block.instructions:
            for after in self._decides(each):
                if not last:
                    return after
                inside = after
        return inside

    def _decides(self, instruction: ir.Instruction) -> Iterator[bool]:
        if isinstance(instruction, ir.Return):
            yield False
            return
        for scopes in self.passed(instruction):
            if self.block not in scopes:
                yield False
            elif not isinstance(instruction, _JUMPS):
                yield True

    def _after(self, needs: Mapping[str, bool | None]) -> dict[str, bool] | None:
        """Return whether control is in the block of the source at the end of each block of the code. Blocks
        without a step that decides it pass it on; None if such a block is reached in both ways."""
        entering = _predecessors(self.code)
        ends: dict[str, bool] = {}
        for each in self.code:
            last = self._inside(each, needs[each.label], last=True)
            if last is not None:
                ends[each.label] = last
        changed = True
        while changed:
            changed = False
            for label, sources in entering.items():
                if label not in ends and (known := {ends[s] for s in sources if s in ends}):
                    ends[label], changed = min(known), True
        for label, sources in entering.items():
            if needs[label] is None and len({ends.get(each, False) for each in (label, *sources)}) > 1:
                return None
        return {each.label: ends.get(each.label, False) for each in self.code}

    def _within(self, block: Block, inside: bool | None) -> Block:
        """Return a block of the code with the markers between its steps."""
        steps: list[ir.Instruction] = []
        for each in block.instructions:
            for after in self._decides(each):
                if after != inside:
                    steps.append(self._marker(begins=after))
                    inside = after
            steps.append(each)
        return Block(block.label, steps)

    def _insert_at_start(self, block: Block, *, begins: bool | None) -> None:
        phis = sum(isinstance(each, ir.Phi) for each in block.instructions)
        block.instructions.insert(phis, self._marker(begins=bool(begins)))

    def _insert_between(
        self, result: dict[str, Block], source: str, target: str, *, begins: bool | None
    ) -> bool:
        """Put a marker on the way from one block to another; return whether that is possible."""
        last = result[source].last
        if isinstance(last, ir.Jump):
            result[source].instructions.insert(-1, self._marker(begins=bool(begins)))
            return True
        if not isinstance(last, ir.Branch | ir.Switch):
            return False
        jump = ir.Jump(target)
        ir.complete(jump)
        between = Block(f"{source}.{target}.{self.pointer.name}", [self._marker(begins=bool(begins)), jump])
        result[between.label] = between
        result[source].instructions[-1] = _redirected(last, target, between.label)
        steps = result[target].instructions
        steps[:] = [_from(each, source, between.label) for each in steps]
        return True

    def _marker(self, *, begins: bool) -> ir.Call:
        callee = Symbol(self.pointer.type, START if begins else END)
        arguments = [ir.Argument(self.pointer, ir.PLAIN)]
        marker = ir.Call(VoidType("void"), callee, arguments, None, frozenset())
        ir.complete(marker, location=self.location if begins else None, operands=[callee, self.pointer])
        return marker


def reachable(code: list[Block]) -> list[Block]:
    """Return the blocks of the code that control can reach, in order."""
    by_label = {block.label: block for block in code}
    reached = {code[0].label: None}
    order = list(reached)
    for label in order:
        for target in ir.successors(by_label[label].last):
            if target not in reached:
                reached[target] = None
                order.append(target)
    return [block for block in code if block.label in reached]


def _predecessors(code: list[Block]) -> dict[str, list[str]]:
    entering: dict[str, list[str]] = {block.label: [] for block in code}
    for block in code:
        for label in dict.fromkeys(ir.successors(block.last)):
            entering[label].append(block.label)
    return entering


def _redirected(last: ir.Branch | ir.Switch, old: str, new: str) -> ir.Instruction:
    """Return the end of a block with a label replaced."""

    def label(name: str) -> str:
        return new if name == old else name

    made: ir.Instruction
    if isinstance(last, ir.Branch):
        made = ir.Branch(last.condition, label(last.then), label(last.otherwise))
    else:
        made = ir.Switch(last.value, label(last.default), [(case, label(name)) for case, name in last.cases])
    ir.complete_like(made, last, last.operands)
    return made


def _from(instruction: ir.Instruction, old: str, new: str) -> ir.Instruction:
    """Return a phi with the label of a predecessor replaced."""
    if not isinstance(instruction, ir.Phi):
        return instruction
    incoming = [(value, new if label == old else label) for value, label in instruction.incoming]
    made = ir.Phi(instruction.type, incoming)
    ir.complete_like(made, instruction, instruction.operands)
    return made
