"""Control dependence in a procedure: which branches decide whether an execution reaches a location, and
which variables the other sides of a branch may write.

The graph of a procedure gets two more nodes. To the *end* lead all places where an execution may stop
without an error: the exit, locations where no edge may be enabled, calls of procedures that may stop. To the
*error* lead all errors, and calls of procedures that always end in one; the error leads to the end. Loops
are assumed to terminate: only those without exit lead to the end, from their heads.

A location *fails* if all paths from it lead to an error. Dependence of the other locations is computed in
the graph without failing ones: a side of a branch that leads to an error anyway does not prevent a violation.
So an execution that takes other sides of irrelevant branches reaches the same relevant locations, or an
error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.check.proofs.expansion import outline
from certus.core.effects import written
from certus.core.loops import call_graph, components, controllers, loop_forest, may_stop, postdominators
from certus.core.program import Alloc, Call, Edge, Free, Location, Procedure, Program, Store
from certus.core.terms import Expr, Kind
from certus.core.walk import variables

_REGION: Final = 2000  # the most locations between a branch and the join of its sides

Branches = frozenset[Location]


@dataclass(frozen=True, slots=True)
class Writes:
    """The variables that a part of a program may write (None: any), and the objects in memory, by their bases
    (see `Flows.base`). `frees` if it may free an object on the heap."""

    variables: frozenset[Expr] | None
    memory: frozenset[Expr | None]
    frees: bool = False


ANYTHING: Final = Writes(None, frozenset({None}), frees=True)


class Flows:
    """The control dependence of all procedures of a program, computed on demand."""

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
        """Return the control dependence of one procedure."""
        flow = self._flows.get(procedure)
        if flow is None:
            flow = self._flows[procedure] = Flow(self, self.program.procedures[procedure])
        return flow

    @cached_property
    def writes(self) -> Mapping[str, Writes]:
        """The globals and objects that each procedure may write."""
        shared = outline(self.program).writes
        stores: dict[str, frozenset[Expr | None]] = {}
        frees: dict[str, bool] = {}
        for group in components(tuple(self._calls), self._calls.__getitem__):  # callees first
            edges = [e for name in group for e in self.program.procedures[name].edges]
            own = frozenset(self.base(e.op.address) for e in edges if isinstance(e.op, Store))
            called = (stores.get(callee, frozenset()) for name in group for callee in self._calls[name])
            stores.update(dict.fromkeys(group, own.union(*called)))
            inner = any(frees.get(callee, False) for name in group for callee in self._calls[name])
            frees.update(dict.fromkeys(group, inner or any(map(_frees, edges))))
        return {
            name: Writes(frozenset(targets), stores[name], frees[name]) for name, targets in shared.items()
        }

    def base(self, address: Expr) -> Expr | None:
        """Return the variable that determines the object of an address, if all its values come from
        allocations: then another variable means another object. None if it may be any object."""
        parts = address.args if address.kind is Kind.ADD else (address,)
        bases = [x for x in variables(address) if x in self._bases]
        return bases[0] if len(bases) == 1 and bases[0] in parts else None

    def _settle(self) -> None:
        """Compute which procedures stop or fail, callees first. Recursive ones count as not failing, and all
        of a group stop if one of them does."""
        for group in components(tuple(self._calls), self._calls.__getitem__):
            flows = [Flow(self, self.program.procedures[name]) for name in group]
            if any(flow.stops() for flow in flows):
                self.stopping.update(group)
            if len(group) == 1 and group[0] not in self._calls[group[0]]:
                self._flows[group[0]] = flows[0]
                if flows[0].fails():
                    self.failing.add(group[0])


class Flow:
    """The control dependence of one procedure."""

    def __init__(self, flows: Flows, procedure: Procedure) -> None:
        self._flows = flows
        self._procedure = procedure
        self._locations = procedure.locations
        self._number = {at: n for n, at in enumerate(self._locations)}
        self._error, self._end = len(self._locations), len(self._locations) + 1
        self._stops: list[int] = []  # the nodes where an execution may stop
        self._whole = self._graph()
        self._going = self._leading_to_end()  # the nodes that do not fail
        self._skipped: dict[int, Writes] = {}

    def fails(self) -> bool:
        """Return whether every execution that enters the procedure ends in an error."""
        return self._number[self._procedure.entry] not in self._going

    def stops(self) -> bool:
        """Return whether an execution may end inside without an error."""
        start = self._number[self._procedure.entry]
        reached, work = {start, self._error, self._end}, [start]
        while work:
            for target in self._whole[work.pop()]:
                if target not in reached:
                    reached.add(target)
                    work.append(target)
        return any(node in reached for node in self._stops)

    def controllers(self, at: Location) -> Branches:
        """Return the branches that decide whether an execution reaches `at`."""
        return self._controllers[self._number[at]]

    @property
    def failure(self) -> Branches:
        """The branches that decide whether an error is reached in the procedure."""
        return self._controllers[self._error]

    def passed_over(self, edge: Edge) -> Writes:
        """Return what the other sides of a branch may write before all sides join."""
        writes = self._skipped.get(edge.index)
        if writes is None:
            writes = self._skipped[edge.index] = self._between(edge)
        return writes

    @cached_property
    def _joins(self) -> list[int]:
        return postdominators(self._going_graph)

    @cached_property
    def _going_graph(self) -> list[list[int]]:
        """The graph without failing nodes."""
        return [
            [t for t in targets if t in self._going] if node in self._going else [self._end]
            for node, targets in enumerate(self._whole[:-1])
        ] + [[]]

    @cached_property
    def _controllers(self) -> list[Branches]:
        """The branches that each location and the error depend on, by number."""
        everywhere = controllers(self._whole, postdominators(self._whole))
        going = controllers(self._going_graph, self._joins)
        interned: dict[tuple[int, ...], Branches] = {}
        branches = []
        for node in range(self._end):
            numbers = tuple((going if node in self._going else everywhere)[node])
            if numbers not in interned:
                interned[numbers] = frozenset(self._locations[n] for n in numbers)
            branches.append(interned[numbers])
        return branches

    # ------------------------------------------------------------------------------------ the graph

    def _graph(self) -> list[list[int]]:
        graph = [self._targets(at) for at in self._locations]
        graph += [[self._end], []]
        self._whole = graph
        leaving = self._leading_to_end()
        for head in loop_forest(self._procedure).heads:
            if self._number[head] not in leaving:
                graph[self._number[head]].append(self._end)
        return graph

    def _targets(self, at: Location) -> list[int]:
        procedure, flows = self._procedure, self._flows
        if at in flows.errors:
            return [self._error]
        targets: dict[int, None] = {}
        stops = at is not procedure.exit and (not procedure.successors[at] or may_stop(procedure, at))
        for edge in procedure.successors[at]:
            callee = edge.op.procedure if isinstance(edge.op, Call) else ""
            fails = edge.target in flows.errors or callee in flows.failing
            targets[self._error if fails else self._number[edge.target]] = None
            stops |= callee in flows.stopping
        if stops:
            self._stops.append(self._number[at])
        if stops or at is procedure.exit:
            targets[self._end] = None
        return list(targets)

    def _leading_to_end(self) -> set[int]:
        """Return the nodes with a path to the end that avoids the error."""
        sources: list[list[int]] = [[] for _ in self._whole]
        for node, targets in enumerate(self._whole):
            for target in targets:
                sources[target].append(node)
        leading, work = {self._end}, [self._end]
        while work:
            for source in sources[work.pop()]:
                if source not in leading and source != self._error:
                    leading.add(source)
                    work.append(source)
        return leading

    # ----------------------------------------------------------------- writes on other sides of a branch

    def _between(self, edge: Edge) -> Writes:
        procedure = self._procedure
        join = self._joins[self._number[edge.source]]
        others = (e for e in procedure.successors[edge.source] if e is not edge)
        work = [e.target for e in others if self._number[e.target] in self._going]
        region = dict.fromkeys(at for at in work if self._number[at] != join)
        written_here: set[Expr] = set()
        memory: set[Expr | None] = set()
        frees = False
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
                    frees |= called.frees
                frees |= _frees(step)
                number = self._number[step.target]
                if number in self._going and number != join and step.target not in region:
                    region[step.target] = None
                    work.append(step.target)
            if len(region) > _REGION:
                return ANYTHING
        return Writes(frozenset(written_here), frozenset(memory), frees)


def _frees(edge: Edge) -> bool:
    return isinstance(edge.op, Free) and edge.op.storage == "heap"


def _bases(program: Program) -> frozenset[Expr]:
    """Return the variables that get their values from allocations only."""
    allocated: dict[Expr, bool] = {}
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            for x in written(edge.op, procedure):
                allocated[x] = allocated.get(x, True) and isinstance(edge.op, Alloc)
    parameters = frozenset(x for p in program.procedures.values() for x in p.parameters)
    return frozenset(x for x, only in allocated.items() if only and x not in parameters)
