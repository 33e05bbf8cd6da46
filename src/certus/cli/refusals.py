"""What is written where there is no answer: a report that was asked for says so, rather than that of an
earlier run staying in its place."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress

from certus.cli.exits import Exit
from certus.cli.terminal import CannotWrite, emit
from certus.core.diagnostic import Diagnostic


def write_refusals(
    arguments: argparse.Namespace,
    diagnostics: Sequence[Diagnostic],
    code: Exit,
    source_of: Callable[[str], str | None],
) -> None:
    """In all forms that were asked for. One that cannot be written is not reported beside what is."""
    given = getattr(arguments, "file", "")
    file = str(given[0] if isinstance(given, list) else given)
    if getattr(arguments, "json", False) and code is Exit.INPUT:
        from certus.report.json import render_input_error_json

        with suppress(CannotWrite):
            emit(render_input_error_json(file, diagnostics), arguments.output)
    if getattr(arguments, "sarif", None) is not None:
        from certus.report.sarif import render_refusal_sarif

        with suppress(CannotWrite):
            emit(render_refusal_sarif(file, diagnostics, exit_code=code), arguments.sarif)
    if getattr(arguments, "html", None) is not None and code is Exit.INPUT:
        from certus.report.html.refusal import render_refusal

        with suppress(CannotWrite):
            emit(render_refusal(file, diagnostics, source_of).rstrip("\n"), arguments.html)
