"""`--sarif FILE` beside the report, which it agrees with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Certus
from tests.sarif import faults

from certus.cli.main import main
from certus.cli.terminal import Exit


@pytest.mark.parametrize(
    ("command", "file", "options"),
    [
        ("verify", "tests/programs/c/pointers_bug.c", ("--engine", "bmc")),
        ("verify", "tests/programs/c/overflow_addition.c", ("--engine", "bmc", "--property", "no-overflow")),
        ("verify", "examples/parity.lp", ("--engine", "bmc")),
        ("verify", "examples/traffic_light.lp", ("--engine", "bmc", "--set", "bmc.bound=2")),
        ("chc", "tests/programs/chc/rational_bug.smt2", ()),
    ],
)
def test_sarif_agrees_with_the_report(
    command: str, file: str, options: tuple[str, ...], certus: Certus, tmp_path: Path
) -> None:
    target = tmp_path / "result.sarif"
    done = certus(command, file, *options, "--json", "--sarif", target)
    report = json.loads(done.stdout)
    log = json.loads(target.read_text())
    assert faults(log) == []
    (run,) = log["runs"]
    assert run["properties"]["verdict"] == report["verdict"]
    assert run["invocations"][0]["exitCode"] == done.returncode
    assert len(run["results"]) == (report["verdict"] == "VIOLATED")
    for result in run["results"]:
        steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
        if "trace" in report:
            shown = [*report["trace"]["head"], *report["trace"]["tail"]]
            told = [
                (s["number"] + 1, "essential" if s["reason"] else "unimportant")
                for s in shown
                if s["statement"]
            ]
            assert [(s["executionOrder"], s["importance"]) for s in steps] == told


def test_a_defect_of_ours_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("two and two are five")

    monkeypatch.setattr("certus.run.verify.verify", fails)
    monkeypatch.delenv("CERTUS_DEBUG", raising=False)
    target = tmp_path / "result.sarif"
    assert main(["verify", "examples/parity.lp", "--sarif", str(target)]) == Exit.INTERNAL
    assert "two and two are five" in capsys.readouterr().err
    log = json.loads(target.read_text())
    assert faults(log) == []
    (run,) = log["runs"]
    (invocation,) = run["invocations"]
    assert (run["results"], invocation["executionSuccessful"], invocation["exitCode"]) == ([], False, 4)
    (told,) = invocation["toolExecutionNotifications"]
    assert told["descriptor"]["id"] == "internal-error"
    assert "two and two are five" in told["message"]["text"]
