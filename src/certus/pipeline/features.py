"""What a program is like, as far as it matters for who should try first: one walk over its terms."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.effects import terms
from certus.core.linearity import BITS, is_product
from certus.core.loops import loop_forest, recursive
from certus.core.memory import uses_memory
from certus.core.program import Program
from certus.core.sorts import ArraySort
from certus.core.walk import postorder


@dataclass(frozen=True, slots=True)
class Features:
    """`size` is the number of edges. `linear`: no products of variables, no bit operations, no arrays and no
    memory."""

    size: int
    loops: int
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


def features(program: Program) -> Features:
    products = bits = False
    arrays = uses_memory(program) or any(isinstance(x.sort, ArraySort) for x in program.globals)
    for term in postorder(*(t for edge in program.edge.values() for t in terms(edge.op))):
        bits = bits or term.kind in BITS
        arrays = arrays or isinstance(term.sort, ArraySort)
        products = products or is_product(term)
    loops = sum(len(loop_forest(procedure).loops) for procedure in program.procedures.values())
    return Features(len(program.edge), loops, bool(recursive(program)), products, bits, arrays)
