"""What campaigns of `certus fuzz` have found, made small: none of it may come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.pipeline.settings import Settings
from certus.pipeline.verify import verify

# No execution returns from the call, so passes leave out what follows it, the error included.
NO_RETURN = """
int g = 0;
int step(int a) {
  assume(g != 0);
  return a;
}
void main() {
  int x = *;
  x = step(0);
  assert(x < x);
}
"""


@pytest.mark.parametrize(("program", "engine", "answer"), [(NO_RETURN, "spacer", "HOLDS")])
def test_found_once(program: str, engine: str, answer: str, tmp_path: Path) -> None:
    file = tmp_path / "found.lp"
    file.write_text(program)
    assert verify(file, Settings(engine=engine, timeout=60.0)).answer == answer
