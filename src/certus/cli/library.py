"""`certus library FAMILY N`: the programs of the eureka library (seed 000, section 4)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from certus.cli.exits import Exit


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "library",
        help="write a program of the eureka library",
        description="Write the program of a family for N, or for every N at once. Without FAMILY, list them.",
        allow_abbrev=False,
    )
    parser.add_argument("family", metavar="FAMILY", nargs="?", help="the name of a family")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("number", metavar="N", nargs="?", type=int, help="how large the program is")
    size.add_argument("--symbolic", action="store_true", help="let N be any non-negative integer")
    parser.add_argument("--buggy", action="store_true", help="the variant whose property is violated")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import emit
    from certus.core.diagnostic import Diagnostic
    from certus.core.errors import InputError
    from certus.frontend.lp.library import program

    if arguments.family is None:
        emit("\n".join(_table()), arguments.output)
        return Exit.HOLDS
    if arguments.number is None and not arguments.symbolic:
        hint = f"certus library {arguments.family} 10, or certus library {arguments.family} --symbolic"
        raise InputError([Diagnostic("usage", "neither N nor --symbolic is given", hint=hint)])
    emit(program(arguments.family, arguments.number, buggy=arguments.buggy).rstrip("\n"), arguments.output)
    return Exit.HOLDS


def _table() -> Iterator[str]:
    """The families with the columns of the paper's Table 1."""
    from certus.frontend.lp.library import ASPECTS, FAMILIES

    yield " ".join([f"{'family':<14}", *(f"{aspect:<10}" for aspect in ASPECTS), "what it is"])
    for family in FAMILIES.values():
        marks = (f"{'x' if aspect in family.aspects else '':<10}" for aspect in ASPECTS)
        yield " ".join([f"{family.name:<14}", *marks, family.summary])
