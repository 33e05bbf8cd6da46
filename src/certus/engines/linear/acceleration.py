"""Acceleration: loops and linear recursion by closures instead of enumeration.

For the innermost loops first, callees before callers: the *round* of a loop relates a state at its head to
the states when control comes back, by way of the closures of loops inside it and the summaries of procedures
it calls; the closure of the round is any number of rounds at once. Facts known at the head restrict the round
to the states there are, which may leave fewer ways to wrap around. A procedure without recursion
then has a summary for all inputs. In linear recursion (no execution of a body calls into the component
twice) the pair of entry and exit vector of the callee determines that of the caller by one relation,
and its closure applied to the pairs of bodies that call nothing is the summary; the entry vectors are
closed likewise.

With `exact` only what is exact is kept: then an accelerated search finds exactly the executions there
are. Otherwise closures may cover more, which is good for proofs only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from certus.core.loops import Loop, LoopForest, call_graph, components, loop_forest
from certus.core.program import Call, Edge, Location, Procedure
from certus.engines.linear.edges import Entered, PathEdge, lift, self_loop, through
from certus.engines.linear.transitions import Calling, Transitions, calling
from certus.logic.presburger import TooHard
from certus.logic.relations import Relation

DISJUNCTS = 64  # a relation with more is given up
ATTEMPTS = 3  # at a closure for the states that arrive at a loop

T = TypeVar("T")


class _NotFound(Exception):
    """No relation of the kind wanted is known."""


@dataclass(slots=True, eq=False)
class Acceleration:
    """What is known for all inputs: closures of rounds, summaries, closures of entries."""

    transitions: Transitions
    exact: bool = True
    rounds: dict[Location, Relation] = field(default_factory=dict)  # by loop head
    closed: dict[Location, Relation] = field(default_factory=dict)  # their closures, where usable
    summaries: dict[str, Relation] = field(default_factory=dict)
    entries: dict[tuple[str, str], Relation] = field(
        default_factory=dict
    )  # within a component, one or more calls
    _forests: dict[str, LoopForest] = field(default_factory=dict)
    _passages: dict[Calling, Relation] = field(default_factory=dict)
    _failures: dict[Location, int] = field(default_factory=dict)  # in a row, of closures for what arrives

    def learn(self) -> None:
        """Find out what can be known."""
        graph = call_graph(self.transitions.program)
        for component in components(tuple(graph), graph.__getitem__):  # callees come first
            names = sorted(component)
            for name in names:
                self._loops(self.transitions.program.procedures[name], names)
            if not any(set(graph[caller]).intersection(names) for caller in graph):
                continue
            recursive = len(names) > 1 or names[0] in graph[names[0]]
            summaries = self._attempt(lambda n=names: self._recursion(n)) if recursive else None  # type: ignore[misc]
            if not recursive:
                found = self._attempt(lambda n=names[0]: self._straight(n))  # type: ignore[misc]
                summaries = None if found is None else {names[0]: found}
            self.summaries.update(summaries or {})
            if recursive and summaries:
                self.entries.update(self._attempt(lambda n=names: self._entries(n)) or {})  # type: ignore[misc]

    # ----------------------------------------------------------------------------------- use

    def passage(self, edge: Edge) -> Relation | None:
        """A call as a transition, if the callee has a summary for all inputs."""
        assert isinstance(edge.op, Call)
        known = self.summaries.get(edge.op.procedure)
        if known is None:
            return None
        key = calling(edge)
        found = self._passages.get(key)
        if found is None:
            found = self._passages[key] = through(known, edge, self.transitions)
        return found

    def jumps(self, at: PathEdge) -> Iterator[tuple[Location, Relation]]:
        """What any number of rounds or recursive calls makes of a new path edge."""
        round_ = self.rounds.get(at.vertex)
        if round_ is not None:
            plus = self.closed.get(at.vertex)
            if plus is None and self._failures.get(at.vertex, 0) < ATTEMPTS:
                plus = self._attempt(lambda: self._special(round_, at.relation))
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
        """The closure of a round for the states that arrive: columns it never changes keep their values."""
        kept = round_.unchanged()
        if not kept:
            raise _NotFound
        return self._usable(round_.agreeing(arriving, kept).closure())

    # ------------------------------------------------------------------------------- learning

    def _attempt(self, find: Callable[[], T]) -> T | None:
        try:
            return find()
        except (_NotFound, TooHard):
            return None

    def _usable(self, relation: Relation) -> Relation:
        if relation.size > DISJUNCTS or (self.exact and not relation.exact):
            raise _NotFound
        return relation

    def _loops(self, procedure: Procedure, component: list[str]) -> None:
        forest = self._forests[procedure.name] = loop_forest(procedure)
        for loop in reversed(forest.loops):  # inner ones first
            found = self._attempt(lambda of=loop: self._round(procedure, of, component))  # type: ignore[misc]
            if found is None or found.is_empty():
                continue
            self.rounds[loop.head] = found
            plus = self._attempt(lambda of=found: self._usable(of.closure()))  # type: ignore[misc]
            if plus is not None:
                self.closed[loop.head] = plus

    def _round(self, procedure: Procedure, loop: Loop, component: list[str]) -> Relation:
        if len(loop.entries) > 1 or any(
            isinstance(e.op, Call) and e.op.procedure in component
            for at in loop.body
            for e in procedure.successors[at]
        ):
            raise _NotFound
        state = self.transitions.relations.identity(len(self.transitions.frames[procedure.name].state))
        found = self._region(procedure, loop.head, state, loop)[None]
        allowed = self.transitions.allowed(loop.head)
        return self._usable(found if allowed is None else found.then(allowed))

    def _straight(self, name: str) -> Relation:
        """The summary of a procedure without recursion."""
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
        """The relations from `first` to each location of the loop (or procedure), and under None back to the
        start. Calls of the procedures in `cut` are not followed."""
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
                    raise _NotFound
                here = reached[at] = here.union(here.then(self.closed[at])).coalesced()
            if here.size > DISJUNCTS:
                raise _NotFound
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
        found = self.passage(edge)
        if found is None:
            raise _NotFound
        return found

    # ------------------------------------------------------------------------------ recursion

    def _recursion(self, names: list[str]) -> dict[str, Relation]:
        """The summaries of a component whose recursion is linear."""
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
                    raise _NotFound
                key = (edge.op.procedure, name)  # type: ignore[union-attr]
                step = self._pair_step(edge, prefix[edge.source], names)
                steps[key] = steps[key].union(step) if key in steps else step
        if not steps:
            return {name: self._usable(found) for name, found in base.items()}
        found = dict(base)
        for (source, target), plus in self.transitions.relations.closures(steps).items():
            more = self._usable(base[source].paired(plus, len(frames[target].entry)))
            found[target] = found[target].union(more)
        return {name: self._usable(relation.coalesced()) for name, relation in found.items()}

    def _pair_step(self, edge: Edge, before: Relation, names: list[str]) -> Relation:
        """From the (entry, exit) vectors of the callee to those of the caller."""
        transitions = self.transitions
        assert isinstance(edge.op, Call)
        frame = transitions.frames[edge.source.procedure]
        callee = transitions.frames[edge.op.procedure]
        state = transitions.relations.identity(len(frame.state))
        rest = self._region(frame.procedure, edge.target, state, None, names)
        if any(not rest[e.source].is_empty() for e in _calls_into(frame.procedure, names)):
            raise _NotFound
        kept = [frame.state.index(x) for x in frame.exit]
        ended = rest[frame.procedure.exit].columns(range(len(frame.state)), kept)
        out = transitions.relations.identity(len(callee.exit))
        dropped = out.columns(range(len(callee.exit)), ())
        given = transitions.binding(edge).beside(out)  # (state, out) to (in, out) of the callee
        made = before.reverse().beside(dropped).both(transitions.returning(edge).then(ended))
        return given.reverse().then(made)

    def _entries(self, names: list[str]) -> Mapping[tuple[str, str], Relation]:
        """Entry vectors of the component reached from others by one or more of its calls."""
        steps: dict[tuple[str, str], Relation] = {}
        for name in names:
            frame = self.transitions.frames[name]
            procedure = frame.procedure
            reached = self._region(procedure, procedure.entry, self.transitions.opening(frame), None)
            for edge in _calls_into(procedure, names):
                key = (name, edge.op.procedure)  # type: ignore[union-attr]
                step = reached[edge.source].then(self.transitions.binding(edge))
                steps[key] = steps[key].union(step) if key in steps else step
        found = self.transitions.relations.closures(steps)
        return {key: self._usable(plus) for key, plus in found.items()}


def _calls_into(procedure: Procedure, names: list[str]) -> list[Edge]:
    return [e for e in procedure.edges if isinstance(e.op, Call) and e.op.procedure in names]


def _goes_back(edge: Edge, forest: LoopForest, start: Location) -> bool:
    """Whether the edge enters a loop again from inside it, other than at the start."""
    if edge.target is start:
        return False
    return any(
        edge.target in loop.entries and edge.source in loop.body for loop in forest.around(edge.target)
    )


def _order(
    procedure: Procedure, forest: LoopForest, start: Location, inside: frozenset[Location]
) -> list[Location]:
    """The locations reached from `start`, sources before targets, edges that go back aside."""
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
