"""Describe a procedure for unrolling: its loops, an order of its visits, the variables it may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from certus.core.effects import procedure_writes
from certus.core.loops import Loop, LoopForest, loop_forest, recursive
from certus.core.program import Call, Location, Procedure, Program
from certus.core.terms import Expr


@dataclass(frozen=True)
class Shape:
    """A procedure as the unroller needs it.

    `written`: the variables (globals and its own) that an activation may write, callees included.
    `recursive`: it can be active more than once."""

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
        """Return the loops around a location, outermost first."""
        return self._chains[location]

    def simple(self, loop: Loop) -> bool:
        """Return whether the loop neither contains nor is inside another, and has no call."""
        return loop.depth == 1 and loop not in self._manifold

    @cached_property
    def _manifold(self) -> frozenset[Loop]:
        """The loops that contain another loop or a call."""
        parents = (loop.parent for loop in self.forest.loops)
        calls = (edge.source for edge in self.procedure.edges if isinstance(edge.op, Call))
        around = (loop for at in calls for loop in self.forest.around(at))
        return frozenset(loop for loop in (*parents, *around) if loop is not None)

    def counts(self, source: Location | None, counts: tuple[int, ...], target: Location) -> tuple[int, ...]:
        """Return the loop counts at `target` after a step from `source` with `counts`.

        Each loop that contains both keeps its count, plus one if the step enters it again."""
        inner = self.enclosing(target)
        outer = self.enclosing(source) if source is not None else ()
        after: list[int] = []
        for depth, loop in enumerate(inner):
            if depth < len(outer) and outer[depth] is loop:
                after.append(counts[depth] + (1 if target in loop.entries else 0))
            else:
                after.append(1)
        return tuple(after)

    def joins(self, source: Location, target: Location) -> bool:
        """Return whether visits of `target` after a step from `source` may have several arrivals."""
        return self._arrivals[target, self._again(source, target)] > 1

    def _again(self, source: Location, target: Location) -> bool:
        """Return whether a step to `target` stays inside the innermost loop around it."""
        loop = self.forest.innermost(target)
        return loop is not None and source in loop.body

    @cached_property
    def _arrivals(self) -> Mapping[tuple[Location, bool], int]:
        """The number of arrivals at one visit, by location and whether they come from inside its loop.

        A step that leaves a loop counts as many: one for each number of iterations."""
        arrivals: dict[tuple[Location, bool], int] = {}
        for edge in self.procedure.edges:
            source, target = edge.source, edge.target
            left = len(self.enclosing(source)) > self._common(source, target)
            at = (target, self._again(source, target) and self._is_entry(target))
            arrivals[at] = arrivals.get(at, 0) + (2 if left else 1)
        for target in self.procedure.locations:
            if not self._is_entry(target):
                arrivals[target, True] = arrivals.get((target, False), 0)
        return arrivals

    def _is_entry(self, location: Location) -> bool:
        loop = self.forest.innermost(location)
        return loop is not None and location in loop.entries

    def _common(self, one: Location, other: Location) -> int:
        """Return how many loops enclose both."""
        pairs = zip(self.enclosing(one), self.enclosing(other), strict=False)
        return sum(1 for a, b in pairs if a is b)

    def order(self, location: Location, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Return a key that sorts the visits of one activation topologically."""
        key: list[int] = []
        for loop, number in zip(self.enclosing(location), counts, strict=True):
            key += (self._places[loop], number)
        return (*key, self._places[location])

    @cached_property
    def _places(self) -> Mapping[Location | Loop, int]:
        """Numbers such that a step that does not enter a loop again leads to a higher one, and the locations
        of a loop have successive numbers after that of the loop."""
        places: dict[Location | Loop, int] = {}
        stack: list[Location | Loop] = list(reversed(self._sorted(None)))
        while stack:
            item = stack.pop()
            places[item] = len(places)
            if isinstance(item, Loop):
                stack.extend(reversed(self._sorted(item)))
        return places

    def _sorted(self, region: Loop | None) -> list[Location | Loop]:
        """Return the locations and inner loops directly in a region, in topological order."""
        depth = 0 if region is None else region.depth
        members = self.procedure.locations if region is None else sorted(region.body, key=lambda x: x.index)

        def item(at: Location) -> Location | Loop | None:
            """Return the item of this region that contains a location; None if it is outside."""
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
        in_order: list[Location | Loop] = []
        while ready:
            own = ready.pop()
            in_order.append(own)
            for other in after[own]:
                missing[other] -= 1
                if missing[other] == 0:
                    ready.append(other)
        assert len(in_order) == len(after), "a region without its loops' entries is acyclic"
        return in_order


def shapes(program: Program) -> Mapping[str, Shape]:
    """Return the shape of every procedure."""
    cyclic = {name for component in recursive(program) for name in component}
    written = procedure_writes(program)
    return {
        name: Shape(procedure, loop_forest(procedure), written[name], name in cyclic)
        for name, procedure in program.procedures.items()
    }
