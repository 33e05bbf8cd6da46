"""A limit on time that is passed in and asked, never global."""

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
        """Seconds left, never negative; None means without limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """Raise `BudgetExceeded` once the deadline has passed."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetExceeded("time")

    def part(self, share: float, *, at_least: float = 0.0, at_most: float = inf) -> Budget:
        """A budget of a share of what remains (but at least `at_least` seconds, and at most `at_most`)."""
        left = self.remaining()
        seconds = min(inf if left is None else max(left * share, at_least), at_most)
        return Budget(None if seconds == inf else seconds)

    def without(self, seconds: float) -> Budget:
        """A budget that ends so many seconds earlier."""
        left = self.remaining()
        return Budget(None if left is None else max(0.0, left - seconds))


@contextmanager
def until_out_of_time() -> Iterator[None]:
    """Leave the block when the time of a budget in it is over. Other limits are raised."""
    try:
        yield
    except BudgetExceeded as ended:
        if ended.limit != "time":
            raise
