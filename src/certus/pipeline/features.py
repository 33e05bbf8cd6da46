"""What a program is like, as far as it matters for who should try first: one walk over its terms."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.budget import Budget
from certus.core.effects import terms
from certus.core.linearity import BITS, is_product
from certus.core.loops import recursive
from certus.core.memory import uses_memory
from certus.core.program import Location, Procedure, Program
from certus.core.sorts import ArraySort
from certus.core.walk import postorder


@dataclass(frozen=True, slots=True)
class Features:
    """`size` is the number of edges. `linear`: no products of variables, no bit operations, no arrays and no
    memory."""

    size: int
    loops: bool
    recursion: bool
    products: bool
    bits: bool
    arrays: bool

    @property
    def linear(self) -> bool:
        return not (self.products or self.bits or self.arrays)

    @property
    def acyclic(self) -> bool:
        return not self.loops and not self.recursion


def features(program: Program, budget: Budget | None = None) -> Features:
    """What the program is like. Raises `BudgetExceeded`."""
    budget = budget or Budget()
    products = bits = False
    arrays = uses_memory(program) or any(isinstance(x.sort, ArraySort) for x in program.globals)
    for term in postorder(*(t for edge in program.edge.values() for t in terms(edge.op))):
        budget.check()
        bits = bits or term.kind in BITS
        arrays = arrays or isinstance(term.sort, ArraySort)
        products = products or is_product(term)
    loops = any(_has_cycle(procedure, budget) for procedure in program.procedures.values())
    return Features(len(program.edge), loops, bool(recursive(program)), products, bits, arrays)


def _has_cycle(procedure: Procedure, budget: Budget) -> bool:
    """Whether the control flow has a cycle: then not all locations can be taken away, each after all that
    lead to it."""
    entering = {procedure.entry: 0}
    targets: dict[Location, list[Location]] = {}
    for edge in procedure.edges:
        budget.check()
        entering.setdefault(edge.source, 0)
        entering[edge.target] = entering.get(edge.target, 0) + 1
        targets.setdefault(edge.source, []).append(edge.target)
    free = [at for at, number in entering.items() if number == 0]
    taken = 0
    while free:
        budget.check()
        taken += 1
        for target in targets.get(free.pop(), ()):
            entering[target] -= 1
            if entering[target] == 0:
                free.append(target)
    return taken < len(entering)
