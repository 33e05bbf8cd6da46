"""The version of Certus that a row comes from, and whether the code that verdicts depend on has changed
since.

If Certus runs from a repository, the version of a row names the commit. Verdicts depend on the packages in
`TRUSTED`: a row is stale if its commit lacks the last change to one of these, or if its code was not
committed and so cannot be restored. Rows of other tools are never stale.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import certus
from certus.core.version import VERSION
from certus.system.tools import ToolFailed, find_tool, run_tool

TRUSTED: Final = ("core", "codec", "encoding", "solvers", "frontend", "interpreter", "check")
DIRTY: Final = "-dirty"
_DIGITS: Final = 12  # of a commit


@cache
def our_version() -> str:
    """Return the version of Certus, with the commit if it runs from a repository."""
    commit, changed = (
        _git("rev-parse", f"--short={_DIGITS}", "HEAD"),
        _git("status", "--porcelain", "--", "."),
    )
    return VERSION if commit is None else f"{VERSION}+{commit}{DIRTY if changed else ''}"


@cache
def _fresh() -> frozenset[str] | None:
    """Return the commits that contain the last change to a trusted package; None without a repository."""
    last = _git("log", "-1", "--format=%H", "--", *TRUSTED)
    if not last:
        return None
    since = _git("rev-list", f"{last}..HEAD")
    return None if since is None else frozenset(c[:_DIGITS] for c in (last, *since.split()))


def is_stale(version: str) -> bool:
    """Say whether a trusted package has changed since that version."""
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
