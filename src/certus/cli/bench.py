"""`certus bench TASKS...`: run engines and other tools on many tasks under the same limits, and compare
them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import duration, positive, size
from certus.cli.terminal import Exit

if TYPE_CHECKING:
    from certus.bench.contestants import Contestant
    from certus.bench.jobs import Job
    from certus.bench.results import Results, Row
    from certus.bench.tasks import Selection

_DESCRIPTION = """Run engines of Certus and other tools on TASKS under the same limits. Compare their answers
with the expected verdicts: counts, scores as in SV-COMP, and plots."""
_EPILOG = """In the command of --tool, these words are replaced: {file} by the program, {task} by the task
definition, {property} by the name of the property, {model} by ILP32 or LP64, {bits} by 32 or 64,
{timeout} by the time limit in seconds. docs/bench.md has examples.

With -o DIR, the same command continues an interrupted comparison.

exit codes:
  0  no wrong verdict
  1  a wrong verdict
  2  malformed input or wrong usage
  3  interrupted before the end"""
_PAUSE = 30.0  # seconds between two lines of progress if standard error is no terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add = parser.add_argument
    add_repeated = partial(parser.add_argument, action="append", default=[])
    add(
        "tasks",
        metavar="TASKS",
        nargs="+",
        type=Path,
        help="task definitions (.yml), .set files, programs or directories",
    )
    add_repeated(
        "--engine",
        metavar="NAME",
        help="an engine, or LABEL=NAME OPTIONS... with options of `certus verify` (default: auto); "
        "may be repeated",
    )
    add_repeated(
        "--tool", metavar="NAME=COMMAND", help="another tool, such as 'cbmc=cbmc {file}'; may be repeated"
    )
    add_repeated(
        "--holds", metavar="NAME=REGEX", type=_named, help="output of a tool that means: the property holds"
    )
    add_repeated(
        "--violated", metavar="NAME=REGEX", type=_named, help="output of a tool that means: it is violated"
    )
    add_repeated("--property", metavar="P", help="only tasks with the property P; may be repeated")
    add("--sample", metavar="N", type=positive, help="only N tasks, drawn evenly from all directories")
    add("--seed", metavar="S", type=int, default=0, help="seed of --sample (default: 0)")
    add("--timeout", metavar="TIME", type=duration, default=20.0, help="wall time of one run (default: 20s)")
    add("--memory", metavar="SIZE", type=size, help="memory of one run, such as 4GB (default: no limit)")
    add("--cores", metavar="N", type=positive, help="cores for one run (default: 2, or all if fewer)")
    add("--jobs", metavar="N", type=positive, help="number of parallel runs (default: as cores allow)")
    add("--cluster", metavar="ADDRESS", help="run on a dask cluster, such as tcp://host:8786")
    renewed = parser.add_mutually_exclusive_group()
    renewed.add_argument("--renew", action="store_true", help="repeat runs of other versions of Certus")
    renewed.add_argument(
        "--renew-stale",
        action="store_true",
        help="repeat runs older than the last change to the code that verdicts depend on",
    )
    add("-q", "--quiet", action="store_true", help="do not print progress")
    add(
        "-o",
        dest="output",
        metavar="DIR",
        type=Path,
        help="save all runs in DIR, with tables (CSV, JSON) and a page for a browser",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, and print the comparison."""
    from certus.bench.campaign import ROWS, Rows, all_jobs, run_missing
    from certus.bench.contestants import Limits
    from certus.bench.results import Results, render_bench_text
    from certus.bench.tasks import sample, select
    from certus.bench.versions import is_stale, our_version
    from certus.cli.terminal import emit
    from certus.frontend.tasks.properties import property_of

    available = len(os.sched_getaffinity(0))
    cores = arguments.cores or min(2, available)
    parallel = arguments.jobs or max(1, available // cores)
    contestants = _contestants(arguments)
    selection = select(arguments.tasks, [property_of(text).name for text in arguments.property])
    tasks = sample(selection.tasks, arguments.sample, arguments.seed) if arguments.sample else selection.tasks
    jobs = all_jobs(tasks, contestants, Limits(arguments.timeout, arguments.memory, cores))
    rows = Rows(_file(arguments.output, ROWS))
    if arguments.renew:
        rows.forget(lambda version: version != our_version())
    elif arguments.renew_stale:
        rows.forget(is_stale)
    interrupted = False
    with _progress(wanted=not arguments.quiet) as report:
        try:
            run_missing(jobs, rows, _runner(arguments.cluster, parallel, cores), report)
        except KeyboardInterrupt:
            interrupted = True
    results = Results(rows.of(jobs), selection.skipped)
    _save(results, arguments)
    emit(render_bench_text(results) + _notes(results, selection, len(jobs)))
    return Exit.VIOLATED if results.wrong else Exit.UNKNOWN if interrupted else Exit.HOLDS


def _contestants(arguments: argparse.Namespace) -> list[Contestant]:
    from certus.bench.contestants import engine_contestant, tool_contestant, with_patterns

    engines = arguments.engine or ([] if arguments.tool else ["auto"])
    contestants = [*map(engine_contestant, engines), *map(tool_contestant, arguments.tool)]
    return with_patterns(contestants, dict(arguments.holds), dict(arguments.violated))


def _runner(cluster: str | None, parallel: int, cores: int) -> Callable[[Sequence[Job]], Generator[Row]]:
    from certus.bench.runners import core_sets, run_locally, run_on_cluster

    if cluster is not None:
        return partial(run_on_cluster, address=cluster)
    return partial(run_locally, core_sets=core_sets(parallel, cores))


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=REGEX")
    return name, value


def _file(directory: Path | None, name: str) -> Path | None:
    """Return the path of a file in the directory for results, and create the directory."""
    if directory is None:
        return None
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        from certus.cli.terminal import cannot_write

        raise cannot_write(directory, error) from error
    return directory / name


def _save(results: Results, arguments: argparse.Namespace) -> None:
    from certus.bench.html_page import render_bench_page
    from certus.bench.results import render_bench_csv, render_bench_json
    from certus.cli.terminal import emit

    if arguments.output is not None:
        emit(render_bench_csv(results).rstrip("\n"), arguments.output / "results.csv")
        emit(render_bench_json(results), arguments.output / "results.json")
        emit(render_bench_page(results, seconds=arguments.timeout), arguments.output / "index.html")


def _notes(results: Results, selection: Selection, jobs: int) -> str:
    from certus.bench.versions import TRUSTED, is_stale

    notes = ""
    if len(results.rows) < jobs:
        missing = jobs - len(results.rows)
        notes += f"\n{missing} of {jobs} runs are missing; the same command continues with them"
    stale = [row for row in results.rows if row.version and is_stale(row.version)]
    if stale:
        notes += f"\n{len(stale)} runs are older than the last change to {', '.join(TRUSTED)}"
        notes += ", or of uncommitted code; --renew-stale repeats them"
    if selection.skipped:
        notes += f"\n{len(selection.skipped)} files skipped, such as {selection.skipped[0]}"
    return notes


@contextmanager
def _progress(*, wanted: bool) -> Iterator[Callable[[str], None]]:
    """Report progress: one rewritten line on a terminal, otherwise a new line every `_PAUSE` seconds."""
    from certus.cli.terminal import ProgressLine, write

    last = time.monotonic()

    def report(text: str) -> None:
        nonlocal last
        line.show(text)
        if wanted and not sys.stderr.isatty() and time.monotonic() - last >= _PAUSE:
            last = time.monotonic()
            write(sys.stderr, f"{text}\n")

    with ProgressLine(sys.stderr, wanted=wanted) as line:
        yield report
