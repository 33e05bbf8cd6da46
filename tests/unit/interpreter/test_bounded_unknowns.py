"""Integers with known bounds only."""

from __future__ import annotations

import pytest

from certus.interpreter.bounded_unknowns import BoundedInteger
from certus.interpreter.inputs import Nondeterministic

SOME = BoundedInteger(1, 9)


def test_what_the_bounds_decide_is_known() -> None:
    assert SOME > 0
    assert SOME != 0
    assert SOME >= 1
    assert -SOME < 0
    assert 0 - SOME <= -1
    assert SOME + 5 < 15
    assert (SOME & 15) is SOME
    assert SOME != 10


@pytest.mark.parametrize(
    "look",
    [
        lambda: SOME == 5,
        lambda: SOME < 5,
        lambda: SOME >= 9,
        lambda: bool(SOME),
        lambda: SOME * 2,
        lambda: SOME & 7,
        lambda: -SOME & 255,
    ],
)
def test_what_they_leave_open_is_refused(look: object) -> None:
    assert callable(look)
    with pytest.raises(Nondeterministic):
        look()
