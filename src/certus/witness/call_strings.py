"""Enumerate the call strings under which a procedure can be entered."""

from __future__ import annotations

from typing import Final

from certus.core.loops import recursive
from certus.core.program import Program, called

STRINGS: Final = 64  # the most that are enumerated


class CallStrings:
    """The call strings of a program. They start at the `roots`, the procedures that a proof treats separately
    and whose callers do not matter. `locals` are the local variables of all procedures."""

    def __init__(self, program: Program, roots: frozenset[str]) -> None:
        self.locals = frozenset(x for p in program.procedures.values() for x in p.variables)
        self._roots = roots
        self._cyclic = frozenset(name for group in recursive(program) for name in group) - roots
        self._calls: dict[str, list[tuple[str, int]]] = {}
        for name, procedure in program.procedures.items():
            for edge in procedure.edges:
                for call in called(edge.op):
                    self._calls.setdefault(call.procedure, []).append((name, edge.index))

    def of(self, procedure: str) -> list[tuple[int, ...]] | None:
        """Return all strings that lead to a procedure; None if there are too many."""
        strings: list[tuple[int, ...]] = []
        stack: list[tuple[str, tuple[int, ...]]] = [(procedure, ())]
        while stack:
            at, string = stack.pop()
            if at in self._roots:
                strings.append(string)
            elif at in self._cyclic or len(strings) + len(stack) > STRINGS:
                return None
            else:
                stack.extend((caller, (edge, *string)) for caller, edge in self._calls.get(at, ()))
        return sorted(strings)
