"""Rows know their commit, and whether what they rest on has changed since."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import certus
from certus.bench import versions
from certus.core.version import VERSION


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository in which Certus seems to be."""
    (tmp_path / "core").mkdir()
    (tmp_path / "engines").mkdir()
    monkeypatch.setattr(certus, "__file__", str(tmp_path / "__init__.py"))
    git(tmp_path, "init", "-q")
    for cached in (versions.our_version, versions._fresh):
        cached.cache_clear()
    yield tmp_path
    for cached in (versions.our_version, versions._fresh):
        cached.cache_clear()


def git(place: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", "-C", str(place), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(place: Path, file: str) -> str:
    """A new version, after a change of the file."""
    with (place / file).open("a") as stream:
        stream.write("changed\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", file)
    versions.our_version.cache_clear()
    versions._fresh.cache_clear()
    return versions.our_version()


def test_rows_before_a_change_to_what_is_trusted_are_stale(repository: Path) -> None:
    before = commit(repository, "core/terms.py")
    assert before.startswith(f"{VERSION}+")
    engine = commit(repository, "engines/bmc.py")
    assert [versions.is_stale(each) for each in (before, engine)] == [False, False]
    after = commit(repository, "core/terms.py")
    assert [versions.is_stale(each) for each in (before, engine, after)] == [True, True, False]
    assert versions.is_stale(after + versions.DIRTY)
    assert versions.is_stale(VERSION)
    (repository / "core" / "terms.py").write_text("not committed")
    versions.our_version.cache_clear()
    assert versions.our_version() == after + versions.DIRTY
