"""Which Certus made a row, and whether what its verdict rests on has changed since.

Where Certus runs from a repository, a row's version names the commit. Verdicts rest on `core`, `logic`,
`frontend` and `validate`: a row is stale if its commit does not have the last change to one of these, or
is none that can be found again, because files of the package were changed without being committed. Other
tools' rows are never stale.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import certus
from certus.core.version import VERSION
from certus.system.tools import ToolFailed, find_tool, run_tool

TRUSTED: Final = ("core", "logic", "frontend", "validate")
DIRTY: Final = "-dirty"
_DIGITS: Final = 12  # of a commit


@cache
def our_version() -> str:
    """The version, and the commit where Certus runs from a repository."""
    commit, changed = (
        _git("rev-parse", f"--short={_DIGITS}", "HEAD"),
        _git("status", "--porcelain", "--", "."),
    )
    return VERSION if commit is None else f"{VERSION}+{commit}{DIRTY if changed else ''}"


@cache
def _fresh() -> frozenset[str] | None:
    """The commits that have the last change to what has to be trusted; None where there is no repository."""
    last = _git("log", "-1", "--format=%H", "--", *TRUSTED)
    if not last:
        return None
    since = _git("rev-list", f"{last}..HEAD")
    return None if since is None else frozenset(c[:_DIGITS] for c in (last, *since.split()))


def is_stale(version: str) -> bool:
    """Whether what the verdict of a row of ours rests on has changed since that version."""
    fresh = _fresh()
    if fresh is None:
        return version != our_version()
    return version.partition("+")[2] not in fresh


def _git(*words: str) -> str | None:
    git, here = find_tool("git"), Path(certus.__file__).resolve().parent
    if git is None:
        return None
    try:
        done = run_tool(git, ("-c", f"safe.directory={here}", "-C", str(here), *words), seconds=10)
    except ToolFailed:
        return None
    return None if done.code else done.output.decode().strip()
