"""Temporary files of children: none remain, however a child ends; what has to stay is elsewhere."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from certus.system.child import Reporter, run_limited
from certus.system.child_main import lasting_directory
from certus.system.supervise import Supervised


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def abandoned(then: Callable[[], bytes]) -> Callable[[Reporter], bytes]:
    """Return work that creates a file in a temporary directory, sends its place, and does not remove it."""

    def work(reporter: Reporter) -> bytes:
        file = Path(tempfile.mkdtemp(prefix="certus-"), "file")
        file.write_text("")
        reporter.keep(str(file).encode())
        return then()

    return work


@pytest.mark.parametrize(
    ("then", "kind"), [(lambda: time.sleep(60) or b"", "timeout"), (lambda: b"done", "done")]
)
def test_the_files_of_a_child_end_with_it(then: Callable[[], bytes], kind: str, place: Path) -> None:
    assert run_limited(abandoned(then), seconds=3, memory=None).kind == kind
    assert list(place.iterdir()) == []


def test_the_files_of_a_grandchild_end_with_the_child(place: Path) -> None:
    def work(reporter: Reporter) -> bytes:
        inner = abandoned(lambda: time.sleep(60) or b"")
        return run_limited(inner, seconds=60, memory=None, on_progress=reporter.progress).payload or b""

    assert run_limited(work, seconds=3, memory=None).kind == "timeout"
    assert list(place.iterdir()) == []


def test_a_lasting_directory_stays(place: Path) -> None:
    def work(_: Reporter) -> bytes:
        inner = run_limited(lambda _: str(lasting_directory("kept-")).encode(), seconds=10, memory=None)
        return inner.payload or b""

    result = run_limited(work, seconds=20, memory=None)
    assert [str(each).encode() for each in place.iterdir()] == [result.payload]


def test_a_child_works_without_a_place_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert run_limited(lambda _: b"done", seconds=10, memory=None).payload == b"done"


def test_the_files_of_a_supervised_command_end_with_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(place))
    text = "mktemp -d; sleep 60"
    ended = Supervised(["sh", "-c", text], seconds=1).result()
    assert (ended.ending, ended.output.startswith(str(place))) == ("timeout", True)
    assert list(place.iterdir()) == []
