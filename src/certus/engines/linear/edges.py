"""Path edges, summary edges, and the functions on them (seed 000, section 3).

A path edge of a vertex relates entry vectors of its procedure to states at the vertex; a summary edge
relates entry vectors to exit vectors. Path edges are kept as disjuncts, each with the step it came from,
so that an execution can be read off backwards.

Two corrections of the paper's text: SelfLoop relates each *output* to itself, and SEJoin takes the summary
from the values at the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from certus.core.program import Edge, Location
from certus.engines.linear.index import Fixed, Pattern, pattern_of, restricted
from certus.engines.linear.transitions import Frame, Transitions
from certus.logic.relations import Relation, Relations

FULLER = 8  # so many disjuncts with the same fixed columns are coalesced


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The start of the program."""


@dataclass(frozen=True, slots=True, eq=False)
class Stepped:
    """By one statement or block, from a path edge at its source."""

    before: PathEdge
    edge: Edge


@dataclass(frozen=True, slots=True, eq=False)
class Entered:
    """By a call, from a path edge of the caller."""

    before: PathEdge
    edge: Edge


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """By a call and the return from it: `ended` is the path edge at the exit of the callee."""

    before: PathEdge
    edge: Edge
    ended: PathEdge


@dataclass(frozen=True, slots=True, eq=False)
class Jumped:
    """By a closure or a widening: any number of steps at once."""

    before: PathEdge


Provenance = Start | Stepped | Entered | Returned | Jumped


@dataclass(frozen=True, slots=True, eq=False)
class PathEdge:
    """One disjunct of the path edges of a vertex, and how it came about. `exact`: no step on the way to it
    allowed for more than the program does."""

    vertex: Location
    relation: Relation
    by: Provenance

    @property
    def exact(self) -> bool:
        return self.relation.exact


# ------------------------------------------------------------------------- the paper's functions


def join(delta: Relation, tau: Relation) -> Relation:
    """Join: path edges extended by transitions."""
    return delta.then(tau)


def self_loop(delta: Relation) -> Relation:
    """SelfLoop: the targets of path edges, related to themselves."""
    return delta.loops()


def se_join(delta: Relation, sigma: Relation, edge: Edge, transitions: Transitions) -> Relation:
    """SEJoin: path edges of a call extended by summary edges of the callee."""
    return delta.then(through(sigma, edge, transitions))


def through(sigma: Relation, edge: Edge, transitions: Transitions) -> Relation:
    """A call as a transition between states, given summary edges of the callee."""
    state = transitions.relations.identity(len(transitions.frames[edge.source.procedure].state))
    ended = transitions.binding(edge).then(sigma)
    return state.both(ended).then(transitions.returning(edge))


def lift(delta: Relation, frame: Frame) -> Relation:
    """Lift: the summary edges of path edges at the exit."""
    kept = [frame.state.index(x) for x in frame.exit]
    return delta.columns(range(len(frame.entry)), kept)


# ------------------------------------------------------------------------------------ the store


@dataclass(slots=True)
class _Bucket:
    """The disjuncts that fix the same columns to the same values."""

    whole: Relation
    added: int = 0


@dataclass(slots=True, eq=False)
class Store:
    """The path edges of one vertex: disjuncts found by the columns plainly fixed in them.

    A new disjunct is looked up among those that fix no other columns than it does, at its values:
    entailment then costs as much as the disjuncts that can matter. Not to find that many special disjuncts
    together cover a general one costs a repetition, nothing else."""

    relations: Relations
    inputs: int
    outputs: int
    edges: list[PathEdge] = field(default_factory=list)
    _buckets: dict[Pattern, dict[Fixed, _Bucket]] = field(default_factory=dict)

    def covers(self, new: Relation) -> bool:
        """Whether the disjunct `new` is entailed."""
        fixed = new.fixed()
        return any(new.entails(bucket.whole) for bucket in self._near(fixed)) or self._together(new, fixed)

    def _near(self, fixed: Fixed) -> Iterator[_Bucket]:
        for pattern, buckets in self._buckets.items():
            if all(value is not None for value, needed in zip(fixed, pattern, strict=True) if needed):
                bucket = buckets.get(restricted(fixed, pattern))
                if bucket is not None:
                    yield bucket

    def _together(self, new: Relation, fixed: Fixed) -> bool:
        near = list(self._near(fixed))
        if len(near) < 2:
            return False
        whole = near[0].whole
        for bucket in near[1:]:
            whole = whole.union(bucket.whole)
        return new.entails(whole)

    def add(self, edge: PathEdge) -> None:
        self.edges.append(edge)
        fixed = edge.relation.fixed()
        buckets = self._buckets.setdefault(pattern_of(fixed), {})
        bucket = buckets.get(fixed)
        if bucket is None:
            buckets[fixed] = _Bucket(edge.relation, 1)
            return
        bucket.whole = bucket.whole.union(edge.relation)
        bucket.added += 1
        if bucket.added % FULLER == 0:
            bucket.whole = bucket.whole.coalesced()

    def whole(self) -> Relation:
        """All path edges of the vertex."""
        return self.relations.union([edge.relation for edge in self.edges], self.inputs, self.outputs)
