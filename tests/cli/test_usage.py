"""Usage: help, version, and sentences for what cannot be understood."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import COMMAND, ENVIRONMENT, ROOT, Certus

from certus.core.version import VERSION


def test_help_is_quick(certus: Certus) -> None:
    times = []
    for _ in range(3):
        before = cpu_of_children()
        done = certus("--help")
        times.append(cpu_of_children() - before)
        assert done.returncode == 0
    assert "exit codes:" in done.stdout
    assert min(times) < 1.5  # the promise is 0.3 s; CPU time, since others may use the machine


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("command", ["verify", "cfa", "check", "bench", "fuzz", "engines", "library"])
def test_every_command_has_help(command: str, certus: Certus) -> None:
    done = certus(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: certus {command}")


def test_version(certus: Certus) -> None:
    assert certus("--version").stdout == f"certus {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["verify"], "the following arguments are required: FILE"),
        (["verify", "x.lp", "--timeout", "soon"], "'soon' is not a duration such as 60s"),
        (["verify", "x.lp", "--timeout", "0"], "must be more than zero"),
        (["verify", "x.lp", "--memory", "4 apples"], "'4 apples' is not a size such as 4GB"),
        (["verify", "x.lp", "--bound", "-1"], "'-1' is not a number of entries of loop heads"),
        (["verify", "x.lp", "--set", "bmc"], "'bmc' is not of the form engine.field=value"),
        (["verify", "x.lp", "--blocks", "huge"], "invalid choice: 'huge'"),
        (["verify", "x.lp", "-q", "--verbose"], "not allowed with argument"),
        (["verify", "x.lp", "--engin", "bmc"], "`certus verify` has no option or argument --engin"),
        (["cfa", "x.lp", "--format", "png"], "invalid choice: 'png'"),
    ],
)
def test_usage_errors(arguments: list[str], sentence: str, certus: Certus) -> None:
    done = certus(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, hint = done.stderr.splitlines()
    assert first.startswith("error[usage]: ")
    assert sentence in first
    assert hint.endswith("--help`")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--engine", "magic"], "magic"),
        (["--set", "bmc.no_such_field=1"], "no_such_field"),
        (["--blocks", "adjustable", "--set", "blocks.length=1"], "length"),
        (["--blocks", "adjustable", "--set", "blocks.threshold=0"], "at least one edge"),
        (["--set", "blocks.threshold=3"], "adjustable"),
        (["--property", "no-bugs"], "no-bugs"),
    ],
)
def test_names_that_do_not_exist(arguments: list[str], word: str, certus: Certus) -> None:
    done = certus("verify", "examples/swap.lp", *arguments)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_engines_lists_what_there_is(certus: Certus) -> None:
    done = certus("engines")
    assert done.returncode == 0
    assert any(line.startswith("bmc ") for line in done.stdout.splitlines())
    assert "ranges.solver" not in done.stdout
    assert "ranges.solver" in certus("engines", "--reference").stdout


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_report_that_cannot_be_written(form: list[str], certus: Certus, tmp_path: Path) -> None:
    done = certus("verify", "examples/swap.lp", *form, "-o", tmp_path / "no" / "such" / "directory")
    assert done.returncode == 2
    assert done.stderr.startswith("error[cannot-write]: cannot write")
    assert done.stderr.count("\n") == 2  # with a hint


@pytest.mark.parametrize(
    "option", ["--evidence", "--log-queries", "--harness", "--html", "--sarif", "--witness", "-o"]
)
def test_a_place_that_cannot_be_written_is_noticed_before_the_work(
    option: str, certus: Certus, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = certus("verify", "examples/swap_bug.lp", option, tmp_path / "file" / "below")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[cannot-write]: cannot write")


def test_a_place_of_a_report_stays_as_it_is_until_there_is_an_answer(certus: Certus, tmp_path: Path) -> None:
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text("earlier")
    done = certus("verify", "examples/swap.lp", "--engine", "none", "--html", old, "-o", new)
    assert (done.returncode, new.exists()) == (2, False)
    assert "earlier" not in old.read_text()


def test_standard_output_on_a_full_disk() -> None:
    command = ["sh", "-c", '"$@" >/dev/full', "sh", *COMMAND, "engines"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error[cannot-write]: cannot write")


def test_standard_output_that_is_closed() -> None:
    command = ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "engines"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_an_answer_without_standard_streams(closed: str, tmp_path: Path) -> None:
    target = tmp_path / "r.sarif"
    options = ["verify", "examples/swap_bug.lp", "--sarif", str(target)]
    command = ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *options]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(target.read_text())["runs"][0]["properties"]["verdict"] == "VIOLATED"


def test_one_report_that_cannot_be_written_does_not_cost_the_others(certus: Certus, tmp_path: Path) -> None:
    target = tmp_path / "r.sarif"
    done = certus("verify", "examples/swap.lp", "--json", "--html", "/dev/full", "--sarif", target)
    assert done.returncode == 2
    assert done.stderr.startswith("error[cannot-write]: cannot write")
    assert json.loads(done.stdout)["verdict"] == "HOLDS"
    assert json.loads(target.read_text())["runs"][0]["properties"]["verdict"] == "HOLDS"
