"""Combine edges into large blocks (large-block encoding; Mertens 2014, chapter 3).

Four rules rewrite the automaton of a procedure:

- *error sink*: remove the edges that leave an error location;
- *sequence*: remove a location with one predecessor, and combine its incoming step with each outgoing one;
- *choice*: combine parallel steps into one step with alternatives;
- *advanced sequence*: like sequence, for several predecessors. It creates in x out new steps, so a location
  with more than `limit` of them stays. (Section 3.4 prints "outdegree > 1"; meant is >= 1.)

*Adjustable* blocks (Beyer, Keremoglu and Wendler 2010, the thesis' related work) end where the path since the
last kept location has `threshold` edges: such a location stays too, and all four rules remove the others. So
threshold 1 keeps every location, and a threshold above the length of all paths gives advanced blocks.

After the first rule, *dead ends* are removed: locations from which no error, exit, call or loop is reachable.
So are unreachable locations, except in loops and at calls.

Some locations always stay: entry and exit, error locations, both ends of a call (a call is never part of a
block), and every head of the loop forest. So all cycles contain a kept location, and the others form an
acyclic graph. An execution of a block takes each original edge at most once, bounds count entries of real
loop heads, and proofs have invariants at them.

Blocks are DAGs of `Seq` and `Choice` over the *original* edges, which are shared, never copied. One leaf may
occur several times in a block, but only in different alternatives.

The back map is the identity. Kept locations are the original ones. A proof about the encoded program has
formulas at points of kept locations. `validate` cuts the original program at the points of the proof, and
between two of them the original paths are exactly the paths through the blocks. Bounds of an unrolling refer
to loop heads, which are kept. A trace gives inputs by the index of original edges and the number of the
execution, and blocks change neither.

The work is near-linear. The sequence rule first takes locations with few successors, the last ones first. So
a branch and its join become one `Choice` before a step is put in front of them, and a block is about as large
as a tree as it is as a DAG. Each such step costs no more than `NARROW`. The remaining locations are taken
from the front. Then a location has only its original outgoing edges, since merging adds edges to predecessors
only, and a location with two settled predecessors keeps them: one visit each suffices. The advanced rule
takes the cheapest location first and spends at most `limit` on each. It leaves its neighbours with at least
two predecessors, so the sequence rule does not apply again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Literal

from certus.core.engine import BackMap, LateFacts, Task
from certus.core.errors import Inconsistent
from certus.core.loops import loop_forest
from certus.core.program import Block, Call, Choice, Edge, Location, Procedure, Program, Seq

Mode = Literal["single", "large", "advanced", "adjustable"]
MODES: tuple[Mode, ...] = ("single", "large", "advanced", "adjustable")
LIMIT = 64  # largest in x out in the advanced rule
THRESHOLD = 10  # most edges on a path through an adjustable block
NARROW = 4  # most successors of a location that the sequence rule takes from the back


@dataclass(frozen=True, slots=True)
class RuleSize:
    """The number of applications of a rule, and the size of the automaton after it.

    Sequence and choice alternate: the size after a sequence rule includes parallel edges that are not merged
    yet; the size after the following choice rule is that after both."""

    rule: str
    applications: int
    locations: int
    edges: int


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded procedure and its sizes: before the rules, then after each."""

    procedure: Procedure
    sizes: tuple[RuleSize, ...]


@dataclass(frozen=True, slots=True)
class LargeBlocks:
    """The large-block pass: `mode` single applies only the error-sink rule, large all but the advanced rule,
    adjustable all rules within blocks of `threshold` edges."""

    mode: Mode = "large"
    limit: int = LIMIT
    threshold: int = THRESHOLD

    @property
    def name(self) -> str:
        return "large-blocks"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        if not isinstance(task.subject, Program):
            return task, BackMap.identity()
        program, _ = self.encode(task.subject)
        facts = LateFacts(
            lambda: {p: fact for p, fact in task.facts.items() if p.location.name in program.location}
        )
        return replace(task, subject=program, facts=facts), BackMap.identity()

    def encode(self, program: Program) -> tuple[Program, tuple[RuleSize, ...]]:
        """Return the program in blocks, and its sizes after each rule."""
        return encode_program(program, self.mode, limit=self.limit, threshold=self.threshold)


def encode_program(
    program: Program, mode: Mode, *, limit: int = LIMIT, threshold: int = THRESHOLD
) -> tuple[Program, tuple[RuleSize, ...]]:
    """Encode all procedures; return the program and the sums of the sizes."""
    fresh = count(1 + max(program.edge, default=-1))
    encodings = [
        encode(procedure, program.error_locations, mode, limit=limit, threshold=threshold, fresh=fresh)
        for procedure in program.procedures.values()
    ]
    procedures = {e.procedure.name: e.procedure for e in encodings}
    return replace(program, procedures=procedures), total([e.sizes for e in encodings])


def total(sizes: Iterable[tuple[RuleSize, ...]]) -> tuple[RuleSize, ...]:
    """Add the sizes of several procedures rule by rule."""
    return tuple(
        RuleSize(
            same_rule[0].rule,
            sum(s.applications for s in same_rule),
            sum(s.locations for s in same_rule),
            sum(s.edges for s in same_rule),
        )
        for same_rule in zip(*sizes, strict=True)
    )


def encode(
    procedure: Procedure,
    errors: frozenset[Location],
    mode: Mode,
    *,
    limit: int = LIMIT,
    threshold: int = THRESHOLD,
    fresh: Iterator[int] | None = None,
) -> Encoding:
    """Encode one procedure by the rules in the order of chapter 3; `fresh` yields the indices of edges that
    hold a block."""
    if mode not in MODES:
        raise ValueError(f"no block mode {mode!r}: expected one of {', '.join(MODES)}")
    sinked = tuple(e for e in procedure.edges if e.source not in errors)
    removed = len(procedure.edges) - len(sinked)
    single = procedure if not removed else replace(procedure, edges=sinked)
    sizes = [
        RuleSize("given", 0, len(procedure.locations), len(procedure.edges)),
        RuleSize("error-sink", removed, len(single.locations), len(sinked)),
    ]
    if mode == "single":
        return Encoding(single, tuple(sizes))
    graph = _Graph(single, errors, loop_forest(procedure).heads)
    sizes.append(graph.size("dead-ends", graph.remove_dead_ends()))
    if mode == "adjustable":
        graph.cut(threshold)
    sizes.append(graph.size("sequence", graph.remove_sequences()))
    sizes.append(graph.size("choice", graph.merge_parallel()))
    if mode in ("advanced", "adjustable"):
        sizes.append(graph.size("advanced-sequence", graph.remove_crossings(limit)))
        sizes.append(graph.size("choice", graph.merge_parallel()))
    first = 1 + max((e.index for e in procedure.edges), default=-1)
    edges = graph.edges(fresh if fresh is not None else count(first))
    return Encoding(replace(procedure, edges=edges), tuple(sizes))


class _Graph:
    """An automaton under rewriting. Invariant: its paths between kept locations are those of the
    procedure."""

    def __init__(
        self, procedure: Procedure, errors: frozenset[Location], heads: tuple[Location, ...]
    ) -> None:
        self.procedure = procedure
        # the steps between two locations; the choice rule will merge parallel ones
        self.steps: dict[Location, dict[Location, list[Block]]] = {at: {} for at in procedure.locations}
        # the locations with a step to this one (an ordered set)
        self.sources: dict[Location, dict[Location, None]] = {at: {} for at in procedure.locations}
        self.calls: list[Edge] = []
        self.choices = 0  # applications of the choice rule so far
        # locations no rule may remove: the anchors and the errors
        self.anchors: set[Location] = {procedure.entry, procedure.exit, *heads}
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                self.calls.append(edge)
                self.anchors.update((edge.source, edge.target))
            else:
                self.add(edge.source, edge.op if isinstance(edge.op, (Seq, Choice)) else edge, edge.target)
        self.kept = self.anchors | errors

    def add(self, source: Location, block: Block, target: Location) -> None:
        self.steps[source].setdefault(target, []).append(block)
        self.sources[target][source] = None

    def size(self, rule: str, applications: int) -> RuleSize:
        edges = len(self.calls) + sum(len(b) for out in self.steps.values() for b in out.values())
        return RuleSize(rule, applications, len(self.steps), edges)

    def joined(self, source: Location, target: Location) -> Block:
        """Apply the choice rule to the steps from `source` to `target`; return the one that remains."""
        blocks = self.steps[source][target]
        if len(blocks) > 1:
            self.choices += 1
            blocks[:] = [Choice(tuple(blocks))]
        return blocks[0]

    def drop(self, at: Location) -> None:
        for target in self.steps.pop(at):
            del self.sources[target][at]
        for source in self.sources.pop(at):
            del self.steps[source][at]

    def bypass(self, at: Location) -> None:
        """Apply a sequence rule: replace every path through `at` by one step, and drop `at`."""
        outgoing = [(target, self.joined(at, target)) for target in self.steps[at]]
        for source in self.sources[at]:
            incoming = self.joined(source, at)
            for target, block in outgoing:
                self.add(source, Seq(incoming, block), target)
        self.drop(at)

    def remove_dead_ends(self) -> int:
        """Drop locations without incoming or outgoing steps (errors need no outgoing ones) until none is
        left."""
        pending = deque(at for at in self.steps if at not in self.anchors)
        removed = 0
        while pending:
            at = pending.popleft()
            if at in self.steps and not (self.sources[at] and (self.steps[at] or at in self.kept)):
                pending.extend(n for n in (*self.steps[at], *self.sources[at]) if n not in self.anchors)
                self.drop(at)
                removed += 1
        return removed

    def cut(self, threshold: int) -> None:
        """Keep the locations where the longest path since the last kept one has `threshold` edges."""
        length: dict[Location, int] = {}
        for at in self.topological():
            length[at] = 1 + max((length.get(source, 0) for source in self.sources[at]), default=0)
            if length[at] >= threshold:
                self.kept.add(at)
                del length[at]

    def remove_sequences(self) -> int:
        """Apply the sequence rule everywhere: backwards while that is cheap, then forwards."""
        order = self.topological()
        removed = self.fold(order)
        for at in order:
            if at in self.steps and len(self.sources[at]) == 1:
                self.bypass(at)
                removed += 1
        return removed

    def topological(self) -> list[Location]:
        """Return the removable locations, sources before targets."""
        waiting = {
            at: sum(source not in self.kept for source in self.sources[at])
            for at in self.steps
            if at not in self.kept
        }
        order = [at for at, number in waiting.items() if number == 0]
        for at in order:  # `order` grows during the iteration
            for target in self.steps[at]:
                if target in waiting:
                    waiting[target] -= 1
                    if waiting[target] == 0:
                        order.append(target)
        if len(order) < len(waiting):
            raise Inconsistent(f"{self.procedure.name} has a cycle without a loop head")
        return order

    def fold(self, order: list[Location]) -> int:
        """Apply the sequence rule to locations with few successors, the last in `order` first."""
        position = {at: n for n, at in enumerate(order)}
        queue = [-n for n, at in enumerate(order) if self.folds(at)]
        heapify(queue)
        removed = 0
        while queue:
            at = order[-heappop(queue)]
            if at not in self.steps or not self.folds(at):
                continue
            neighbours = [*self.sources[at], *self.steps[at]]
            self.bypass(at)
            removed += 1
            for neighbour in neighbours:
                if neighbour in position and self.folds(neighbour):
                    heappush(queue, -position[neighbour])
        return removed

    def folds(self, at: Location) -> bool:
        return len(self.sources[at]) == 1 and len(self.steps[at]) <= NARROW

    def remove_crossings(self, limit: int) -> int:
        """Apply the advanced sequence rule, to the cheapest location first."""
        queue = [(self.cost(at), at.index, at) for at in self.steps if at not in self.kept]
        heapify(queue)
        removed = 0
        while queue:
            cost, _, at = heappop(queue)
            if at not in self.steps or cost != self.cost(at):
                continue  # removed, or queued again with its new number
            if cost > limit:
                break
            neighbours = [n for n in (*self.steps[at], *self.sources[at]) if n not in self.kept]
            self.bypass(at)
            removed += 1
            for neighbour in neighbours:
                heappush(queue, (self.cost(neighbour), neighbour.index, neighbour))
        return removed

    def cost(self, at: Location) -> int:
        """Return in x out: the number of steps that would replace the location."""
        return len(self.sources[at]) * len(self.steps[at])

    def merge_parallel(self) -> int:
        """Apply the choice rule everywhere; return its applications since the last call."""
        for source, out in self.steps.items():
            for target in out:
                self.joined(source, target)
        applications, self.choices = self.choices, 0
        return applications

    def edges(self, fresh: Iterator[int]) -> tuple[Edge, ...]:
        """Return the automaton's edges: the original ones for single steps, new ones for blocks."""
        edges = list(self.calls)
        for source, out in self.steps.items():
            for target, (block,) in out.items():
                if isinstance(block, Edge):
                    edges.append(block)
                else:
                    edges.append(Edge(next(fresh), source, block, target))
        return tuple(edges)
