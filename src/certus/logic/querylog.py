"""Every solver query as a file that can be run alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certus.core.smtlib import script
from certus.core.terms import Expr


class QueryLog:
    """Writes queries into a directory, numbered in the order in which they were asked.

    A query is written before it is asked, so that one that never ends is there too; its answer is
    added as a comment afterwards. Several logs may share a directory: no file is ever overwritten."""

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number = 0  # of the last query

    def query(self, formulas: Sequence[Expr], *, purpose: str, solver: str) -> Path:
        """Save the question whether `formulas` are satisfiable together."""
        text = script(formulas, comment=f"purpose: {purpose}\nsolver: {solver}")
        while True:
            self._number += 1
            path = self._directory / f"{self._number:06d}-{_slug(purpose)}.smt2"
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(text)
            except FileExistsError:
                continue
            return path

    def answer(self, path: Path, answer: str, seconds: float) -> None:
        """Note the answer to a query saved before."""
        with path.open("a", encoding="utf-8") as file:
            file.write(f"; answer: {answer} after {seconds:.3f} s\n")


def _slug(purpose: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in purpose)
