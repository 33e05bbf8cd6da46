"""Integers with known bounds only."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.interpreter.bounded_unknowns import BoundedInteger
from certus.interpreter.inputs import Nondeterministic
from certus.run.settings import Settings
from certus.run.verify import verify

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


@pytest.mark.parametrize("claim", ['strcmp("b", "a") == 1', "isdigit('7') == 1", 'memcmp("a", "b", 1) == -1'])
def test_how_large_a_result_is_may_not_be_relied_on(claim: str, tmp_path: Path) -> None:
    """A library may return another number, but ours does not, so there is no counterexample either."""
    declared = "#include <assert.h>\n#include <string.h>\nint isdigit(int c);\n"
    path = tmp_path / "program.c"
    path.write_text(f"{declared}int main(void) {{ assert({claim}); return 0; }}\n")
    settings = Settings(property_name="unreach-call", timeout=60.0)
    assert verify(path, settings).answer == "UNKNOWN"
