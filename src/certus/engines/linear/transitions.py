"""Vertices and transition relations of Linear Programs (seed 000, sections 2 and 3.1).

A *frame* says which variables the vectors of a procedure have: its *entry* vector the globals and
parameters, its *state* these and the locals that live across statements, its *exit* vector the globals and
results. A statement, or a large block of them, is a union of *paths*: conditions and values in terms of
the state before, with a symbol for each input. Their relation is tau of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Unsupported
from certus.core.program import (
    Assign,
    Assume,
    Block,
    Call,
    Choice,
    Edge,
    Havoc,
    Location,
    Procedure,
    Program,
    Return,
    Seq,
)
from certus.core.sorts import BOOL, INT, MachineSort, Sort
from certus.core.terms import Expr
from certus.core.walk import Substitution, variables
from certus.logic.intervals import conjuncts
from certus.logic.relations import Relation, Relations

PATHS = 256  # at most, in one block


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """A statement executed after others."""

    edge: Edge
    before: _Taken | None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One way through a block: executed if all `conditions` hold; `values` of the variables written.

    `inputs`: the `Havoc` edges on the way, each with the symbols it introduced. `last`: the statements."""

    conditions: tuple[Expr, ...]
    values: Mapping[Expr, Expr]
    inputs: tuple[tuple[Edge, tuple[Expr, ...]], ...]
    last: _Taken | None = None

    @property
    def statements(self) -> Iterator[Edge]:
        """The statements on the way, the last one first."""
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
    """Whether variables of this sort are columns; all others are arbitrary at each use."""
    return sort is INT or sort is BOOL or isinstance(sort, MachineSort)


def after(variable: Expr) -> Expr:
    """The value of a variable after a step."""
    return build.var(f"next({variable.name})", variable.sort)


class Transitions:
    """The frames of a program and the transition relations of its edges, made when asked for. Steps start
    only where the `invariants` hold, which may exclude that numbers wrap around."""

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
        """The variables some block reads before writing them."""
        found: set[Expr] = set()
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                found.update(variables(*edge.op.arguments))
            else:
                for path in self.paths(edge):
                    found.update(variables(*path.conditions, *path.values.values()))
        return found

    @cached_property
    def facts(self) -> Mapping[Location, Expr]:
        """What the invariants say about the columns of the states."""
        return {at: self._usable(at, fact) for at, fact in self.invariants.items()}

    def _usable(self, at: Location, fact: Expr) -> Expr:
        """The conjuncts about columns."""
        state = set(self.frames[at.procedure].state)
        return build.conjunction(part for part in conjuncts(fact) if state.issuperset(variables(part)))

    def allowed(self, at: Location) -> Relation | None:
        """Each state that the facts allow at a location, related to itself; None if that is any."""
        fact = self.facts.get(at, build.TRUE)
        if fact is build.TRUE:
            return None
        state = self.frames[at.procedure].state
        same = [build.eq(after(x), x) for x in state]
        return self.relations.of([fact, *same], state, _after(state))

    # ----------------------------------------------------------------------------- transitions

    def paths(self, edge: Edge) -> tuple[Path, ...]:
        """The ways through the block of an edge that is no call."""
        found = self._paths.get(edge)
        if found is None:
            found = self._paths[edge] = tuple(_paths(edge, self.program.procedures[edge.source.procedure]))
        return found

    def step(self, edge: Edge) -> Relation:
        """tau of an edge that is no call: from states to states."""
        found = self._steps.get(edge)
        if found is None:
            state = self.frames[edge.source.procedure].state
            known = conjuncts(self.facts.get(edge.source, build.TRUE))
            found = self.relations.none(len(state), len(state))
            for path in self.paths(edge):
                formulas = [*known, *_formulas(path, state)]
                found = found.union(self.relations.of(formulas, state, _after(state)))
            found = self._steps[edge] = found.coalesced()
        return found

    def labelled(self, path: Path, frame: Frame) -> Relation:
        """From the state before a path and the inputs on it to the state after it."""
        found = self._labelled.get(path)
        if found is None:
            symbols = [s for _, given in path.inputs for s in given if modelled(s.sort)]
            formulas, state = _formulas(path, frame.state), frame.state
            found = self._labelled[path] = self.relations.of(formulas, (*state, *symbols), _after(state))
        return found

    def opening(self, frame: Frame) -> Relation:
        """From the entry vector to the states at the entry: locals are arbitrary."""
        found = self._openings.get(frame)
        if found is None:
            same = [build.eq(after(x), x) for x in frame.entry]
            found = self._openings[frame] = self.relations.of(same, frame.entry, _after(frame.state))
        return found

    def binding(self, edge: Edge) -> Relation:
        """tau of a call: from states at the call to entry vectors of the callee."""
        key = calling(edge)
        found = self._bindings.get(key)
        if found is None:
            call, caller, callee = self._call(edge)
            given = dict(zip(callee.procedure.parameters, call.arguments, strict=True))
            same = [build.eq(after(x), given.get(x, x)) for x in callee.entry]
            found = self._bindings[key] = self.relations.of(same, caller.state, _after(callee.entry))
        return found

    def returning(self, edge: Edge) -> Relation:
        """From a state at the call beside the exit vector of the callee to the state after the call."""
        key = calling(edge)
        found = self._returns.get(key)
        if found is None:
            call, caller, callee = self._call(edge)
            ended = {x: build.var(f"exit({x.name})", x.sort) for x in callee.exit}
            written: dict[Expr, Expr | None] = {x: ended[x] for x in callee.exit if x in self.program.globals}
            for target, result in zip(call.targets, callee.procedure.results, strict=True):
                written[target] = ended.get(result)
            same = [
                build.eq(after(x), value) for x in caller.state if (value := written.get(x, x)) is not None
            ]
            inputs = (*caller.state, *ended.values())
            found = self._returns[key] = self.relations.of(same, inputs, _after(caller.state))
        return found

    def _call(self, edge: Edge) -> tuple[Call, Frame, Frame]:
        call = edge.op
        assert isinstance(call, Call)
        return call, self.frames[edge.source.procedure], self.frames[call.procedure]


Calling = tuple[str, Call]


def calling(edge: Edge) -> Calling:
    """What the relations of a call depend on: they are the same for the same call in the same procedure."""
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
    """What is still to be executed: first `block`, then `rest`."""

    block: Block
    rest: _Rest | None


def _paths(edge: Edge, procedure: Procedure) -> list[Path]:
    found: list[Path] = []
    whole = edge.op if isinstance(edge.op, (Seq, Choice)) else edge
    work: list[tuple[Path, _Rest | None]] = [(Path((), {}, ()), _Rest(whole, None))]
    while work:
        path, rest = work.pop()
        if rest is None:
            found.append(path)
            if len(found) > PATHS:
                raise Unsupported(_too_many(edge))
        elif isinstance(rest.block, Seq):
            work.append((path, _Rest(rest.block.first, _Rest(rest.block.second, rest.rest))))
        elif isinstance(rest.block, Choice):
            work.extend((path, _Rest(a, rest.rest)) for a in reversed(rest.block.alternatives))
        else:
            longer = _extended(path, rest.block, procedure)
            if longer is not None:
                work.append((longer, rest.rest))
    return found


def _extended(path: Path, edge: Edge, procedure: Procedure) -> Path | None:
    """The path followed by one statement; None if that cannot be executed."""
    op = edge.op
    if isinstance(op, Assume):
        condition = Substitution(path.values).apply(op.condition)
        if condition is build.FALSE:
            return None
        conditions = path.conditions if condition is build.TRUE else (*path.conditions, condition)
        return Path(conditions, path.values, path.inputs, _Taken(edge, path.last))
    if isinstance(op, Havoc):
        number = len(path.inputs)
        symbols = tuple(build.var(f"{x.name}@{number}", x.sort) for x in op.targets)
        values = {**path.values, **dict(zip(op.targets, symbols, strict=True))}
        inputs = (*path.inputs, (edge, symbols))
        return Path(path.conditions, values, inputs, _Taken(edge, path.last))
    assert isinstance(op, (Assign, Return)), f"not a statement of a Linear Program: {op}"
    targets = op.targets if isinstance(op, Assign) else procedure.results
    now = Substitution(path.values).apply_all(op.values)
    values = {**path.values, **dict(zip(targets, now, strict=True))}
    return Path(path.conditions, values, path.inputs, _Taken(edge, path.last))


def statements(edge: Edge) -> Iterator[Edge]:
    """The statements of the block of an edge, each once."""
    seen: set[int] = set()
    stack: list[Block] = [edge.op if isinstance(edge.op, (Seq, Choice)) else edge]
    while stack:
        block = stack.pop()
        if id(block) in seen:
            continue
        seen.add(id(block))
        if isinstance(block, Edge):
            yield block
        else:
            stack.extend((block.first, block.second) if isinstance(block, Seq) else block.alternatives)


def _too_many(edge: Edge) -> Diagnostic:
    message = f"a block has more than {PATHS} ways through it, too many to hold each as linear constraints"
    hint = "try --blocks single, or another engine"
    return Diagnostic("too-many-paths", message, Severity.NOTE, edge.source.span, hint=hint)
