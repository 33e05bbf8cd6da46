"""Render the result of validating a witness, as text and as JSON (docs/json.md)."""

from __future__ import annotations

import json
from typing import Final

from certus.core.version import VERSION
from certus.report.json import diagnostic_json, outcome_json
from certus.report.text import PLAIN, Palette, printable, render_diagnostic, render_text
from certus.witness.validate.case import Validation

FORMAT: Final = 1
_COLOURS: Final = {"CONFIRMED": "green", "REFUTED": "red", "UNKNOWN": "yellow"}


def render_validation(
    validation: Validation, witness: str | None, *, quiet: bool = False, palette: Palette = PLAIN
) -> str:
    """Render the answer, its reason, and the evidence about the program; `witness` is the witness's text."""
    answer = palette.paint(validation.answer, _COLOURS[validation.answer])
    about = f"{printable(validation.witness)}  {printable(validation.file)}  {validation.property_name}"
    lines = [f"{answer}  {about}  ({validation.kind} witness, {validation.seconds:.2f} s)"]
    if quiet:
        return lines[0]
    lines.append(_reason(validation, witness, palette))
    if validation.outcome is not None:
        _, *details = render_text(validation.outcome, palette=palette).split("\n")
        lines += [f"  {line}".rstrip() for line in details]
    return "\n".join(lines)


def _reason(validation: Validation, witness: str | None, palette: Palette) -> str:
    reason = validation.reason
    if reason.span is None and validation.answer != "UNKNOWN":
        return f"  {reason.message}"
    return render_diagnostic(
        reason,
        witness if reason.span is not None and reason.span.file == validation.witness else None,
        palette=palette,
        label=validation.answer.lower(),
        colour=_COLOURS[validation.answer],
    )


def render_validation_json(validation: Validation) -> str:
    """Render the result as JSON text, without a final newline."""
    data = {
        "certus": VERSION,
        "format": FORMAT,
        "command": "validate",
        "witness": validation.witness,
        "file": validation.file,
        "property": validation.property_name,
        "kind": validation.kind,
        "answer": validation.answer,
        "reason": diagnostic_json(validation.reason),
        "outcome": None if validation.outcome is None else outcome_json(validation.outcome),
        "seconds": validation.seconds,
    }
    return json.dumps(data, indent=2, ensure_ascii=False)
