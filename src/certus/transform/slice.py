"""Slicing: what reaching an error does not depend on is removed.

*Relevant* are locations, variables and statements; the least sets with:

- errors, loop heads, memory operations and calls of recursive procedures are relevant;
- with a location the branches it depends on (`transform.control`: whether a loop ends counts), and
  with a branch the variables of its conditions;
- with a variable every statement that writes it, and with a statement its location, and what the
  relevant part of it reads;
- with anything in a procedure its calls, and its exit; the exit also if executions may end inside;
- with a parameter the arguments bound to it, with a call's target the result it comes from.

An irrelevant statement becomes a step that does nothing, an irrelevant branch a step to the first
location that all its ways lead to. What is skipped so neither loops, blocks, fails nor writes anything
relevant, so the slice and the program come to the relevant locations in the same order with the
same values of relevant variables. Parameters, results, variables and procedures that are not needed go.
Where nothing relevant can follow, control just ends.

Evidence: locations, edges and variables that stay are the original ones. A trace lacks the inputs of
removed statements; any value does. Formulas speak of relevant variables, which the removed
statements do not write, so a proof of the slice is one of the program. No loop is removed, but its
bound is carried back by `transform.retrace`, since heads may change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from certus.core.control import is_branch, may_stop
from certus.core.effects import terms, written
from certus.core.evidence import Proof, Unrolling
from certus.core.loops import LoopForest, call_graph, loop_forest, recursive
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Load,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.task import BackMap, Task
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.transform.control import ControlDependence
from certus.transform.effects import SKIP, assignment, ordered, single_statements
from certus.transform.retrace import unrolling_before


@dataclass(frozen=True, slots=True)
class Slice:
    """The pass."""

    @property
    def name(self) -> str:
        return "slice"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        sliced = slice_program(program)
        places, known = sliced.location, frozenset(declared(sliced))
        facts = {
            point: fact
            for point, fact in task.facts.items()
            if point.location.name in places and not point.calls and known.issuperset(variables(fact))
        }

        def back(proof: Proof) -> Proof:
            return unrolling_before(program, sliced, proof) if isinstance(proof, Unrolling) else proof

        return replace(task, subject=sliced, facts=facts), BackMap(back, lambda trace: trace)


def declared(program: Program) -> Iterable[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def slice_program(program: Program) -> Program:
    """The program reduced to what reaching its errors depends on."""
    relevance = _Relevance(program)
    relevance.close()
    shapes = {
        name: _reduced(procedure, relevance)
        for name, procedure in program.procedures.items()
        if name == program.main or name in relevance.needed
    }
    mentioned: dict[Expr, None] = {}
    for procedure in shapes.values():
        for edge in procedure.edges:
            mentioned.update((x, None) for x in variables(*terms(edge.op)))
            mentioned.update((x, None) for x in written(edge.op, procedure))
        mentioned.update((x, None) for x in (*procedure.parameters, *procedure.results))
    procedures = {name: replace(p, variables=ordered(p.variables, mentioned)) for name, p in shapes.items()}
    shared = ordered(program.globals, mentioned)
    left = frozenset(at for p in procedures.values() for at in p.locations)
    return replace(
        program,
        procedures=procedures,
        globals=shared,
        errors=tuple(site for site in program.errors if site.location in left),
        initial={x: value for x, value in program.initial.items() if x in mentioned},
    )


class _Relevance:
    """The least sets of the module's header, by a work list."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.main_returns = program.main in _called(program)
        self.forests: dict[str, LoopForest] = {}
        self.control: dict[str, ControlDependence] = {}
        self.locations: set[Location] = set()
        self.goals: set[Location] = set()  # what the others are relevant for: errors, loop heads, exits
        self.variables: set[Expr] = set()
        self.needed: set[str] = set()  # procedures whose calls stay
        self._writers: dict[Expr, list[Edge]] = {}
        self._calls: dict[str, list[Edge]] = {name: [] for name in program.procedures}
        self._results: dict[Expr, tuple[str, int]] = {}  # a result, as procedure and position
        self._parameters: dict[Expr, tuple[str, int]] = {}
        self._work: deque[Location | Expr] = deque()
        for procedure in self._reachable():
            self._survey(procedure)
        looping = frozenset(name for group in recursive(program) for name in group)
        for procedure in self._reachable():
            self._seed(procedure, looping)

    def _reachable(self) -> list[Procedure]:
        calls = call_graph(self.program)
        found = {self.program.main: None}
        work = [self.program.main]
        while work:
            for callee in calls[work.pop()]:
                if callee not in found:
                    found[callee] = None
                    work.append(callee)
        return [self.program.procedures[name] for name in self.program.procedures if name in found]

    def _survey(self, procedure: Procedure) -> None:
        forest = self.forests[procedure.name] = loop_forest(procedure)
        self.control[procedure.name] = ControlDependence(procedure, forest)
        for position, x in enumerate(procedure.results):
            self._results[x] = (procedure.name, position)
        for position, x in enumerate(procedure.parameters):
            self._parameters[x] = (procedure.name, position)
        for edge in procedure.edges:
            for x in written(edge.op, procedure):
                self._writers.setdefault(x, []).append(edge)
            if isinstance(edge.op, Call):
                self._calls[edge.op.procedure].append(edge)

    def _seed(self, procedure: Procedure, looping: frozenset[str]) -> None:
        heads = frozenset(self.forests[procedure.name].heads)
        for at in procedure.locations:
            if at in self.program.error_locations or at in heads:
                self.goals.add(at)
                self._locate(at)
        for edge in procedure.edges:
            if isinstance(edge.op, Load | Store | Alloc | Free):
                self._locate(edge.source)
                self._mention(terms(edge.op))
            elif isinstance(edge.op, Call) and edge.op.procedure in looping:
                self._need(edge.op.procedure)
        if any(may_stop(procedure, at) for at in procedure.locations):
            self._need(procedure.name)

    # ------------------------------------------------------------------------------- the closure

    def close(self) -> None:
        while self._work:
            item = self._work.popleft()
            if isinstance(item, Location):
                self._spread_location(item)
            else:
                self._spread_variable(item)

    def _locate(self, at: Location) -> None:
        if at not in self.locations:
            self.locations.add(at)
            self._work.append(at)

    def _mention(self, values: Iterable[Expr]) -> None:
        for x in variables(*values):
            if x not in self.variables:
                self.variables.add(x)
                self._work.append(x)

    def _need(self, name: str) -> None:
        """The procedure's calls matter."""
        if name in self.needed or (name == self.program.main and not self.main_returns):
            return
        self.needed.add(name)
        self.goals.add(self.program.procedures[name].exit)
        self._locate(self.program.procedures[name].exit)
        for edge in self._calls[name]:
            self._locate(edge.source)

    def _spread_location(self, at: Location) -> None:
        self._need(at.procedure)
        for branch in self.control[at.procedure].controllers(at):
            self._locate(branch)
        edges = self.program.procedures[at.procedure].successors[at]
        if is_branch(edges):
            self._mention(e.op.condition for e in edges if isinstance(e.op, Assume))

    def _spread_variable(self, x: Expr) -> None:
        for edge in self._writers.get(x, ()):
            self._locate(edge.source)
            op = edge.op
            if isinstance(op, Assign):
                self._mention(v for t, v in zip(op.targets, op.values, strict=True) if t is x)
            elif isinstance(op, Call):
                self._need(op.procedure)
                results = self.program.procedures[op.procedure].results
                self._mention(r for t, r in zip(op.targets, results, strict=False) if t is x)
            elif isinstance(op, Return):
                self._mention(op.values[n] for r, n in self._position(x) if r == edge.source.procedure)
        if x in self._parameters:
            name, position = self._parameters[x]
            for edge in self._calls[name]:
                assert isinstance(edge.op, Call)
                self._mention((edge.op.arguments[position],))

    def _position(self, x: Expr) -> Iterable[tuple[str, int]]:
        return (self._results[x],) if x in self._results else ()


def _called(program: Program) -> frozenset[str]:
    return frozenset(callee for callees in call_graph(program).values() for callee in callees)


# ------------------------------------------------------------------------------------ the new graph


def _reduced(procedure: Procedure, relevance: _Relevance) -> Procedure:
    """The procedure with its irrelevant parts skipped."""
    left = _reached(procedure, _skipping(procedure, relevance), relevance)
    edges = _contracted(procedure, left, relevance)
    return replace(
        procedure,
        parameters=ordered(procedure.parameters, frozenset(relevance.variables)),
        results=ordered(procedure.results, frozenset(relevance.variables)),
        edges=tuple(sorted(edges, key=lambda e: e.index)),
    )


def _skipping(procedure: Procedure, relevance: _Relevance) -> dict[Location, list[Edge]]:
    """By location, what is left of its edges."""
    control = relevance.control[procedure.name]
    found: dict[Location, list[Edge]] = {}
    for at in procedure.locations:
        edges = procedure.successors[at]
        if is_branch(edges) and at not in relevance.locations:
            target = control.postdominator(at)
            found[at] = [] if target is None else [replace(edges[0], op=SKIP, target=target, branch=None)]
        else:
            found[at] = [_kept(edge, procedure, relevance) for edge in edges]
    return found


def _kept(edge: Edge, procedure: Procedure, relevance: _Relevance) -> Edge:
    op = _relevant_part(edge.op, procedure, relevance)
    return edge if op == edge.op else replace(edge, op=op)


def _relevant_part(op: Op, procedure: Procedure, relevance: _Relevance) -> Op:
    wanted = relevance.variables
    if isinstance(op, Assign):
        pairs = [(t, v) for t, v in zip(op.targets, op.values, strict=True) if t in wanted]
        return assignment([t for t, _ in pairs], [v for _, v in pairs])
    if isinstance(op, Havoc):
        return op if any(x in wanted for x in op.targets) else SKIP
    if isinstance(op, Return):
        return Return(tuple(v for r, v in zip(procedure.results, op.values, strict=True) if r in wanted))
    if isinstance(op, Call):
        if op.procedure not in relevance.needed:
            return SKIP
        callee = relevance.program.procedures[op.procedure]
        arguments = zip(callee.parameters, op.arguments, strict=True)
        targets = zip(callee.results, op.targets, strict=False)
        return Call(
            op.procedure,
            tuple(a for x, a in arguments if x in wanted),
            tuple(t for r, t in targets if r in wanted),
        )
    return op


def _reached(
    procedure: Procedure, edges: dict[Location, list[Edge]], relevance: _Relevance
) -> dict[Location, list[Edge]]:
    """Only what lies between the entry and what all the rest is relevant for: also statements that may
    themselves fail, end the execution or access memory."""
    sources: dict[Location, list[Location]] = {at: [] for at in edges}
    useful = [at for at in procedure.locations if at in relevance.goals]
    for at, out in edges.items():
        for edge in out:
            sources[edge.target].append(at)
            if isinstance(edge.op, Call | Load | Store | Alloc | Free):
                useful.append(edge.target)
    before = _closure(useful, sources.__getitem__)
    left = {at: [e for e in out if e.target in before] for at, out in edges.items()}
    after = _closure([procedure.entry], lambda at: [e.target for e in left[at]])
    return {at: left[at] for at in procedure.locations if at in after}


def _closure(
    start: Iterable[Location], following: Callable[[Location], Iterable[Location]]
) -> frozenset[Location]:
    found = dict.fromkeys(start)
    work = list(found)
    while work:
        for at in following(work.pop()):
            if at not in found:
                found[at] = None
                work.append(at)
    return frozenset(found)


def _contracted(
    procedure: Procedure, edges: dict[Location, list[Edge]], relevance: _Relevance
) -> Iterable[Edge]:
    """The edges, past locations where nothing happens. Every cycle has a head, and heads stay."""
    stays = {procedure.entry, procedure.exit, *relevance.forests[procedure.name].heads}
    goal: dict[Location, Location] = {}  # where control goes on from a location that is passed over
    for start in edges:
        at, way = start, []
        while at not in goal:
            way.append(at)
            out = edges[at]
            if at in stays or len(out) != 1 or out[0].op != SKIP:
                goal[at] = at
            else:
                at = out[0].target
        for passed in way:
            goal[passed] = goal[at]
    for at, out in edges.items():
        if goal[at] is at:
            yield from (e if goal[e.target] is e.target else replace(e, target=goal[e.target]) for e in out)
