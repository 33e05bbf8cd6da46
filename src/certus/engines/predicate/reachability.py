"""Compute reachable abstract states with procedure summaries (Wolff 2015, section 4).

The reachable regions grow by *arrivals*: new abstract states at one location, by one step. Arrivals that wait
at the same location are expanded together, as one *front*, so branches merge where they join (Mertens 2014,
section 2.4). An arrival has a *level*: the number of times its path went back, to a loop head or into a
recursive procedure. The lowest level is expanded first, in reverse postorder. So a front waits for all of its
level, and the first arrival at an error goes back least often.

The region of a location is the union of its arrivals. At the fixpoint the regions are closed under all steps,
and those at exits are the procedure summaries.

A path to an error consists of *items*, found backwards: the solver chooses abstract states in the front from
which the step is possible, and so the arrival that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from certus.core.program import Location
from certus.engines.predicate.abstraction import Abstraction, Precision
from certus.engines.predicate.steps import Step, Steps
from certus.solvers.bdd import Region


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """Abstract states on a path: the last step to them, and the items it starts from."""

    number: int
    location: Location
    region: Region
    step: Step
    premises: tuple[Item, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Arrival:
    """Abstract states at a location that are in no earlier arrival, by a step from `sources`."""

    number: int
    level: int
    location: Location
    region: Region
    step: Step
    sources: tuple[_Front, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Front:
    """Arrivals at one location that are expanded together, and the union of their regions."""

    level: int
    location: Location
    region: Region
    arrivals: tuple[_Arrival, ...]


_Choice = tuple[_Arrival, Region]  # an arrival, and those of its states that are on a path


@dataclass(slots=True, eq=False)
class Reachability:
    """The abstract states reachable under a precision."""

    steps: Steps
    abstraction: Abstraction
    precision: Mapping[Location, Precision]
    regions: dict[Location, Region] = field(default_factory=dict)
    _waiting: dict[tuple[int, Location], list[_Arrival]] = field(default_factory=dict)
    _queue: list[tuple[int, int, Location]] = field(default_factory=list)  # level, position, location
    _expanded: dict[Location, list[_Front]] = field(default_factory=dict)
    _count: int = 0
    _merged: bool = False  # whether some front has several arrivals

    def error(self) -> Item | None:
        """Compute the fixpoint; stop at the first arrival at an error and return the path to it."""
        error = self._take(self.steps.start, ())
        while error is None and self._queue:
            error = self._expand(self._next())
        return None if error is None else self._path(error)

    def _next(self) -> _Front:
        """Return the next front: all that waits at one location on the lowest level."""
        level, _, location = heappop(self._queue)
        arrivals = self._waiting.pop((level, location))
        region = arrivals[0].region
        for arrival in arrivals[1:]:
            region = self.abstraction.regions.either(region, arrival.region)
            self._merged = True
        return _Front(level, location, region, tuple(arrivals))

    def _expand(self, front: _Front) -> _Arrival | None:
        self._expanded.setdefault(front.location, []).append(front)
        for step in self.steps.before.get(front.location, ()):
            others = self._expanded.get(step.premises[1], ()) if step.kind == "call" else None
            sources = [(front,)] if others is None else [(front, other) for other in others]
            error = self._take_each(step, sources)
            if error is not None:
                return error
        for step in self.steps.over.get(front.location, ()):
            callers = tuple(self._expanded.get(step.premises[0], ()))
            error = self._take_each(step, [(caller, front) for caller in callers if caller is not front])
            if error is not None:
                return error
        return None

    def _take_each(self, step: Step, sources: Iterable[tuple[_Front, ...]]) -> _Arrival | None:
        for fronts in sources:
            error = self._take(step, fronts)
            if error is not None:
                return error
        return None

    def _take(self, step: Step, sources: tuple[_Front, ...]) -> _Arrival | None:
        """Take a step; return the new arrival if it is at an error."""
        regions = self.abstraction.regions
        target = step.target
        reached = self.regions.get(target, regions.nothing)
        if reached is regions.everything:
            return None
        precision = self.precision.get(target, Precision())
        after = self.abstraction.successors(step, [front.region for front in sources], precision)
        new = regions.minus(after, reached)
        if new is regions.nothing:
            return None
        self.regions[target] = regions.either(reached, after)
        self._count += 1
        arrival = _Arrival(self._count, self._level(step, sources), target, new, step, sources)
        if target in self.steps.program.error_locations:
            return arrival
        key = (arrival.level, target)
        if key not in self._waiting:
            heappush(self._queue, (arrival.level, self.steps.position[target], target))
        self._waiting.setdefault(key, []).append(arrival)
        return None

    def _level(self, step: Step, sources: tuple[_Front, ...]) -> int:
        place = self.steps.position
        goes_back = any(place[step.target] <= place[front.location] for front in sources)
        return max((front.level for front in sources), default=0) + goes_back

    def _path(self, error: _Arrival) -> Item:
        """Return a path of single arrivals to the error."""
        origins: dict[_Choice, tuple[_Choice, ...]] = {}
        items: dict[_Choice, Item] = {}
        first = (error, error.region)
        stack = [first]
        while stack:
            choice = stack[-1]
            if choice not in origins:
                origins[choice] = self._origins(*choice)
            missing = [origin for origin in origins[choice] if origin not in items]
            stack.extend(missing)
            if not missing:
                stack.pop()
                arrival, region = choice
                premises = tuple(items[origin] for origin in origins[choice])
                items[choice] = Item(arrival.number, arrival.location, region, arrival.step, premises)
        return items[first]

    def _origins(self, arrival: _Arrival, region: Region) -> tuple[_Choice, ...]:
        """Return for each front that the step starts from the arrival from which it leads to `region`. If the
        abstraction is too coarse to say, this is the first one; the path is then infeasible."""
        states: list[Region] | None = None
        if self._merged:
            predicates = [self.precision.get(f.location, Precision()).predicates for f in arrival.sources]
            sources = [front.region for front in arrival.sources]
            states = self.abstraction.origins(arrival.step, sources, predicates, region)
        if states is None:
            return tuple((front.arrivals[0], front.arrivals[0].region) for front in arrival.sources)
        return tuple(self._owner(f, state) for f, state in zip(arrival.sources, states, strict=True))

    def _owner(self, front: _Front, state: Region) -> _Choice:
        regions = self.abstraction.regions
        return next(
            (a, state) for a in front.arrivals if regions.both(a.region, state) is not regions.nothing
        )
