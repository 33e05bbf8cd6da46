"""`certus abstract`: Boolean programs as a user sees them, and that they can be verified in turn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Certus

GOLDEN = Path(__file__).parent / "golden"


def test_listing_2(certus: Certus) -> None:
    done = certus("abstract", "examples/swap.lp", "--predicates", "global: x <= 5, y >= 13")
    assert (done.returncode, done.stderr) == (0, "")
    golden = GOLDEN / "abstract_swap.lp"
    if os.environ.get("CERTUS_ACCEPT"):
        golden.write_text(done.stdout)
    assert done.stdout == golden.read_text()


def test_the_abstraction_can_be_verified(certus: Certus, tmp_path: Path) -> None:
    """The two predicates of Listing 2 are too weak: the counterexample of Listing 3. The engine's are not."""
    weak, strong = tmp_path / "weak.lp", tmp_path / "strong.lp"
    assert (
        certus(
            "abstract", "examples/swap.lp", "--predicates", "global: x <= 5, y >= 13", "-o", weak
        ).returncode
        == 0
    )
    assert certus("verify", weak, "--quiet").returncode == 1
    assert certus("verify", "examples/swap.lp", "--engine", "predicate", "--quiet").returncode == 0
    program = tmp_path / "loop.lp"
    program.write_text("void main() { int x = 0; while (*) { if (x == 0) { x = 2; } } assert(x != 1); }")
    assert certus("abstract", program, "-o", strong).returncode == 0
    done = certus("verify", strong, "--engine", "predicate", "--quiet")
    assert done.returncode == 0, strong.read_text()


def test_c(certus: Certus, tmp_path: Path) -> None:
    source, target = tmp_path / "count.c", tmp_path / "count.lp"
    source.write_text(
        "extern void reach_error(void);\nextern int __VERIFIER_nondet_int(void);\n"
        "int limit(int v) { return v > 9 ? 9 : v; }\n"
        "int main(void) {\n  int n = limit(__VERIFIER_nondet_int());\n  int i = 0;\n"
        "  while (i < n) i++;\n  if (i > 9) reach_error();\n}\n"
    )
    given = "limit: result <= 9; main: n <= 9, i <= 9, i < 9, i < n"
    done = certus("abstract", source, "--predicates", given, "-o", target)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "while (unknown) {" in target.read_text()
    done = certus("verify", target, "--quiet")
    assert done.returncode == 0, target.read_text()


def test_names_that_the_small_language_has_not(certus: Certus, tmp_path: Path) -> None:
    """C programs may start in a procedure of ours, and call others."""
    source, target = tmp_path / "start.c", tmp_path / "start.lp"
    source.write_text(
        "extern void reach_error(void);\nint g;\n"
        "__attribute__((constructor)) static void first(void) { g = 1; }\n"
        "int main(void) { if (g != 1) reach_error(); }\n"
    )
    assert certus("abstract", source, "--predicates", "global: g == 1", "-o", target).returncode == 0
    done = certus("verify", target, "--quiet")
    assert done.returncode == 0, target.read_text()


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        ("global: x >> 5", "--predicates:1:12: error[syntax-error]: Expected an expression, but found `>`."),
        ("nowhere: x > 5", "--predicates:1:1: error[bad-predicate]: The program has no procedure `nowhere`."),
        ("swap: z > 5", "--predicates:1:7: error[undeclared-variable]: There is no variable `z` here."),
    ],
)
def test_bad_predicates(predicates: str, expected: str, certus: Certus) -> None:
    done = certus("abstract", "examples/swap.lp", "--predicates", predicates)
    assert (done.returncode, done.stdout) == (2, "")
    first, excerpt, *_ = done.stderr.splitlines()
    assert first == expected
    assert excerpt.endswith(predicates)


def test_limits(certus: Certus) -> None:
    done = certus("abstract", "examples/swap.lp", "--timeout", "1ms")
    assert (done.returncode, done.stdout) == (3, "")
    assert "time-limit" in done.stderr


def test_help(certus: Certus) -> None:
    done = certus("abstract", "--help")
    assert "'global: x <= 5, y >= 13; swap: t == old(x)'" in done.stdout
