"""`--html FILE`: one page beside the usual answer."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Certus


def test_a_page_beside_the_answer(certus: Certus, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = certus("verify", "examples/gcd_bug.lp", "--engine", "bmc", "--quiet", "--html", page)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("VIOLATED  examples/gcd_bug.lp")
    words = page.read_text(encoding="utf-8")
    assert words.startswith("<!DOCTYPE html>")
    assert words.count("<template") == 2


def test_a_page_that_cannot_be_written(certus: Certus, tmp_path: Path) -> None:
    done = certus(
        "verify", "examples/gcd_bug.lp", "--engine", "bmc", "--html", tmp_path / "no" / "report.html"
    )
    assert done.returncode == 2
    assert "cannot write" in done.stderr
