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
