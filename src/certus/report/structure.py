"""Control flow as nested statements: `if`, `while`, and `goto` for what is neither.

The graph of a procedure is printed along its dominator tree. A location with one way to it stands where that
way comes from; one where several ways meet stands after the statement that dominates it, and control
falls through to it. A loop head that branches, into its loop or out of it, is a `while`. Every other
step backwards, out of a loop or across is a jump. Locations that nothing leaves (the exit, errors, ends) are
never jumped to, but repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from certus.core.program import Edge, Location, Procedure

Kind = Literal["label", "step", "if", "else", "while", "end", "goto", "return", "stop"]
_SHORT = 12  # locations of a branch that are looked at to see whether it comes back


@dataclass(frozen=True, slots=True)
class Line:
    """`step`: the effect of an edge. `if` and `while` open a block, with an edge of theirs; `else`
    closes one and opens the next; `end` closes it. `return` and `stop` are at a location nothing leaves."""

    kind: Kind
    depth: int
    edge: Edge | None = None
    location: Location | None = None


def structured(procedure: Procedure, silent: Callable[[Edge], bool]) -> list[Line]:
    """The lines of a procedure; `silent` edges have no effect."""
    lines = _Printing(procedure, silent).run()
    wanted = {line.location for line in lines if line.kind == "goto"}
    return [line for line in lines if line.kind != "label" or line.location in wanted]


class _Printing:
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
        """Print `at` and all it dominates; control that comes to the end of it goes on at `follow`."""
        if not self.out[at]:
            self._leaf(at, depth)
            return
        self._line("label", depth, at=at)
        found = self._while(at) if at in self.loops else None
        if found is not None:
            self._loop(at, *found, follow, depth)
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
        """`if`, `else` in it for the others."""
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
        """Take an edge; its target is printed here unless it is one of the joins that come later."""
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
        """Whether there is one way to it, forwards, and it is no loop head."""
        return len(self.into[at]) == 1 and self.rank[self.into[at][0].source] < self.rank[at]

    def _while(self, head: Location) -> tuple[Edge, Edge] | None:
        """The edges into the loop and out of it, if the head decides between them and does nothing else."""
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
        """Of a branch: the alternative to print after it, since the others do not come back."""
        if len(edges) == 1 or any(edge.target is follow for edge in edges):
            return []
        bodies = [e.target for e in edges if self.out[e.target] and self._stands_alone(e.target)]
        fates = {at: self._fate(at, follow) for at in bodies}
        if follow is self.procedure.exit:  # to come back is to return
            lasting = [at for at in bodies if fates[at] == "long"]
            if len(lasting) == 1:
                return lasting
        lasting = [at for at in bodies if fates[at] != "lost"]
        return lasting if len(lasting) == 1 else [] if lasting else bodies[-1:]

    def _fate(self, start: Location, follow: Location) -> Literal["lost", "back", "long"]:
        """Whether `follow` is reached from `start`, if it takes few locations to say."""
        found = {start}
        queue = [start]
        for at in queue:
            for edge in self.out[at]:
                if edge.target is follow:
                    return "back"
                if edge.target not in found:
                    found.add(edge.target)
                    queue.append(edge.target)
            if len(queue) > _SHORT:
                return "long"
        return "lost"

    def _loops(self) -> dict[Location, set[Location]]:
        """The natural loops: a head that dominates where a step back comes from, and all in between."""
        found: dict[Location, set[Location]] = {}
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
                found[head] = members
        return found

    def _dominates(self, one: Location, other: Location) -> bool:
        while self.rank[other] > self.rank[one]:
            other = self.dominator[other]
        return other is one

    def _dominators(self) -> dict[Location, Location]:
        """Immediate dominators (Cooper, Harvey and Kennedy 2001)."""
        entry = self.order[0]
        found = {entry: entry}
        changed = True
        while changed:
            changed = False
            for at in self.order[1:]:
                sources = [edge.source for edge in self.into[at] if edge.source in found]
                new = sources[0]
                for source in sources[1:]:
                    other = source
                    while new is not other:
                        while self.rank[new] > self.rank[other]:
                            new = found[new]
                        while self.rank[other] > self.rank[new]:
                            other = found[other]
                if found.get(at) is not new:
                    found[at] = new
                    changed = True
        return found


def _reverse_postorder(procedure: Procedure) -> list[Location]:
    """The locations that can be reached; of two branches the first comes first."""
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
