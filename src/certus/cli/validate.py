"""`certus validate WITNESS PROGRAM`: check a witness that anyone wrote."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from certus.cli.arguments import add_execute, add_limits, add_question, add_solvers, settings_of
from certus.cli.exits import Exit

_EPILOG = """exit codes:
  0  the witness is confirmed
  1  the witness is refuted
  2  malformed witness, program or usage
  3  unknown: a limit was reached, or something is not supported
  4  internal error (CERTUS_DEBUG=1 shows where)"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "validate",
        help="check a witness",
        description="Check a witness (format 2.0) of a C program: CONFIRMED, REFUTED or UNKNOWN.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("witness", metavar="WITNESS", type=Path, help="the witness (.yml)")
    parser.add_argument("file", metavar="PROGRAM", type=Path, help="the program that it is about")
    add_question(parser)
    add_limits(parser)
    add_solvers(parser)
    add_execute(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    parser.add_argument("-q", "--quiet", action="store_true", help="one line only")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write the report to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.sources import source_of
    from certus.cli.terminal import ProgressLine, coloured, emit
    from certus.pipeline.witness import validate_witness
    from certus.report.diagnostics import Palette
    from certus.report.validation import render_validation, render_validation_json

    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        found = validate_witness(
            arguments.witness, arguments.file, settings_of(arguments), on_progress=progress.show
        )
    if arguments.json:
        text = render_validation_json(found)
    else:
        palette = Palette(arguments.output is None and coloured(sys.stdout))
        text = render_validation(found, source_of(arguments.witness), quiet=arguments.quiet, palette=palette)
    emit(text, arguments.output)
    return Exit.of_witness(found.answer)
