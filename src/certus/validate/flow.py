"""What an execution depends on in a procedure: whether it comes to a location, and what branches pass over.

The graph of a procedure gets two more nodes. To the *end* leads whatever stops an execution without an
error: the exit, locations where no edge may be enabled, calls of procedures in which that may happen. To
the *error* lead all errors, and calls of procedures that always end in one; from there it goes to the end.
Loops are taken to end: only those that cannot be left lead to the end, from their heads.

A location *fails* if all ways from it lead to an error. What does not fail is looked at in the graph
without what does: a side that leads to an error anyway keeps no execution from violating the property.
So an execution that takes other sides of branches on which nothing of interest depends comes to the same
locations of interest, or to an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.core.control import controllers, may_stop, postdominators
from certus.core.effects import written
from certus.core.loops import call_graph, components, loop_forest
from certus.core.program import Alloc, Call, Edge, Location, Procedure, Program, Store
from certus.core.terms import Expr, Kind
from certus.core.walk import variables
from certus.validate.expansion import outline

_REGION: Final = 2000  # locations between a branch and where its sides meet; more are not looked at

Branches = frozenset[Location]


@dataclass(frozen=True, slots=True)
class Writes:
    """What a stretch of program may write: variables (None: any), and objects in memory by their bases
    (see `Flows.base`)."""

    variables: frozenset[Expr] | None
    memory: frozenset[Expr | None]


ANYTHING: Final = Writes(None, frozenset({None}))


class Flows:
    """The flows of a program's procedures, made on demand."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.errors = program.error_locations
        self.failing: set[str] = set()  # procedures that always end in an error
        self.stopping: set[str] = set()  # procedures in which an execution may end without an error
        self._flows: dict[str, Flow] = {}
        self._bases = _bases(program)
        self._calls = call_graph(program)
        self._settle()

    def of(self, procedure: str) -> Flow:
        found = self._flows.get(procedure)
        if found is None:
            found = self._flows[procedure] = Flow(self, self.program.procedures[procedure])
        return found

    @cached_property
    def writes(self) -> Mapping[str, Writes]:
        """What procedures may write: globals only."""
        shared = outline(self.program).writes
        stores: dict[str, frozenset[Expr | None]] = {}
        for group in components(tuple(self._calls), self._calls.__getitem__):  # callees first
            edges = [e for name in group for e in self.program.procedures[name].edges]
            own = frozenset(self.base(e.op.address) for e in edges if isinstance(e.op, Store))
            called = (stores.get(callee, frozenset()) for name in group for callee in self._calls[name])
            stores.update(dict.fromkeys(group, own.union(*called)))
        return {name: Writes(frozenset(found), stores[name]) for name, found in shared.items()}

    def base(self, address: Expr) -> Expr | None:
        """The variable that tells which object an address is in, if it is one that only ever holds addresses
        of objects made for it: where it is another one, another object is meant. None: it may be any."""
        parts = address.args if address.kind is Kind.ADD else (address,)
        found = [x for x in variables(address) if x in self._bases]
        return found[0] if len(found) == 1 and found[0] in parts else None

    def _settle(self) -> None:
        """Which procedures stop or fail, callees first. Recursive ones are not known to fail, and they all
        stop if one of them does."""
        for group in components(tuple(self._calls), self._calls.__getitem__):
            flows = [Flow(self, self.program.procedures[name]) for name in group]
            if any(flow.stops() for flow in flows):
                self.stopping.update(group)
            if len(group) == 1 and group[0] not in self._calls[group[0]]:
                self._flows[group[0]] = flows[0]
                if flows[0].fails():
                    self.failing.add(group[0])


class Flow:
    """Of one procedure. `failure` are the branches that decide whether an error is reached in it."""

    def __init__(self, flows: Flows, procedure: Procedure) -> None:
        self._flows = flows
        self._procedure = procedure
        self._locations = procedure.locations
        self._number = {at: n for n, at in enumerate(self._locations)}
        self._error, self._end = len(self._locations), len(self._locations) + 1
        self._stops: list[int] = []  # the nodes where an execution may stop
        self._whole = self._graph()
        self._going = self._leading_to_end(without_errors=True)  # the nodes that do not fail
        self._passed: dict[int, Writes] = {}

    def fails(self) -> bool:
        """Whether every execution that enters ends in an error."""
        return self._number[self._procedure.entry] not in self._going

    def stops(self) -> bool:
        """Whether an execution may end inside, without an error."""
        start = self._number[self._procedure.entry]
        found, work = {start, self._error, self._end}, [start]
        while work:
            for target in self._whole[work.pop()]:
                if target not in found:
                    found.add(target)
                    work.append(target)
        return any(node in found for node in self._stops)

    def controllers(self, at: Location) -> Branches:
        """The branches that decide whether an execution comes to `at`."""
        return self._controllers[self._number[at]]

    @property
    def failure(self) -> Branches:
        return self._controllers[self._error]

    def passed_over(self, edge: Edge) -> Writes:
        """What the other sides of a branch may write before all sides meet."""
        found = self._passed.get(edge.index)
        if found is None:
            found = self._passed[edge.index] = self._between(edge)
        return found

    @cached_property
    def _meeting(self) -> list[int]:
        return postdominators(self._going_graph)

    @cached_property
    def _going_graph(self) -> list[list[int]]:
        """The graph without what fails."""
        return [
            [t for t in targets if t in self._going] if node in self._going else [self._end]
            for node, targets in enumerate(self._whole[:-1])
        ] + [[]]

    @cached_property
    def _controllers(self) -> list[Branches]:
        """By number of a location, and of the error."""
        everywhere = controllers(self._whole, postdominators(self._whole))
        going = controllers(self._going_graph, self._meeting)
        known: dict[tuple[int, ...], Branches] = {}
        found = []
        for node in range(self._end):
            numbers = tuple((going if node in self._going else everywhere)[node])
            if numbers not in known:
                known[numbers] = frozenset(self._locations[n] for n in numbers)
            found.append(known[numbers])
        return found

    # ------------------------------------------------------------------------------------ the graph

    def _graph(self) -> list[list[int]]:
        graph = [self._targets(at) for at in self._locations]
        graph += [[self._end], []]
        self._whole = graph
        left = self._leading_to_end(without_errors=True)
        for head in loop_forest(self._procedure).heads:
            if self._number[head] not in left:
                graph[self._number[head]].append(self._end)
        return graph

    def _targets(self, at: Location) -> list[int]:
        procedure, flows = self._procedure, self._flows
        if at in flows.errors:
            return [self._error]
        found: dict[int, None] = {}
        stops = at is not procedure.exit and (not procedure.successors[at] or may_stop(procedure, at))
        for edge in procedure.successors[at]:
            callee = edge.op.procedure if isinstance(edge.op, Call) else ""
            lost = edge.target in flows.errors or callee in flows.failing
            found[self._error if lost else self._number[edge.target]] = None
            stops |= callee in flows.stopping
        if stops:
            self._stops.append(self._number[at])
        if stops or at is procedure.exit:
            found[self._end] = None
        return list(found)

    def _leading_to_end(self, *, without_errors: bool) -> set[int]:
        """The nodes with a way to the end."""
        sources: list[list[int]] = [[] for _ in self._whole]
        for node, targets in enumerate(self._whole):
            for target in targets:
                sources[target].append(node)
        found, work = {self._end}, [self._end]
        while work:
            for source in sources[work.pop()]:
                if source not in found and not (without_errors and source == self._error):
                    found.add(source)
                    work.append(source)
        return found

    # ------------------------------------------------------------------------- what is passed over

    def _between(self, edge: Edge) -> Writes:
        procedure = self._procedure
        meeting = self._meeting[self._number[edge.source]]
        others = (e for e in procedure.successors[edge.source] if e is not edge)
        work = [e.target for e in others if self._number[e.target] in self._going]
        region = dict.fromkeys(at for at in work if self._number[at] != meeting)
        written_here: set[Expr] = set()
        memory: set[Expr | None] = set()
        work = list(region)
        while work:
            at = work.pop()
            for step in procedure.successors[at]:
                written_here.update(written(step.op, procedure))
                if isinstance(step.op, Store):
                    memory.add(self._flows.base(step.op.address))
                elif isinstance(step.op, Call):
                    called = self._flows.writes[step.op.procedure]
                    written_here.update(called.variables or ())
                    memory.update(called.memory)
                number = self._number[step.target]
                if number in self._going and number != meeting and step.target not in region:
                    region[step.target] = None
                    work.append(step.target)
            if len(region) > _REGION:
                return ANYTHING
        return Writes(frozenset(written_here), frozenset(memory))


def _bases(program: Program) -> frozenset[Expr]:
    """The variables that get their values from the making of objects only."""
    made: dict[Expr, bool] = {}
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            for x in written(edge.op, procedure):
                made[x] = made.get(x, True) and isinstance(edge.op, Alloc)
    parameters = frozenset(x for p in program.procedures.values() for x in p.parameters)
    return frozenset(x for x, only in made.items() if only and x not in parameters)
