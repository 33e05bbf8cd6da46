"""`&&`, `||` and `?:` as one condition or one value.

Clang makes blocks of them. Where such blocks only look at variables, and all ways through them end in two
blocks, they are one condition; where they end in one block, they choose the values of its phis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.sorts import BOOL
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.model.memory import variable_at
from certus.frontend.c.model.operands import term_of, value_of
from certus.frontend.c.model.probing import gives_poison, is_partial
from certus.frontend.c.model.terms import Unmodelled, as_sort, decided

if TYPE_CHECKING:
    from collections.abc import Callable

    from certus.frontend.c.model.body import Body

DECIDING: Final = (
    "land.",
    "lor.",
    "cond.",
)  # how blocks of `&&`, `||` and `?:` are called; labels of C have no dots
_LARGEST: Final = 400  # blocks of one decision


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a branch leads once the blocks behind it are folded: by `condition` to `then` or to `otherwise`,
    which may be the same. `values` are those of the phis of these blocks."""

    condition: Expr
    then: str
    otherwise: str
    values: dict[str, tuple[Expr, ...]]


class Decisions:
    """The folding of one function's branches. `lower` lowers an instruction."""

    def __init__(self, body: Body, lower: Callable[[ir.Instruction], None]) -> None:
        self._body = body
        self._lower = lower
        self._quiet: dict[str, bool] = {}
        self.absorbed: set[str] = set()
        self.unfolded = False  # whether the last branch could have been folded, and was not

    def decide(self, branch: ir.Branch, condition: Expr, *, unfolded: bool = False) -> Decision | None:
        """Fold the blocks behind a branch, as far as they only decide; None if there are none, or if they are
        to stay `unfolded`."""
        body = self._body
        region, best = self._region(branch)
        self.unfolded = unfolded and best is not None
        if best is None or unfolded:
            return None
        count, exits = best
        body.folding = True
        try:
            inside = region[:count]
            found = _Fold(body, self._lower, branch, condition, inside).run(
                self._in_order(branch, inside, exits)
            )
        except Unmodelled:
            return None
        finally:
            body.folding = False
        self.absorbed.update(region[:count])
        return found

    def _in_order(self, branch: ir.Branch, inside: list[str], exits: list[str]) -> list[str]:
        """The ways out, first the one that control takes if all conditions on the way are true."""
        blocks, label = self._body.flow.blocks, branch.then
        while label in inside:
            label = ir.successors(blocks[label].last)[0]
        return [label, *(each for each in exits if each != label)]

    def _region(self, branch: ir.Branch) -> tuple[list[str], tuple[int, list[str]] | None]:
        """Blocks that only decide, in an order from the branch on, and the largest part of them that has at
        most two ways out: how many blocks, and the ways."""
        flow, here = self._body.flow, self._body.block
        region: dict[str, None] = {}
        exits = dict.fromkeys((branch.then, branch.otherwise))
        best: tuple[int, list[str]] | None = None
        while len(region) < _LARGEST:
            label = next((x for x in exits if self._joins(x, here, region)), None)
            if label is None:
                break
            region[label] = None
            del exits[label]
            for target in ir.successors(flow.blocks[label].last):
                if target not in region:
                    exits[target] = None
            if len(exits) <= 2:
                best = len(region), list(exits)
        return list(region), best

    def _joins(self, label: str, here: str, region: dict[str, None]) -> bool:
        if label == here or not label.startswith(DECIDING) or not self._is_quiet(label):
            return False
        return all(p == here or p in region for p in self._body.flow.predecessors[label])

    def _is_quiet(self, label: str) -> bool:
        found = self._quiet.get(label)
        if found is None:
            found = self._quiet[label] = self._looks_only(label)
        return found

    def _looks_only(self, label: str) -> bool:
        """Whether a block only looks at variables, and its values are used in it or by phis behind it."""
        body, flow = self._body, self._body.flow
        block = flow.blocks[label]
        if not isinstance(block.last, ir.Branch | ir.Jump) or "llvm.loop" in block.last.attached:
            return False
        probe = body.unit.invariants and body.unit.sources.probe(block.last.location) is not None
        if probe and gives_poison(body, label):
            return False
        for instruction in block.instructions[:-1]:
            if probe and is_partial(instruction):
                return False
            if isinstance(instruction, ir.Load):
                if variable_at(body, instruction.pointer, instruction.type) is None:
                    return False
            elif isinstance(instruction, ir.Convert):
                if instruction.operation == "inttoptr":
                    return False
            elif not isinstance(instruction, _PURE):
                return False
            for use in flow.uses.get(instruction.name or "", ()):
                if isinstance(use, ir.Phi):
                    ways = [w for value, w in use.ways if getattr(value, "name", "") == instruction.name]
                    if any(way != label for way in ways):
                        return False
                elif flow.home[use] != label:
                    return False
        return True


class _Fold:
    """The folding of some blocks behind a branch."""

    def __init__(
        self,
        body: Body,
        lower: Callable[[ir.Instruction], None],
        branch: ir.Branch,
        condition: Expr,
        inside: list[str],
    ) -> None:
        self.body = body
        self.lower = lower
        self.here = body.block
        self.inside = inside
        # of each block: the condition to go on to the first of two blocks, or to the only one
        self.ways: dict[str, tuple[Expr, str, str]] = {self.here: (condition, branch.then, branch.otherwise)}

    def run(self, exits: list[str]) -> Decision:
        body, flow = self.body, self.body.flow
        for number, label in enumerate(self.inside):
            block = flow.blocks[label]
            phis = phis_of(body, label)
            for phi, value in zip(phis, self._arriving(label, phis, number), strict=True):
                body.values[phi.name or ""] = value
            for instruction in block.instructions[len(phis) : -1]:
                self.lower(instruction)
            last = block.last
            if isinstance(last, ir.Jump):
                self.ways[label] = (build.TRUE, last.target, last.target)
            else:
                assert isinstance(last, ir.Branch)
                test = body.truth(value_of(body, last.condition))
                self.ways[label] = (test, last.then, last.otherwise)
        values = {}
        for label in exits:
            phis = phis_of(body, label)
            values[label] = tuple(self._arriving(label, phis, len(self.inside)))
        return Decision(self._leaving(exits), exits[0], exits[-1], values)

    def _leaving(self, exits: list[str]) -> Expr:
        """The condition under which control leaves by the first exit."""
        if len(exits) == 1:
            return build.TRUE
        terms = {exits[0]: build.TRUE, exits[1]: build.FALSE}
        for label in (*reversed(self.inside), self.here):
            test, then, otherwise = self.ways[label]
            terms[label] = decided(test, terms[then], terms[otherwise])
        return terms[self.here]

    def _arriving(self, end: str, phis: list[ir.Phi], before: int) -> list[Expr]:
        """The values of the phis of a block when control comes there, through the first blocks of the region.
        On ways that do not lead there they may be anything."""
        if not phis:
            return []
        values: dict[str, list[Expr] | None] = {}
        for label in (*reversed(self.inside[:before]), self.here):
            test, then, otherwise = self.ways[label]
            parts = [
                [self._phi_value(phi, label) for phi in phis] if target == end else values.get(target)
                for target in (then, otherwise)
            ]
            values[label] = _chosen(test, parts[0], parts[1])
        found = values[self.here]
        assert found is not None
        return found

    def _phi_value(self, phi: ir.Phi, label: str) -> Expr:
        body = self.body
        operand = next(value for value, source in phi.ways if source == label)
        term = term_of(body, operand)
        variable = body.phis.get(phi)
        return term if variable is None else as_sort(term, variable.sort)


def _chosen(test: Expr, yes: list[Expr] | None, no: list[Expr] | None) -> list[Expr] | None:
    if yes is None or no is None:
        return no if yes is None else yes
    return [
        decided(test, a, b) if a.sort is BOOL else build.ite(test, a, as_sort(b, a.sort))
        for a, b in zip(yes, no, strict=True)
    ]


def phis_of(body: Body, label: str) -> list[ir.Phi]:
    """Return the phis of a block; they come first in it."""
    return [i for i in body.flow.blocks[label].instructions if isinstance(i, ir.Phi)]


_PURE: Final = (ir.Binary, ir.Compare, ir.GetElementPointer, ir.Select, ir.Freeze, ir.Phi)
