"""What a run does to chosen variables: their values whenever chosen edges are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certus.core.program import Call, Edge, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.validate.interpreter import Machine


class Observations:
    """An observer that notes, each time one of the `edges` (by index) is taken, the values its variables
    have afterwards. After a call that is at the entry of the callee, with the parameters bound."""

    def __init__(self, program: Program, edges: Mapping[int, Sequence[Expr]]) -> None:
        self.values: list[tuple[int, tuple[Datum, ...]]] = []  # the edge, and the values, in order
        self._edges = edges
        taken = (program.edge[index] for index in edges)
        self.watched = frozenset(edge.target for edge in taken if not isinstance(edge.op, Call))

    @classmethod
    def of_calls(cls, program: Program, procedure: str) -> Observations:
        """The arguments of every call of a procedure."""
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

    def leave(self, machine: Machine, edge: Edge) -> None:
        """Nothing to do: a call was noted when it was entered."""

    def _note(self, machine: Machine, edge: Edge) -> None:
        variables = self._edges.get(edge.index)
        if variables is not None:
            self.values.append((edge.index, tuple(map(machine.value, variables))))
