"""The constraint system of Zaks et al. 2006 without the simplifications of section 3.5: every variable has a
quantity of its own at every location (`pre`) and after every statement (`post`), with a propagation
constraint where it is not assigned and a flow constraint for every edge. For programs of one procedure."""

from __future__ import annotations

from certus.analysis.ranges.essa import EssaForm, State
from certus.analysis.ranges.system import Gate, Join, System, limits
from certus.analysis.ranges.terms import Translation
from certus.core.loops import loop_forest
from certus.core.program import Assign, Assume, Edge, Havoc, Location, Program, Return
from certus.core.terms import Expr


def plain_essa(program: Program) -> EssaForm:
    return _Plain(program).essa()


class _Plain:
    def __init__(self, program: Program) -> None:
        (self.procedure,) = program.procedures.values()
        self.system = System()
        self.translation = Translation(self.system)
        self.form = EssaForm(program, self.system, self.translation)
        self.names = (*self.procedure.variables, *program.globals)
        heads = loop_forest(self.procedure).heads
        for at in self.procedure.locations:
            pre = {x: self._join(x, cyclic=at in heads) for x in self.names}
            self.form.at[at] = State(self._join(None, cyclic=at in heads), pre)

    def essa(self) -> EssaForm:
        program, translation = self.form.program, self.translation
        start = {x: translation.arbitrary(x.sort) for x in self.names}
        start |= {x: translation.assigned(x, value, {}) for x, value in program.initial.items()}
        self._flow(self.procedure.entry, self.system.open, start)
        for edge in self.procedure.edges:
            self._edge(edge, self.form.at[edge.source])
        return self.form

    def _join(self, x: Expr | None, *, cyclic: bool) -> int:
        quantity = self.system.add(Join(cyclic=cyclic))
        self.translation.limits[quantity] = (0, 0) if x is None else limits(x.sort)
        return quantity

    def _edge(self, edge: Edge, pre: State) -> None:
        op, gate = edge.op, pre.gate
        changed: dict[Expr, int] = {}
        if isinstance(op, Assume):
            changed, needs = self.translation.assume(op.condition, pre.environment)
            gate = self.system.add(Gate(gate, tuple(needs)))
        elif isinstance(op, Assign):
            for x, value in zip(op.targets, op.values, strict=True):
                changed[x] = self.translation.assigned(x, value, pre.environment)
        elif isinstance(op, Havoc):
            changed = {x: self.translation.arbitrary(x.sort) for x in op.targets}
        else:
            assert isinstance(op, Return), op
        post = {x: self.translation.copied(q, x.sort) for x, q in pre.environment.items()}
        self._flow(edge.target, gate, post | changed)

    def _flow(self, target: Location, gate: int, post: dict[Expr, int]) -> None:
        state = self.form.at[target]
        self._add(state.gate, gate, self.system.open)
        for x, quantity in state.environment.items():
            self._add(quantity, post[x], gate)

    def _add(self, join: int, operand: int, gate: int) -> None:
        definition = self.system.definitions[join]
        assert isinstance(definition, Join)
        definition.add(operand, gate)
