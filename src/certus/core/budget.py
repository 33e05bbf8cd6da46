"""Limits on time, passed as arguments and never global."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from certus.core.errors import BudgetExceeded


class Budget:
    """A deadline. Long-running code calls `check()` in its loops."""

    __slots__ = ("_deadline",)

    def __init__(self, seconds: float | None = None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Return the seconds left, never negative; None means no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """Raise `BudgetExceeded` once the deadline has passed."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetExceeded("time")

    def part(self, share: float, *, at_least: float = 0.0, at_most: float = inf) -> Budget:
        """Return a budget of a share of the remaining time, within `at_least` and `at_most` seconds."""
        left = self.remaining()
        seconds = min(inf if left is None else max(left * share, at_least), at_most)
        return Budget(None if seconds == inf else seconds)

    def without(self, seconds: float) -> Budget:
        """Return a budget that ends `seconds` earlier."""
        left = self.remaining()
        return Budget(None if left is None else max(0.0, left - seconds))


@contextmanager
def until_out_of_time() -> Iterator[None]:
    """Leave the block when a budget in it runs out of time. Other limits are raised."""
    try:
        yield
    except BudgetExceeded as ended:
        if ended.limit != "time":
            raise
