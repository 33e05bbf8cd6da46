"""Accelerate loops and linear recursion: replace enumeration by closures of relations.

Inner loops come before outer ones, callees before callers. The *round* of a loop relates a state at its head
to the states when control returns to it, using the closures of inner loops and the summaries of callees; the
closure of the round is any number of iterations. Facts at the head restrict the round to reachable states, so
that fewer numbers may wrap around. With closures for all its loops, a procedure without recursion has a
summary for all inputs. In linear recursion (no execution of a body calls into the component twice) one
relation maps the pair of entry and exit vector of the callee to that of the caller. Its closure, applied to
the pairs of bodies without such a call, is the summary; entry vectors are closed likewise.

If `exact`, only exact closures are used: then an accelerated search represents exactly the executions of the
program. Otherwise closures may over-approximate, which is sound for proofs only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from certus.core.loops import Loop, LoopForest, call_graph, components, loop_forest
from certus.core.program import Call, Edge, Location, Procedure
from certus.engines.linear.edges import Entered, PathEdge, lift, self_loop, through
from certus.engines.linear.transitions import Calling, Transitions, calling
from certus.solvers.isl.presburger import TooHard
from certus.solvers.isl.relations import Relation

DISJUNCTS = 64  # relations with more are not used
ATTEMPTS = 3  # failed closures in a row for the states that arrive at a loop

T = TypeVar("T")


class _NotUsable(Exception):
    """There is no usable relation."""


@dataclass(slots=True, eq=False)
class Acceleration:
    """Relations for all inputs: closures of rounds, summaries, closures of entries."""

    transitions: Transitions
    exact: bool = True
    rounds: dict[Location, Relation] = field(default_factory=dict)  # by loop head
    closed: dict[Location, Relation] = field(default_factory=dict)  # their usable closures
    summaries: dict[str, Relation] = field(default_factory=dict)
    entries: dict[tuple[str, str], Relation] = field(
        default_factory=dict
    )  # one or more calls within a component
    _forests: dict[str, LoopForest] = field(default_factory=dict)
    _passages: dict[Calling, Relation] = field(default_factory=dict)
    _failures: dict[Location, int] = field(default_factory=dict)  # failed closures in a row

    def learn(self) -> None:
        """Compute all closures and summaries."""
        graph = call_graph(self.transitions.program)
        for component in components(tuple(graph), graph.__getitem__):  # callees come first
            names = sorted(component)
            for name in names:
                self._loops(self.transitions.program.procedures[name], names)
            if not any(set(graph[caller]).intersection(names) for caller in graph):
                continue
            recursive = len(names) > 1 or names[0] in graph[names[0]]
            summaries = self._try(lambda n=names: self._recursion(n)) if recursive else None  # type: ignore[misc]
            if not recursive:
                summary = self._try(lambda n=names[0]: self._straight(n))  # type: ignore[misc]
                summaries = None if summary is None else {names[0]: summary}
            self.summaries.update(summaries or {})
            if recursive and summaries:
                self.entries.update(self._try(lambda n=names: self._entries(n)) or {})  # type: ignore[misc]

    # ----------------------------------------------------------------------------------- queries

    def passage(self, edge: Edge) -> Relation | None:
        """Return a call as a transition, if the callee has a summary for all inputs."""
        assert isinstance(edge.op, Call)
        summary = self.summaries.get(edge.op.procedure)
        if summary is None:
            return None
        key = calling(edge)
        passage = self._passages.get(key)
        if passage is None:
            passage = self._passages[key] = through(summary, edge, self.transitions)
        return passage

    def jumps(self, at: PathEdge) -> Iterator[tuple[Location, Relation]]:
        """Yield the path edges after any number of iterations or recursive calls from a new path edge."""
        round_ = self.rounds.get(at.vertex)
        if round_ is not None:
            plus = self.closed.get(at.vertex)
            if plus is None and self._failures.get(at.vertex, 0) < ATTEMPTS:
                plus = self._try(lambda: self._special(round_, at.relation))
                self._failures[at.vertex] = 0 if plus else self._failures.get(at.vertex, 0) + 1
            if plus is not None:
                yield at.vertex, at.relation.then(plus)
        if isinstance(at.by, Entered):
            name = at.vertex.procedure
            frames = self.transitions.frames
            kept = [frames[name].state.index(x) for x in frames[name].entry]
            for (source, target), plus in self.entries.items():
                if source == name:
                    vectors = at.relation.columns(range(len(kept)), kept).then(plus)
                    opened = self_loop(vectors).then(self.transitions.opening(frames[target]))
                    yield frames[target].procedure.entry, opened

    def _special(self, round_: Relation, arriving: Relation) -> Relation:
        """Return the closure of a round for the values that arriving states have in unchanged columns."""
        kept = round_.unchanged()
        if not kept:
            raise _NotUsable
        return self._usable(round_.agreeing(arriving, kept).closure())

    # ------------------------------------------------------------------------------- loops

    def _try(self, find: Callable[[], T]) -> T | None:
        try:
            return find()
        except (_NotUsable, TooHard):
            return None

    def _usable(self, relation: Relation) -> Relation:
        if relation.size > DISJUNCTS or (self.exact and not relation.exact):
            raise _NotUsable
        return relation

    def _loops(self, procedure: Procedure, component: list[str]) -> None:
        forest = self._forests[procedure.name] = loop_forest(procedure)
        for loop in reversed(forest.loops):  # inner ones first
            round_ = self._try(lambda of=loop: self._round(procedure, of, component))  # type: ignore[misc]
            if round_ is None or round_.is_empty():
                continue
            self.rounds[loop.head] = round_
            plus = self._try(lambda of=round_: self._usable(of.closure()))  # type: ignore[misc]
            if plus is not None:
                self.closed[loop.head] = plus

    def _round(self, procedure: Procedure, loop: Loop, component: list[str]) -> Relation:
        if len(loop.entries) > 1 or any(
            isinstance(e.op, Call) and e.op.procedure in component
            for at in loop.body
            for e in procedure.successors[at]
        ):
            raise _NotUsable
        state = self.transitions.relations.identity(len(self.transitions.frames[procedure.name].state))
        round_ = self._region(procedure, loop.head, state, loop)[None]
        allowed = self.transitions.allowed(loop.head)
        return self._usable(round_ if allowed is None else round_.then(allowed))

    def _straight(self, name: str) -> Relation:
        """Return the summary of a procedure without recursion."""
        frame = self.transitions.frames[name]
        reached = self._region(frame.procedure, frame.procedure.entry, self.transitions.opening(frame), None)
        return self._usable(lift(reached[frame.procedure.exit], frame))

    def _region(
        self,
        procedure: Procedure,
        start: Location,
        first: Relation,
        loop: Loop | None,
        cut: list[str] | None = None,
    ) -> dict[Location | None, Relation]:
        """Return the relations from `first` to each location of the loop (or procedure), and for None back to
        the start. Calls of the procedures in `cut` are not followed."""
        forest = self._forests[procedure.name]
        inside = loop.body if loop is not None else frozenset(procedure.locations)
        frame = self.transitions.frames[procedure.name]
        nothing = self.transitions.relations.none(int(first.inputs), len(frame.state))
        reached: dict[Location | None, Relation] = dict.fromkeys((*procedure.locations, None), nothing)
        reached[start] = first
        for at in _order(procedure, forest, start, inside):
            here = reached[at]
            if at is not start and any(at in inner.entries for inner in forest.around(at)):
                if here.is_empty():
                    continue
                if at not in self.closed:
                    raise _NotUsable
                here = reached[at] = here.union(here.then(self.closed[at])).coalesced()
            if here.size > DISJUNCTS:
                raise _NotUsable
            for edge in procedure.successors[at]:
                if edge.target not in inside or _goes_back(edge, forest, start):
                    continue
                target = None if edge.target is start else edge.target
                step = self._step(edge, cut or [])
                if step is not None:
                    reached[target] = reached[target].union(here.then(step)).coalesced()
        return reached

    def _step(self, edge: Edge, cut: list[str]) -> Relation | None:
        if not isinstance(edge.op, Call):
            return self.transitions.step(edge)
        if edge.op.procedure in cut:
            return None
        passage = self.passage(edge)
        if passage is None:
            raise _NotUsable
        return passage

    # ------------------------------------------------------------------------------ recursion

    def _recursion(self, names: list[str]) -> dict[str, Relation]:
        """Return the summaries of a component whose recursion is linear."""
        frames = self.transitions.frames
        base: dict[str, Relation] = {}
        steps: dict[tuple[str, str], Relation] = {}
        for name in names:
            frame = frames[name]
            procedure = frame.procedure
            opening = self.transitions.opening(frame)
            prefix = self._region(procedure, procedure.entry, opening, None, names)
            base[name] = lift(prefix[procedure.exit], frame)
            for edge in _calls_into(procedure, names):
                if prefix[edge.source].is_empty():
                    continue
                if self._forests[name].innermost(edge.source) is not None:
                    raise _NotUsable
                key = (edge.op.procedure, name)  # type: ignore[union-attr]
                step = self._pair_step(edge, prefix[edge.source], names)
                steps[key] = steps[key].union(step) if key in steps else step
        if not steps:
            return {name: self._usable(summaries) for name, summaries in base.items()}
        summaries = dict(base)
        for (source, target), plus in self.transitions.relations.closures(steps).items():
            more = self._usable(base[source].paired(plus, len(frames[target].entry)))
            summaries[target] = summaries[target].union(more)
        return {name: self._usable(relation.coalesced()) for name, relation in summaries.items()}

    def _pair_step(self, edge: Edge, before: Relation, names: list[str]) -> Relation:
        """Return the relation from the (entry, exit) vectors of the callee to those of the caller."""
        transitions = self.transitions
        assert isinstance(edge.op, Call)
        frame = transitions.frames[edge.source.procedure]
        callee = transitions.frames[edge.op.procedure]
        state = transitions.relations.identity(len(frame.state))
        rest = self._region(frame.procedure, edge.target, state, None, names)
        if any(not rest[e.source].is_empty() for e in _calls_into(frame.procedure, names)):
            raise _NotUsable
        kept = [frame.state.index(x) for x in frame.exit]
        ended = rest[frame.procedure.exit].columns(range(len(frame.state)), kept)
        out = transitions.relations.identity(len(callee.exit))
        dropped = out.columns(range(len(callee.exit)), ())
        inputs = transitions.binding(edge).beside(out)  # (state, out) to (in, out) of the callee
        pairs = before.reverse().beside(dropped).both(transitions.returning(edge).then(ended))
        return inputs.reverse().then(pairs)

    def _entries(self, names: list[str]) -> Mapping[tuple[str, str], Relation]:
        """Return the relations between entry vectors of the component by one or more of its calls."""
        steps: dict[tuple[str, str], Relation] = {}
        for name in names:
            frame = self.transitions.frames[name]
            procedure = frame.procedure
            reached = self._region(procedure, procedure.entry, self.transitions.opening(frame), None)
            for edge in _calls_into(procedure, names):
                key = (name, edge.op.procedure)  # type: ignore[union-attr]
                step = reached[edge.source].then(self.transitions.binding(edge))
                steps[key] = steps[key].union(step) if key in steps else step
        closures = self.transitions.relations.closures(steps)
        return {key: self._usable(plus) for key, plus in closures.items()}


def _calls_into(procedure: Procedure, names: list[str]) -> list[Edge]:
    return [e for e in procedure.edges if isinstance(e.op, Call) and e.op.procedure in names]


def _goes_back(edge: Edge, forest: LoopForest, start: Location) -> bool:
    """Return whether the edge enters a loop again from inside it, except at the start."""
    if edge.target is start:
        return False
    return any(
        edge.target in loop.entries and edge.source in loop.body for loop in forest.around(edge.target)
    )


def _order(
    procedure: Procedure, forest: LoopForest, start: Location, inside: frozenset[Location]
) -> list[Location]:
    """Return the locations reached from `start` without edges that go back, sources before targets."""
    order: list[Location] = []
    state: dict[Location, bool] = {}
    stack: list[tuple[Location, bool]] = [(start, False)]
    while stack:
        at, done = stack.pop()
        if done:
            order.append(at)
        elif at not in state:
            state[at] = True
            stack.append((at, True))
            for edge in procedure.successors[at]:
                target = edge.target
                if target in inside and target is not start and not _goes_back(edge, forest, start):
                    stack.append((target, False))
    order.reverse()
    return order
