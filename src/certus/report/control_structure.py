"""Turn control flow into nested statements: `if`, `while`, and `goto` where neither applies.

The graph of a procedure is printed along its dominator tree. A location with one incoming edge is printed
after that edge. A location where several edges join is printed after the statement that dominates it, and
control falls through to it. A loop head that branches into its loop and out of it becomes a `while`. All
other edges backwards, out of a loop or across become jumps. Locations without outgoing edges (the exit,
errors, ends) are repeated instead of jumped to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from certus.core.program import Edge, Location, Procedure

Kind = Literal["label", "step", "if", "else", "while", "end", "goto", "return", "stop"]
_SHORT = 12  # locations examined to decide whether a branch returns to the code after it


@dataclass(frozen=True, slots=True)
class Line:
    """A line of structured code. `step` is the effect of an edge. `if` and `while` open a block and have an
    edge; `else` closes a block and opens the next; `end` closes one. `return` and `stop` are at a location
    without outgoing edges."""

    kind: Kind
    depth: int
    edge: Edge | None = None
    location: Location | None = None


def structured(procedure: Procedure, silent: Callable[[Edge], bool]) -> list[Line]:
    """Return the lines of a procedure; `silent` edges have no effect."""
    lines = _Printer(procedure, silent).run()
    targets = {line.location for line in lines if line.kind == "goto"}
    return [line for line in lines if line.kind != "label" or line.location in targets]


class _Printer:
    """Prints one procedure. Instead of recursing, methods schedule their continuations in `todo`."""

    def __init__(self, procedure: Procedure, silent: Callable[[Edge], bool]) -> None:
        self.procedure = procedure
        self.silent = silent
        self.out = procedure.successors
        self.order = _reverse_postorder(procedure)
        self.rank = {at: n for n, at in enumerate(self.order)}
        self.into: dict[Location, list[Edge]] = {at: [] for at in self.order}
        for at in self.order:
            for edge in self.out[at]:
                self.into[edge.target].append(edge)
        self.dominator = self._dominators()
        self.loops = self._loops()
        self.joins: dict[Location, list[Location]] = {at: [] for at in self.order}
        for at in self.order[1:]:
            if self.out[at] and not self._stands_alone(at):
                self.joins[self.dominator[at]].append(at)
        self.lines: list[Line] = []
        self.todo: list[Callable[[], None]] = []

    def run(self) -> list[Line]:
        self._location(self.procedure.entry, self.procedure.exit, 1)
        while self.todo:
            self.todo.pop()()
        return self.lines

    # --------------------------------------------------------------------------------- printing

    def _later(self, *steps: Callable[[], None]) -> None:
        self.todo.extend(reversed(steps))

    def _line(self, kind: Kind, depth: int, edge: Edge | None = None, at: Location | None = None) -> None:
        self.lines.append(Line(kind, depth, edge, at))

    def _location(self, at: Location, follow: Location, depth: int) -> None:
        """Print `at` and all locations it dominates; control continues at `follow` after them."""
        if not self.out[at]:
            self._leaf(at, depth)
            return
        self._line("label", depth, at=at)
        branches = self._while(at) if at in self.loops else None
        if branches is not None:
            self._loop(at, *branches, follow, depth)
            return
        joins = self.joins[at]
        edges = self.out[at]
        if not joins:
            joins = self._pulled_out(edges, follow)
        after = joins[0] if joins else follow
        rest = self._sequence(joins, follow, depth)
        if len(edges) == 1:
            self._later(lambda: self._edge(edges[0], after, depth, joins), rest)
        else:
            self._later(*self._branches(edges, after, depth, joins), rest)

    def _sequence(self, joins: Sequence[Location], follow: Location, depth: int) -> Callable[[], None]:
        """Print locations one after another."""
        ends = [*joins[1:], follow]

        def step(at: Location, then: Location) -> Callable[[], None]:
            return lambda: self._location(at, then, depth)

        return lambda: self._later(*(step(at, then) for at, then in zip(joins, ends, strict=False)))

    def _branches(
        self, edges: Sequence[Edge], after: Location, depth: int, joins: Sequence[Location]
    ) -> Iterator[Callable[[], None]]:
        """Print a branch as `if`, with the other edges nested in `else`."""
        last = len(edges) - 1
        for n, edge in enumerate(edges):
            inner = depth + min(n + 1, last)
            if n < last:
                yield lambda e=edge, d=inner - 1: self._line("if", d, e)  # type: ignore[misc]
            yield lambda e=edge, d=inner: self._edge(e, after, d, joins)  # type: ignore[misc]
            if n < last:
                yield lambda d=inner - 1: self._line("else", d)  # type: ignore[misc]
        for n in reversed(range(last)):
            yield lambda d=depth + n: self._line("end", d)  # type: ignore[misc]

    def _edge(self, edge: Edge, after: Location, depth: int, joins: Sequence[Location]) -> None:
        """Print an edge, and its target unless that is a join printed later."""
        self._line("step", depth, edge)
        target = edge.target
        if target is after:
            return
        if not self.out[target]:
            self._leaf(target, depth)
        elif target not in joins and self._stands_alone(target):
            self._location(target, after, depth)
        else:
            self._line("goto", depth, at=target)

    def _leaf(self, at: Location, depth: int) -> None:
        self._line("return" if at is self.procedure.exit else "stop", depth, at=at)

    def _loop(self, head: Location, inside: Edge, outside: Edge, follow: Location, depth: int) -> None:
        members = self.loops[head]
        joins = self.joins[inside.source]
        within = [j for j in joins if j in members]
        beyond = [j for j in joins if j not in members]
        first, then = (within or [head])[0], (beyond or [follow])[0]
        self._later(
            lambda: self._line("while", depth, inside),
            lambda: self._edge(inside, first, depth + 1, within),
            self._sequence(within, head, depth + 1),
            lambda: self._line("end", depth),
            lambda: self._edge(outside, then, depth, beyond),
            self._sequence(beyond, follow, depth),
        )

    # ------------------------------------------------------------------------------- structure

    def _stands_alone(self, at: Location) -> bool:
        """Say whether a location has one incoming edge, which leads forwards, and is no loop head."""
        return len(self.into[at]) == 1 and self.rank[self.into[at][0].source] < self.rank[at]

    def _while(self, head: Location) -> tuple[Edge, Edge] | None:
        """Return the edges into the loop and out of it, if the head only decides between these."""
        at = head
        while len(self.out[at]) == 1 and self.silent(self.out[at][0]):
            at = self.out[at][0].target
            if not self._stands_alone(at):
                return None
        edges = self.out[at]
        if len(edges) != 2:
            return None
        members = self.loops[head]
        inside = [edge for edge in edges if edge.target in members]
        outside = [edge for edge in edges if edge.target not in members]
        return (inside[0], outside[0]) if len(inside) == 1 else None

    def _pulled_out(self, edges: Sequence[Edge], follow: Location) -> list[Location]:
        """Return the alternative to print after a branch, because the others do not return there."""
        if len(edges) == 1 or any(edge.target is follow for edge in edges):
            return []
        bodies = [e.target for e in edges if self.out[e.target] and self._stands_alone(e.target)]
        fates = {at: self._fate(at, follow) for at in bodies}
        if follow is self.procedure.exit:  # returning there is a `return`
            lasting = [at for at in bodies if fates[at] == "long"]
            if len(lasting) == 1:
                return lasting
        lasting = [at for at in bodies if fates[at] != "lost"]
        return lasting if len(lasting) == 1 else [] if lasting else bodies[-1:]

    def _fate(self, start: Location, follow: Location) -> Literal["lost", "back", "long"]:
        """Say whether `follow` can be reached from `start`, or "long" if that takes too many locations."""
        seen = {start}
        queue = [start]
        for at in queue:
            for edge in self.out[at]:
                if edge.target is follow:
                    return "back"
                if edge.target not in seen:
                    seen.add(edge.target)
                    queue.append(edge.target)
            if len(queue) > _SHORT:
                return "long"
        return "lost"

    def _loops(self) -> dict[Location, set[Location]]:
        """Return the natural loops: each head dominates the sources of its back edges."""
        loops: dict[Location, set[Location]] = {}
        for head in self.order:
            back = [e.source for e in self.into[head] if self._dominates(head, e.source)]
            if back:
                members = {head}
                stack = back
                while stack:
                    at = stack.pop()
                    if at not in members:
                        members.add(at)
                        stack.extend(edge.source for edge in self.into[at])
                loops[head] = members
        return loops

    def _dominates(self, one: Location, other: Location) -> bool:
        while self.rank[other] > self.rank[one]:
            other = self.dominator[other]
        return other is one

    def _dominators(self) -> dict[Location, Location]:
        """Compute immediate dominators (Cooper, Harvey and Kennedy 2001)."""
        entry = self.order[0]
        dominators = {entry: entry}
        changed = True
        while changed:
            changed = False
            for at in self.order[1:]:
                sources = [edge.source for edge in self.into[at] if edge.source in dominators]
                new = sources[0]
                for source in sources[1:]:
                    other = source
                    while new is not other:
                        while self.rank[new] > self.rank[other]:
                            new = dominators[new]
                        while self.rank[other] > self.rank[new]:
                            other = dominators[other]
                if dominators.get(at) is not new:
                    dominators[at] = new
                    changed = True
        return dominators


def _reverse_postorder(procedure: Procedure) -> list[Location]:
    """Return the reachable locations in reverse postorder; of two branches the first comes first."""
    done = {procedure.entry}
    stack = [(procedure.entry, iter(procedure.successors[procedure.entry][::-1]))]
    finished: list[Location] = []
    while stack:
        at, rest = stack[-1]
        for edge in rest:
            if edge.target not in done:
                done.add(edge.target)
                stack.append((edge.target, iter(procedure.successors[edge.target][::-1])))
                break
        else:
            finished.append(at)
            stack.pop()
    finished.reverse()
    return finished
