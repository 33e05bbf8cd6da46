"""Choose where new predicates are used and in which form, to keep the number of abstract states small.

*Copies.* An inlined procedure leaves a copy of its locations for each of its calls. A predicate about global
variables is added at all copies of its location: otherwise it takes one refinement for each of them.

*Values.* Where a variable only holds constants of the program, all its values are taken at once
(`enumerations`).

*Ranges.* Where a fact says that a variable is 0 or 1, `x <= 0`, `x == 0` and `x == 1` divide the states
alike, and `x <= 1` does not divide them at all. Interpolants use all of these; one form is enough, and each
predicate less halves the number of valuations. Only facts at the same location are used, and none at exits:
all steps to and from the location assume them (see `steps`), so a form that is equivalent under them is as
good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.evidence import Point
from certus.core.intervals import Interval, bounds, conjuncts
from certus.core.program import Location, Program
from certus.core.terms import Expr, Kind
from certus.core.walk import variables
from certus.engines.predicate.abstraction import Group, Precision
from certus.engines.predicate.enumerations import Enumerations
from certus.solvers.bdd import Regions


class Copies:
    """Groups of locations that stand at the same place in the source."""

    def __init__(self, program: Program) -> None:
        self._globals = frozenset(program.globals)
        self._at: dict[object, list[Location]] = {}
        for procedure in program.procedures.values():
            for location in procedure.locations:
                self._at.setdefault(_place(location), []).append(location)

    def of(self, location: Location, predicates: Group) -> tuple[Location, ...]:
        """Return the locations to use predicates at: all copies if they only read globals."""
        if all(x in self._globals for x in variables(*predicates)):
            return tuple(self._at[_place(location)])
        return (location,)


def _place(location: Location) -> object:
    return location if location.span is None else (location.procedure, location.span, location.loop)


class KnownRanges:
    """Ranges of single variables at locations, from facts."""

    def __init__(self, program: Program, facts: Mapping[Point, Expr]) -> None:
        exits = {procedure.exit for procedure in program.procedures.values()}
        self._ranges = {
            point.location: bounds(conjuncts(fact))
            for point, fact in facts.items()
            if point.location not in exits
        }

    def simplified(self, location: Location, group: Group) -> Group:
        """Return the group in its simplest form at a location, without predicates that are constant there."""
        ranges = self._ranges.get(location)
        if ranges is None:
            return group
        simpler = (_simplified(predicate, ranges) for predicate in group)
        return tuple(dict.fromkeys(p for p in simpler if p.kind is not Kind.CONST))


def _simplified(predicate: Expr, ranges: Mapping[Expr, Interval]) -> Expr:
    """Return a predicate that divides the states within the ranges alike: a constant if it does not divide
    them, an equation if it holds, or fails, for one value only."""
    for x, satisfying in bounds((predicate,)).items():
        whole = ranges.get(x)
        if whole is None:
            continue
        inside = whole.meet(satisfying)
        if inside is None or inside == whole:
            return build.boolean(inside is not None)
        for side in _sides(inside, whole):
            if side.low is not None and side.low == side.high:
                return build.eq(x, build.constant(side.low, x.sort))
    return predicate


def _sides(inside: Interval, whole: Interval) -> Iterator[Interval]:
    """Yield the values inside and outside, lower ones first; only those inside if both sides are outside."""
    if inside.low == whole.low:
        yield inside
        assert inside.high is not None
        yield Interval(inside.high + 1, whole.high)
    elif inside.high == whole.high:
        assert inside.low is not None
        yield Interval(whole.low, inside.low - 1)
        yield inside
    else:
        yield inside


@dataclass(slots=True, eq=False)
class Vocabulary:
    """The predicates of a search: `precision`, to which groups are added in their simplest form."""

    precision: dict[Location, Precision]
    regions: Regions
    enumerations: Enumerations
    copies: Copies
    ranges: KnownRanges
    _original: dict[Location, dict[Expr, None]] = field(default_factory=dict)  # predicates before rewriting
    _replaced: list[tuple[Location, Group]] = field(default_factory=list)  # groups used in another form

    def add(self, groups: Sequence[tuple[Location, Group]]) -> dict[Location, list[Expr]]:
        """Add the groups in their simplest form; return the predicates that are new, by location."""
        new: dict[Location, list[Expr]] = {}
        for location, group in groups:
            for copy in self.copies.of(location, group):
                before = self.precision.get(copy, Precision())
                self._original.setdefault(copy, {}).update(dict.fromkeys(group))
                simplified = self.ranges.simplified(copy, group)
                used = self.ranges.simplified(copy, self.enumerations.by_values(simplified))
                self.regions.beside(used)
                if any(p not in used for p in simplified):
                    self._replaced.append((copy, simplified))
                values = self.enumerations.all_values(tuple(self._original[copy]))
                further = self.ranges.simplified(copy, values)
                after = self.precision[copy] = before.with_group(used).with_group(further)
                if len(after.predicates) > len(before.predicates):
                    new.setdefault(copy, []).extend(after.predicates[len(before.predicates) :])
        return new

    def restore(self) -> bool:
        """Add the groups that were used in another form; return whether there were any."""
        for location, group in self._replaced:
            self.precision[location] = self.precision[location].with_group(group)
        restored = bool(self._replaced)
        self._replaced.clear()
        return restored
