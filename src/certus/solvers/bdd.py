"""Represent Boolean functions of predicates as reduced ordered binary decision diagrams.

A `Region` is a set of valuations of predicates. Regions are interned: equal ones are the same object.
Predicates are ordered by their first use, which keeps those of one refinement together; `beside` places new
predicates next to older ones that belong to them, as long as there is room between levels.
All operations are instances of if-then-else, computed without recursion and memoised.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from certus.core import build
from certus.core.terms import Expr

T = TypeVar("T")
_LEAF: Final = 1 << 62  # level of the two constants, below all predicates
_ROOM: Final = 1 << 32  # distance between the levels of consecutive predicates


class Region:
    """A set of valuations: those in `high` where the predicate of `level` holds, those in `low` elsewhere."""

    __slots__ = ("high", "level", "low")
    level: int
    low: Region
    high: Region


class Regions:
    """A factory of regions over all predicates used so far."""

    def __init__(self) -> None:
        self.everything: Final = _leaf()
        self.nothing: Final = _leaf()
        self._levels: Final[dict[Expr, int]] = {}
        self._predicates: Final[dict[int, Expr]] = {}  # by level
        self._used: Final[list[int]] = []  # the levels, sorted
        self._nodes: Final[dict[tuple[int, Region, Region], Region]] = {}
        self._known: Final[dict[tuple[Region, Region, Region], Region]] = {}

    def literal(self, predicate: Expr, *, holds: bool = True) -> Region:
        """Return the valuations that give the predicate this value."""
        return self.minterm({predicate: holds})

    def minterm(self, valuation: Mapping[Expr, bool]) -> Region:
        """Return the valuations that agree with this partial one."""
        region = self.everything
        levels = sorted(((self._level(p), holds) for p, holds in valuation.items()), reverse=True)
        for level, holds in levels:
            low, high = (self.nothing, region) if holds else (region, self.nothing)
            region = self._node(level, low, high)
        return region

    def both(self, one: Region, other: Region) -> Region:
        return self._ite(one, other, self.nothing)

    def either(self, one: Region, other: Region) -> Region:
        return self._ite(one, self.everything, other)

    def minus(self, one: Region, other: Region) -> Region:
        """Return the valuations in `one` that are not in `other`."""
        return self._ite(other, self.nothing, one)

    def equal(self, one: Region, other: Region) -> Region:
        """Return the valuations that are in both or in neither."""
        return self._ite(one, other, self.minus(self.everything, other))

    def choice(self, condition: Region, then: Region, otherwise: Region) -> Region:
        """Return the valuations of `then` inside `condition`, and those of `otherwise` outside."""
        return self._ite(condition, then, otherwise)

    def without(self, region: Region, predicates: Collection[Expr]) -> Region:
        """Return the valuations that are in the region for some values of these predicates."""
        levels = {self._level(p) for p in predicates}

        def part(top: Region, low: Region, high: Region) -> Region:
            return self.either(low, high) if top.level in levels else self._node(top.level, low, high)

        return self._folded(region, self.everything, self.nothing, part)

    def onto(self, region: Region, predicates: Collection[Expr]) -> Region:
        """Return the valuations that are in the region for some values of all other predicates."""
        levels = {self._level(p) for p in predicates}

        def part(top: Region, low: Region, high: Region) -> Region:
            return self._node(top.level, low, high) if top.level in levels else self.either(low, high)

        return self._folded(region, self.everything, self.nothing, part)

    def substituted(self, region: Region, meanings: Mapping[Expr, Region]) -> Region:
        """Return the region with predicates replaced by regions, all at once."""
        by_level = {self._level(p): meaning for p, meaning in meanings.items()}

        def part(top: Region, low: Region, high: Region) -> Region:
            meaning = by_level.get(top.level)
            if meaning is None:
                meaning = self._node(top.level, self.nothing, self.everything)
            return self._ite(meaning, high, low)

        return self._folded(region, self.everything, self.nothing, part)

    def valuation(self, region: Region) -> dict[Expr, bool]:
        """Return values of predicates that put every valuation which has them into the region; it must not be
        empty."""
        values: dict[Expr, bool] = {}
        while region is not self.everything:
            holds = region.low is self.nothing
            values[self._predicates[region.level]] = holds
            region = region.high if holds else region.low
        return values

    def formula(self, region: Region, name: Callable[[Expr], Expr] = lambda p: p) -> Expr:
        """Return the region as a formula over its predicates, renamed by `name`, as shared as the diagram."""

        def part(top: Region, low: Expr, high: Expr) -> Expr:
            return build.ite(name(self._predicates[top.level]), high, low)

        return self._folded(region, build.TRUE, build.FALSE, part)

    def size(self, region: Region) -> int:
        """Return the number of nodes of the diagram, without the constants."""
        seen: set[Region] = {self.everything, self.nothing}
        stack = [region]
        while stack:
            top = stack.pop()
            if top not in seen:
                seen.add(top)
                stack.extend((top.low, top.high))
        return len(seen) - 2

    def count(self, region: Region, predicates: Sequence[Expr]) -> int:
        """Count the valuations of `predicates` in the region; they must include all its predicates."""
        levels = sorted(self._level(p) for p in predicates)
        depth = {level: n for n, level in enumerate(levels)} | {_LEAF: len(levels)}

        def part(top: Region, low: int, high: int) -> int:
            """Count the valuations of the predicates from the level of a node on."""
            below = ((low, top.low), (high, top.high))
            return sum(number << depth[node.level] - depth[top.level] - 1 for number, node in below)

        return self._folded(region, 1, 0, part) << depth[region.level]

    def _folded(self, region: Region, everything: T, nothing: T, part: Callable[[Region, T, T], T]) -> T:
        """Compute a value of a region from the values of the constants; `part` computes that of a node from
        those of its branches, low and high."""
        done: dict[Region, T] = {self.everything: everything, self.nothing: nothing}
        stack = [region]
        while stack:
            top = stack[-1]
            missing = [] if top in done else [each for each in (top.low, top.high) if each not in done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in done:
                done[top] = part(top, done[top.low], done[top.high])
        return done[region]

    # ------------------------------------------------------------------------------- diagrams

    def beside(self, predicates: Sequence[Expr]) -> None:
        """Place new predicates directly after the last of those that have a level."""
        levels = [self._levels[p] for p in predicates if p in self._levels]
        if levels:
            for predicate in predicates:
                if predicate not in self._levels:
                    levels.append(self._put(predicate, max(levels)))

    def _level(self, predicate: Expr) -> int:
        level = self._levels.get(predicate)
        return self._put(predicate, self._used[-1] if self._used else 0) if level is None else level

    def _put(self, predicate: Expr, after: int) -> int:
        """Place a predicate directly after a level, or last if there is no room."""
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
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Region()
            node.level, node.low, node.high = key
        return node

    def _ite(self, condition: Region, then: Region, otherwise: Region) -> Region:
        """Return the valuations of `then` where `condition` holds, and those of `otherwise` elsewhere."""
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
        """Return the if-then-else of the key if it is trivial or memoised."""
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
    """Return the key restricted to one value of the predicate of `level`."""
    a, b, c = ((part.high if high else part.low) if part.level == level else part for part in key)
    return a, b, c
