"""Find the Boolean variables that are predicates from the start: those that a later step reads.

A Boolean variable is its own abstraction, so no refinement has to find it. Locations with more than `MOST` of
them start without predicates: refinement then finds the few that matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.core.program import Location
from certus.core.terms import BOOL, Expr
from certus.core.walk import variables
from certus.engines.predicate.abstraction import Group
from certus.engines.predicate.steps import Step, Steps

MOST: Final = 6


def boolean_variables(steps: Steps) -> Iterator[tuple[Location, Group]]:
    """Yield the locations that start with predicates, and these."""
    for location, names in _read_later(steps).items():
        group = tuple(x for x in names if x.sort is BOOL)
        if 0 < len(group) <= MOST and location not in steps.program.error_locations:
            yield location, group


def _read_later(steps: Steps) -> dict[Location, dict[Expr, None]]:
    """Return the variables of the state at each location whose values a later step depends on."""
    read: dict[Location, dict[Expr, None]] = {}
    into: dict[Location, list[Step]] = {}
    for step in (s for each in steps.before.values() for s in each):
        into.setdefault(step.target, []).append(step)
    waiting = dict.fromkeys(into)
    while waiting:
        target, _ = waiting.popitem()
        for step in into.get(target, ()):
            needed = variables(
                step.condition, *step.definitions, *(step.values.get(x, x) for x in read.get(target, ()))
            )
            for premise, reading in zip(step.premises, step.readings, strict=True):
                own = {value: x for x, value in reading.items()}
                local = {} if reading else dict.fromkeys(x for x in needed if x not in step.symbols)
                before = read.setdefault(premise, {})
                size = len(before)
                before.update(local)
                before.update((own[x], None) for x in needed if x in own)
                if len(before) > size:
                    waiting[premise] = None
    return read
