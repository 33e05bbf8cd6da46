"""The files around the code agree with each other: workflows, single checks, versions, the release recipe."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from certus.core.version import VERSION

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def check_names() -> list[str]:
    listed = re.search(
        r"^CHECKS = \{\n(.*?)^\}", (ROOT / "scripts/check.py").read_text(), re.DOTALL | re.MULTILINE
    )
    assert listed is not None
    return re.findall(r'^    "(\w+)": ', listed[1], re.MULTILINE)


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_check_is_a_target_of_make() -> None:
    targets = re.search(r"^CHECKS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    assert targets[1].split() == check_names()


def test_an_unknown_check_is_a_sentence() -> None:
    done = run_script("scripts/check.py", "nonsense")
    assert done.returncode == 2
    assert "there is no check 'nonsense'; choose from: lint, format" in done.stderr


def test_the_workflows_run_every_check() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    static, tests = workflow["jobs"]["static"], workflow["jobs"]["tests"]
    named = [step["run"].split()[2:] for step in static["steps"] if "scripts/check.py" in step.get("run", "")]
    covered = [*named[0], *tests["strategy"]["matrix"]["part"]]
    assert [*covered, "browser"] == check_names()  # the report has no test in a browser there


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_permissions_and_pinned_actions(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert set(job["permissions"].items()) <= {
            ("contents", "read"),
            ("pages", "write"),
            ("id-token", "write"),
        }
        assert job["timeout-minutes"] <= 25
        for step in job["steps"]:
            assert "uses" not in step or re.search(r"@[0-9a-f]{40}$", step["uses"])


def test_the_supported_versions_of_python_are_tested() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{c.removeprefix(prefix)}" for c in PROJECT["project"]["classifiers"] if c.startswith(prefix)]
    assert tested == named


def test_constraints_are_exact_and_cover_what_is_installed() -> None:
    lines = [x for x in (ROOT / "constraints.txt").read_text().splitlines() if not x.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(line for extra in extras.values() for line in extra)]
    names = {re.split(r"[<>=~!\[ ]", requirement)[0].lower() for requirement in wanted} - {"certus"}
    assert names - pinned == set()


def test_the_citation_names_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == VERSION
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["repository-code"] == PROJECT["project"]["urls"]["Source"]


def test_a_release_with_a_wrong_tag_is_refused() -> None:
    assert run_script("scripts/release.py", "0.1").returncode == 2
    done = run_script("scripts/release.py", "v99.0.0")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 3
