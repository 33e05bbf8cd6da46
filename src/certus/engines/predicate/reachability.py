"""Abstract reachability with procedure summaries (seed 001, section 4).

The reachable regions grow by *items*: new abstract states at one location, with the step that gave
them and the items it started from. Items are taken in the order they were found, so the first item at
an error is one of the fewest steps, and the path to it is read off backwards.

A location's region is the union of its items. At a fixpoint the regions are closed under all
steps: those at exits are the procedure summaries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core.program import Location
from certus.engines.predicate.abstraction import Abstraction, Precision
from certus.engines.predicate.steps import Step, Steps
from certus.logic.bdd import Region


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """Abstract states at a location that no item before it has."""

    number: int
    location: Location
    region: Region
    step: Step
    premises: tuple[Item, ...]


@dataclass(slots=True, eq=False)
class Reachability:
    """The abstract states reachable under a precision."""

    steps: Steps
    abstraction: Abstraction
    precision: Mapping[Location, Precision]
    regions: dict[Location, Region] = field(default_factory=dict)
    _waiting: deque[Item] = field(default_factory=deque)
    _expanded: dict[Location, list[Item]] = field(default_factory=dict)
    _count: int = 0

    def error(self) -> Item | None:
        """An item at an error, or None if the fixpoint has none."""
        found = self._take(self.steps.start, ())
        while found is None and self._waiting:
            found = self._expand(self._waiting.popleft())
        return found

    def _expand(self, item: Item) -> Item | None:
        self._expanded.setdefault(item.location, []).append(item)
        for step in self.steps.before.get(item.location, ()):
            if step.kind == "call":
                others: Sequence[Item] = tuple(self._expanded.get(step.premises[1], ()))
                found = self._take_each(step, [(item, other) for other in others])
            else:
                found = self._take(step, (item,))
            if found is not None:
                return found
        for step in self.steps.over.get(item.location, ()):
            callers = tuple(self._expanded.get(step.premises[0], ()))
            pairs = [(caller, item) for caller in callers if caller is not item]
            found = self._take_each(step, pairs)
            if found is not None:
                return found
        return None

    def _take_each(self, step: Step, pairs: Sequence[tuple[Item, Item]]) -> Item | None:
        for pair in pairs:
            found = self._take(step, pair)
            if found is not None:
                return found
        return None

    def _take(self, step: Step, premises: tuple[Item, ...]) -> Item | None:
        """Take a step; the item is returned if it is at an error."""
        regions = self.abstraction.regions
        target = step.target
        reached = self.regions.get(target, regions.nothing)
        if reached is regions.everything:
            return None
        precision = self.precision.get(target, Precision())
        after = self.abstraction.successors(step, [p.region for p in premises], precision)
        new = regions.minus(after, reached)
        if new is regions.nothing:
            return None
        self.regions[target] = regions.either(reached, after)
        self._count += 1
        item = Item(self._count, target, new, step, premises)
        if target in self.steps.program.error_locations:
            return item
        self._waiting.append(item)
        return None
