"""Build the transition relations of Linear Programs (Armando et al. 2004, sections 2 and 3.1).

A *frame* has the variables of the vectors of a procedure: its *entry* vector has the globals and parameters,
its *state* also the locals that are live across statements, its *exit* vector the globals and results. A
statement or large block is a union of *paths*: conditions and values in terms of the state before, with a
symbol for each input. Their relation is tau of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Unsupported
from certus.core.intervals import conjuncts
from certus.core.program import (
    Block,
    Call,
    Choice,
    Edge,
    Havoc,
    Location,
    Procedure,
    Program,
    Seq,
)
from certus.core.sorts import BOOL, INT, MachineSort, Sort
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.encoding.block_formula import execute_statement
from certus.solvers.isl.relations import Relation, Relations

PATHS = 256  # limit for one block


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """A statement on a path, after the statements `before`."""

    edge: Edge
    before: _Taken | None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One path through a block: it is executed if all `conditions` hold, and writes `values`.

    `inputs`: its `Havoc` edges, each with the symbols it introduces. `last`: its statements."""

    conditions: tuple[Expr, ...]
    values: dict[Expr, Expr]
    inputs: tuple[tuple[Edge, tuple[Expr, ...]], ...]
    last: _Taken | None = None

    @property
    def statements(self) -> Iterator[Edge]:
        """The statements on the path, the last one first."""
        taken = self.last
        while taken is not None:
            yield taken.edge
            taken = taken.before


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The columns of the vectors of one procedure."""

    procedure: Procedure
    entry: tuple[Expr, ...]
    state: tuple[Expr, ...]
    exit: tuple[Expr, ...]


def modelled(sort: Sort) -> bool:
    """Return whether variables of this sort are columns; all others are arbitrary at each use."""
    return sort is INT or sort is BOOL or isinstance(sort, MachineSort)


def after(variable: Expr) -> Expr:
    """Return the variable for the value after a step."""
    return build.var(f"next({variable.name})", variable.sort)


class Transitions:
    """The frames of a program and the transition relations of its edges, built on demand. Steps start only
    from states that satisfy the `invariants`, which may exclude that numbers wrap around."""

    def __init__(
        self, program: Program, relations: Relations, invariants: Mapping[Location, Expr] | None = None
    ) -> None:
        self.program: Final = program
        self.relations: Final = relations
        self.invariants: Final = invariants or {}
        self._paths: Final[dict[Edge, tuple[Path, ...]]] = {}
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
        read = self._read(procedure)
        kept = {*procedure.parameters, *procedure.results, *read}
        own = tuple(x for x in procedure.variables if x in kept and modelled(x.sort))
        parameters = tuple(x for x in procedure.parameters if modelled(x.sort))
        results = tuple(x for x in procedure.results if modelled(x.sort))
        return Frame(procedure, (*shared, *parameters), (*shared, *own), (*shared, *results))

    def _read(self, procedure: Procedure) -> set[Expr]:
        """Return the variables that some block reads before writing them."""
        names: set[Expr] = set()
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                names.update(variables(*edge.op.arguments))
            else:
                for path in self.paths(edge):
                    names.update(variables(*path.conditions, *path.values.values()))
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

    def paths(self, edge: Edge) -> tuple[Path, ...]:
        """Return the paths through the block of an edge that is not a call."""
        paths = self._paths.get(edge)
        if paths is None:
            paths = self._paths[edge] = tuple(_paths(edge, self.program.procedures[edge.source.procedure]))
        return paths

    def step(self, edge: Edge) -> Relation:
        """Return tau of an edge that is not a call: from states to states."""
        relation = self._steps.get(edge)
        if relation is None:
            state = self.frames[edge.source.procedure].state
            facts = conjuncts(self.facts.get(edge.source, build.TRUE))
            relation = self.relations.none(len(state), len(state))
            for path in self.paths(edge):
                formulas = [*facts, *_formulas(path, state)]
                relation = relation.union(self.relations.of(formulas, state, _after(state)))
            relation = self._steps[edge] = relation.coalesced()
        return relation

    def labelled(self, path: Path, frame: Frame) -> Relation:
        """Return the relation from the state before a path and its inputs to the state after it."""
        relation = self._labelled.get(path)
        if relation is None:
            symbols = [s for _, introduced in path.inputs for s in introduced if modelled(s.sort)]
            formulas, state = _formulas(path, frame.state), frame.state
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
            relation = self._bindings[key] = self.relations.of(same, caller.state, _after(callee.entry))
        return relation

    def returning(self, edge: Edge) -> Relation:
        """Return the relation from the state at a call and the exit vector of the callee to the state
        after."""
        key = calling(edge)
        relation = self._returns.get(key)
        if relation is None:
            call, caller, callee = self._call(edge)
            ended = {x: build.var(f"exit({x.name})", x.sort) for x in callee.exit}
            written: dict[Expr, Expr | None] = {x: ended[x] for x in callee.exit if x in self.program.globals}
            for target, result in zip(call.targets, callee.procedure.results, strict=True):
                written[target] = ended.get(result)
            same = [
                build.eq(after(x), value) for x in caller.state if (value := written.get(x, x)) is not None
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


def _formulas(path: Path, state: Sequence[Expr]) -> list[Expr]:
    moved = [build.eq(after(x), path.values.get(x, x)) for x in state]
    return [*path.conditions, *moved]


# -------------------------------------------------------------------------------- paths of blocks


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """The rest of a path: first `block`, then `rest`."""

    block: Block
    rest: _Rest | None


def _paths(edge: Edge, procedure: Procedure) -> list[Path]:
    paths: list[Path] = []
    whole = edge.op if isinstance(edge.op, (Seq, Choice)) else edge
    work: list[tuple[Path, _Rest | None]] = [(Path((), {}, ()), _Rest(whole, None))]
    while work:
        path, rest = work.pop()
        if rest is None:
            paths.append(path)
            if len(paths) > PATHS:
                raise Unsupported(_too_many(edge))
        elif isinstance(rest.block, Seq):
            work.append((path, _Rest(rest.block.first, _Rest(rest.block.second, rest.rest))))
        elif isinstance(rest.block, Choice):
            work.extend((path, _Rest(a, rest.rest)) for a in reversed(rest.block.alternatives))
        else:
            longer = _extended(path, rest.block, procedure)
            if longer is not None:
                work.append((longer, rest.rest))
    return paths


def _extended(path: Path, edge: Edge, procedure: Procedure) -> Path | None:
    """Extend the path by one statement; return None if that is never executed."""
    number = len(path.inputs)
    executed = execute_statement(
        edge.op, procedure, path.values, lambda x: build.var(f"{x.name}@{number}", x.sort)
    )
    if executed.condition is build.FALSE:
        return None
    conditions, inputs = path.conditions, path.inputs
    if executed.condition is not build.TRUE:
        conditions = (*conditions, executed.condition)
    if isinstance(edge.op, Havoc):
        inputs = (*inputs, (edge, executed.inputs))
    return Path(conditions, executed.values, inputs, _Taken(edge, path.last))


def _too_many(edge: Edge) -> Diagnostic:
    message = f"a block has more than {PATHS} paths, too many to represent each by linear constraints"
    hint = "try --blocks single, or another engine"
    return Diagnostic("too-many-paths", message, Severity.NOTE, edge.source.span, hint=hint)
