"""Build the transition relations of Linear Programs (Armando et al. 2004, sections 2 and 3.1).

A *frame* has the variables of the vectors of a procedure: its *entry* vector has the globals and parameters,
its *state* also the locals that are live across statements, its *exit* vector the globals and results. A
statement or large block is a union of paths (`paths`) or, if it has too many, a product along its DAG
(`blocks`). Its relation is tau of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.core import build
from certus.core.effects import written
from certus.core.intervals import conjuncts
from certus.core.program import Block, Call, Edge, Location, Procedure, Program, leaves
from certus.core.terms import Expr
from certus.core.walk import Substitution, variables
from certus.engines.linear.blocks import BlockRelation, Usage, after, modelled, usage
from certus.engines.linear.paths import Path, listed_paths, single_steps
from certus.engines.linear.precision import Precision
from certus.passes.reals import ScaledProgram
from certus.solvers.isl.relations import Relation, Relations


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The columns of the vectors of one procedure."""

    procedure: Procedure
    entry: tuple[Expr, ...]
    state: tuple[Expr, ...]
    exit: tuple[Expr, ...]


class Transitions:
    """The frames of a program and the transition relations of its edges, built on demand. Steps start only
    from states that satisfy the `invariants`, which may exclude that numbers wrap around. `scaled`: the
    program with reals that the program stands for."""

    def __init__(
        self,
        program: Program,
        relations: Relations,
        invariants: Mapping[Location, Expr] | None = None,
        precision: Precision | None = None,
        scaled: ScaledProgram | None = None,
    ) -> None:
        self.program: Final = program
        self.relations: Final = relations
        self.invariants: Final = invariants or {}
        self.precision: Final = precision or Precision()
        self.scaled: Final = scaled
        self._paths: Final[dict[Edge, tuple[Path, ...] | None]] = {}
        self._steps: Final[dict[Edge, Relation]] = {}
        self._labelled: Final[dict[Path, Relation]] = {}
        self._openings: Final[dict[Frame, Relation]] = {}
        self._bindings: Final[dict[Calling, Relation]] = {}
        self._returns: Final[dict[Calling, Relation]] = {}

    @cached_property
    def frames(self) -> Mapping[str, Frame]:
        return {name: self._frame(procedure) for name, procedure in self.program.procedures.items()}

    def _frame(self, procedure: Procedure) -> Frame:
        shared = tuple(x for x in self.program.globals if modelled(x.sort))
        expressions = self.precision.of(procedure.name)
        read = self._read(procedure)
        kept = {*procedure.parameters, *procedure.results, *read, *variables(*expressions.values())}
        own = tuple(x for x in procedure.variables if x in kept and modelled(x.sort))
        parameters = tuple(x for x in procedure.parameters if modelled(x.sort))
        results = tuple(x for x in procedure.results if modelled(x.sort))
        state = (*shared, *own, *expressions)
        return Frame(procedure, (*shared, *parameters), state, (*shared, *results))

    def _read(self, procedure: Procedure) -> set[Expr]:
        """Return the variables that some block reads before writing them."""
        names: set[Expr] = set()
        known: dict[Block, Usage] = {}
        for edge in procedure.edges:
            names.update(usage(edge, procedure, known).read)
        return names

    @cached_property
    def facts(self) -> Mapping[Location, Expr]:
        """The invariants restricted to columns of the states."""
        return {at: self._usable(at, fact) for at, fact in self.invariants.items()}

    def _usable(self, at: Location, fact: Expr) -> Expr:
        """Return the conjuncts that only have columns."""
        state = set(self.frames[at.procedure].state)
        return build.conjunction(part for part in conjuncts(fact) if state.issuperset(variables(part)))

    def allowed(self, at: Location) -> Relation | None:
        """Return the identity on the states that the facts allow at a location; None if they allow all."""
        fact = self.facts.get(at, build.TRUE)
        if fact is build.TRUE:
            return None
        state = self.frames[at.procedure].state
        same = [build.eq(after(x), x) for x in state]
        return self.relations.of([fact, *same], state, _after(state))

    # ----------------------------------------------------------------------------- transitions

    def paths(self, edge: Edge) -> tuple[Path, ...] | None:
        """Return the paths through the block of an edge that is not a call; None if there are too many."""
        if edge not in self._paths:
            self._paths[edge] = listed_paths(edge, self.program.procedures[edge.source.procedure])
        return self._paths[edge]

    def pieces(self, edge: Edge) -> Iterable[Path]:
        """Return the paths through a block; where there are too many, its single statements."""
        paths = self.paths(edge)
        return single_steps(edge, self.program.procedures[edge.source.procedure]) if paths is None else paths

    def step(self, edge: Edge) -> Relation:
        """Return tau of an edge that is not a call: from states to states."""
        relation = self._steps.get(edge)
        if relation is None:
            facts = tuple(conjuncts(self.facts.get(edge.source, build.TRUE)))
            paths = self.paths(edge)
            relation = self._along(edge, facts) if paths is None else self._union(edge, paths, facts)
            self._steps[edge] = relation
        return relation

    def _union(self, edge: Edge, paths: tuple[Path, ...], facts: tuple[Expr, ...]) -> Relation:
        """Return the union of the relations of paths."""
        state = self.frames[edge.source.procedure].state
        relation = self.relations.none(len(state), len(state))
        for path in paths:
            formulas = [*facts, *self.formulas(path, edge.source.procedure)]
            relation = relation.union(self.relations.of(formulas, state, _after(state)))
        return relation.coalesced()

    def formulas(self, path: Path, procedure: str) -> tuple[Expr, ...]:
        """Return a path as formulas over the state before and after it."""
        expressions = self.precision.of(procedure)
        moved = [
            build.eq(after(x), _moved(x, path.values, expressions)) for x in self.frames[procedure].state
        ]
        return self.precision.split([*self.precision.definitions(procedure), *path.conditions, *moved])

    def _along(self, edge: Edge, facts: tuple[Expr, ...]) -> Relation:
        """Return the relation of a block with many paths, built along its DAG."""
        frame = self.frames[edge.source.procedure]
        columns = (*frame.state, *self.program.globals, *frame.procedure.variables)
        order = {x: number for number, x in enumerate(dict.fromkeys(columns))}
        needed = () if edge.target in self.program.error_locations else self._kept(edge, frame)
        return BlockRelation(self.relations, edge, frame.procedure, order).build(frame.state, facts, needed)

    def _kept(self, edge: Edge, frame: Frame) -> tuple[Expr, ...]:
        """Return the state without the expressions whose variables a block writes: along its DAG their next
        values are not computed."""
        expressions = self.precision.of(frame.procedure.name)
        changed = {x for op in leaves(edge) for x in written(op, frame.procedure)}
        return tuple(
            x for x in frame.state if x not in expressions or changed.isdisjoint(variables(expressions[x]))
        )

    def labelled(self, path: Path, frame: Frame) -> Relation:
        """Return the relation from the state before a path and its inputs to the state after it."""
        relation = self._labelled.get(path)
        if relation is None:
            symbols = [s for _, introduced in path.inputs for s in introduced if modelled(s.sort)]
            formulas, state = self.formulas(path, frame.procedure.name), frame.state
            relation = self._labelled[path] = self.relations.of(formulas, (*state, *symbols), _after(state))
        return relation

    def opening(self, frame: Frame) -> Relation:
        """Return the relation from the entry vector to the states at the entry, with arbitrary locals."""
        relation = self._openings.get(frame)
        if relation is None:
            same = [build.eq(after(x), x) for x in frame.entry]
            relation = self._openings[frame] = self.relations.of(same, frame.entry, _after(frame.state))
        return relation

    def binding(self, edge: Edge) -> Relation:
        """Return tau of a call: from states at the call to entry vectors of the callee."""
        key = calling(edge)
        relation = self._bindings.get(key)
        if relation is None:
            call, caller, callee = self._call(edge)
            arguments = dict(zip(callee.procedure.parameters, call.arguments, strict=True))
            same = [build.eq(after(x), arguments.get(x, x)) for x in callee.entry]
            formulas = self.precision.split([*self.precision.definitions(caller.procedure.name), *same])
            relation = self._bindings[key] = self.relations.of(formulas, caller.state, _after(callee.entry))
        return relation

    def returning(self, edge: Edge) -> Relation:
        """Return the relation from the state at a call and the exit vector of the callee to the state
        after."""
        key = calling(edge)
        relation = self._returns.get(key)
        if relation is None:
            call, caller, callee = self._call(edge)
            ended = {x: build.var(f"exit({x.name})", x.sort) for x in callee.exit}
            results: dict[Expr, Expr | None] = {x: ended[x] for x in callee.exit if x in self.program.globals}
            for target, result in zip(call.targets, callee.procedure.results, strict=True):
                results[target] = ended.get(result)
            expressions = self.precision.of(caller.procedure.name)
            same = [
                build.eq(after(x), value)
                for x in caller.state
                if (value := _returned(x, results, expressions)) is not None
            ]
            inputs = (*caller.state, *ended.values())
            relation = self._returns[key] = self.relations.of(same, inputs, _after(caller.state))
        return relation

    def _call(self, edge: Edge) -> tuple[Call, Frame, Frame]:
        call = edge.op
        assert isinstance(call, Call)
        return call, self.frames[edge.source.procedure], self.frames[call.procedure]


Calling = tuple[str, Call]


def calling(edge: Edge) -> Calling:
    """Return what the relations of a call depend on: the procedure and the call."""
    assert isinstance(edge.op, Call)
    return edge.source.procedure, edge.op


def _after(columns: Sequence[Expr]) -> tuple[Expr, ...]:
    return tuple(after(x) for x in columns)


def _moved(x: Expr, values: Mapping[Expr, Expr], expressions: Mapping[Expr, Expr]) -> Expr:
    """Return the next value of a column of the state."""
    term = expressions.get(x)
    if term is None:
        return values.get(x, x)
    value = Substitution(values).apply(term)
    return x if value is term else value


def _returned(x: Expr, written: Mapping[Expr, Expr | None], expressions: Mapping[Expr, Expr]) -> Expr | None:
    """Return the value of a column of the caller after a call; None if it is arbitrary."""
    if x not in expressions:
        return written.get(x, x)
    return x if set(written).isdisjoint(variables(expressions[x])) else None
