"""`certus verify FILE`: the answer, and what backs it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import (
    BLOCKS,
    add_limits,
    add_options,
    add_question,
    add_records,
    add_report,
    add_solvers,
    bound,
    cores,
    names,
    settings_of,
)
from certus.cli.exits import Exit
from certus.cli.units import duration

if TYPE_CHECKING:
    from certus.core.outcome import Outcome
    from certus.pipeline.settings import Blocks

_DESCRIPTION = """Verify FILE: HOLDS, VIOLATED or UNKNOWN, with checked evidence. HOLDS needs a proof, whose
clauses are derived from the program again. A clause counts as proved if at least one solver discharges it
and none refutes it; --solvers 2 demands two. VIOLATED needs an execution that reaches the error when it is
replayed."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "verify",
        help="verify a program",
        description=_DESCRIPTION,
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="the program, or a task definition (.yml); a C program may have several files",
    )
    parser.add_argument("--engine", metavar="NAME", help="how to look for an answer; see `certus engines`")
    parser.add_argument("--engines", metavar="A,B,..", type=names, help="run these side by side")
    parser.add_argument("--cores", metavar="N", type=cores, help="processes at a time (all there are)")
    add_options(parser)
    parser.add_argument("--blocks", choices=BLOCKS, help="size of the blocks engines work on (large)")
    parser.add_argument("--bound", metavar="K", type=bound, help="unroll loops and recursion at most K times")
    add_question(parser)
    add_limits(parser)
    add_solvers(parser)
    parser.add_argument("--cpu-time", metavar="TIME", type=duration, help="limit on CPU time, all processes")
    add_records(parser)
    parser.add_argument("--witness", metavar="FILE", type=Path, help="write a witness (format 2.0)")
    parser.add_argument(
        "--no-ranges", action="store_true", help="engines get no ranges of variables as facts"
    )
    parser.add_argument("--no-execute", action="store_true", help="do not compile and run the program")
    parser.add_argument("--harness", metavar="FILE", type=Path, help="save the inputs of a violation as C")
    parser.add_argument("--show-passes", action="store_true", help="print sizes before and after each pass")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a report to look at in a browser")
    parser.add_argument(
        "--full-trace", action="store_true", help="show also the steps that do not matter for a violation"
    )
    add_report(parser, verbose="all formulas and statistics")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit, write_all
    from certus.pipeline.verify import verify

    settings = settings_of(arguments)
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    write_all(
        lambda: emit(render(outcome, arguments), arguments.output),
        lambda: write_sarif(outcome, arguments.sarif),
        lambda: _write_html(outcome, settings.blocks, arguments.html),
        lambda: _write_witness(outcome, arguments.witness),
    )
    return Exit.of(outcome.answer)


def _write_html(outcome: Outcome, blocks: Blocks, target: Path | None) -> None:
    if target is not None:
        from certus.cli.terminal import emit
        from certus.pipeline.pictures import with_blocks
        from certus.report.html.page import render_html

        emit(render_html(with_blocks(outcome, blocks)).rstrip("\n"), target)


def _write_witness(outcome: Outcome, target: Path | None) -> None:
    if target is not None:
        from certus.cli.witness import write_witness

        write_witness(outcome, target)


def write_sarif(outcome: Outcome, target: Path | None) -> None:
    """Write the outcome as SARIF, if that is wanted."""
    if target is not None:
        from certus.cli.terminal import emit
        from certus.report.sarif import render_sarif

        emit(render_sarif(outcome, exit_code=Exit.of(outcome.answer)), target)


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.cli.terminal import coloured
    from certus.report.diagnostics import Palette
    from certus.report.text import Detail, render_passes, render_text

    palette = Palette(arguments.output is None and coloured(sys.stdout))
    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    report = render_text(outcome, detail=detail, palette=palette, full_trace=arguments.full_trace)
    return f"{report}\n{render_passes(outcome)}" if arguments.show_passes else report
