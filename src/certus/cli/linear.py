"""`certus linear FILE`: print the Linear Program that abstracts a program."""

from __future__ import annotations

import argparse

from certus.cli.arguments import add_file, add_limits, add_output, add_question, settings_of
from certus.cli.terminal import Exit

_DESCRIPTION = """Print the abstraction of FILE to linear arithmetic: a program over integers and Booleans.
Machine integers become integers within their ranges. A product of variables, an element of an
array or an operation on bits becomes an arbitrary value; comments say which."""
_EPILOG = """The output is a program of the small language: save it as .lp and verify it. If it
holds, so does FILE. If it is violated, the arbitrary values may be the reason."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_file(parser)
    add_question(parser)
    add_limits(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the Linear Program."""
    from certus.cli.terminal import check_places, emit
    from certus.run.linear import linear

    check_places(arguments.output)
    text = linear(arguments.file, settings_of(arguments))
    emit(text.rstrip("\n"), arguments.output)
    return Exit.HOLDS
