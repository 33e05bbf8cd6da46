"""`certus cfa FILE`: print or draw the control-flow automaton, and its size after each block rule."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from certus.cli.arguments import BLOCKS, add_file, add_options, add_output, add_question, settings_of
from certus.cli.terminal import Exit

if TYPE_CHECKING:
    from certus.core.program import Program
    from certus.passes.large_blocks import RuleSize

_DESCRIPTION = """Print the control-flow automaton of FILE, and its size before and after each of
the rules that merge edges to larger blocks."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description = _DESCRIPTION
    add_file(parser)
    parser.add_argument("--blocks", choices=BLOCKS, default="large", help="size of blocks (default: large)")
    parser.add_argument(
        "--format", choices=("text", "dot", "svg"), default="text", help="form of the output (default: text)"
    )
    add_options(parser)
    add_question(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the automaton as text, DOT or SVG."""
    from certus.cli.terminal import check_places, emit, write
    from certus.frontend import load_question, read_question
    from certus.report.cfa import to_dot, to_svg
    from certus.run.settings import block_pass

    check_places(arguments.output)
    question = read_question(arguments.file, property=arguments.property, data_model=arguments.data_model)
    program = load_question(question, arguments=arguments.clang).program
    encoded, sizes = block_pass(settings_of(arguments)).encode(program)
    table = "\n".join(size_table(sizes))
    if arguments.format == "text":
        emit("\n".join([table, *edge_list(encoded)]), arguments.output)
        return Exit.HOLDS
    picture = to_dot(encoded) if arguments.format == "dot" else to_svg(encoded)
    emit(picture.rstrip("\n"), arguments.output)
    write(sys.stderr, f"{table}\n")
    return Exit.HOLDS


def size_table(sizes: Sequence[RuleSize]) -> Iterator[str]:
    """Yield the lines of a table with the size of the automaton after each rule."""
    yield f"{'rule':<20} {'applied':>8} {'locations':>10} {'edges':>8}"
    for size in sizes:
        yield f"{size.rule:<20} {size.applications:>8} {size.locations:>10} {size.edges:>8}"


def edge_list(program: Program) -> Iterator[str]:
    """Yield the edges of each procedure as text."""
    from certus.report.cfa import edge_lines

    for procedure in program.procedures.values():
        yield f"{procedure.name}: {procedure.entry} to {procedure.exit}"
        for edge in procedure.edges:
            first, *rest = edge_lines(edge, program.source_names)
            step = f"  {edge.source} -> {edge.target}"
            yield f"{step:<28} {first}".rstrip()
            yield from (f"{'':<28} {line}" for line in rest)
