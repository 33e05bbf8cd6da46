"""Unique inlining: the whole program as one graph, with one copy of each procedure (seed 002, section 2).

A call writes its number into the callee's *return variable*, binds the parameters and goes to the callee's
entry; the callee's exit goes on to the call with that number, where the targets are written. A callee with
a single call needs no number. Locations and edges keep their indices: location 7 of `p` becomes 7 of `main`.

Without recursion a procedure has one activation at a time, so the executions of the result are exactly
those of the program. In recursive procedures an inner call overwrites the locals of the activation that
makes it: after it they have any values, and an inner call may return to any inner call of the same
procedure. Then every execution of the program is still one of the result, with further inputs of its own, but
not conversely. Programs that call `main`, or consist of blocks, are left as they are.

Evidence. A formula about the one graph is, for every call string to a location, one over the frames
on the string, with the return variables replaced by the calls; variables of other procedures are
bound existentially. Where strings would pass through recursion they start anew there, and what the
formula says at the exit is the summary. Bounds of loops are carried back as products, since loops of the
one graph may pass through several procedures, and a trace loses the inputs that recursion added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import Final

from certus.core import build
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
from certus.core.sorts import INT
from certus.core.task import BackMap, Task
from certus.core.terms import Expr
from certus.core.walk import Substitution, substitute, variables
from certus.transform.effects import SKIP, assignment, renamed, single_statements
from certus.transform.inline import projected

STRINGS: Final = 10_000  # call strings that a proof is carried back to at the most


@dataclass(frozen=True, slots=True)
class Unique:
    """The pass."""

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
    """The program as one graph; None if it calls its main procedure, or consists of blocks."""
    callees = {name for names in call_graph(program).values() for name in names}
    if program.main in callees or not single_statements(program):
        return None
    return _Merging(program).merged()


# ---------------------------------------------------------------------------------------- the one graph


class _Merging:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.groups = {name: group for group in recursive(program) for name in group}
        self.names: dict[Expr, Expr] = {}  # the locals of all procedures, as they are named in the result
        self.returns: dict[str, Expr] = {}  # return variables
        self.home: dict[Location, Location] = {}  # from a location of the result to the original
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
        known = self.program.source_names
        shown = {new: known[x] for x, new in self.names.items() if x in known}
        errors = (s for s in self.program.errors if s.location in self._at)
        made = replace(
            self.program,
            procedures={main.name: one},
            errors=tuple(replace(site, location=self._at[site.location]) for site in errors),
            source_names={**known, **shown},
        )
        return Merged(self.program, made, self.home, self.names, self.returns)

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
        """The return variable of a procedure."""
        if callee not in self.returns:
            self.returns[callee] = build.var(f"{self.program.main}.{callee}.$return", INT)
            self._local.append(self.returns[callee])
        return self.returns[callee]

    def _copy(self, procedure: Procedure, edge: Edge, substitution: Substitution) -> None:
        """An edge of a procedure, or the entering part of a call."""
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
        """Whether a call stays in a group of recursive procedures."""
        assert isinstance(edge.op, Call)
        group = self.groups.get(edge.op.procedure)
        return group is not None and edge.source.procedure in group

    def _calls_from_outside(self, callee: str) -> list[Edge]:
        return [e for e in self._calls[callee] if not self._inner(e)]

    # ------------------------------------------------------------------------------------- returning

    def _returns(self, procedure: Procedure) -> None:
        """The ways from the exit of a procedure back to its calls."""
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
        """The way from the exit of the callee to where a call goes on."""
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
        """Copies of results, which the caller's locals, of any value from here on, may be among."""
        stem = f"{self.program.main}.{callee.name}.$result"
        copies = [build.var(f"{stem}{n}", r.sort) for n, r in enumerate(results)]
        self._local.extend(x for x in copies if x not in self._local)
        if copies:
            steps.append(Assign(tuple(copies), tuple(results)))
        return copies

    def _edge(self, source: Location, op: Op, target: Location | None, call: Edge | None = None) -> Location:
        """A step of ours, to a new location if no other is given."""
        if target is None:
            target = Location(next(self._places), self.program.main, source.span)
        span, text = (None, "") if call is None else (call.span, call.text)
        origin = None if call is None or isinstance(op, Havoc) else call.key
        self._edges.append(Edge(next(self._numbers), source, op, target, span, None, text, origin))
        return target


def _reached(program: Program) -> list[str]:
    """The procedures that are called, one by the other, from main; main first."""
    calls = call_graph(program)
    found = [program.main]
    known = {program.main}
    for name in found:  # grows on the way
        new = [callee for callee in dict.fromkeys(calls[name]) if callee not in known]
        known.update(new)
        found.extend(new)
    return found


# --------------------------------------------------------------------------------------------- evidence


@dataclass(frozen=True)
class Merged:
    """The one graph, and the way back: where its locations, locals and return variables come from."""

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
        known = self.before.edge
        inputs = {edge: values for edge, values in refutation.inputs.items() if edge in known}
        error = self.home[self.program.location[refutation.error]].name
        return replace(refutation, error=error, inputs=inputs)

    def proof(self, proof: Proof) -> Proof:
        if isinstance(proof, Unrolling):
            return self._bounds(proof)
        if isinstance(proof, KInductive):
            return KInductive(proof.k, self.formulas(proof.invariants))
        if isinstance(proof, Inductive):
            found = self.formulas(proof.invariants)
            ends = {name: self.before.procedures[name].exit for name in sorted(self._roots)}
            del ends[self.before.main]
            return Inductive(found, {name: found.get(Point(at), build.TRUE) for name, at in ends.items()})
        return proof

    def formulas(self, about: Mapping[Point, Expr]) -> dict[Point, Expr]:
        """Formulas about locations of the one graph, as formulas about points of the program: nothing if
        there are too many points. What is said at locations that were added is left out."""
        strings = self._strings()
        found: dict[Point, Expr] = {}
        if strings is not None:
            for point, formula in about.items():
                at = self.home.get(point.location)
                for calls in strings[at.procedure] if at is not None else ():
                    assert at is not None
                    found[Point(at, calls)] = self._formula(formula, at, calls)
        return found

    def _strings(self) -> dict[str, list[tuple[int, ...]]] | None:
        """All call strings to each procedure, from main or from a recursive procedure on."""
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
        """A formula with the frames of a call string named as they are there."""
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
