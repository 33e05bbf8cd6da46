"""The commands of `docs/papers.md` work as printed, and their output has what the page says about it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ENVIRONMENT, ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text()
PLACEHOLDERS = re.compile(r"\b(FILE|DIRECTORY|LIST|TASKS|N|prog\.c|floppy_simpl3)\b")
STATED = re.compile(r"\b(HOLDS|VIOLATED)\b|`(procedure [^`]+)`")


def rows() -> dict[str, str]:
    """Every command of `certus` on files of the project, with the row that it stands in."""
    return {
        command: line
        for line in PAGE.splitlines()
        if line.startswith("| ")
        for command in re.findall(r"`((?:certus|python examples/\S+) [^`]+)`", line)
        if not PLACEHOLDERS.search(command)
    }


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples, and with `certus` and `python` in its directory `bin`."""
    directory = tmp_path_factory.mktemp("papers")
    (directory / "examples").symlink_to(ROOT / "examples")
    (directory / "bin").mkdir()
    for name, arguments in (("certus", "-m certus"), ("python", "")):
        script = directory / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    return directory


@pytest.mark.parametrize("command", rows())
def test_a_command_of_the_page(command: str, shell: Path) -> None:
    environment = ENVIRONMENT | {"PATH": f"{shell / 'bin'}:{ENVIRONMENT['PATH']}"}
    done = subprocess.run(
        command,
        shell=True,
        cwd=shell,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    for verdict, text in STATED.findall(rows()[command]):
        assert (verdict or text) in done.stdout


def test_the_page_has_commands() -> None:
    assert len(rows()) > 20
