"""Runs that disagree, saved for those who look into it, and what the user is told of compilers that do."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certus.core.challenge import COMPILERS_DISAGREE
from certus.core.diagnostic import Diagnostic, Span
from certus.core.horn import HornSystem
from certus.core.program import Program


def save_runs(evidence: Path | None, subject: Program | HornSystem, runs: Mapping[str, Any]) -> Path:
    """Save the program and what its runs did; return the directory, a new one if none is given."""
    place = evidence or Path(tempfile.mkdtemp(prefix="certus-disagreement-"))
    place.mkdir(parents=True, exist_ok=True)
    told = {"file": subject.file, **runs}
    (place / "disagreement.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (place / f"program{Path(subject.file).suffix}").write_text(
        subject.source, encoding="utf-8", errors="surrogateescape"
    )
    return place


def inputs_text(inputs: Mapping[str, tuple[int, ...]]) -> str:
    """The first inputs of each function, as messages have them; empty if there are none."""
    given = ", ".join(f"{name}() = {value}" for name, values in inputs.items() for value in values[:3])
    return f" with the inputs {given}" if given else ""


def compilers_disagree(
    clang: str, gcc: str, inputs: Mapping[str, tuple[int, ...]], place: Path, span: Span | None = None
) -> Diagnostic:
    """The cause of UNKNOWN if the program ends otherwise with gcc; `place` is where the runs are saved."""
    return Diagnostic(
        COMPILERS_DISAGREE,
        f"the program depends on the compiler{inputs_text(inputs)}: with Clang, {clang}; with gcc, {gcc}",
        span=span,
        hint="C leaves some things open, such as which operand is evaluated first or in which type a wide "
        f"bit-field is computed with: make the program independent of them; both runs are saved in {place}",
    )
