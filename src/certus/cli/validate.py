"""`certus validate WITNESS PROGRAM`: check a witness that any tool wrote."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from certus.cli.arguments import (
    add_execute,
    add_limits,
    add_output,
    add_question,
    add_solvers,
    settings_of,
)
from certus.cli.terminal import Exit

_DESCRIPTION = """Check a verification witness (format 2.0) of a C program: CONFIRMED, REFUTED or UNKNOWN.
Nothing that the witness says is trusted."""
_EPILOG = """exit codes:
  0  the witness is confirmed
  1  the witness is refuted
  2  malformed witness or program, or wrong usage
  3  unknown: a limit was reached, or something is not supported
  4  internal error (CERTUS_DEBUG=1 shows the traceback)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("witness", metavar="WITNESS", type=Path, help="the witness (.yml)")
    parser.add_argument("file", metavar="PROGRAM", type=Path, help="the C program that the witness is about")
    add_question(parser)
    add_limits(parser)
    add_solvers(parser)
    add_execute(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print one line only")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the answer."""
    from certus.cli.refusals import source_of
    from certus.cli.terminal import ProgressLine, check_places, coloured, emit
    from certus.report.text import Palette
    from certus.witness.report import render_validation, render_validation_json
    from certus.witness.validate import validate_witness

    check_places(arguments.output)
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        validation = validate_witness(
            arguments.witness, arguments.file, settings_of(arguments), on_progress=progress.show
        )
    if arguments.json:
        text = render_validation_json(validation)
    else:
        palette = Palette(arguments.output is None and coloured(sys.stdout))
        source = source_of(arguments.witness)
        text = render_validation(validation, source, quiet=arguments.quiet, palette=palette)
    emit(text, arguments.output)
    return Exit.of_witness(validation.answer)
