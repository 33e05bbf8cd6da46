"""`certus library FAMILY N`: print a program of the eureka library (Armando et al. 2004, section 4)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from certus.cli.arguments import add_output
from certus.cli.terminal import Exit

_DESCRIPTION = """Print the program of a family for one N, or with --symbolic for all N. Without
FAMILY, list the families."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.add_argument("family", metavar="FAMILY", nargs="?", help="the name of a family")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("number", metavar="N", nargs="?", type=int, help="the size of the program")
    size.add_argument("--symbolic", action="store_true", help="let N be any non-negative integer")
    parser.add_argument("--buggy", action="store_true", help="print the variant that violates its property")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a program, or the list of families."""
    from certus.cli.terminal import emit
    from certus.core.diagnostic import Diagnostic
    from certus.core.errors import InputError
    from certus.frontend.lp.library import FAMILIES, program

    if arguments.family is None:
        emit("\n".join(_table()), arguments.output)
        return Exit.HOLDS
    if arguments.family in FAMILIES and arguments.number is None and not arguments.symbolic:
        hint = f"certus library {arguments.family} 10, or certus library {arguments.family} --symbolic"
        raise InputError([Diagnostic("usage", "N or --symbolic is required", hint=hint)])
    emit(program(arguments.family, arguments.number, buggy=arguments.buggy).rstrip("\n"), arguments.output)
    return Exit.HOLDS


def _table() -> Iterator[str]:
    """Yield the families with the columns of the paper's Table 1."""
    from certus.frontend.lp.library import ASPECTS, FAMILIES

    yield " ".join([f"{'family':<14}", *(f"{aspect:<10}" for aspect in ASPECTS), "program"])
    for family in FAMILIES.values():
        marks = (f"{'x' if aspect in family.aspects else '':<10}" for aspect in ASPECTS)
        yield " ".join([f"{family.name:<14}", *marks, family.summary])
