"""Find where control enters and leaves a block of the source, and mark there the lifetime of an object.

A *stay* is a part of an execution in which control is in the block of the source. The debug information of an
instruction says which blocks it is in; an instruction without debug information neither begins nor ends a
stay, and a jump never begins one. Control leaves the body of a loop between two iterations, although Clang
may generate no instruction there. But the jump back names its loop (`!llvm.loop`), and thereby the scope
around the loop, in which control is then.

Below, a *block* without "of the source" is a basic block of the LLVM IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block, predecessors
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.ir.types import VoidType

START: Final = "llvm.lifetime.start.block"
END: Final = "llvm.lifetime.end.block"
_JUMPS: Final = (ir.Jump, ir.Branch, ir.Switch)


@dataclass(slots=True)
class Stay:
    """The stays in the block of the source with the number `block`. `pointer` is the address of an object of
    this block, declared at `location`. `passed` returns the scopes of an instruction and, if it jumps back in
    a loop, the scope around the loop.

    A stay begins at the first instruction in the block that is no jump, and ends at the first one outside or
    at a return. The object begins and ends there. That may be after the jump into the block and before the
    jump out of it, but no instruction in between accesses the object."""

    block: int
    pointer: Local
    location: int | None
    code: list[Block]
    passed: Callable[[ir.Instruction], Iterable[frozenset[int]]]

    def marked(self) -> list[Block] | None:
        """Return the code with markers at the beginning and end of each stay. Return None if it is undecided
        for some block whether it is in a stay, or if there is no place for a marker."""
        needs = self._needs()
        ends = self._after(needs)
        if ends is None:
            return None
        result = {each.label: self._within(each, needs[each.label]) for each in self.code}
        for label, sources in predecessors(self.code).items():
            wanted = needs[label]
            if wanted is None:
                continue
            crossing = [source for source in sources if ends[source] != wanted]
            if crossing and len(crossing) == len(sources):
                steps = result[label].instructions
                steps.insert(sum(isinstance(each, ir.Phi) for each in steps), self._marker(begins=wanted))
                continue
            for source in crossing:
                if not self._insert_between(result, source, label, begins=wanted):
                    return None
        return list(result.values())

    def _needs(self) -> dict[str, bool | None]:
        """Return for each block whether its beginning is in a stay. Its first instruction that decides this
        counts or, if it has none, those of its successors; None if these differ."""
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
        """Return whether the first (or `last`) instruction of a block that decides it is in a stay; `inside`
        if none decides."""
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
        """Return for each block whether its end is in a stay. A block without an instruction that decides it
        takes the answer from its predecessors. Return None if these differ."""
        entering = predecessors(self.code)
        ends: dict[str, bool] = {}
        for each in self.code:
            last = self._inside(each, needs[each.label], last=True)
            if last is not None:
                ends[each.label] = last
        changed = True
        while changed:
            changed = False
            for label, sources in entering.items():
                if label not in ends and (neighbours := {ends[s] for s in sources if s in ends}):
                    ends[label], changed = min(neighbours), True
        for label, sources in entering.items():
            if needs[label] is None and len({ends.get(each, False) for each in (label, *sources)}) > 1:
                return None
        return {each.label: ends.get(each.label, False) for each in self.code}

    def _within(self, block: Block, inside: bool | None) -> Block:
        """Return a block with the markers between its instructions."""
        steps: list[ir.Instruction] = []
        for each in block.instructions:
            for after in self._decides(each):
                if after != inside:
                    steps.append(self._marker(begins=after))
                    inside = after
            steps.append(each)
        return Block(block.label, steps)

    def _insert_between(self, result: dict[str, Block], source: str, target: str, *, begins: bool) -> bool:
        """Put a marker on the edge from one block to another; return whether that is possible."""
        last = result[source].last
        if isinstance(last, ir.Jump):
            result[source].instructions.insert(-1, self._marker(begins=begins))
            return True
        if not isinstance(last, ir.Branch | ir.Switch):
            return False
        new = f"{source}.{target}.{self.pointer.name}"
        result[new] = Block(new, [self._marker(begins=begins), ir.Jump(target)])
        result[source].instructions[-1] = ir.redirected(last, lambda each: new if each == target else each)
        steps = result[target].instructions
        steps[:] = [ir.with_sources(step, lambda each: [new if each == source else each]) for step in steps]
        return True

    def _marker(self, *, begins: bool) -> ir.Call:
        callee = Symbol(self.pointer.type, START if begins else END)
        arguments, location = [ir.Argument(self.pointer, ir.PLAIN)], self.location if begins else None
        operands = [callee, self.pointer]
        return ir.Call(
            VoidType("void"), callee, arguments, None, frozenset(), location=location, operands=operands
        )
