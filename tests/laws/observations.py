"""Record the values of chosen variables whenever a run takes chosen edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certus.core.program import Call, Edge, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.interpreter.interpreter import Machine, Observer


class Observations(Observer):
    """An observer that records, each time a run takes one of the `edges` (by index), the values of its
    variables afterwards; for a call, at the entry of the callee with its parameters bound."""

    def __init__(self, program: Program, edges: Mapping[int, Sequence[Expr]]) -> None:
        self.values: list[tuple[int, tuple[Datum, ...]]] = []  # the edge, and the values, in order
        self._edges = edges
        taken = (program.edge[index] for index in edges)
        self.watched = frozenset(edge.target for edge in taken if not isinstance(edge.op, Call))

    @classmethod
    def of_calls(cls, program: Program, procedure: str) -> Observations:
        """Return an observer of the arguments of every call of a procedure."""
        parameters = program.procedures[procedure].parameters
        calls = (e for e in program.edge.values() if isinstance(e.op, Call) and e.op.procedure == procedure)
        return cls(program, {edge.index: parameters for edge in calls})

    def start(self, machine: Machine) -> None:
        self.values.clear()

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is not None and not isinstance(edge.op, Call):
            self._note(machine, edge)

    def enter(self, machine: Machine, edge: Edge) -> None:
        self._note(machine, edge)

    def _note(self, machine: Machine, edge: Edge) -> None:
        variables = self._edges.get(edge.index)
        if variables is not None:
            self.values.append((edge.index, tuple(map(machine.value, variables))))
