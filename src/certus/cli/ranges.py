"""`certus ranges FILE`: print the proved range of every variable, and the bits that it saves."""

from __future__ import annotations

import argparse
import sys

from certus.cli.arguments import (
    add_file,
    add_limits,
    add_options,
    add_output,
    add_question,
    bound,
    settings_of,
)
from certus.cli.terminal import Exit

_DESCRIPTION = """Print a proved range for every variable of FILE, with the number of bits of its type and the
number of bits that the range needs. If the program has something to verify, only the variables that
matter for it are shown."""
_EPILOG = """With --function, one function is analysed on its own, for all arguments that satisfy --assume.
Bounds may then mention its parameters:
  certus ranges prog.c --function foo --assume '0 <= N && N < 2147483647'
With --bound K, the ranges hold only for executions that enter each loop head at most K times."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_file(parser)
    parser.add_argument("--function", metavar="NAME", help="analyse one function on its own")
    parser.add_argument(
        "--assume", metavar="CONDITION", help="with --function: a condition on its parameters and globals"
    )
    parser.add_argument(
        "--bound",
        dest="entries",
        metavar="K",
        type=bound,
        help="only executions that enter each loop head at most K times",
    )
    add_question(parser)
    add_limits(parser)
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print the ranges as JSON (docs/json.md)")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the ranges."""
    from certus.cli.terminal import ProgressLine, check_places, emit
    from certus.report.ranges import render_ranges, render_ranges_json
    from certus.run.ranges import Wanted, ranges

    check_places(arguments.output)
    settings = settings_of(arguments)
    wanted = Wanted(arguments.function, arguments.assume, arguments.entries)
    with ProgressLine(sys.stderr) as progress:
        report = ranges(arguments.file, wanted, settings, on_progress=progress.show)
    emit(render_ranges_json(report) if arguments.json else render_ranges(report), arguments.output)
    return Exit.HOLDS
