"""`certus abstract FILE`: print the Boolean program that abstracts a program by predicates."""

from __future__ import annotations

import argparse
import sys

from certus.cli.arguments import add_file, add_limits, add_output, add_question, settings_of
from certus.cli.terminal import Exit

_DESCRIPTION = """Print the abstraction of FILE by predicates: a Boolean program in which each variable
says whether its predicate is true."""
_EPILOG = """predicates:
  'global: x <= 5, y >= 13; swap: t == old(x)'
  A scope is `global` or a procedure, and extends to the next one. `result` (or result0,
  result1, ...) is the return value of a procedure, `old(x)` the value of a global or
  parameter at its entry. Predicates about C programs are over mathematical integers.

The output is a program of the small language: save it as .lp and verify it. If it holds, so does FILE."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_file(parser)
    parser.add_argument(
        "--predicates",
        metavar="TEXT",
        help="the predicates (default: those that the engine `predicate` discovers)",
    )
    add_question(parser)
    add_limits(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the abstraction."""
    from certus.cli.terminal import ProgressLine, check_places, emit
    from certus.run.abstract import abstract

    check_places(arguments.output)
    settings = settings_of(arguments)
    with ProgressLine(sys.stderr) as progress:
        text = abstract(arguments.file, arguments.predicates, settings, on_progress=progress.show)
    emit(text.rstrip("\n"), arguments.output)
    return Exit.HOLDS
