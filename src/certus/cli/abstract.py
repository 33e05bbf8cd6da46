"""`certus abstract FILE`: the Boolean program that predicates make of a program."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from certus.cli.arguments import add_limits, add_question, settings_of
from certus.cli.exits import Exit

_EPILOG = """predicates:
  'global: x <= 5, y >= 13; swap: t == old(x)'
  A scope is `global` or a procedure, and lasts until the next one. `result` (or result0,
  result1, ...) is what a procedure returns, `old(x)` what a global or parameter was when
  the procedure was entered. Predicates about C programs are read over mathematical integers.

The output is a program of the small language: save it as .lp and verify it. If it holds, so does FILE."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "abstract",
        help="print the Boolean program that predicates make of a program",
        description="Print the abstraction of FILE by predicates: a Boolean program, in which each variable "
        "tells whether its predicate is true.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the program, or a task definition (.yml)")
    parser.add_argument(
        "--predicates", metavar="TEXT", help="the predicates (those that the engine `predicate` finds)"
    )
    add_question(parser)
    add_limits(parser)
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.pipeline.abstract import abstract

    settings = settings_of(arguments)
    with ProgressLine(sys.stderr) as progress:
        text = abstract(arguments.file, arguments.predicates, settings, on_progress=progress.show)
    emit(text.rstrip("\n"), arguments.output)
    return Exit.HOLDS
