"""What unrolling needs to know of a procedure: its loops, an order, what it may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from certus.core.loops import Loop, LoopForest, call_graph, loop_forest, recursive
from certus.core.program import Assign, Call, Edge, Havoc, Location, Procedure, Program, Return, leaves
from certus.core.terms import Expr


@dataclass(frozen=True)
class Shape:
    """A procedure seen by whoever unrolls it.

    `written`: the variables (globals and its own) an activation may write, callees included;
    `recursive`: whether it can be active more than once."""

    procedure: Procedure
    forest: LoopForest
    written: tuple[Expr, ...]
    recursive: bool

    @cached_property
    def at_exit(self) -> tuple[Expr, ...]:
        """The written variables that outlive an activation: globals and results."""
        own = set(self.procedure.variables) - set(self.procedure.results)
        return tuple(x for x in self.written if x not in own)

    @cached_property
    def _chains(self) -> Mapping[Location, tuple[Loop, ...]]:
        return {at: tuple(self.forest.around(at))[::-1] for at in self.procedure.locations}

    def enclosing(self, location: Location) -> tuple[Loop, ...]:
        """The loops around a location, outermost first."""
        return self._chains[location]

    def simple(self, loop: Loop) -> bool:
        """Whether the loop neither contains nor is inside another, and calls nothing."""
        return loop.depth == 1 and loop not in self._manifold

    @cached_property
    def _manifold(self) -> frozenset[Loop]:
        """The loops that contain another loop or a call."""
        parents = (loop.parent for loop in self.forest.loops)
        calls = (edge.source for edge in self.procedure.edges if isinstance(edge.op, Call))
        around = (loop for at in calls for loop in self.forest.around(at))
        return frozenset(loop for loop in (*parents, *around) if loop is not None)

    def counts(self, source: Location | None, counts: tuple[int, ...], target: Location) -> tuple[int, ...]:
        """The loop counts at `target` after a step from `source` with the given counts.

        Each loop that contains both keeps its count, plus one if the step enters it again."""
        inner = self.enclosing(target)
        outer = self.enclosing(source) if source is not None else ()
        found: list[int] = []
        for depth, loop in enumerate(inner):
            if depth < len(outer) and outer[depth] is loop:
                found.append(counts[depth] + (1 if target in loop.entries else 0))
            else:
                found.append(1)
        return tuple(found)

    def joins(self, source: Location, target: Location) -> bool:
        """Whether visits of `target` that a step from `source` leads to have several arrivals."""
        return self._ways[target, self._again(source, target)] > 1

    def _again(self, source: Location, target: Location) -> bool:
        """Whether a step to `target` stays inside the innermost loop around it."""
        loop = self.forest.innermost(target)
        return loop is not None and source in loop.body

    @cached_property
    def _ways(self) -> Mapping[tuple[Location, bool], int]:
        """Per location, and steps from inside its loop or not: the number of arrivals at one visit.

        A step that leaves a loop counts as many: one for each number of iterations."""
        ways: dict[tuple[Location, bool], int] = {}
        for edge in self.procedure.edges:
            source, target = edge.source, edge.target
            left = len(self.enclosing(source)) > self._common(source, target)
            at = (target, self._again(source, target) and self._is_entry(target))
            ways[at] = ways.get(at, 0) + (2 if left else 1)
        for target in self.procedure.locations:
            if not self._is_entry(target):
                ways[target, True] = ways.get((target, False), 0)
        return ways

    def _is_entry(self, location: Location) -> bool:
        loop = self.forest.innermost(location)
        return loop is not None and location in loop.entries

    def _common(self, one: Location, other: Location) -> int:
        """How many loops enclose both."""
        pairs = zip(self.enclosing(one), self.enclosing(other), strict=False)
        return sum(1 for a, b in pairs if a is b)

    def order(self, location: Location, counts: tuple[int, ...]) -> tuple[int, ...]:
        """A key that sorts the visits of one activation topologically."""
        key: list[int] = []
        for loop, number in zip(self.enclosing(location), counts, strict=True):
            key += (self._places[loop], number)
        return (*key, self._places[location])

    @cached_property
    def _places(self) -> Mapping[Location | Loop, int]:
        """Places such that a step not entering a loop again leads to a later one, and a loop's
        locations stand together, from the place of the loop on."""
        places: dict[Location | Loop, int] = {}
        stack: list[Location | Loop] = list(reversed(self._sorted(None)))
        while stack:
            item = stack.pop()
            places[item] = len(places)
            if isinstance(item, Loop):
                stack.extend(reversed(self._sorted(item)))
        return places

    def _sorted(self, region: Loop | None) -> list[Location | Loop]:
        """The locations and inner loops directly in a region, in topological order."""
        depth = 0 if region is None else region.depth
        members = self.procedure.locations if region is None else sorted(region.body, key=lambda x: x.index)

        def item(at: Location) -> Location | Loop | None:
            """What stands for a location in this region; None if it is outside."""
            chain = self.enclosing(at)
            if depth > 0 and (len(chain) < depth or chain[depth - 1] is not region):
                return None
            return chain[depth] if len(chain) > depth else at

        after: dict[Location | Loop, list[Location | Loop]] = {}
        missing: dict[Location | Loop, int] = {}
        for at in members:
            own = item(at)
            assert own is not None
            after.setdefault(own, [])
            missing.setdefault(own, 0)
        for at in members:
            own = item(at)
            assert own is not None
            for edge in self.procedure.successors[at]:
                other = item(edge.target)
                again = region is not None and edge.target in region.entries
                if other is not None and other is not own and not again:
                    after[own].append(other)
                    missing[other] += 1
        ready = [x for x in reversed(list(after)) if missing[x] == 0]
        found: list[Location | Loop] = []
        while ready:
            own = ready.pop()
            found.append(own)
            for other in after[own]:
                missing[other] -= 1
                if missing[other] == 0:
                    ready.append(other)
        assert len(found) == len(after), "a region without its loops' entries is acyclic"
        return found


def shapes(program: Program) -> Mapping[str, Shape]:
    """The shape of every procedure."""
    cyclic = {name for component in recursive(program) for name in component}
    written = _written(program)
    return {
        name: Shape(procedure, loop_forest(procedure), written[name], name in cyclic)
        for name, procedure in program.procedures.items()
    }


def _written(program: Program) -> Mapping[str, tuple[Expr, ...]]:
    calls = call_graph(program)
    written = {name: _own_writes(p.edges, p) for name, p in program.procedures.items()}
    shared = frozenset(program.globals)
    changed = True
    while changed:
        changed = False
        for name, found in written.items():
            before = len(found)
            for callee in calls[name]:
                found.update((x, None) for x in written[callee] if x in shared)
            changed |= len(found) > before
    return {name: tuple(found) for name, found in written.items()}


def _own_writes(edges: tuple[Edge, ...], procedure: Procedure) -> dict[Expr, None]:
    found: dict[Expr, None] = dict.fromkeys(procedure.results)
    for edge in edges:
        for op in leaves(edge):
            if isinstance(op, Assign | Havoc | Call):
                found.update((x, None) for x in op.targets)
            elif isinstance(op, Return):
                found.update((x, None) for x in procedure.results)
    return found
