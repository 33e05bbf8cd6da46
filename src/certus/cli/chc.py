"""`certus chc FILE`: Horn clauses solved, or a program written as Horn clauses."""

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
from certus.cli.exits import Exit
from certus.cli.verify import write_sarif

if TYPE_CHECKING:
    from certus.core.outcome import Outcome

_EPILOG = """output:
  sat      the clauses have a model (a program is safe); the model follows, as definitions
  unsat    they have none; a derivation of false follows, clause by clause
  unknown  why not

exit codes: 0 sat, 1 unsat, 2 malformed input, 3 unknown"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "chc",
        help="solve constrained Horn clauses",
        description="Solve the Horn clauses of FILE (.smt2), or write the program in FILE as Horn clauses.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="Horn clauses (.smt2), a task, or a program")
    parser.add_argument("--emit", action="store_true", help="write the clauses of a program as SMT-LIB")
    parser.add_argument("--engine", metavar="NAME", help="how to look for an answer (spacer and clp)")
    add_options(parser)
    add_question(parser)
    add_limits(parser)
    add_solvers(parser)
    add_records(parser)
    add_report(parser, verbose="all that was found out, and statistics")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit, write_all
    from certus.pipeline.verify import verify

    settings = settings_of(arguments)
    if arguments.emit:
        from certus.pipeline.emit import emit_clauses

        emit(emit_clauses(arguments.file, settings).rstrip("\n"), arguments.output)
        return Exit.HOLDS
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    write_all(
        lambda: emit(render(outcome, arguments), arguments.output),
        lambda: write_sarif(outcome, arguments.sarif),
    )
    return Exit.of(outcome.answer)


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.report.clauses import render_clauses
    from certus.report.text import Detail

    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    return render_clauses(outcome, detail=detail)
