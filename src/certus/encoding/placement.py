"""Choose the addresses of new objects (see `encoding.memory`). Trusted.

No address is used twice while there are unused ones. An object that does not fit any more is placed in one of
two ways:

- If no object of its region has ended, all of them are live, and the execution ends at an `Assume`. That is
  the promise that allocations succeed, which every proof about a heap states.
- Otherwise the object gets an arbitrary address, and the memory of the region arbitrary contents. So the
  lowered program has the execution in which these are an address where nothing is live, and to which no
  pointer leads, and the contents that the region really has.

The only object of a region with fixed layout has the address `Partition.base`. So have objects that an
execution uses one at a time (`core.memory.renewed`), and each has new contents. A number of 64 bits, for an
object of a region of stride 0, is never used up: that would take centuries.

An object of negative size is allocated (`Lifetimes.size`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Assign, Assume, BasicOp, Free, Havoc
from certus.core.terms import BOOL, ArraySort, Expr, Kind, MachineSort
from certus.encoding.addresses import MARGIN

if TYPE_CHECKING:
    from certus.encoding.memory import MemoryLowering

ENDLESS = 64  # bits of a number that is never used up

Ways = tuple[list[BasicOp], ...]  # alternative statements


@dataclass(slots=True)
class _Space:
    """The allocations that share addresses: their number, whether some may be executed more than once, the
    bytes that the others need, for any alignment, and the largest alignment."""

    objects: int = 0
    repeated: bool = False
    bytes: float = 0
    align: int = 1

    def add(self, op: Alloc, *, repeated: bool) -> None:
        self.objects += 1
        self.repeated |= repeated
        self.bytes += op.size.value + op.align if op.size.kind is Kind.CONST else math.inf
        self.align = max(self.align, op.align)

    @property
    def is_single(self) -> bool:
        """Return whether there is only one object in the whole execution."""
        return self.objects == 1 and not self.repeated


class Placement:
    """The addresses of the objects of one program."""

    def __init__(self, lowering: MemoryLowering) -> None:
        self._lowering = lowering
        self._address = lowering.address
        self._base = build.constant(lowering.partition.base, self._address)
        self._spaces: dict[int | None, _Space] = {}
        for edge in lowering.original.edge.values():
            if isinstance(edge.op, Alloc):
                space = self._spaces.setdefault(self._space(lowering.allocated(edge.op).region), _Space())
                space.add(edge.op, repeated=edge.index not in lowering.once)

    def placed(self, op: Alloc) -> Ways:
        """Return the ways to choose the address of a new object."""
        number = self._lowering.allocated(op).region
        region = self._lowering.partition.regions[number]
        if number in self._lowering.objects:
            return (self._cells(op, number),)
        if region.layout != "fixed":
            return self._any_address(op, number)
        if number in self._lowering.renewed or self._spaces[number].is_single:
            return (self._same_address(op, number),)
        return self._next_address(op, number) if region.stride else self._next_number(op, number)

    def ended(self, op: Free) -> list[BasicOp]:
        """Return the note that an object of a region has ended, if a later one may need it."""
        pointer = self._lowering.types.of(op.address)
        return [] if pointer is None or not self._runs_out(pointer.region) else self._noted(pointer.region)

    def begun(self, op: Alloc) -> list[BasicOp]:
        """Return what follows the choice of an address. An object on the stack counts as ended, for it ends
        without notice if the program asks nothing about its memory."""
        number = self._lowering.allocated(op).region
        if op.storage == "heap":
            return self._forgotten(op, number)
        return self._noted(number) if op.storage == "stack" and self._runs_out(number) else []

    def _forgotten(self, op: Alloc, number: int) -> list[BasicOp]:
        """Return the end of old addresses: variables that are not read before they are written must not look
        as if they held the address of the new object, where leaks are sought."""
        stale = [x for x in self._lowering.renewed.get(number, ()) if x is not op.target]
        variables = [*map(self._lowering.terms.variable, stale), *self._lowering.provenance.twins(stale)]
        zeros = tuple(build.constant(0, x.sort) for x in variables)
        return [Assign(tuple(variables), zeros)] if variables else []

    # ------------------------------------------------------------------------------------ the ways

    def _cells(self, op: Alloc, number: int) -> list[BasicOp]:
        """Create an object that is kept in variables. Nothing in it is derived from an object yet."""
        cells, twins = self._lowering.objects[number].cells.values(), self._lowering.twins.fresh(number)
        target = self._lowering.terms.variable(op.target)
        zeros = tuple(build.constant(0, cell.sort) for cell in (cells if op.zero else ()))
        targets = (target, *(cells if op.zero else ()), *twins)
        none = self._lowering.provenance.none
        created = Assign(targets, (self._base, *zeros, *(none,) * len(twins)))
        return [created, *([] if op.zero else self._arbitrary(tuple(cells)))]

    def _next_number(self, op: Alloc, number: int) -> Ways:
        """Count objects whose starts alone are compared."""
        brk, target = self._end(number), self._lowering.terms.variable(op.target)
        next_one = build.add(brk, build.constant(1, self._address))
        moved: list[BasicOp] = [Assign((target, brk), (brk, next_one))]
        if not self._spaces[number].repeated:
            return (moved,)
        half = build.constant(1 << (self._address.width - 1), self._address)
        unused = build.lt(brk, half)
        if self._address.width >= ENDLESS:
            return ([Assume(unused), *moved],)
        new = build.and_(build.le(self._base, target), build.lt(target, half))
        return [Assume(unused), *moved], self._again(op, number, unused, new)

    def _next_address(self, op: Alloc, number: int) -> Ways:
        """Put an object right behind the last one."""
        brk, target = self._end(number), self._lowering.terms.variable(op.target)
        size, top = self._lowering.lifetimes.size(op), self._top
        after = build.add(brk, self._taken(size))
        fits = build.and_(build.le(brk, top), build.le(size, build.sub(top, brk)))
        moved: list[BasicOp] = [Assume(fits), Assign((target, brk), (brk, after))]
        if not self._runs_out(number):
            return (moved,)
        return moved, self._again(op, number, fits, self._is_inside(target, size))

    def _same_address(self, op: Alloc, number: int) -> list[BasicOp]:
        """Put the only object at the first address, or an object where the last one was, which is not used
        any more. (The offsets in an object of nearly all bytes reach beyond the last address.)"""
        target = self._lowering.terms.variable(op.target)
        if self._spaces[number].is_single:
            return [Assign((target,), (self._base,))]
        zero = self._lowering.arrays(number) if op.zero else []
        written = self._lowering.written.arrays(number) if op.is_written else []
        cells = (*self._lowering.arrays(number), *self._lowering.notes(number))
        others = [x for x in cells if x not in zero and x not in written]
        values = (*(_all(x, ones=False) for x in zero), *(_all(x, ones=True) for x in written))
        return [*self._arbitrary(others), Assign((target, *zero, *written), (self._base, *values))]

    def _any_address(self, op: Alloc, number: int) -> Ways:
        """Choose any address below all earlier objects, or above them. There is one as long as all objects,
        each right above the last one and with the largest alignment, fit into the address space;
        `mem$brk$used` counts their bytes."""
        one, zero = build.constant(1, self._address), build.constant(0, self._address)
        top, target = self._top, self._lowering.terms.variable(op.target)
        low, brk = (build.var(name, self._address) for name in ("mem$brk$low", "mem$brk"))
        for edge, start in ((low, top), (brk, one)):
            self._lowering.declare(edge, start)
        size = self._lowering.lifetimes.size(op)
        taken = self._taken(size)
        end = build.add(target, taken)
        conditions = [self._is_inside(target, size)]
        if op.align > 1:
            aligned = build.eq(build.bit_and(target, build.constant(op.align - 1, self._address)), zero)
            conditions.append(aligned)
        outside = build.or_(build.le(brk, target), build.le(end, low))
        above = build.ite(build.le(brk, target), end, brk)
        below = build.ite(build.lt(target, low), target, low)
        chosen: list[BasicOp] = [
            Havoc((target,)),
            Assume(build.conjunction([*conditions, outside])),
            Assign((low, brk), (below, above)),
        ]
        if not self._runs_out(number):
            return (chosen,)
        used = build.var("mem$brk$used", self._address)
        self._lowering.declare(used, zero)
        unit = self._spaces[None].align
        rounded = build.add(taken, build.constant(unit - 1, self._address))
        needed = build.bit_and(rounded, build.constant(-unit % (1 << self._address.width), self._address))
        room = build.constant(int(top.value) - unit, self._address)
        fits = build.and_(build.le(taken, needed), build.le(needed, build.sub(room, used)))
        return (
            [Assume(fits), *chosen, Assign((used,), (build.add(used, needed),))],
            self._again(op, number, fits, build.conjunction(conditions)),
        )

    def _again(self, op: Alloc, number: int, unused: Expr, condition: Expr) -> list[BasicOp]:
        """Return the choice of an arbitrary address if there is no unused one and an object has ended."""
        target = self._lowering.terms.variable(op.target)
        used = Assume(build.and_(self._freed(number), build.not_(unused)))
        memory = (*self._lowering.arrays(number), *self._lowering.notes(number))
        return [used, *self._arbitrary((target, *memory)), Assume(condition)]

    # ---------------------------------------------------------------------------------- their parts

    @property
    def _top(self) -> Expr:
        return build.constant((1 << self._address.width) - MARGIN, self._address)

    def _is_inside(self, start: Expr, size: Expr) -> Expr:
        """Return whether an object lies in the address space, without its margin."""
        one, top = build.constant(1, self._address), self._top
        return build.conjunction(
            [build.le(one, start), build.le(start, top), build.le(size, build.sub(top, start))]
        )

    def _taken(self, size: Expr) -> Expr:
        """Return the bytes that no other object has: at least one, so that objects start at different
        addresses."""
        zero, one = build.constant(0, self._address), build.constant(1, self._address)
        return build.ite(build.eq(size, zero), one, size)

    def _arbitrary(self, targets: Sequence[Expr]) -> list[BasicOp]:
        return [Havoc(tuple(targets))] if targets else []

    def _end(self, number: int) -> Expr:
        """Return the variable that has the address of the next object of a region."""
        brk = build.var(f"mem$brk${number}", self._address)
        self._lowering.declare(brk, self._base)
        return brk

    def _space(self, number: int) -> int | None:
        """Return the number of a region with an address space of its own, None for one that shares it."""
        return number if self._lowering.partition.regions[number].layout == "fixed" else None

    def _runs_out(self, number: int) -> bool:
        """Return whether there may be no unused address for an object though earlier ones have ended."""
        at = self._space(number)
        if at not in self._spaces or number in self._lowering.objects:
            return False
        space, region = self._spaces[at], self._lowering.partition.regions[number]
        if at is not None and not region.stride:
            same = number in self._lowering.renewed or not space.repeated
            return not same and self._address.width < ENDLESS
        if at is not None and number in self._lowering.renewed:
            return False
        return space.repeated or (space.objects > 1 and space.bytes >= 1 << (self._address.width - 2))

    def _freed(self, number: int) -> Expr:
        """Return the variable that says whether an object of an address space has ended."""
        freed = build.var("mem$freed" if self._space(number) is None else f"mem${number}$freed", BOOL)
        self._lowering.declare(freed, build.FALSE)
        return freed

    def _noted(self, number: int) -> list[BasicOp]:
        return [Assign((self._freed(number),), (build.TRUE,))]


def _all(memory: Expr, *, ones: bool) -> Expr:
    """Return an array of zeros or ones, of the sort of another one."""
    assert isinstance(memory.sort, ArraySort)
    element = memory.sort.element
    assert isinstance(element, MachineSort)
    return build.const_array(memory.sort.index, build.constant(element.high if ones else 0, element))
