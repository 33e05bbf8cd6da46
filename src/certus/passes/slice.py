"""Slice a program: remove what cannot influence whether an error is reached.

The sets of *relevant* locations, variables and statements are the least sets such that:

- errors, loop heads, memory operations and calls of recursive procedures are relevant;
- a relevant location makes the branches it is control dependent on relevant (termination of loops counts),
  and a relevant branch the variables of its conditions;
- a relevant variable makes every statement that writes it relevant, and a relevant statement its location and
  the variables that its relevant part reads;
- anything relevant in a procedure makes its calls and its exit relevant; so do executions that may end
  inside;
- a relevant parameter makes the arguments bound to it relevant, a relevant target of a call its result.

An irrelevant statement becomes a step that does nothing, an irrelevant branch a step to its immediate
postdominator. The skipped part neither loops, blocks, fails nor writes relevant variables. So the slice and
the program visit the relevant locations in the same order with the same values of relevant variables.
Irrelevant parameters, results, variables and procedures are removed. Where nothing relevant can follow,
control ends.

The back map: the remaining locations, edges and variables are the original ones. A trace lacks the inputs of
removed statements; any value works. Formulas contain relevant variables only, which removed statements do not
write, so a proof of the slice is a proof of the program. No loop is removed, but loop heads may change, so
`unrolling_bounds` carries the bounds of an unrolling back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from certus.core.effects import SKIP, assignment, ordered, single_statements, terms, written
from certus.core.engine import BackMap, Task, unrolling_before
from certus.core.evidence import Proof, Unrolling
from certus.core.loops import (
    LoopForest,
    call_graph,
    controllers,
    is_branch,
    loop_forest,
    may_stop,
    postdominators,
    recursive,
)
from certus.core.program import (
    Assign,
    Assume,
    Call,
    Edge,
    Havoc,
    Location,
    MemoryOp,
    Op,
    Procedure,
    Program,
    Return,
)
from certus.core.terms import Expr
from certus.core.walk import variables


@dataclass(frozen=True, slots=True)
class Slice:
    """The slicing pass."""

    @property
    def name(self) -> str:
        return "slice"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        sliced = slice_program(program)
        locations, variables_left = sliced.location, frozenset(declared(sliced))
        facts = {
            point: fact
            for point, fact in task.facts.items()
            if point.location.name in locations
            and not point.calls
            and variables_left.issuperset(variables(fact))
        }

        def back(proof: Proof) -> Proof:
            return unrolling_before(program, sliced, proof) if isinstance(proof, Unrolling) else proof

        return replace(task, subject=sliced, facts=facts), BackMap(back, lambda trace: trace)


def declared(program: Program) -> Iterable[Expr]:
    """Yield all variables of a program."""
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def slice_program(program: Program) -> Program:
    """Return the program reduced to what can influence whether its errors are reached."""
    relevance = _Relevance(program)
    relevance.close()
    reduced = {
        name: _reduced(procedure, relevance)
        for name, procedure in program.procedures.items()
        if name == program.main or name in relevance.needed
    }
    mentioned: dict[Expr, None] = {}
    for procedure in reduced.values():
        for edge in procedure.edges:
            mentioned.update((x, None) for x in variables(*terms(edge.op)))
            mentioned.update((x, None) for x in written(edge.op, procedure))
        mentioned.update((x, None) for x in (*procedure.parameters, *procedure.results))
    procedures = {name: replace(p, variables=ordered(p.variables, mentioned)) for name, p in reduced.items()}
    shared = ordered(program.globals, mentioned)
    locations = frozenset(at for p in procedures.values() for at in p.locations)
    return replace(
        program,
        procedures=procedures,
        globals=shared,
        errors=tuple(site for site in program.errors if site.location in locations),
        initial={x: value for x, value in program.initial.items() if x in mentioned},
    )


class _Relevance:
    """The relevant sets of the module's docstring, computed by a work list."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.main_returns = program.main in _called(program)
        self.forests: dict[str, LoopForest] = {}
        self.control: dict[str, ControlDependence] = {}
        self.locations: set[Location] = set()
        self.goals: set[Location] = set()  # errors, loop heads and exits
        self.variables: set[Expr] = set()
        self.needed: set[str] = set()  # procedures whose calls stay
        self._writers: dict[Expr, list[Edge]] = {}
        self._calls: dict[str, list[Edge]] = {name: [] for name in program.procedures}
        self._results: dict[Expr, tuple[str, int]] = {}  # by variable, its procedure and position
        self._parameters: dict[Expr, tuple[str, int]] = {}
        self._work: deque[Location | Expr] = deque()
        for procedure in self._reachable():
            self._survey(procedure)
        looping = frozenset(name for group in recursive(program) for name in group)
        for procedure in self._reachable():
            self._seed(procedure, looping)

    def _reachable(self) -> list[Procedure]:
        calls = call_graph(self.program)
        reached = {self.program.main: None}
        work = [self.program.main]
        while work:
            for callee in calls[work.pop()]:
                if callee not in reached:
                    reached[callee] = None
                    work.append(callee)
        return [self.program.procedures[name] for name in self.program.procedures if name in reached]

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
            if isinstance(edge.op, MemoryOp):
                self._locate(edge.source)
                self._mention(terms(edge.op))
            elif isinstance(edge.op, Call) and edge.op.procedure in looping:
                self._need(edge.op.procedure)
        if any(may_stop(procedure, at) for at in procedure.locations):
            self._need(procedure.name)

    # --------------------------------------------------------------------------------- closure

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
        """Mark the calls and the exit of a procedure as relevant."""
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


# ---------------------------------------------------------------------------------------- new graph


def _reduced(procedure: Procedure, relevance: _Relevance) -> Procedure:
    """Return the procedure with its irrelevant parts skipped."""
    reached = _reached(procedure, _skipping(procedure, relevance), relevance)
    edges = _contracted(procedure, reached, relevance)
    return replace(
        procedure,
        parameters=ordered(procedure.parameters, frozenset(relevance.variables)),
        results=ordered(procedure.results, frozenset(relevance.variables)),
        edges=tuple(sorted(edges, key=lambda e: e.index)),
    )


def _skipping(procedure: Procedure, relevance: _Relevance) -> dict[Location, list[Edge]]:
    """Return the remaining edges of each location."""
    control = relevance.control[procedure.name]
    remaining: dict[Location, list[Edge]] = {}
    for at in procedure.locations:
        edges = procedure.successors[at]
        if is_branch(edges) and at not in relevance.locations:
            target = control.postdominator(at)
            remaining[at] = [] if target is None else [replace(edges[0], op=SKIP, target=target, branch=None)]
        else:
            remaining[at] = [_kept(edge, procedure, relevance) for edge in edges]
    return remaining


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
    """Keep only what lies on a path from the entry to a goal, or to a statement that may itself fail, end the
    execution or access memory."""
    sources: dict[Location, list[Location]] = {at: [] for at in edges}
    useful = [at for at in procedure.locations if at in relevance.goals]
    for at, outgoing in edges.items():
        for edge in outgoing:
            sources[edge.target].append(at)
            if isinstance(edge.op, Call | MemoryOp):
                useful.append(edge.target)
    before = _closure(useful, sources.__getitem__)
    kept = {at: [e for e in outgoing if e.target in before] for at, outgoing in edges.items()}
    after = _closure([procedure.entry], lambda at: [e.target for e in kept[at]])
    return {at: kept[at] for at in procedure.locations if at in after}


def _closure(
    start: Iterable[Location], following: Callable[[Location], Iterable[Location]]
) -> frozenset[Location]:
    reached = dict.fromkeys(start)
    work = list(reached)
    while work:
        for at in following(work.pop()):
            if at not in reached:
                reached[at] = None
                work.append(at)
    return frozenset(reached)


def _contracted(
    procedure: Procedure, edges: dict[Location, list[Edge]], relevance: _Relevance
) -> Iterable[Edge]:
    """Yield the edges, redirected past locations with a single empty step. Every cycle keeps its head."""
    stays = {procedure.entry, procedure.exit, *relevance.forests[procedure.name].heads}
    goal: dict[Location, Location] = {}  # the first kept location at or after a location
    for start in edges:
        at, path = start, []
        while at not in goal:
            path.append(at)
            outgoing = edges[at]
            if at in stays or len(outgoing) != 1 or outgoing[0].op != SKIP:
                goal[at] = at
            else:
                at = outgoing[0].target
        for passed in path:
            goal[passed] = goal[at]
    for at, outgoing in edges.items():
        if goal[at] is at:
            yield from (
                e if goal[e.target] is e.target else replace(e, target=goal[e.target]) for e in outgoing
            )


class ControlDependence:
    """Termination-sensitive control dependence of one procedure.

    The graph of the procedure gets one more node, the end, with an edge to it from wherever an execution may
    stop: exit, errors, locations where no edge may be enabled, and every loop head, since a loop may never be
    left (Podgurski and Clarke, "A formal model of program dependences", 1990: weak control dependence). Path
    segments from a branch to its immediate postdominator contain no loop head."""

    def __init__(self, procedure: Procedure, forest: LoopForest) -> None:
        self._locations = procedure.locations
        self._number = {at: n for n, at in enumerate(self._locations)}
        self._end = len(self._locations)
        stops = frozenset(forest.heads)
        graph: list[list[int]] = []
        for at in self._locations:
            targets = [self._number[e.target] for e in procedure.successors[at]]
            if not targets or at is procedure.exit or at in stops or may_stop(procedure, at):
                targets.append(self._end)
            graph.append(list(dict.fromkeys(targets)))
        graph.append([])
        self._next = postdominators(graph)
        self._controllers = controllers(graph, self._next)

    def postdominator(self, at: Location) -> Location | None:
        """Return the first location on every execution after `at`; None if that is the end."""
        number = self._next[self._number[at]]
        return None if number == self._end else self._locations[number]

    def controllers(self, at: Location) -> Iterator[Location]:
        """Yield the branches that `at` depends on: it lies on all paths to the end that start with one edge
        of the branch, but not on all that start at the branch."""
        return (self._locations[n] for n in self._controllers[self._number[at]])
