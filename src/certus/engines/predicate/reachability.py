"""Compute reachable abstract states with procedure summaries (Wolff 2015, section 4).

The reachable regions grow by *items*: new abstract states at one location, with the step that reached them
and the items this step started from. Items are expanded in the order they were added, so the first item at an
error has the fewest steps; its premises are the path to it.

The region of a location is the union of its items. At the fixpoint the regions are closed under all steps,
and those at exits are the procedure summaries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core.program import Location
from certus.engines.predicate.abstraction import Abstraction, Precision
from certus.engines.predicate.steps import Step, Steps
from certus.solvers.bdd import Region


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """Abstract states at a location that are in no earlier item."""

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
        """Compute the fixpoint; stop at the first item at an error and return it."""
        error = self._take(self.steps.start, ())
        while error is None and self._waiting:
            error = self._expand(self._waiting.popleft())
        return error

    def _expand(self, item: Item) -> Item | None:
        self._expanded.setdefault(item.location, []).append(item)
        for step in self.steps.before.get(item.location, ()):
            if step.kind == "call":
                others: Sequence[Item] = tuple(self._expanded.get(step.premises[1], ()))
                error = self._take_each(step, [(item, other) for other in others])
            else:
                error = self._take(step, (item,))
            if error is not None:
                return error
        for step in self.steps.over.get(item.location, ()):
            callers = tuple(self._expanded.get(step.premises[0], ()))
            pairs = [(caller, item) for caller in callers if caller is not item]
            error = self._take_each(step, pairs)
            if error is not None:
                return error
        return None

    def _take_each(self, step: Step, pairs: Sequence[tuple[Item, Item]]) -> Item | None:
        for pair in pairs:
            error = self._take(step, pair)
            if error is not None:
                return error
        return None

    def _take(self, step: Step, premises: tuple[Item, ...]) -> Item | None:
        """Take a step; return the new item if it is at an error."""
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
