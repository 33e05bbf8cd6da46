"""Fold the blocks of `&&`, `||` and `?:` into one condition or one value.

Clang compiles these operators to blocks. Where the blocks only read variables and all paths through them end
in two blocks, they are one condition; where they end in one block, they choose the values of its phis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.sorts import BOOL
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand
from certus.frontend.c.model.checks import gives_poison, is_partial
from certus.frontend.c.model.memory import variable_at
from certus.frontend.c.model.operands import term_of, value_of
from certus.frontend.c.model.terms import Unmodelled, as_sort, choice, decided

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

# The labels of blocks of `&&`, `||` and `?:` begin like this; labels of C have no dots.
DECIDING: Final = ("land.", "lor.", "cond.")
_LARGEST: Final = 400  # blocks of one decision
_PURE: Final = (ir.Binary, ir.Compare, ir.GetElementPointer, ir.Select, ir.Freeze, ir.Phi)


class Decisions:
    """The folded branches of one function; `absorbed` are the labels of folded blocks."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._pure: dict[str, bool] = {}
        self.absorbed: set[str] = set()

    # -------------------------------------------------------------------------------- the blocks

    def region(self, branch: ir.Branch) -> tuple[list[str], list[str]]:
        """Return the largest set of blocks behind a branch that only decide and have at most two exits, in an
        order from the branch on, and the exits. The first exit is the one that control takes if all
        conditions hold."""
        flow, here = self._body.flow, self._body.cursor.block
        region: dict[str, None] = {}
        exits = dict.fromkeys((branch.then, branch.otherwise))
        inside: list[str] = []
        ways: list[str] = []
        while len(region) < _LARGEST:
            label = next((x for x in exits if self._joins(x, here, region)), None)
            if label is None:
                break
            region[label] = None
            del exits[label]
            exits |= dict.fromkeys(x for x in ir.successors(flow.blocks[label].last) if x not in region)
            if len(exits) <= 2:
                inside, ways = list(region), list(exits)
        first = branch.then
        while first in inside:
            first = ir.successors(flow.blocks[first].last)[0]
        return inside, [first, *(way for way in ways if way != first)]

    def _joins(self, label: str, here: str, region: dict[str, None]) -> bool:
        if label == here or not label.startswith(DECIDING):
            return False
        if label not in self._pure:
            self._pure[label] = self._is_pure(label)
        return self._pure[label] and all(
            p == here or p in region for p in self._body.flow.predecessors[label]
        )

    def _is_pure(self, label: str) -> bool:
        """Whether a block only reads variables, and its values are used only in it or by phis of its
        successors."""
        body, flow = self._body, self._body.flow
        block = flow.blocks[label]
        if not isinstance(block.last, ir.Branch | ir.Jump) or "llvm.loop" in block.last.attached:
            return False
        probe = body.unit.rules.invariants and body.unit.sources.probe(block.last.location) is not None
        if probe and gives_poison(body, label):
            return False
        for instruction in block.instructions[:-1]:
            if isinstance(instruction, ir.Load):
                checks = body.initialisation
                pure = variable_at(body, instruction.pointer) is not None
                pure = pure and not (checks is not None and checks.may_be_unset(instruction.pointer))
            elif isinstance(instruction, ir.Convert):
                pure = instruction.operation != "inttoptr"
            else:
                pure = isinstance(instruction, _PURE)
            if not pure or (probe and is_partial(instruction)):
                return False
            if flow.is_used_elsewhere(instruction):
                return False
        return True

    # ----------------------------------------------------------------------------------- folding

    def fold(
        self,
        branch: ir.Branch,
        condition: Expr,
        inside: list[str],
        exits: list[str],
        lower: Callable[[ir.Instruction], None],
    ) -> tuple[Expr, dict[str, tuple[Expr, ...]]] | None:
        """Fold the blocks `inside`, which are behind a branch; `lower` lowers an instruction. Return the
        condition that control leaves them by the first exit, and the values of the phis of all exits; None if
        a block contains something that is not modelled."""
        body, blocks = self._body, self._body.flow.blocks
        # For each block: the condition to continue with the first of two blocks, and both blocks.
        ways = {body.cursor.block: (condition, branch.then, branch.otherwise)}
        body.registers.folding = True
        try:
            for label in inside:
                phis = phis_of(body, label)
                for phi, value in zip(phis, self._arriving(label, phis, ways), strict=True):
                    body.registers.values[phi.name or ""] = value
                for instruction in blocks[label].instructions[len(phis) : -1]:
                    lower(instruction)
                last = blocks[label].last
                if isinstance(last, ir.Branch):
                    ways[label] = (body.truth(value_of(body, last.condition)), last.then, last.otherwise)
                else:
                    assert isinstance(last, ir.Jump)
                    ways[label] = (build.TRUE, last.target, last.target)
            values = {label: tuple(self._arriving(label, phis_of(body, label), ways)) for label in exits}
        except Unmodelled:
            return None
        finally:
            body.registers.folding = False
        self.absorbed.update(inside)
        leaving = {exits[-1]: build.FALSE, exits[0]: build.TRUE}
        for label, (test, then, otherwise) in reversed(ways.items()):
            leaving[label] = decided(test, leaving[then], leaving[otherwise])
        return leaving[body.cursor.block], values

    def _arriving(self, end: str, phis: list[ir.Phi], ways: dict[str, tuple[Expr, str, str]]) -> list[Expr]:
        """Return the values of the phis of a block if control comes there by these edges. On other paths they
        may have any value."""
        if not phis:
            return []
        values: dict[str, list[Expr] | None] = {}
        for label, (test, *targets) in reversed(ways.items()):
            yes, no = (
                [self._phi_value(phi, label) for phi in phis] if target == end else values.get(target)
                for target in targets
            )
            values[label] = _chosen(test, yes, no)
        arriving = values[self._body.cursor.block]
        assert arriving is not None
        return arriving

    def _phi_value(self, phi: ir.Phi, label: str) -> Expr:
        term, variable = term_of(self._body, incoming_value(phi, label)), self._body.registers.phis.get(phi)
        return term if variable is None else as_sort(term, variable.sort)


def _chosen(test: Expr, yes: list[Expr] | None, no: list[Expr] | None) -> list[Expr] | None:
    if yes is None or no is None:
        return no if yes is None else yes
    return [(decided if a.sort is BOOL else choice)(test, a, b) for a, b in zip(yes, no, strict=True)]


def phis_of(body: Body, label: str) -> list[ir.Phi]:
    """Return the phis of a block; they come first in it."""
    return [i for i in body.flow.blocks[label].instructions if isinstance(i, ir.Phi)]


def incoming_value(phi: ir.Phi, label: str) -> Operand:
    """Return the value of a phi if control comes from a block."""
    return next(value for value, source in phi.incoming if source == label)
