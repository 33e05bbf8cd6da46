"""`certus linear`: Linear Programs as a user sees them, and that they can be verified in turn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Certus

GOLDEN = Path(__file__).parent / "golden"
CHECKSUM = "examples/papers/armando2004/checksum.c"


def test_golden(certus: Certus) -> None:
    done = certus("linear", CHECKSUM)
    assert (done.returncode, done.stderr) == (0, "")
    golden = GOLDEN / "linear_checksum.lp"
    if os.environ.get("CERTUS_ACCEPT"):
        golden.write_text(done.stdout)
    assert done.stdout == golden.read_text()


def test_a_linear_program_that_holds(certus: Certus, tmp_path: Path) -> None:
    target = tmp_path / "checksum.lp"
    assert certus("linear", CHECKSUM, "-o", target).returncode == 0
    done = certus("verify", target, "--quiet")
    assert done.returncode == 0, target.read_text()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("unsigned char c = n; c = c + 1; if (c == 300) reach_error();", 0),
        ("int y = n * n; if (y == 7 && n == 100) reach_error();", 1),  # an arbitrary value is to blame
        ("if (n < 0) n = -n; if (n < 0) reach_error();", 1),  # the negation wraps around
        ("int a[3] = {1, 2, 3}; a[n & 1] = 5; if (n == 2147483647) reach_error();", 1),
        ("int q = n / 4; if (n > 0 && q > n) reach_error();", 0),
        ("int m = n % 4; if (m < -3 || m > 3) reach_error();", 0),
        ("unsigned u = n; if (u >> 4 > u) reach_error();", 0),
        ("unsigned u = n; if ((u & 12) > 12) reach_error();", 0),
    ],
)
def test_machine_integers(certus: Certus, tmp_path: Path, body: str, code: int) -> None:
    source, target = tmp_path / "prog.c", tmp_path / "prog.lp"
    declared = "extern void reach_error(void);\nextern int __VERIFIER_nondet_int(void);\n"
    source.write_text(f"{declared}int main(void) {{ int n = __VERIFIER_nondet_int(); {body} }}\n")
    assert certus("linear", source, "-o", target).returncode == 0
    done = certus("verify", target, "--quiet", "--engine", "bmc")
    assert done.returncode == code, target.read_text()


def test_help(certus: Certus) -> None:
    assert "If it\nholds, so does FILE" in certus("linear", "--help").stdout
