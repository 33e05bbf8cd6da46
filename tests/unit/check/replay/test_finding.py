"""What a replay says about the error that it reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.outcome import Replay
from certus.report.outcome_view import sentence_of
from certus.run.settings import Settings
from certus.run.verify import verify

INPUT = "extern int __VERIFIER_nondet_int(void); extern void reach_error(void);\n#include <assert.h>\n"
SENTENCES = {
    "sum": ("return x + 2147483647;", "x == 1", "signed overflow: x + 2147483647 is 2147483648, outside int"),
    "difference": ("x -= 9;", "x < -2147483647", "signed overflow: x -= 9 is -2147483657, outside int"),
    "product": (
        "long y = x; y = y * 9223372036854775807;",
        "x == 2",
        "signed overflow: y * 9223372036854775807 is 18446744073709551614, "
        "outside a signed integer of 64 bits",
    ),
    "library": (
        "extern int abs(int); return abs(x);",
        "x < -2147483647",
        "signed overflow: abs(x) is 2147483648, outside int",
    ),
    "quotient": (
        "return x / -1;",
        "x < -2147483647",
        "signed overflow: the result of x / -1 does not fit its type",
    ),
    "division": ("return 5 / x;", "x == 0", "division by zero: 5 / x"),
    "amount": ("return 1 >> x;", "x == -3", "undefined shift: 1 >> x shifts by -3, and the type has 32 bits"),
    "unsigned": (
        "return 1ull << x;",
        "x == 64",
        "undefined shift: 1ull << x shifts by 64, and the type has 64 bits",
    ),
    "bits": ("return x << 3;", "x == -1", "undefined shift: the result of x << 3 does not fit its type"),
    "assertion": ("assert(x > 7);", "x == 7", "assertion fails: x > 7"),
    "call": ("reach_error();", "x == 7", "the error is reached: reach_error()"),
}


@pytest.mark.parametrize("what", SENTENCES)
def test_a_violation_in_one_sentence(what: str, tmp_path: Path) -> None:
    statement, when, sentence = SENTENCES[what]
    path = tmp_path / "p.c"
    path.write_text(
        f"{INPUT}int main(void) {{ int x = __VERIFIER_nondet_int();\nif ({when}) {{ {statement} }}\n}}\n"
    )
    checks = ("assert", "overflow", "division", "shift")
    outcome = verify(path, Settings(engine="bmc", checks=checks, execute=False))
    assert isinstance(outcome.check, Replay)
    assert sentence_of(outcome) == f"{path}:4: {sentence}"
