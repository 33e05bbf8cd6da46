"""Report that there is no answer: on standard error, and in every report that the user asked for, so that a
report of an earlier run does not stay in place."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from certus.cli.terminal import CannotWrite, Exit, coloured, emit, write
from certus.core.diagnostic import Diagnostic
from certus.report.text import Palette, render_diagnostic

_LARGEST: Final = 16 << 20  # bytes; diagnostics about a larger file have no excerpt
_TEXT_OPTIONS: Final = ("predicates", "assume")  # diagnostics may point into the text of these options


def refuse(
    arguments: argparse.Namespace, diagnostics: Sequence[Diagnostic], code: Exit, *, is_answered: bool = False
) -> Exit:
    """Print diagnostics, and write them to all requested reports unless these hold an answer."""
    option_texts = {f"--{name}": getattr(arguments, name, None) for name in _TEXT_OPTIONS}

    def text_of(file: str) -> str | None:
        return option_texts.get(file) or source_of(file)

    palette = Palette(coloured(sys.stderr))
    for diagnostic in diagnostics:
        source = text_of("" if diagnostic.span is None else diagnostic.span.file)
        write(sys.stderr, render_diagnostic(diagnostic, source, palette=palette) + "\n")
    if not is_answered:
        _write_reports(arguments, diagnostics, code, text_of)
    return code


def report_internal_error(arguments: argparse.Namespace, sentence: str) -> Exit:
    """Print a sentence about an internal error, and write it to all requested reports."""
    write(sys.stderr, f"certus: {sentence}\n")
    _write_reports(arguments, [Diagnostic("internal-error", sentence)], Exit.INTERNAL, lambda _: None)
    return Exit.INTERNAL


@cache
def source_of(file: str) -> str | None:
    """Return the text of a file for excerpts; None if it cannot be read."""
    try:
        path = Path(file)
        if path.stat().st_size > _LARGEST:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None


def _write_reports(
    arguments: argparse.Namespace,
    diagnostics: Sequence[Diagnostic],
    code: Exit,
    text_of: Callable[[str], str | None],
) -> None:
    """Write the diagnostics in all requested forms. Failures to write are not reported as well."""
    files = getattr(arguments, "file", "")
    file = str(files[0] if isinstance(files, list) else files)
    if getattr(arguments, "json", False) and code is Exit.INPUT:
        from certus.report.json import render_input_error_json

        with suppress(CannotWrite):
            emit(render_input_error_json(file, diagnostics), arguments.output)
    if getattr(arguments, "sarif", None) is not None:
        from certus.report.sarif import render_refusal_sarif

        with suppress(CannotWrite):
            emit(render_refusal_sarif(file, diagnostics, exit_code=code), arguments.sarif)
    if getattr(arguments, "html", None) is not None and code is Exit.INPUT:
        from certus.report.html.page import render_refusal

        with suppress(CannotWrite):
            emit(render_refusal(file, diagnostics, text_of).rstrip("\n"), arguments.html)
