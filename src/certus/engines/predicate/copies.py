"""Locations that are copies of one another: an inlined procedure leaves one for each of its calls.

What is found out about global variables at one copy is likely to matter at the others, and waiting until
a path leads through each of them costs a refinement every time.
"""

from __future__ import annotations

from certus.core.program import Location, Program
from certus.core.terms import Expr
from certus.core.walk import variables


class Copies:
    """The copies of the locations of a program: those at the same place in its source."""

    def __init__(self, program: Program) -> None:
        self._globals = frozenset(program.globals)
        self._at: dict[object, list[Location]] = {}
        for procedure in program.procedures.values():
            for location in procedure.locations:
                self._at.setdefault(_place(location), []).append(location)

    def of(self, location: Location, predicates: tuple[Expr, ...]) -> tuple[Location, ...]:
        """Where predicates found at a location are to be used: there, and at its copies if they
        speak of globals only."""
        if all(x in self._globals for x in variables(*predicates)):
            return tuple(self._at[_place(location)])
        return (location,)


def _place(location: Location) -> object:
    return location if location.span is None else (location.procedure, location.span, location.loop)
