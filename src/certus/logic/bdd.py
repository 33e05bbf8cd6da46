"""Boolean functions of predicates, as reduced ordered binary decision diagrams.

A `Region` is a set of valuations of predicates. Regions are interned: equal ones are the same object.
The order of predicates is that of their appearance, which puts those of one refinement together; those that
belong to older ones can be put `beside` them, as long as there is room between levels.
All operations are one, if-then-else, computed with a stack and remembered.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from certus.core import build
from certus.core.terms import Expr

_LEAF: Final = 1 << 62  # the level of the two constants, below all predicates
_ROOM: Final = 1 << 32  # between the levels of predicates that appear one after the other


class Region:
    """A set of valuations: `high` are those in it where the predicate of `level` holds, `low` the others."""

    __slots__ = ("high", "level", "low")
    level: int
    low: Region
    high: Region


class Regions:
    """The regions over all predicates met so far."""

    def __init__(self) -> None:
        self.everything: Final = _leaf()
        self.nothing: Final = _leaf()
        self._levels: Final[dict[Expr, int]] = {}
        self._predicates: Final[dict[int, Expr]] = {}  # by level
        self._used: Final[list[int]] = []  # the levels, sorted
        self._nodes: Final[dict[tuple[int, Region, Region], Region]] = {}
        self._known: Final[dict[tuple[Region, Region, Region], Region]] = {}

    def literal(self, predicate: Expr, *, holds: bool = True) -> Region:
        """The valuations under which the predicate has the given value."""
        return self.minterm({predicate: holds})

    def minterm(self, valuation: Mapping[Expr, bool]) -> Region:
        """The valuations that agree with the given one."""
        found = self.everything
        levels = sorted(((self._level(p), holds) for p, holds in valuation.items()), reverse=True)
        for level, holds in levels:
            low, high = (self.nothing, found) if holds else (found, self.nothing)
            found = self._node(level, low, high)
        return found

    def both(self, one: Region, other: Region) -> Region:
        return self._ite(one, other, self.nothing)

    def either(self, one: Region, other: Region) -> Region:
        return self._ite(one, self.everything, other)

    def minus(self, one: Region, other: Region) -> Region:
        """The valuations in `one` that are not in `other`."""
        return self._ite(other, self.nothing, one)

    def formula(self, region: Region, name: Callable[[Expr], Expr] = lambda p: p) -> Expr:
        """The region as a formula over (what `name` makes of) its predicates, as shared as the diagram."""
        done: dict[Region, Expr] = {self.everything: build.TRUE, self.nothing: build.FALSE}
        stack = [region]
        while stack:
            top = stack[-1]
            missing = [] if top in done else [part for part in (top.low, top.high) if part not in done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in done:
                predicate = name(self._predicates[top.level])
                done[top] = build.ite(predicate, done[top.high], done[top.low])
        return done[region]

    def size(self, region: Region) -> int:
        """The number of nodes of the diagram, without the constants."""
        seen: set[Region] = {self.everything, self.nothing}
        stack = [region]
        while stack:
            top = stack.pop()
            if top not in seen:
                seen.add(top)
                stack.extend((top.low, top.high))
        return len(seen) - 2

    def count(self, region: Region, predicates: Sequence[Expr]) -> int:
        """How many valuations of `predicates`, among which are all that matter to it, are in the region."""
        levels = sorted(self._level(p) for p in predicates)
        depth = {level: n for n, level in enumerate(levels)} | {_LEAF: len(levels)}
        done = {self.everything: 1, self.nothing: 0}  # valuations of the predicates from a node's level on
        stack = [region]
        while stack:
            top = stack[-1]
            missing = [] if top in done else [part for part in (top.low, top.high) if part not in done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in done:
                parts = (top.low, top.high)
                done[top] = sum(done[p] << depth[p.level] - depth[top.level] - 1 for p in parts)
        return done[region] << depth[region.level]

    # ------------------------------------------------------------------------------- diagrams

    def beside(self, predicates: Sequence[Expr]) -> None:
        """Give predicates that are new a place behind the last of the others."""
        known = [self._levels[p] for p in predicates if p in self._levels]
        if known:
            for predicate in predicates:
                if predicate not in self._levels:
                    known.append(self._put(predicate, max(known)))

    def _level(self, predicate: Expr) -> int:
        level = self._levels.get(predicate)
        return self._put(predicate, self._used[-1] if self._used else 0) if level is None else level

    def _put(self, predicate: Expr, after: int) -> int:
        """Place a predicate behind the given level, or last if there is no room."""
        place = bisect_right(self._used, after)
        level = (self._used[place] + after) // 2 if place < len(self._used) else after + _ROOM
        if level == after:
            place, level = len(self._used), self._used[-1] + _ROOM
        self._used.insert(place, level)
        self._levels[predicate] = level
        self._predicates[level] = predicate
        return level

    def _node(self, level: int, low: Region, high: Region) -> Region:
        if low is high:
            return low
        key = (level, low, high)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Region()
            found.level, found.low, found.high = key
        return found

    def _ite(self, condition: Region, then: Region, otherwise: Region) -> Region:
        """The valuations of `then` where `condition` holds, and those of `otherwise` elsewhere."""
        root = (condition, then, otherwise)
        stack = [root]
        while stack:
            key = stack[-1]
            if self._result(key) is not None:
                stack.pop()
                continue
            level = min(part.level for part in key)
            low_key, high_key = (_cofactor(key, level, high=side) for side in (False, True))
            low, high = self._result(low_key), self._result(high_key)
            if low is not None and high is not None:
                self._known[key] = self._node(level, low, high)
                stack.pop()
            else:
                stack.extend(k for k, r in ((low_key, low), (high_key, high)) if r is None)
        result = self._result(root)
        assert result is not None
        return result

    def _result(self, key: tuple[Region, Region, Region]) -> Region | None:
        """If-then-else of the key, if that is plain or known."""
        condition, then, otherwise = key
        if condition is self.everything or then is otherwise:
            return then
        if condition is self.nothing:
            return otherwise
        if then is self.everything and otherwise is self.nothing:
            return condition
        return self._known.get(key)


def _leaf() -> Region:
    leaf = Region()
    leaf.level, leaf.low, leaf.high = _LEAF, leaf, leaf
    return leaf


def _cofactor(key: tuple[Region, Region, Region], level: int, *, high: bool) -> tuple[Region, Region, Region]:
    """The key where the predicate of `level` has the given value."""
    a, b, c = ((part.high if high else part.low) if part.level == level else part for part in key)
    return a, b, c
