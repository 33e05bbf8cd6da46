"""`certus verify FILE`: print the answer and its evidence."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
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
    check_names,
    duration,
    engine_names,
    positive,
    settings_of,
)
from certus.cli.terminal import Exit

if TYPE_CHECKING:
    from certus.core.outcome import Outcome
    from certus.run.settings import Settings

_DESCRIPTION = """Verify FILE: HOLDS, VIOLATED or UNKNOWN, with checked evidence.

HOLDS needs a proof. Certus derives the clauses of the proof again from the program; each must be proved by
at least one solver (two with --solvers 2) and refuted by none. VIOLATED needs an execution that reaches the
error when it is replayed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description = _DESCRIPTION
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="the program (C, .lp), Horn clauses (.smt2, .clp) or a task (.yml); several files of C programs",
    )
    add("--engine", metavar="NAME", help="use one engine; see `certus engines` (default: auto)")
    add("--engines", metavar="A,B,..", type=engine_names, help="use these engines, in parallel")
    add("--cores", metavar="N", type=positive, help="number of parallel processes (default: all cores)")
    add_options(parser)
    add("--blocks", choices=BLOCKS, help="size of the blocks that engines work on (default: large)")
    add("--bound", metavar="K", type=bound, help="enter loop heads and recursion at most K times")
    add_question(parser, usual="all checks of --checks for C, else unreach-call")
    add(
        "--checks",
        metavar="A,B,..",
        type=check_names,
        help="kinds of checks for C: assert, memory, overflow, division, shift (default: these), float-cast, "
        "float-divide, uninitialised",
    )
    add_limits(parser)
    add_solvers(parser)
    add("--cpu-time", metavar="TIME", type=duration, help="CPU time of all processes (default: no limit)")
    add_records(parser)
    add("--witness", metavar="FILE", type=Path, help="write a witness (format 2.0) to FILE, for other tools")
    add("--no-ranges", action="store_true", help="do not give ranges of variables to the engines")
    add("--no-inline", action="store_true", help="keep calls, so that proofs have summaries of procedures")
    add("--no-execute", action="store_true", help="do not compile and run the program")
    add(
        "--harness",
        metavar="FILE",
        type=Path,
        help="write the inputs of a violation to FILE, as C code to compile with the program",
    )
    add("--show-passes", action="store_true", help="print the program's size before and after each pass")
    add("--html", metavar="FILE", type=Path, help="write a report to FILE, for a browser")
    add("--full-trace", action="store_true", help="show all steps of a violation, not only those that matter")
    add_report(parser, verbose="print all formulas and statistics")


def run(arguments: argparse.Namespace) -> int:
    """Verify, and write all reports that the user asked for."""
    from certus.cli.terminal import ProgressLine, check_places, emit, write_all
    from certus.run.verify import verify

    check_places(arguments.output, arguments.sarif, arguments.html, arguments.witness)
    settings = settings_of(arguments)
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    write_all(
        lambda: emit(render(outcome, arguments), arguments.output),
        lambda: write_sarif(outcome, arguments.sarif),
        lambda: _write_html(outcome, settings, arguments.html),
        lambda: _write_witness(outcome, arguments.witness),
    )
    return Exit.of(outcome.answer)


def _write_html(outcome: Outcome, settings: Settings, target: Path | None) -> None:
    if target is not None:
        from certus.cli.terminal import emit
        from certus.report.html.page import render_html

        emit(render_html(with_blocks(outcome, settings)).rstrip("\n"), target)


def _write_witness(outcome: Outcome, target: Path | None) -> None:
    """Write the witness of a verdict, or say why there is none."""
    if target is None:
        return
    from datetime import UTC, datetime

    from certus.cli.terminal import emit, write
    from certus.witness.write import render_witness, witness_of

    result = witness_of(outcome)
    if isinstance(result, str):
        write(sys.stderr, f"certus: no witness is written: {result}\n")
        return
    witness, remark = result
    created = datetime.now(UTC).isoformat(timespec="seconds")
    text = render_witness(witness, engine=outcome.engine, remark=remark, created=created)
    emit(text.rstrip("\n"), target)


def write_sarif(outcome: Outcome, target: Path | None) -> None:
    """Write a SARIF log, if the user asked for one."""
    if target is not None:
        from certus.cli.terminal import emit
        from certus.report.sarif import render_sarif

        emit(render_sarif(outcome, exit_code=Exit.of(outcome.answer)), target)


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    """Render the report that goes to standard output."""
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.cli.terminal import coloured
    from certus.report.text import Detail, Palette, render_passes, render_text

    palette = Palette(arguments.output is None and coloured(sys.stdout))
    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    report = render_text(outcome, detail=detail, palette=palette, full_trace=arguments.full_trace)
    return f"{report}\n{render_passes(outcome)}" if arguments.show_passes else report


def with_blocks(outcome: Outcome, settings: Settings) -> Outcome:
    """Return the outcome with its program, as the front end built it, in blocks."""
    from certus.core.program import Program
    from certus.run.settings import block_pass

    if not isinstance(outcome.subject, Program) or not outcome.subject.procedures:
        return outcome
    return replace(outcome, blocks=block_pass(settings).encode(outcome.subject)[0])
