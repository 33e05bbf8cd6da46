"""Find objects on the heap that pointers reach, for the answer to `InspectHeap`. Trusted.

All live objects on the heap are tracked if as many different ones are reached as are live. The search goes
from the roots over at most `LINKS` pointers in memory and gives up at `OBJECTS` candidates. So it finds some
of the objects that are reached, and never one that is not: the answer is "yes" only if every live object is
tracked, and it may be "no" although every object is.

Roots are variables of the source and the cells of live objects that are kept in variables: globals, and those
of the procedure that asks. Variables of its callers are roots, too, but only a formula of a proof at a point
can mention them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from certus.core import build
from certus.core.memory import Field, Partition, Pointer
from certus.core.program import Procedure, Program
from certus.core.terms import INT, Expr
from certus.core.walk import substitute
from certus.encoding.address_terms import AddressTerms
from certus.encoding.lifetimes import Lifetimes, Target

LINKS = 3  # most pointers in memory on the way from a root to an object
OBJECTS = 24  # most candidates
Frame = tuple[Procedure, Mapping[Expr, Expr]]  # an activation, and the names of its variables
Key = tuple[int, Expr | None]  # a region, and the start of an object unless there is only one
Held = tuple[Pointer, Expr, Expr | None]  # the type of an address, its machine value, and its twin


class Contents(Protocol):
    """Memory with twins."""

    def contents_of(self, number: int, field: Field, start: Expr | None) -> tuple[Expr, Expr | None] | None:
        """Return the contents of a field of the object at a start, and their twin; None if they have no
        name."""
        ...

    def rooted(self, procedure: Procedure) -> Iterator[tuple[Held, Expr]]:
        """Yield the addresses in objects that are roots, with their conditions."""
        ...


@dataclass(frozen=True, slots=True)
class Tracking:
    """The search in one program."""

    program: Program
    partition: Partition
    lifetimes: Lifetimes
    terms: AddressTerms
    contents: Contents

    def reached(self, frames: Sequence[Frame]) -> dict[Key, Expr]:
        """Return objects on the heap that are found from the variables of these activations, each with the
        condition that it is live and reached."""
        cases: dict[Key, list[Expr]] = {}
        for procedure, names in frames:
            for (number, start), holds in self._search(procedure).items():
                named = None if start is None else substitute(start, names)
                cases.setdefault((number, named), []).extend(substitute(each, names) for each in holds)
        return {key: build.disjunction(holds) for key, holds in cases.items()}

    def _search(self, procedure: Procedure) -> dict[Key, list[Expr]]:
        """Return the objects that the search finds, each with the cases in which it is reached."""
        cases: dict[Key, list[Expr]] = {}
        work = [(held, build.TRUE, 0) for held in self._variables(procedure)]
        work += ((held, live, 0) for held, live in self.contents.rooted(procedure))
        for (pointer, word, twin), condition, links in work:
            target = self.lifetimes.located(pointer, word, twin)
            if target is None or not self.lifetimes.on_heap(pointer.region):
                continue
            holds = build.and_(condition, self.lifetimes.tracks(pointer.region, target))
            if holds is build.FALSE:
                continue
            if len(cases) == OBJECTS:
                break
            cases.setdefault((pointer.region, target.start), []).append(holds)
            if links < LINKS:
                work += ((held, holds, links + 1) for held in self._contents(pointer, target))
        return cases

    def _variables(self, procedure: Procedure) -> Iterator[Held]:
        for x in (*self.program.globals, *procedure.variables):
            pointer = self.partition.carriers.get(x)
            if pointer is not None and x in self.program.source_names:
                word = self.terms.machine(x) if x.sort is INT else build.wrap(x, self.partition.address)
                yield pointer, word, self.lifetimes.provenance.twin(x)

    def _contents(self, pointer: Pointer, target: Target) -> Iterator[Held]:
        """Yield the addresses in an object."""
        region = self.partition.regions[pointer.region]
        for field in region.fields or ():
            if field.holds is not None and not region.stride:
                contents = self.contents.contents_of(pointer.region, field, target.start)
                if contents is not None:
                    yield field.holds, *contents


def different(candidates: Mapping[Key, Expr]) -> Iterator[Expr]:
    """Yield, for each candidate, whether it is reached and none before it is the same object: as many of
    these truth values hold as different objects are found."""
    before: dict[int, list[tuple[Expr | None, Expr]]] = {}
    for (number, start), holds in candidates.items():
        others = before.setdefault(number, [])
        same = [
            build.and_(other_holds, build.eq(start, other))
            for other, other_holds in others
            if start is not None and other is not None
        ]
        yield build.conjunction([holds, *map(build.not_, same)])
        others.append((start, holds))
