"""What a program is like, as far as it matters for who should try first: one walk over its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.core.effects import terms
from certus.core.loops import loop_forest, recursive
from certus.core.memory import uses_memory
from certus.core.program import Program
from certus.core.sorts import ArraySort
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder

BITS: Final = frozenset({Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR, Kind.BIT_NOT, Kind.SHL, Kind.SHR})
PRODUCTS: Final = frozenset({Kind.MUL, Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})


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
        products = products or (term.kind in PRODUCTS and _of_variables(term))
    loops = sum(len(loop_forest(procedure).loops) for procedure in program.procedures.values())
    return Features(len(program.edge), loops, bool(recursive(program)), products, bits, arrays)


def _of_variables(term: Expr) -> bool:
    """Whether a product has two factors that are no constants, or a division such a divisor."""
    if term.kind is Kind.MUL:
        return sum(factor.kind is not Kind.CONST for factor in term.args) > 1
    return term.args[1].kind is not Kind.CONST
