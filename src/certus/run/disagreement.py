"""Save runs that disagree, and report compilers that do."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certus.core.diagnostic import Diagnostic, Span
from certus.core.horn import HornSystem
from certus.core.outcome import COMPILERS_DISAGREE
from certus.core.program import Program
from certus.run.sources import texts_of


def save_runs(evidence: Path | None, subject: Program | HornSystem, runs: Mapping[str, Any]) -> Path:
    """Save the program and its runs; return the directory, a new one if `evidence` names none."""
    place = evidence or Path(tempfile.mkdtemp(prefix="certus-disagreement-"))
    place.mkdir(parents=True, exist_ok=True)
    record = {"file": subject.file, **runs}
    (place / "disagreement.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for number, (file, text) in enumerate(texts_of(subject).items(), 1):
        name = f"program{'' if number == 1 else number}{Path(file).suffix}"
        (place / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return place


def inputs_text(inputs: Mapping[str, tuple[int, ...]]) -> str:
    """Return the first inputs of each function as part of a message; empty if there are none."""
    values_text = ", ".join(f"{name}() = {value}" for name, values in inputs.items() for value in values[:3])
    return f" with the inputs {values_text}" if values_text else ""


def compilers_disagree(
    clang: str, gcc: str, inputs: Mapping[str, tuple[int, ...]], place: Path, span: Span | None = None
) -> Diagnostic:
    """Return the reason of UNKNOWN for a program that ends differently with gcc; `place` has the runs."""
    return Diagnostic(
        COMPILERS_DISAGREE,
        f"the program depends on the compiler{inputs_text(inputs)}: with Clang, {clang}; with gcc, {gcc}",
        span=span,
        hint="C leaves some things open, such as which operand is evaluated first or in which type a wide "
        f"bit-field is computed with: make the program independent of them; both runs are saved in {place}",
    )
