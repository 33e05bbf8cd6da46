"""Path edges, summary edges, and the functions on them (Armando et al. 2004, section 3).

A path edge of a vertex relates entry vectors of its procedure to states at the vertex; a summary edge relates
entry vectors to exit vectors. Path edges are stored as disjuncts, each with the step that produced it, so
that `traces` can reconstruct an execution backwards.

Two corrections of the paper's text: SelfLoop relates each *output* to itself, and SEJoin applies the summary
to the values at the call.

Relations of enumerated states fix most columns to one number. Two vectors that fix a column to different
numbers have nothing in common, so table lookup replaces most isl queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from certus.core.program import Edge, Location
from certus.engines.linear.transitions import Frame, Transitions
from certus.solvers.isl.relations import Relation, Relations

FULLER = 8  # coalesce a bucket after this number of disjuncts

Fixed = tuple[int | None, ...]  # the numbers that a vector fixes columns to
Pattern = tuple[bool, ...]  # the columns that a vector fixes
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The start of the program."""


@dataclass(frozen=True, slots=True, eq=False)
class Stepped:
    """By one statement or block from a path edge at its source."""

    before: PathEdge
    edge: Edge


@dataclass(frozen=True, slots=True, eq=False)
class Entered:
    """By a call from a path edge of the caller."""

    before: PathEdge
    edge: Edge


@dataclass(frozen=True, slots=True, eq=False)
class Returned:
    """By a call and its return; `ended` is the path edge at the exit of the callee."""

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
    """One disjunct of the path edges of a vertex, and the step that produced it. `exact`: no step on the path
    to it over-approximates the program."""

    vertex: Location
    relation: Relation
    by: Provenance

    @property
    def exact(self) -> bool:
        return self.relation.exact


# ------------------------------------------------------------------------- the paper's functions


def join(delta: Relation, tau: Relation) -> Relation:
    """Join: extend path edges by transitions."""
    return delta.then(tau)


def self_loop(delta: Relation) -> Relation:
    """SelfLoop: relate the targets of path edges to themselves."""
    return delta.loops()


def se_join(delta: Relation, sigma: Relation, edge: Edge, transitions: Transitions) -> Relation:
    """SEJoin: extend path edges of a call by summary edges of the callee."""
    return delta.then(through(sigma, edge, transitions))


def through(sigma: Relation, edge: Edge, transitions: Transitions) -> Relation:
    """Return a call as a transition between states, by summary edges of the callee."""
    state = transitions.relations.identity(len(transitions.frames[edge.source.procedure].state))
    ended = transitions.binding(edge).then(sigma)
    return state.both(ended).then(transitions.returning(edge))


def lift(delta: Relation, frame: Frame) -> Relation:
    """Lift: project path edges at the exit to summary edges."""
    kept = [frame.state.index(x) for x in frame.exit]
    return delta.columns(range(len(frame.entry)), kept)


# -------------------------------------------------------------------- vectors by their fixed columns


def pattern_of(fixed: Fixed) -> Pattern:
    """Return the columns that are fixed."""
    return tuple(value is not None for value in fixed)


def restricted(fixed: Fixed, pattern: Pattern) -> Fixed:
    """Restrict the fixed columns to those of the pattern."""
    return tuple(value if selected else None for value, selected in zip(fixed, pattern, strict=True))


@dataclass(slots=True, eq=False)
class _Group(Generic[T]):
    """Items whose vectors fix the same columns, with tables by some of these columns, built on demand."""

    items: list[tuple[Fixed, T]] = field(default_factory=list)
    views: dict[Pattern, dict[Fixed, list[T]]] = field(default_factory=dict)

    def add(self, fixed: Fixed, item: T) -> None:
        self.items.append((fixed, item))
        for pattern, view in self.views.items():
            view.setdefault(restricted(fixed, pattern), []).append(item)

    def at(self, pattern: Pattern, key: Fixed) -> list[T]:
        view = self.views.get(pattern)
        if view is None:
            view = self.views[pattern] = {}
            for fixed, item in self.items:
                view.setdefault(restricted(fixed, pattern), []).append(item)
        return view.get(key, [])


@dataclass(slots=True, eq=False)
class VectorIndex(Generic[T]):
    """A table of items by vector."""

    _groups: dict[Pattern, _Group[T]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(group.items) for group in self._groups.values())

    def add(self, fixed: Fixed, item: T) -> None:
        self._groups.setdefault(pattern_of(fixed), _Group()).add(fixed, item)

    def agreeing(self, fixed: Fixed) -> Iterator[T]:
        """Yield the items whose vectors agree with `fixed` on every column that both fix."""
        own = pattern_of(fixed)
        for pattern, group in tuple(self._groups.items()):
            common = tuple(a and b for a, b in zip(own, pattern, strict=True))
            yield from tuple(group.at(common, restricted(fixed, common)))


# ------------------------------------------------------------------------------------ the store


@dataclass(slots=True)
class _Bucket:
    """The union of the disjuncts that fix the same columns to the same numbers."""

    whole: Relation
    added: int = 0


@dataclass(slots=True, eq=False)
class Store:
    """The path edges of one vertex: disjuncts by their fixed columns.

    A new disjunct is compared only with those that fix a subset of its columns to the same numbers, so that
    entailment costs as much as the relevant disjuncts. If many special disjuncts together cover a general
    one, this misses the entailment, which costs a repetition but nothing else."""

    relations: Relations
    inputs: int
    outputs: int
    edges: list[PathEdge] = field(default_factory=list)
    _buckets: dict[Pattern, dict[Fixed, _Bucket]] = field(default_factory=dict)

    def covers(self, new: Relation) -> bool:
        """Return whether the store entails the disjunct `new`."""
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
        """Return the union of all path edges of the vertex."""
        return self.relations.union([edge.relation for edge in self.edges], self.inputs, self.outputs)
