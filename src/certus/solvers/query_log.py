"""Write every solver query to a file that an SMT solver can run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certus.codec.smtlib import script
from certus.core.terms import Expr


class QueryLog:
    """A log of queries in a directory, numbered in the order of the solver calls.

    A query is written before the solver starts, so a query that never ends is logged too; its answer is
    appended as a comment. Several logs may share a directory: no file is ever overwritten."""

    def __init__(self, directory: Path | str) -> None:
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number = 0  # number of the last query

    def query(self, formulas: Sequence[Expr], *, purpose: str, solver: str) -> Path:
        """Write a query for the satisfiability of the conjunction of `formulas`; return its file."""
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
        """Append the answer to a query file."""
        with path.open("a", encoding="utf-8") as file:
            file.write(f"; answer: {answer} after {seconds:.3f} s\n")


def _slug(purpose: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in purpose)
