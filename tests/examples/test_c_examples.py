"""The C examples have the verdicts that their names promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_window() -> None:
    assert verify(EXAMPLES / "window.c", Settings(timeout=120.0)).answer == "HOLDS"
    assert verify(EXAMPLES / "window_bug.c", Settings(timeout=120.0)).answer == "VIOLATED"


@pytest.mark.parametrize(
    ("name", "answer", "iterations"), [("rational", "HOLDS", 2), ("rational_bug", "VIOLATED", 1)]
)
@pytest.mark.parametrize("flags", [(), ("no-div-zero", "-DNDEBUG")])
def test_rational(name: str, answer: str, iterations: int, flags: tuple[str, ...]) -> None:
    """Seed 003, Figure 1: by its assertion, and by the division itself."""
    asked = Settings(
        engine="clp", timeout=120.0, property_name=flags[0] if flags else None, clang_arguments=flags[1:]
    )
    found = verify(EXAMPLES / f"{name}.c", asked)
    assert found.answer == answer
    assert found.statistics.counters["clp.iterations"] == iterations
