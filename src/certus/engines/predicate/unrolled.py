"""Watches whether refinement merely unrolls a loop, one round and some predicates at a time.

That is a divergence if it goes on: predicates such as x == 0, x == 1, x == 2 keep coming, and paths with
ever more rounds of one loop, or ever deeper recursion, are excluded one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core.ctext import c_text
from certus.core.diagnostic import Span
from certus.core.program import Location
from certus.core.terms import Expr

SHOWN = 3  # predicates
LENGTH = 60  # characters of each


@dataclass(slots=True, eq=False)
class Unrolled:
    """`most`: for each location the most visits on a path; `grown`: how often that became more."""

    names: Mapping[Expr, str]
    most: dict[Location, int] = field(default_factory=dict)
    grown: Counter[Location] = field(default_factory=Counter)
    _predicates: dict[Location, list[str]] = field(default_factory=dict)  # in the order they came
    _last: list[str] = field(default_factory=list)  # those of the last refinement, with their places

    def note(self, path: Sequence[Location], new: Mapping[Location, Sequence[Expr]]) -> None:
        """A path was excluded by new predicates."""
        for location, visits in Counter(path).items():
            if visits > max(1, self.most.get(location, 0)):
                self.most[location] = visits
                self.grown[location] += 1
        texts: dict[str, None] = {}
        for location, predicates in new.items():
            mine = [c_text(p, names=self.names, limit=LENGTH) for p in predicates]
            self._predicates.setdefault(location, []).extend(mine)
            texts.update((f"{text} at {place(location)}", None) for text in mine)
        self._last = list(texts)

    def newest(self) -> str:
        """The newest predicates, and the loop that seems to be unrolled."""
        text = ", ".join(self._last[-SHOWN:])
        location = self._fastest()
        if location is None or self.grown[location] < SHOWN:
            return text
        return f"{text}; {place(location)} was unrolled {self.most[location]} times"

    def message(self, rounds: int) -> str | None:
        """What to say of a loop that has grown `rounds` times."""
        location = self._fastest()
        if not rounds or location is None or self.grown[location] < rounds:
            return None
        coming = ", ".join(self._predicates.get(location, self._last)[-SHOWN:])
        return f"{place(location)} is unrolled round by round; predicates that kept coming: {coming}"

    def span(self) -> Span | None:
        """The loop that seems to be unrolled."""
        location = self._fastest()
        return None if location is None else location.loop or location.span

    def _fastest(self) -> Location | None:
        """The location that has grown most, one of a loop if possible."""
        return max(self.grown, key=lambda at: (self.grown[at], at.loop is not None), default=None)


def place(location: Location) -> str:
    """A location for people."""
    span = location.loop or location.span
    if span is None:
        return location.name
    return f"the loop in line {span.line}" if location.loop else f"line {span.line}"
