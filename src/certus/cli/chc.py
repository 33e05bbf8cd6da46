"""`certus chc FILE`: Horn clauses solved, or a program written as Horn clauses."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.exits import Exit
from certus.cli.units import duration, size
from certus.cli.verify import add_question, assignment

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
    parser.add_argument(
        "--set",
        metavar="ENGINE.FIELD=VALUE",
        type=assignment,
        action="append",
        default=[],
        help="set an option of an engine; may be repeated",
    )
    add_question(parser)
    parser.add_argument("--timeout", metavar="TIME", type=duration, help="time limit: 60s, 2m, 500ms (60s)")
    parser.add_argument("--memory", metavar="SIZE", type=size, help="memory limit: 4GB, 500MB")
    parser.add_argument("--evidence", metavar="DIR", type=Path, help="save the evidence for `certus check`")
    parser.add_argument("--log-queries", metavar="DIR", type=Path, help="save each solver query as SMT-LIB")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quiet", action="store_true", help="one line only")
    amount.add_argument("--verbose", action="store_true", help="all that was found out, and statistics")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.pipeline.settings import Settings
    from certus.pipeline.verify import verify

    given = {
        "engine": arguments.engine,
        "options": dict(arguments.set) or None,
        "property_name": arguments.property,
        "data_model": arguments.data_model,
        "clang_arguments": tuple(arguments.clang) or None,
        "timeout": arguments.timeout,
        "memory": arguments.memory,
        "evidence": arguments.evidence,
        "log_queries": arguments.log_queries,
    }
    settings = Settings(**{name: value for name, value in given.items() if value is not None})
    if arguments.emit:
        from certus.pipeline.emit import emit_clauses

        emit(emit_clauses(arguments.file, settings).rstrip("\n"), arguments.output)
        return Exit.HOLDS
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    emit(render(outcome, arguments), arguments.output)
    return Exit.of(outcome.answer)


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.report.clauses import render_clauses
    from certus.report.text import Detail

    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    return render_clauses(outcome, detail=detail)
