"""Report a search to people: predicates by location, each refinement, and the loop that it seems to unroll.

Refinement may merely unroll a loop: predicates such as x == 0, x == 1, x == 2 come one after another, and
each refinement excludes a path with one more iteration of the loop, or one more level of recursion. `Report`
counts how often that happens, so that the engine can stop a search that diverges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from certus.core.accounting import Finding, Refinement, Statistics
from certus.core.c_text import c_text
from certus.core.diagnostic import Span
from certus.core.program import Location, Program
from certus.core.terms import Expr
from certus.engines.predicate.abstraction import Precision

SHOWN: Final = 300  # locations, and refinements
PASSED: Final = 40  # places on a path
NEWEST: Final = 3  # predicates in a line of progress
LENGTH: Final = 60  # characters of each of these


@dataclass(slots=True, eq=False)
class Report:
    """The report of a running search. `most_visits`: the most visits of each location on one path;
    `grown`: how often that number grew."""

    program: Program
    statistics: Statistics
    most_visits: dict[Location, int] = field(default_factory=dict)
    grown: Counter[Location] = field(default_factory=Counter)
    _predicates: dict[Location, list[str]] = field(default_factory=dict)  # in the order they were added
    _newest: list[str] = field(default_factory=list)  # those of the last refinement, with their places

    def refined(
        self,
        path: Sequence[Location],
        added: Mapping[Location, Sequence[Expr]],
        precision: Mapping[Location, Precision],
    ) -> None:
        """Report that the predicates `added` exclude a path, which makes `precision` the present one."""
        self._count_visits(path)
        texts: dict[str, None] = {}
        for location, predicates in added.items():
            shown = [c_text(p, names=self.program.source_names, limit=LENGTH) for p in predicates]
            self._predicates.setdefault(location, []).extend(shown)
            texts.update((f"{text} at {_loop_or_line(location)}", None) for text in shown)
        self._newest = list(texts)
        total = sum(len(each.predicates) for each in precision.values())
        self.statistics.counters["predicate.predicates"] = total
        if len(self.statistics.refinements) < SHOWN:
            self.statistics.refinements.append(refinement(self.program, path, added))
        number = self.statistics.counters["predicate.refinements"]
        self.statistics.progress(f"refinement {number}: {total} predicates, newest {self._newest_text()}")

    def _count_visits(self, path: Sequence[Location]) -> None:
        for location, visits in Counter(path).items():
            if visits > max(1, self.most_visits.get(location, 0)):
                self.most_visits[location] = visits
                self.grown[location] += 1

    def _newest_text(self) -> str:
        text = ", ".join(self._newest[-NEWEST:])
        location = self._fastest_growing()
        if location is None or self.grown[location] < NEWEST:
            return text
        return f"{text}; {_loop_or_line(location)} was unrolled {self.most_visits[location]} times"

    def divergence(self, rounds: int) -> tuple[str, Span | None] | None:
        """Return a message and the loop, if refinement unrolled one loop `rounds` times (0: never)."""
        location = self._fastest_growing()
        if not rounds or location is None or self.grown[location] < rounds:
            return None
        latest = ", ".join(self._predicates.get(location, self._newest)[-NEWEST:])
        message = (
            f"refinement only unrolls {_loop_or_line(location)}, with new predicates every time: {latest}"
        )
        return message, location.loop or location.span

    def _fastest_growing(self) -> Location | None:
        """Return the location whose visits grew most often, one of a loop if possible."""
        return max(self.grown, key=lambda at: (self.grown[at], at.loop is not None), default=None)


def predicate_findings(program: Program, precision: Mapping[Location, Precision]) -> list[Finding]:
    """Return one finding for each location that has predicates, in program order, as C expressions."""
    findings = []
    for at, present in sorted(precision.items(), key=lambda item: item[0].index)[:SHOWN]:
        if present.predicates:
            text = "; ".join(c_text(p, names=program.source_names, limit=200) for p in present.predicates)
            findings.append(Finding("predicates", _line(at), text))
    return findings


def refinement(
    program: Program, path: Sequence[Location], added: Mapping[Location, Sequence[Expr]]
) -> Refinement:
    """Describe the refinement that excluded a path by new predicates."""
    visits = [(place, len(list(group))) for place, group in groupby(map(_line, path))]
    places = [f"{place} ({times} times)" if times > 1 else place for place, times in visits]
    if len(places) > PASSED:
        places[PASSED // 2 : -PASSED // 2] = ["..."]
    predicates = [
        (_line(at), c_text(p, names=program.source_names, limit=200))
        for at, predicates in sorted(added.items(), key=lambda item: item[0].index)
        for p in predicates
    ]
    return Refinement(tuple(places), tuple(dict.fromkeys(predicates)))


def _line(at: Location) -> str:
    span = at.loop or at.span
    return at.name if span is None else f"line {span.line}"


def _loop_or_line(at: Location) -> str:
    return f"the loop in {_line(at)}" if at.loop else _line(at)
