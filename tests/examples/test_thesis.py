"""The C counterparts of the thesis' small programs have the verdict that their first line claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

PROGRAMS = sorted((Path(__file__).parents[2] / "examples" / "thesis").glob("*.c"))
SLOW = ("sort_16", "sort_32", "sort_32_bug")  # minutes; `scripts/bench_predicate.py` runs them


def claim(path: Path) -> str:
    return path.read_text().split(":")[0].removeprefix("/* ")


@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.stem not in SLOW], ids=lambda p: p.stem)
def test_predicate_decides_it(path: Path) -> None:
    assert verify(path, Settings(checks=(), engine="predicate", timeout=120.0)).answer == claim(path)


def test_names_tell_the_claims() -> None:
    assert [claim(p) for p in PROGRAMS] == [
        "VIOLATED" if p.stem.endswith("_bug") else "HOLDS" for p in PROGRAMS
    ]


def test_there_are_both_kinds() -> None:
    assert len(PROGRAMS) >= 14
