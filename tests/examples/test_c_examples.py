"""The C examples have the verdicts that their names promise."""

from __future__ import annotations

from pathlib import Path

from certus import Settings, verify

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_window() -> None:
    assert verify(EXAMPLES / "window.c", Settings(timeout=120.0)).answer == "HOLDS"
    assert verify(EXAMPLES / "window_bug.c", Settings(timeout=120.0)).answer == "VIOLATED"
