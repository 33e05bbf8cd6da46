"""`certus chc FILE`: solve Horn clauses, or write a program as Horn clauses."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import (
    add_limits,
    add_options,
    add_question,
    add_records,
    add_report,
    add_solvers,
    settings_of,
)
from certus.cli.terminal import Exit
from certus.cli.verify import write_sarif
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError

if TYPE_CHECKING:
    from certus.core.outcome import Outcome

_EPILOG = """output:
  sat      the clauses have a model (a program is safe); the model follows as SMT-LIB definitions
  unsat    the clauses have no model; a derivation of false follows, clause by clause
  unknown  the reason follows

exit codes: 0 sat, 1 unsat, 2 malformed input or wrong usage, 3 unknown, 4 internal error"""

_DESCRIPTION = """Solve the Horn clauses of FILE (.smt2, .clp), or, with --emit, write the program or the
clauses in FILE as Horn clauses."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="Horn clauses (.smt2, .clp), a program, or a task definition (.yml)",
    )
    parser.add_argument("--emit", action="store_true", help="print the clauses instead of solving them")
    parser.add_argument(
        "--format",
        choices=("smtlib", "clp"),
        help="of --emit: SMT-LIB, or a constraint logic program (default: smtlib)",
    )
    parser.add_argument(
        "--engine", metavar="NAME", help="use one engine (default: all that solve Horn clauses)"
    )
    add_options(parser)
    add_question(parser)
    add_limits(parser)
    add_solvers(parser)
    add_records(parser)
    add_report(parser, verbose="print all findings and statistics")


def run(arguments: argparse.Namespace) -> int:
    """Solve the clauses, or print those of a program."""
    from certus.cli.terminal import ProgressLine, check_places, emit, write_all
    from certus.run.verify import verify

    check_places(arguments.output, arguments.sarif)
    settings = settings_of(arguments)
    if arguments.format and not arguments.emit:
        raise InputError([Diagnostic("usage", "--format is for --emit.", hint="Add --emit.")])
    if arguments.emit:
        from certus.run.emit import emit_clauses

        text = emit_clauses(arguments.file, settings, format=arguments.format or "smtlib")
        emit(text.rstrip("\n"), arguments.output)
        return Exit.HOLDS
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    write_all(
        lambda: emit(render(outcome, arguments), arguments.output),
        lambda: write_sarif(outcome, arguments.sarif),
    )
    return Exit.of(outcome.answer)


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    """Render the report that goes to standard output."""
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.report.chc import render_clauses
    from certus.report.text import Detail

    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    return render_clauses(outcome, detail=detail)
