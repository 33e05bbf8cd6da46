"""Unique inlining: make the program one graph with one copy of each procedure (Zaks et al. 2006, section 2).

A call writes its number into the callee's *return variable*, binds the parameters and jumps to the callee's
entry; the callee's exit continues after the call with that number, where the targets are written. A callee
with a single call needs no number. Locations and edges keep their indices: location 7 of `p` becomes 7 of
`main`.

Without recursion a procedure has one activation at a time, so the graph has exactly the executions of the
program. In recursive procedures an inner call overwrites the locals of its caller: after it they are
arbitrary, and an inner call may return to any inner call of the same procedure. Then the graph has every
execution of the program, with further inputs, but also others. Programs that call `main`, or consist of
blocks, are not changed.

Evidence: a formula about the graph becomes, for every call string to a location, a formula over the frames of
the string, with the return variables replaced by the calls; variables of other procedures are bound
existentially. A call string starts again in a recursive procedure, and the formula at the exit is the
summary. A bound of a loop becomes a product of bounds, since loops of the graph may pass through several
procedures. A trace loses the inputs that recursion added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import Final

from certus.core import build
from certus.core.effects import SKIP, assignment, renamed, single_statements
from certus.core.engine import BackMap, Task
from certus.core.evidence import (
    Inductive,
    KInductive,
    Point,
    Proof,
    Refutation,
    Trace,
    Unrolling,
    in_frame,
)
from certus.core.loops import call_graph, components, loop_forest, recursive
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Location, Op, Procedure, Program
from certus.core.terms import INT, Expr
from certus.core.walk import Substitution, substitute, variables
from certus.passes.inline import projected

STRINGS: Final = 10_000  # limit of call strings that a proof is translated to


@dataclass(frozen=True, slots=True)
class UniqueInlining:
    """The pass that applies unique inlining."""

    @property
    def name(self) -> str:
        return "unique"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        merged = merge(program) if isinstance(program, Program) else None
        if merged is None:
            return task, BackMap.identity()
        return replace(task, subject=merged.program, facts={}), BackMap(merged.proof, merged.refutation)


def merge(program: Program) -> Merged | None:
    """Return the program as one graph; None if it calls its main procedure, or consists of blocks."""
    callees = {name for names in call_graph(program).values() for name in names}
    if program.main in callees or not single_statements(program):
        return None
    return _Merging(program).merged()


# ---------------------------------------------------------------------------------------- the one graph


class _Merging:
    """The construction of the graph."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.groups = {name: group for group in recursive(program) for name in group}
        self.names: dict[Expr, Expr] = {}  # the locals of all procedures, with their names in the graph
        self.returns: dict[str, Expr] = {}  # return variables
        self.home: dict[Location, Location] = {}  # from a location of the graph to the original
        self._edges: list[Edge] = []
        self._local: list[Expr] = []
        self._numbers = count(1 + max(program.edge, default=-1))
        last = max((at.index for p in program.procedures.values() for at in p.locations), default=-1)
        self._places = count(1 + last)
        self._reached = _reached(program)
        self._at: dict[Location, Location] = {}
        self._calls: dict[str, list[Edge]] = {name: [] for name in program.procedures}

    def merged(self) -> Merged:
        procedures = [self.program.procedures[name] for name in self._reached]
        for procedure in procedures:
            self._declare(procedure)
        substitution = Substitution(self.names)
        for procedure in procedures:
            for edge in sorted(procedure.edges, key=lambda e: e.index):
                self._copy(procedure, edge, substitution)
        for procedure in procedures:
            self._returns(procedure)
        main = self.program.procedures[self.program.main]
        one = replace(
            main,
            variables=tuple(self._local),
            entry=self._at[main.entry],
            exit=self._at[main.exit],
            edges=tuple(self._edges),
        )
        source_names = self.program.source_names
        renamed_names = {new: source_names[x] for x, new in self.names.items() if x in source_names}
        errors = (s for s in self.program.errors if s.location in self._at)
        graph = replace(
            self.program,
            procedures={main.name: one},
            errors=tuple(replace(site, location=self._at[site.location]) for site in errors),
            source_names={**source_names, **renamed_names},
        )
        return Merged(self.program, graph, self.home, self.names, self.returns)

    def _declare(self, procedure: Procedure) -> None:
        main = self.program.main
        for at in procedure.locations:
            self._at[at] = at if procedure.name == main else replace(at, procedure=main)
            self.home[self._at[at]] = at
        for x in procedure.variables:
            self.names[x] = x if procedure.name == main else build.var(f"{main}.{x.name}", x.sort)
            self._local.append(self.names[x])
        calls = [e for e in procedure.edges if isinstance(e.op, Call)]
        for edge in sorted(calls, key=lambda e: e.index):
            assert isinstance(edge.op, Call)
            self._calls[edge.op.procedure].append(edge)

    def _variable(self, callee: str) -> Expr:
        """Return the return variable of a procedure."""
        if callee not in self.returns:
            self.returns[callee] = build.var(f"{self.program.main}.{callee}.$return", INT)
            self._local.append(self.returns[callee])
        return self.returns[callee]

    def _copy(self, procedure: Procedure, edge: Edge, substitution: Substitution) -> None:
        """Copy an edge of a procedure; of a call, the jump to the callee."""
        results = [self.names[r] for r in procedure.results]
        op = renamed(edge.op, self.names, substitution, results)
        target = self._at[edge.target]
        if isinstance(op, Call):
            callee = self.program.procedures[op.procedure]
            targets, values = [self.names[x] for x in callee.parameters], [*op.arguments]
            inner = self._inner(edge)
            if not inner and len(self._calls_from_outside(op.procedure)) > 1:
                targets.append(self._variable(op.procedure))
                values.append(build.integer(edge.index))
            op, target = assignment(targets, values), self._at[callee.entry]
        self._edges.append(replace(edge, source=self._at[edge.source], op=op, target=target))

    def _inner(self, edge: Edge) -> bool:
        """Return whether a call stays in a group of recursive procedures."""
        assert isinstance(edge.op, Call)
        group = self.groups.get(edge.op.procedure)
        return group is not None and edge.source.procedure in group

    def _calls_from_outside(self, callee: str) -> list[Edge]:
        return [e for e in self._calls[callee] if not self._inner(e)]

    # ------------------------------------------------------------------------------------- returning

    def _returns(self, procedure: Procedure) -> None:
        """Add the edges from the exit of a procedure back to its calls."""
        outside = self._calls_from_outside(procedure.name)
        inside = [e for e in self._calls[procedure.name] if self._inner(e)]
        at = self._at[procedure.exit]
        conditions = [build.TRUE] * len(outside)
        if len(outside) > 1:
            came = self._variable(procedure.name)
            conditions = [build.eq(came, build.integer(e.index)) for e in outside]
        if inside:
            choice = build.var(f"{self.program.main}.{procedure.name}.$choice", INT)
            self._local.append(choice)
            at = self._edge(at, Havoc((choice,)), None)
            numbers = [build.integer(e.index) for e in inside]
            none = build.conjunction(build.ne(choice, n) for n in numbers)
            conditions = [build.and_(c, none) for c in conditions]
            conditions += [build.eq(choice, n) for n in numbers]
        for edge, condition in zip((*outside, *inside), conditions, strict=True):
            self._back(procedure, edge, at, condition)

    def _back(self, callee: Procedure, edge: Edge, at: Location, condition: Expr) -> None:
        """Add the edges from the exit of the callee to the location after a call."""
        assert isinstance(edge.op, Call)
        steps: list[Op] = [] if condition is build.TRUE else [Assume(condition)]
        caller = self.program.procedures[edge.source.procedure]
        targets = [self.names.get(x, x) for x in edge.op.targets]
        ends = [self.names[r] for r in callee.results[: len(targets)]]
        if self._inner(edge):
            ends = self._kept(callee, ends, steps)
            lost = tuple(self.names[x] for x in caller.variables if self.names[x] not in targets)
            if lost:
                steps.append(Havoc(lost))
        if targets:
            steps.append(Assign(tuple(targets), tuple(ends)))
        for op in steps[:-1]:
            at = self._edge(at, op, None, edge)
        self._edge(at, steps[-1] if steps else SKIP, self._at[edge.target], edge)

    def _kept(self, callee: Procedure, results: list[Expr], steps: list[Op]) -> list[Expr]:
        """Copy results, since they may be among the locals of the caller that become arbitrary."""
        stem = f"{self.program.main}.{callee.name}.$result"
        copies = [build.var(f"{stem}{n}", r.sort) for n, r in enumerate(results)]
        self._local.extend(x for x in copies if x not in self._local)
        if copies:
            steps.append(Assign(tuple(copies), tuple(results)))
        return copies

    def _edge(self, source: Location, op: Op, target: Location | None, call: Edge | None = None) -> Location:
        """Add an edge, to a new location if `target` is None; return its target."""
        if target is None:
            target = Location(next(self._places), self.program.main, source.span)
        span, text = (None, "") if call is None else (call.span, call.text)
        origin = None if call is None or isinstance(op, Havoc) else call.key
        self._edges.append(Edge(next(self._numbers), source, op, target, span, None, text, origin))
        return target


def _reached(program: Program) -> list[str]:
    """Return the procedures that main calls, directly or not; main first."""
    calls = call_graph(program)
    names = [program.main]
    seen = {program.main}
    for name in names:  # grows in the loop
        new = [callee for callee in dict.fromkeys(calls[name]) if callee not in seen]
        seen.update(new)
        names.extend(new)
    return names


# --------------------------------------------------------------------------------------------- evidence


@dataclass(frozen=True)
class Merged:
    """The graph, and the origin of its locations, locals and return variables for the way back."""

    before: Program
    program: Program
    home: Mapping[Location, Location]
    names: Mapping[Expr, Expr]
    returns: Mapping[str, Expr]
    _roots: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        looping = (name for group in recursive(self.before) for name in group)
        object.__setattr__(self, "_roots", frozenset((self.before.main, *looping)))

    def refutation(self, refutation: Refutation) -> Refutation:
        if not isinstance(refutation, Trace):
            return refutation
        edges = self.before.edge
        inputs = {edge: values for edge, values in refutation.inputs.items() if edge in edges}
        error = self.home[self.program.location[refutation.error]].name
        return replace(refutation, error=error, inputs=inputs)

    def proof(self, proof: Proof) -> Proof:
        if isinstance(proof, Unrolling):
            return self._bounds(proof)
        if isinstance(proof, KInductive):
            return KInductive(proof.k, self.formulas(proof.invariants))
        if isinstance(proof, Inductive):
            invariants = self.formulas(proof.invariants)
            ends = {name: self.before.procedures[name].exit for name in sorted(self._roots)}
            del ends[self.before.main]
            return Inductive(
                invariants, {name: invariants.get(Point(at), build.TRUE) for name, at in ends.items()}
            )
        return proof

    def formulas(self, about: Mapping[Point, Expr]) -> dict[Point, Expr]:
        """Translate formulas about locations of the graph to points of the program: to none if there are too
        many points. Formulas at added locations are left out."""
        strings = self._strings()
        translated: dict[Point, Expr] = {}
        if strings is not None:
            for point, formula in about.items():
                at = self.home.get(point.location)
                for calls in strings[at.procedure] if at is not None else ():
                    assert at is not None
                    translated[Point(at, calls)] = self._formula(formula, at, calls)
        return translated

    def _strings(self) -> dict[str, list[tuple[int, ...]]] | None:
        """Return all call strings to each procedure, from main or from a recursive procedure on."""
        graph = call_graph(self.before)
        strings: dict[str, list[tuple[int, ...]]] = {name: [] for name in graph}
        for name in self._roots:
            strings[name] = [()]
        total = 0
        for group in reversed(components(tuple(graph), graph.__getitem__)):  # callers first
            for name in group:
                total += len(strings[name])
                if total > STRINGS:
                    return None
                for edge in self.before.procedures[name].edges:
                    if isinstance(edge.op, Call) and edge.op.procedure not in self._roots:
                        strings[edge.op.procedure] += [(*calls, edge.index) for calls in strings[name]]
        return strings

    def _formula(self, formula: Expr, at: Location, calls: tuple[int, ...]) -> Expr:
        """Return a formula with the variables in the frames of a call string."""
        edges = [self.before.edge[c] for c in calls]
        way = [*(e.source.procedure for e in edges), at.procedure]
        values: dict[Expr, Expr] = {}
        for depth, name in enumerate(way):
            for x in self.before.procedures[name].variables:
                values[self.names[x]] = in_frame(x, depth)
            if depth > 0 and name in self.returns:
                values[self.returns[name]] = build.integer(calls[depth - 1])
        shared = frozenset(self.before.globals)
        local = frozenset(self.program.procedures[self.program.main].variables)
        unknown = [x for x in variables(formula) if x in local and x not in values and x not in shared]
        return substitute(projected(formula, unknown), values)

    def _bounds(self, proof: Unrolling) -> Unrolling:
        forest = loop_forest(self.program.procedures[self.program.main])
        visits = {
            original: prod(proof.loops.get(loop.head.name, 0) for loop in forest.around(at))
            for at, original in self.home.items()
        }
        loops = [loop for p in self.before.procedures.values() for loop in loop_forest(p).loops]
        looping = [self.before.procedures[name] for group in recursive(self.before) for name in group]
        return Unrolling(
            {loop.head.name: sum(visits.get(entry, 0) for entry in loop.entries) for loop in loops},
            {procedure.name: visits.get(procedure.entry, 0) for procedure in looping},
        )
