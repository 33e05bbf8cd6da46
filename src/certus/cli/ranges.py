"""`certus ranges FILE`: the proved range of every variable, and the bits it saves."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from certus.cli.arguments import add_limits, add_options, add_question, bound, settings_of
from certus.cli.exits import Exit

_EPILOG = """With --function one procedure is analysed by itself, entered with any values that satisfy
--assume, and bounds may speak of its parameters:
  certus ranges prog.c --function foo --assume '0 <= N && N < 2147483647'
With --bound K the ranges are those of executions that enter each loop at most K times since control
came to it: they are no facts about others."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "ranges",
        help="show the proved ranges of variables",
        description="Print for every variable of FILE the range that its values are proved to lie in, the "
        "bits of its type and those that the range needs. If there is something to verify, only variables "
        "that it depends on are shown.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the program, or a task definition (.yml)")
    parser.add_argument("--function", metavar="NAME", help="analyse one function by itself")
    parser.add_argument("--assume", metavar="CONDITION", help="what holds when the function is entered")
    parser.add_argument(
        "--bound", dest="entries", metavar="K", type=bound, help="only executions with at most K loop entries"
    )
    add_question(parser)
    add_limits(parser)
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print the ranges as JSON (docs/json.md)")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.pipeline.ranges import Wanted, ranges
    from certus.report.ranges import render_ranges, render_ranges_json

    settings = settings_of(arguments)
    wanted = Wanted(arguments.function, arguments.assume, arguments.entries)
    with ProgressLine(sys.stderr) as progress:
        report = ranges(arguments.file, wanted, settings, on_progress=progress.show)
    emit(render_ranges_json(report) if arguments.json else render_ranges(report), arguments.output)
    return Exit.HOLDS
