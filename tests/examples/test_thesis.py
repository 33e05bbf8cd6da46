"""The C counterparts of the thesis' small programs have the verdict that their first line claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

PROGRAMS = sorted((Path(__file__).parents[2] / "examples" / "thesis").glob("*.c"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_predicate_decides_it(path: Path) -> None:
    claimed = path.read_text().split(":")[0].removeprefix("/* ")
    assert claimed == ("VIOLATED" if path.stem.endswith("_bug") else "HOLDS")
    assert verify(path, Settings(engine="predicate", timeout=120.0)).answer == claimed


def test_there_are_both_kinds() -> None:
    assert len(PROGRAMS) >= 14
