"""`certus cfa FILE`: the control-flow automaton, and how the rules of large blocks shrink it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import BLOCKS, add_question
from certus.cli.exits import Exit

if TYPE_CHECKING:
    from certus.core.program import Program
    from certus.transform.large_blocks import RuleSize


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "cfa",
        help="show the control-flow automaton",
        description="Print the control-flow automaton of FILE, and its size before and after each rule.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the program, or a task definition (.yml)")
    parser.add_argument("--blocks", choices=BLOCKS, default="large", help="size of the blocks (large)")
    parser.add_argument("--format", choices=("text", "dot", "svg"), default="text", help="(text)")
    add_question(parser)
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import emit, write
    from certus.frontend import load_question, read_question
    from certus.report.cfa import to_dot, to_svg
    from certus.transform.large_blocks import encode_program

    question = read_question(arguments.file, property=arguments.property, data_model=arguments.data_model)
    program = load_question(question, arguments=arguments.clang).program
    encoded, sizes = encode_program(program, arguments.blocks)
    table = "\n".join(size_table(sizes))
    if arguments.format == "text":
        emit("\n".join([table, *edge_list(encoded)]), arguments.output)
        return Exit.HOLDS
    picture = to_dot(encoded) if arguments.format == "dot" else to_svg(encoded)
    emit(picture.rstrip("\n"), arguments.output)
    write(sys.stderr, f"{table}\n")
    return Exit.HOLDS


def size_table(sizes: Sequence[RuleSize]) -> Iterator[str]:
    yield f"{'rule':<20} {'applied':>8} {'locations':>10} {'edges':>8}"
    for size in sizes:
        yield f"{size.rule:<20} {size.applications:>8} {size.locations:>10} {size.edges:>8}"


def edge_list(program: Program) -> Iterator[str]:
    from certus.report.cfa import edge_lines

    for procedure in program.procedures.values():
        yield f"{procedure.name}: {procedure.entry} to {procedure.exit}"
        for edge in procedure.edges:
            first, *rest = edge_lines(edge, program.source_names)
            step = f"  {edge.source} -> {edge.target}"
            yield f"{step:<28} {first}".rstrip()
            yield from (f"{'':<28} {line}" for line in rest)
