"""Record which operations on floating-point numbers a solver knows the bits of.

The translations to z3 and Bitwuzla represent the bits of a result by a new bit-vector and a definition of it
(`solvers.bitwuzla.floats`). A definition is asserted with the first formula that needs the bits.
"""

from __future__ import annotations

from typing import Final

from certus.core.terms import FLOATS, Expr, Kind


class Definitions:
    """The definitions that a solver has asserted, level by level."""

    def __init__(self) -> None:
        self._levels: list[set[tuple[Expr, bool]]] = [set()]

    def push(self) -> None:
        self._levels.append(set())

    def pop(self) -> None:
        self._levels.pop()

    def reset(self) -> None:
        self._levels = [set()]

    def assert_for(self, *roots: Expr) -> list[Expr]:
        """Return the operations whose definitions these terms need and are not asserted yet, and record them
        as asserted."""
        visited, operations = self._walk(roots)
        self._levels[-1] |= visited
        return operations

    def are_missing(self, root: Expr) -> bool:
        """Tell whether a term needs a definition that is not asserted."""
        return bool(self._walk((root,))[1])

    def _walk(self, roots: tuple[Expr, ...]) -> tuple[set[tuple[Expr, bool]], list[Expr]]:
        """Return all terms below the roots that were not visited before, and the operations among them whose
        bits are needed: those that are more than an operand of another operation."""
        visited: set[tuple[Expr, bool]] = set()
        operations: list[Expr] = []
        stack = [(root, True) for root in roots]
        while stack:
            item = stack.pop()
            if item in visited or any(item in level for level in self._levels):
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
        return visited, operations


_PLAIN: Final = frozenset((Kind.F_EQ, Kind.F_LT, Kind.F_LE, Kind.F_TO))  # their results are no floats
