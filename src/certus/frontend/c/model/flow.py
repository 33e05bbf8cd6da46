"""The blocks of one function: order, predecessors, dominators, and where values are used."""

from __future__ import annotations

from collections.abc import Iterator

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block
from certus.frontend.c.ir.operands import Local


class Flow:
    """What control can reach in a function, in an order in which values come before their uses."""

    def __init__(self, blocks: list[Block]) -> None:
        self.entry = blocks[0].label
        everything = {block.label: block for block in blocks}
        self.order = _order(everything, self.entry)
        self.blocks = {label: everything[label] for label in self.order}
        self.rank = {label: number for number, label in enumerate(self.order)}
        self.predecessors: dict[str, list[str]] = {label: [] for label in self.order}
        self.definitions: dict[str, ir.Instruction] = {}
        self.uses: dict[str, list[ir.Instruction]] = {}
        self.home: dict[ir.Instruction, str] = {}  # the block of an instruction
        self.number: dict[ir.Instruction, int] = {}  # its place in the text
        self._dominator: dict[str, str] | None = None
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
            for operand in ir.operands(instruction):
                if isinstance(operand, Local):
                    self.uses.setdefault(operand.name, []).append(instruction)
        for target in ir.successors(block.last):
            self.predecessors[target].append(label)

    def instructions(self) -> Iterator[ir.Instruction]:
        """Yield all instructions, in order."""
        for label in self.order:
            yield from self.blocks[label].instructions

    def only_use(self, name: str) -> ir.Instruction | None:
        """Return the only instruction that uses a value."""
        found = [use for use in self.uses.get(name, ()) if not isinstance(use, ir.Declare | ir.DebugRecord)]
        return found[0] if len(found) == 1 else None

    # ------------------------------------------------------------------------------ dominators

    def dominates(self, first: ir.Instruction, second: ir.Instruction) -> bool:
        """Whether control cannot reach `second` without having executed `first`."""
        a, b = self.home[first], self.home[second]
        return self.number[first] < self.number[second] if a == b else self._above(a, b)

    def _above(self, a: str, b: str) -> bool:
        """Whether block `a` is on all ways to block `b`."""
        dominator = self._dominators()
        while self.rank[b] > self.rank[a]:
            b = dominator[b]
        return a == b

    def _dominators(self) -> dict[str, str]:
        """The immediate dominators (Cooper, Harvey, Kennedy: a simple, fast dominance algorithm)."""
        if self._dominator is not None:
            return self._dominator
        found = {self.entry: self.entry}
        changed = True
        while changed:
            changed = False
            for label in self.order[1:]:
                known = [p for p in self.predecessors[label] if p in found]
                new = known[0]
                for other in known[1:]:
                    new = self._meet(found, new, other)
                if found.get(label) != new:
                    found[label] = new
                    changed = True
        self._dominator = found
        return found

    def _meet(self, found: dict[str, str], a: str, b: str) -> str:
        rank = self.rank
        while a != b:
            while rank[a] > rank[b]:
                a = found[a]
            while rank[b] > rank[a]:
                b = found[b]
        return a


def _order(blocks: dict[str, Block], entry: str) -> list[str]:
    """Labels in reverse postorder; what is unreachable is left out."""
    found: list[str] = []
    seen = {entry}
    stack: list[tuple[str, Iterator[str]]] = [(entry, _backwards(blocks, entry))]
    while stack:
        label, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, _backwards(blocks, target)))
                break
        else:
            found.append(label)
            stack.pop()
    found.reverse()
    return found


def _backwards(blocks: dict[str, Block], label: str) -> Iterator[str]:
    return iter(reversed(ir.successors(blocks[label].last)))
