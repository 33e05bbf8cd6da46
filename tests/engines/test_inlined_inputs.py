"""Engines that solve for inputs find a violation whose inputs are read in inlined procedures."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.engine import ProgramKind, Role
from certus.core.evidence import Trace
from certus.engines.registry import ENGINES

PROGRAM = """
int x, y;
void read() { int v; v = *; x = v + 1; }
void main() { read(); y = x; read(); assert(!(y == 5 && x == 7)); }
"""
SOLVING = [
    e.name
    for e in ENGINES.values()
    if Trace in e.evidence and e.role in (Role.STEADY, Role.TURNS) and ProgramKind.LINEAR in e.schedule
]


@pytest.mark.parametrize("engine", SOLVING)
def test_inputs_of_copies_are_those_of_the_original(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "program.lp"
    path.write_text(PROGRAM)
    assert verify(path, Settings(engine=engine, timeout=60)).answer == "VIOLATED"
