"""`certus verify` and `certus check` on the examples.

Golden reports are in `golden/`; times and numbers of random runs are replaced by `#`. To accept a
changed report on purpose, run this file with `CERTUS_ACCEPT=1` and review the difference."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ENVIRONMENT, ROOT, Certus

GOLDEN = Path(__file__).parent / "golden"
BMC = ("--engines", "execution,random,bmc")  # auto with one process: no race
CASES = {
    "parity": ["examples/parity.lp", *BMC],
    "parity_bmc": ["examples/parity.lp", "--engine", "bmc"],
    "parity_bug": ["examples/parity_bug.lp", *BMC],
    "swap": ["examples/swap.lp", *BMC],
    "swap_bug": ["examples/swap_bug.lp", *BMC],
    "sum_bug": ["examples/sum_bug.lp", "--engine", "bmc"],
    "gcd_bounded": ["examples/gcd.lp", "--bound", "3"],
    "traffic_light_bug": ["examples/traffic_light_bug.lp", "--blocks", "single", "--engine", "bmc"],
    "triangle": ["tests/cli/triangle.lp", *BMC],
    "quiet": ["examples/parity.lp", "--quiet", *BMC],
}
EXIT_CODES = {"HOLDS": 0, "VIOLATED": 1, "UNKNOWN": 3}


def settled(report: str) -> str:
    report = re.sub(r"\d+\.\d\d s\)", "# s)", report)
    return re.sub(r"[\d,]+ random runs?", "# random runs", report)


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, certus: Certus) -> None:
    done = certus("verify", *CASES[name])
    assert done.stderr == ""
    assert done.returncode == EXIT_CODES[done.stdout.split()[0]]
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("CERTUS_ACCEPT"):
        path.write_text(settled(done.stdout))
    assert settled(done.stdout) == path.read_text()


@pytest.mark.parametrize("name", ["parity", "triangle", "swap_bug", "gcd_bounded"])
def test_json_says_the_same(name: str, certus: Certus) -> None:
    text, found = certus("verify", *CASES[name]), certus("verify", *CASES[name], "--json")
    assert found.returncode == text.returncode
    report = json.loads(found.stdout)
    assert text.stdout.split()[:3] == [report["verdict"], report["file"], report["property"]]
    if report["verdict"] == "VIOLATED":
        assert f"counterexample, {report['trace']['steps']} step" in text.stdout
        assert f":{report['trace']['violated']['line']}:" in text.stdout
    if report["verdict"] == "UNKNOWN":
        assert report["reason"]["message"] in text.stdout
    if report["verdict"] == "HOLDS" and report["proof"]["kind"] == "execution":
        assert f"it ends after {report['proof']['steps']} steps" in text.stdout
    elif report["verdict"] == "HOLDS":
        assert f"{report['check']['clauses']} clauses proved by z3" in text.stdout


def test_two_solvers_for_every_clause(certus: Certus, tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    done = certus("verify", "tests/cli/triangle.lp", "--solvers", "2", "--evidence", saved)
    assert done.returncode == 0
    assert "2 clauses proved by z3 and cvc5" in done.stdout
    again = certus("check", saved, "--solvers", "2")
    assert again.stdout == f"HOLDS  {saved}  unreach-call  checked: 2 clauses proved by z3 and cvc5\n"
    assert certus("verify", "tests/cli/triangle.lp", "--solvers", "4").returncode == 2


def test_help_says_what_counts_as_proved(certus: Certus) -> None:
    text = " ".join(certus("verify", "--help").stdout.split())
    assert "each must be proved by at least one solver (two with --solvers 2) and refuted by none" in text


def test_a_report_in_a_file(certus: Certus, tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    done = certus("verify", "examples/swap_bug.lp", "-o", target)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert target.read_text().startswith("VIOLATED  examples/swap_bug.lp")


@pytest.mark.parametrize(
    ("file", "code"), [("examples/parity.lp", 0), ("tests/cli/triangle.lp", 0), ("examples/swap_bug.lp", 1)]
)
def test_evidence_is_checked_again_without_an_engine(
    file: str, code: int, certus: Certus, tmp_path: Path
) -> None:
    directory = tmp_path / "evidence"
    assert certus("verify", file, "--evidence", directory).returncode == code
    done = certus("check", directory)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.split()[0] == ("HOLDS" if code == 0 else "VIOLATED")


def test_queries_are_saved(certus: Certus, tmp_path: Path) -> None:
    assert (
        certus("verify", "examples/gcd.lp", "--bound", "1", "--log-queries", tmp_path / "queries").returncode
        == 3
    )
    saved = sorted((tmp_path / "queries").glob("*.smt2"))
    assert saved
    assert all("(check-sat" in path.read_text() for path in saved)


def test_passes_are_shown(certus: Certus) -> None:
    done = certus("verify", "examples/gcd.lp", "--bound", "2", "--show-passes")
    assert re.search(r"large-blocks\s+\d+\s+\d+\s+\d+\s+\d+", done.stdout)


def test_verbose_shows_statistics(certus: Certus) -> None:
    assert "solver." in certus("verify", "examples/gcd.lp", "--bound", "1", "--verbose").stdout


def test_from_python() -> None:
    script = "import certus; print(type(certus.verify('examples/parity.lp').verdict).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Safe\n"
