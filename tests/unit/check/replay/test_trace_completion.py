"""Completing traces that slicing left incomplete, where zeros do not suffice."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.evidence import Unknown, Unsafe
from certus.core.outcome import Outcome, Replay
from certus.run.verify import Settings, verify

HEAD = """
extern int __VERIFIER_nondet_int(void);
extern unsigned __VERIFIER_nondet_uint(void);
extern void *malloc(unsigned long);
extern void reach_error(void);
int main(void) {
  int x = __VERIFIER_nondet_int();
"""

TAIL = """
  if (x == 77) reach_error();
  return 0;
}
"""


def outcome(tmp_path: Path, body: str) -> Outcome:
    file = tmp_path / "test.c"
    file.write_text(HEAD + body + TAIL)
    return verify(file, Settings(engine="bmc", property_name="unreach-call", execute=False))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("int d = __VERIFIER_nondet_int(); int y = 100 / d;", id="a divisor"),
        pytest.param("int d = __VERIFIER_nondet_int(); int y = 100 / (d - 1) + 5 / d;", id="two divisors"),
        pytest.param("int d = __VERIFIER_nondet_int(); int y = 100 / d; y = 7 % (d - 5);", id="two places"),
        pytest.param("int d = __VERIFIER_nondet_int(); int y = 1 << (d + 40);", id="a shift"),
        pytest.param(
            "int y = 0; for (int i = 0; i < 4; i++) { int d = __VERIFIER_nondet_int(); y += 9 / (d - i); }",
            id="a divisor in a loop",
        ),
        pytest.param(
            "int d = __VERIFIER_nondet_int(); int y = 0; if (d < 5) { y = 9 / d; } else { y = 8 / (d - 5); }",
            id="a divisor under a branch",
        ),
        pytest.param(
            "unsigned n = __VERIFIER_nondet_uint(); int *p = malloc(n * sizeof(int)); p[2] = 1;",
            id="the size of an object",
        ),
        pytest.param("int a[4]; int i = __VERIFIER_nondet_int(); a[i - 9] = 1;", id="an index"),
    ],
)
def test_values_are_found_that_avoid_what_is_undefined(tmp_path: Path, body: str) -> None:
    result = outcome(tmp_path, body)
    assert isinstance(result.verdict, Unsafe), result.verdict
    assert isinstance(result.check, Replay)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("int a[9]; if (a[x & 7] != 5) return 0;", id="an element of an array"),
        pytest.param(
            "int *p = malloc(sizeof *p), *q = malloc(sizeof *q); if (*(x < 9 ? p : q) != -3) return 0;",
            id="one of two objects",
        ),
        pytest.param(
            "char s[40]; int n = 0; while (n < 3 && s[n] == 'a' + n) n++; if (n < 3) return 0;",
            id="a string, one letter after the other",
        ),
        pytest.param(
            "short *p = malloc(40); p[x & 3] = 1; for (int i = 4; i < 6; i++) if (p[i] < i) return 0;",
            id="what was not written",
        ),
        pytest.param("int a[9]; int y = 100 / a[x & 7];", id="a divisor"),
        pytest.param(
            "int *p = 0; for (int i = 0; i < 3; i++) { p = malloc(4); if (i < 2) *p = 1; }"
            "if (*p != 7) return 0;",
            id="the last object that a loop makes",
        ),
    ],
)
def test_contents_of_new_objects_are_found(tmp_path: Path, body: str) -> None:
    result = outcome(tmp_path, body)
    assert isinstance(result.verdict, Unsafe), result.verdict
    assert isinstance(result.check, Replay)


def test_contents_that_were_written_are_not_made_up(tmp_path: Path) -> None:
    body = "char s[40]; for (int i = 0; i < 9; i++) s[i] = 'b'; if (s[x & 7] != 'a') return 0;"
    assert not isinstance(outcome(tmp_path, body).verdict, Unsafe)


def test_what_cannot_be_avoided_stays_a_reason(tmp_path: Path) -> None:
    result = outcome(tmp_path, "int d = __VERIFIER_nondet_int(); int y = 100 / (d * 0);")
    assert isinstance(result.verdict, Unknown)
    assert result.verdict.reason.code == "trace-needs-undefined-behaviour"
