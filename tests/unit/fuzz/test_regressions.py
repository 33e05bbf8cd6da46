"""What campaigns of `certus fuzz` have found, made small: none of it may come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.run.settings import Settings
from certus.run.verify import verify

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

# Remainders of remainders: isl had variables in its constraints that it could not name.
REMAINDERS = """
int step(int a) {
  int r = 0;
  assume(a % 4 != r);
  return r;
}
void main() {
  int n = *;
  int x = 0;
  int k = 0;
  assume(0 <= n && n <= 1);
  while (k < n) {
    x = step(x / 2);
    k = k + 1;
  }
  assert(k <= 1);
}
"""

# The same in a loop, which then was none any more for engines, but still one for validation.
NO_RETURN_IN_A_LOOP = """
int g = 0;
int step(int a) {
  int r = 0;
  assume(g - r != g);
  return r;
}
void main() {
  int x = *;
  int k = 0;
  while (k < 2) {
    x = step(x);
    k = k + 1;
  }
  assert(x < x);
}
"""
FOUND = [
    (NO_RETURN, "spacer", "HOLDS"),
    (REMAINDERS, "linear", "HOLDS"),
    (NO_RETURN_IN_A_LOOP, "bmc", "HOLDS"),
    (NO_RETURN_IN_A_LOOP, "predicate", "HOLDS"),
]


@pytest.mark.parametrize(("program", "engine", "answer"), FOUND)
def test_found_once(program: str, engine: str, answer: str, tmp_path: Path) -> None:
    file = tmp_path / "found.lp"
    file.write_text(program)
    assert verify(file, Settings(checks=(), engine=engine, timeout=60.0)).answer == answer
