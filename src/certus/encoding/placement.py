"""Choose the addresses of new objects (see `encoding.memory`). Trusted.

An object that does not fit into the address space is not allocated: the execution ends at an `Assume`. That
is the promise that allocations succeed, which every proof about a heap states. An object of negative size is
allocated (`Lifetimes.size`).
"""

from __future__ import annotations

from collections.abc import Callable

from certus.core import build
from certus.core.memory import Partition
from certus.core.program import Alloc, Assign, Assume, BasicOp, Havoc
from certus.core.terms import Expr
from certus.encoding.addresses import MARGIN
from certus.encoding.lifetimes import Lifetimes

BASE = 4096  # the first address of a fixed layout
GAP = 16  # between objects of a fixed layout; their alignment is not observable


class Placement:
    """The addresses of the objects of one program. `declare` adds a global, with its value at the start."""

    def __init__(
        self, partition: Partition, lifetimes: Lifetimes, declare: Callable[[Expr, Expr | None], None]
    ) -> None:
        self._partition = partition
        self._address = partition.address
        self._lifetimes = lifetimes
        self._declare = declare

    def next_address(self, op: Alloc, target: Expr, region: int) -> list[BasicOp]:
        brk = build.var(f"mem$brk${region}", self._address)
        self._declare(brk, build.constant(BASE, self._address))
        stride = self._partition.regions[region].stride
        step = build.constant(1 if self._lifetimes.active and not stride else GAP, self._address)
        if not stride:  # only the starts of objects are compared
            half = build.constant(1 << (self._address.width - 1), self._address)
            few: list[BasicOp] = [Assume(build.lt(brk, half))] if region in self._lifetimes.watched else []
            return [*few, Assign((target, brk), (brk, build.add(brk, step)))]
        size, top = (
            self._lifetimes.size(op),
            build.constant((1 << self._address.width) - MARGIN, self._address),
        )
        after = build.add(brk, build.add(size, step))
        moved: list[BasicOp] = [Assign((target, brk), (brk, after))]
        fits = build.and_(build.le(brk, top), build.le(size, build.sub(top, brk)))
        return [Assume(fits), *moved]

    def any_address(self, op: Alloc, target: Expr) -> list[BasicOp]:
        """Choose any address below all earlier objects, or above them."""
        one, zero = build.constant(1, self._address), build.constant(0, self._address)
        top = build.constant((1 << self._address.width) - MARGIN, self._address)
        low, brk = (build.var(name, self._address) for name in ("mem$brk$low", "mem$brk"))
        for edge, start in ((low, top), (brk, one)):
            self._declare(edge, start)
        size = self._lifetimes.size(op)
        end = build.add(target, build.ite(build.eq(size, zero), one, size))
        conditions = [
            build.le(one, target),
            build.le(target, top),
            build.le(size, build.sub(top, target)),
            build.or_(build.le(brk, target), build.le(end, low)),
        ]
        if op.align > 1:
            aligned = build.eq(build.bit_and(target, build.constant(op.align - 1, self._address)), zero)
            conditions.append(aligned)
        above = build.ite(build.le(brk, target), end, brk)
        below = build.ite(build.lt(target, low), target, low)
        return [
            Havoc((target,)),
            Assume(build.conjunction(conditions)),
            Assign((low, brk), (below, above)),
        ]
