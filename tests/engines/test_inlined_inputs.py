"""Every engine finds the violation of a program whose inputs are read in procedures that are inlined."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.engines.registry import ENGINES

PROGRAM = """
int x, y;
void read() { int v; v = *; x = v + 1; }
void main() { read(); y = x; read(); assert(!(y == 5 && x == 7)); }
"""
ONLY_PROVING = ("ranges", "arrays")


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in ONLY_PROVING])
def test_inputs_of_copies_are_those_of_the_original(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "program.lp"
    path.write_text(PROGRAM)
    assert verify(path, Settings(engine=engine, timeout=60)).answer == "VIOLATED"
