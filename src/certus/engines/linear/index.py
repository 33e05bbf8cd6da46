"""Items found by the columns that are plainly fixed in a vector.

Relations of enumerated states fix most columns to one number. Two vectors that fix a column to different
numbers have nothing in common, so what may have is found by looking numbers up instead of asking isl.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

Fixed = tuple[int | None, ...]
Pattern = tuple[bool, ...]


def pattern_of(fixed: Fixed) -> Pattern:
    """Which columns are fixed."""
    return tuple(value is not None for value in fixed)


def restricted(fixed: Fixed, pattern: Pattern) -> Fixed:
    """The values of the columns of the pattern."""
    return tuple(value if wanted else None for value, wanted in zip(fixed, pattern, strict=True))


@dataclass(slots=True, eq=False)
class _Group(Generic[T]):
    """The items whose vectors fix the same columns; by the values of some of these, once asked for."""

    items: list[tuple[Fixed, T]] = field(default_factory=list)
    views: dict[Pattern, dict[Fixed, list[T]]] = field(default_factory=dict)

    def add(self, fixed: Fixed, item: T) -> None:
        self.items.append((fixed, item))
        for pattern, view in self.views.items():
            view.setdefault(restricted(fixed, pattern), []).append(item)

    def at(self, pattern: Pattern, key: Fixed) -> list[T]:
        view = self.views.get(pattern)
        if view is None:
            view = self.views[pattern] = {}
            for fixed, item in self.items:
                view.setdefault(restricted(fixed, pattern), []).append(item)
        return view.get(key, [])


@dataclass(slots=True, eq=False)
class Meeting(Generic[T]):
    """Finds the items whose vectors agree with a given one on every column that both fix."""

    _groups: dict[Pattern, _Group[T]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(group.items) for group in self._groups.values())

    def add(self, fixed: Fixed, item: T) -> None:
        self._groups.setdefault(pattern_of(fixed), _Group()).add(fixed, item)

    def agreeing(self, fixed: Fixed) -> Iterator[T]:
        own = pattern_of(fixed)
        for pattern, group in tuple(self._groups.items()):
            common = tuple(a and b for a, b in zip(own, pattern, strict=True))
            yield from tuple(group.at(common, restricted(fixed, common)))
