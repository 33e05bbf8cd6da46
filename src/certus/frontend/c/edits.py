"""A source text with insertions, whose places are still those of the text without them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Insertion:
    """`text` is put in front of the byte at `offset`."""

    offset: int
    text: bytes


class EditedText:
    """The text `original` with `insertions`; those at one place stand in the order given."""

    def __init__(self, original: bytes, insertions: Sequence[Insertion]) -> None:
        self.original = original
        ordered = sorted(insertions, key=lambda each: each.offset)
        parts: list[bytes] = []
        self._starts: list[int] = []  # of the insertions, in the edited text
        self._inserted: list[Insertion] = ordered
        self._before: list[int] = [0]  # how much was inserted before each of them
        at = 0
        for each in ordered:
            parts.append(original[at : each.offset])
            at = each.offset
            self._starts.append(at + self._before[-1])
            parts.append(each.text)
            self._before.append(self._before[-1] + len(each.text))
        parts.append(original[at:])
        self.data = b"".join(parts)

    def inserted(self, offset: int) -> Insertion | None:
        """The insertion that a place in the edited text is in."""
        last = bisect_right(self._starts, offset) - 1
        inside = last >= 0 and offset < self._starts[last] + len(self._inserted[last].text)
        return self._inserted[last] if inside else None

    def back(self, offset: int) -> int:
        """The place in the original; of what was inserted, the place where it was."""
        last = bisect_right(self._starts, offset) - 1
        if last < 0:
            return offset
        inside = offset < self._starts[last] + len(self._inserted[last].text)
        return self._inserted[last].offset if inside else offset - self._before[last + 1]
