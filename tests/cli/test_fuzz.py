"""`certus fuzz` as a user meets it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Certus


def test_a_short_campaign(tmp_path: Path, certus: Certus) -> None:
    output = tmp_path / "out"
    done = certus("fuzz", "--programs", "1", "--engines", "bmc", "--timeout", "60s", "-o", output)
    assert done.returncode == 0, done.stdout
    first, expected, bmc = done.stdout.splitlines()
    assert first == "1 programs, as .lp and as C"
    assert expected.split()[1:] == bmc.split()[1:]
    assert not output.exists()


def test_usage(certus: Certus) -> None:
    done = certus("fuzz", "--engines", "magic")
    assert done.returncode == 2
    assert "there is no engine 'magic'" in done.stderr


def test_corners_continue_where_they_stopped(tmp_path: Path, certus: Certus) -> None:
    output = tmp_path / "out"
    asked = ("fuzz", "--corners", "--seed", "36", "--programs", "1", "--timeout", "60s", "-o", output)
    done = certus(*asked)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("1 programs (LP64 ")
    assert "disagreements: 0 of 0 kinds" in done.stdout
    again = certus(*asked)
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[0] == f"continuing the run in {output} with program 1"
    assert "\n2 programs (LP64 " in again.stdout
    assert [file.name for file in output.iterdir()] == ["corners.json"]


def test_corners_with_engines(certus: Certus) -> None:
    done = certus("fuzz", "--corners", "--engines", "bmc")
    assert done.returncode == 2
    assert "--corners and --engines cannot be combined" in done.stderr
