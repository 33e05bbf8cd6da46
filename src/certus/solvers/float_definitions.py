"""Find the operations on floating-point numbers that a solver does not know the bits of yet.

The translations to z3 and Bitwuzla represent the bits of a result by a new bit-vector and a definition of it
(`solvers.bitwuzla.floats`). A definition is asserted with the first formula that needs the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core.terms import FLOATS, Expr, Kind

Visited = set[tuple[Expr, bool]]  # terms, and whether their bits are needed


def missing_definitions(root: Expr, levels: Sequence[Visited]) -> tuple[list[Expr], Visited]:
    """Return the operations whose definitions a term needs and no level has, and all terms visited for this;
    a level that asserts these definitions adds them. An operation needs its definition if it is more than an
    operand of another operation."""
    visited: Visited = set()
    operations: list[Expr] = []
    stack = [(root, True)]
    while stack:
        item = stack.pop()
        if item in visited or any(item in level for level in levels):
            continue
        visited.add(item)
        term, bits = item
        if term.kind in FLOATS:
            if bits and term.kind not in _PLAIN:
                operations.append(term)
            read = term.kind in (Kind.F_FROM, Kind.F_TO)  # F_TO: by its undefined values
            stack += [(argument, read) for argument in term.args]
        elif term.kind is Kind.ITE:
            stack += [(term.args[0], True), *((arm, bits) for arm in term.args[1:])]
        else:
            stack += [(argument, True) for argument in term.args]
    return operations, visited


_PLAIN: Final = frozenset((Kind.F_EQ, Kind.F_LT, Kind.F_LE, Kind.F_TO))  # their results are no floats
