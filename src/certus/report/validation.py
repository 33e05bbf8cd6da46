"""What was found out about a witness: for people, and as JSON (docs/json.md)."""

from __future__ import annotations

import json
from typing import Any, Final

from certus.core.validation import Validation
from certus.core.version import VERSION
from certus.report.diagnostics import PLAIN, Palette, printable, render_diagnostic
from certus.report.json import diagnostic_json, outcome_json
from certus.report.text import render_text

FORMAT: Final = 1
_COLOURS: Final = {"CONFIRMED": "green", "REFUTED": "red", "UNKNOWN": "yellow"}


def render_validation(
    found: Validation, witness: str | None, *, quiet: bool = False, palette: Palette = PLAIN
) -> str:
    """The answer, why, and what was found about the program; `witness` is its text."""
    answer = palette.paint(found.answer, _COLOURS[found.answer])
    about = f"{printable(found.witness)}  {printable(found.file)}  {found.property_name}"
    lines = [f"{answer}  {about}  ({found.kind} witness, {found.seconds:.2f} s)"]
    if quiet:
        return lines[0]
    lines.append(_reason(found, witness, palette))
    if found.outcome is not None:
        _, *details = render_text(found.outcome, palette=palette).split("\n")
        lines += [f"  {line}".rstrip() for line in details]
    return "\n".join(lines)


def _reason(found: Validation, witness: str | None, palette: Palette) -> str:
    if found.reason.span is None and found.answer != "UNKNOWN":
        return f"  {found.reason.message}"
    return render_diagnostic(
        found.reason,
        witness if found.reason.span is not None and found.reason.span.file == found.witness else None,
        palette=palette,
        label=found.answer.lower(),
        colour=_COLOURS[found.answer],
    )


def render_validation_json(found: Validation) -> str:
    data: dict[str, Any] = {
        "certus": VERSION,
        "format": FORMAT,
        "command": "validate",
        "witness": found.witness,
        "file": found.file,
        "property": found.property_name,
        "kind": found.kind,
        "answer": found.answer,
        "reason": diagnostic_json(found.reason),
        "outcome": None if found.outcome is None else outcome_json(found.outcome),
        "seconds": found.seconds,
    }
    return json.dumps(data, indent=2, ensure_ascii=False)
