"""`certus bench TASKS...`: engines and other tools on many tasks, under the same limits, judged."""

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

from certus.cli.arguments import cores
from certus.cli.exits import Exit
from certus.cli.units import duration, size

if TYPE_CHECKING:
    from certus.pipeline.bench.contestants import Contestant
    from certus.pipeline.bench.jobs import Job
    from certus.pipeline.bench.tasks import Selection
    from certus.report.bench import Results, Row

_EPILOG = """places in --tool: {file} the program, {task} the task definition, {property},
{model} ILP32 or LP64, {bits} 32 or 64, {timeout} in seconds. See docs/bench.md.

exit codes: 0 nothing wrong, 1 a wrong verdict, 2 malformed input or usage, 3 interrupted before the end"""
_PAUSE = 30.0  # seconds between two lines on progress where there is no terminal


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "bench",
        help="compare engines and other tools on many tasks",
        description="Run contestants on TASKS under the same limits; count, score and plot their answers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_argument = parser.add_argument
    add_repeated = partial(parser.add_argument, action="append", default=[])
    add_argument("tasks", metavar="TASKS", nargs="+", type=Path, help=".yml, .set, directories, programs")
    add_repeated("--engine", metavar="NAME", help="an engine (auto), or LABEL=NAME OPTIONS...")
    add_repeated("--tool", metavar="NAME=COMMAND", help="an outside command, words with {file}")
    add_repeated("--holds", metavar="NAME=REGEX", type=_named, help="what a tool prints if it holds")
    add_repeated("--violated", metavar="NAME=REGEX", type=_named, help="... if it is violated")
    add_repeated("--property", metavar="P", help="only tasks that ask for P; may be repeated")
    add_argument("--sample", metavar="N", type=cores, help="only N tasks, drawn evenly from the directories")
    add_argument("--seed", metavar="S", type=int, default=0, help="which sample (0)")
    add_argument("--timeout", metavar="TIME", type=duration, default=20.0, help="wall time of a run (20s)")
    add_argument("--memory", metavar="SIZE", type=size, help="memory of a run, all its processes: 4GB")
    add_argument("--cores", metavar="N", type=cores, help="processors of a run (2, or all if fewer)")
    add_argument(
        "--jobs", metavar="N", type=cores, help="runs at a time (as many as there are processors for)"
    )
    add_argument("--cluster", metavar="ADDRESS", help="run on a dask cluster, such as tcp://host:8786")
    renewed = parser.add_mutually_exclusive_group()
    renewed.add_argument("--renew", action="store_true", help="run again what another version answered")
    renewed.add_argument(
        "--renew-stale",
        action="store_true",
        help="run again what is older than the last change to what verdicts rest on",
    )
    add_argument("-q", "--quiet", action="store_true", help="no progress")
    add_argument(
        "-o", dest="output", metavar="DIR", type=Path, help="keep rows, CSV, JSON and the page in DIR"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import emit
    from certus.frontend.properties import property_of
    from certus.pipeline.bench.campaign import ROWS, Rows, all_jobs, run_missing
    from certus.pipeline.bench.contestants import Limits
    from certus.pipeline.bench.tasks import sample, select
    from certus.pipeline.bench.versions import is_stale, our_version
    from certus.report.bench import Results, render_bench_text

    available = len(os.sched_getaffinity(0))
    each = arguments.cores or min(2, available)
    places = arguments.jobs or max(1, available // each)
    contestants = _contestants(arguments)
    selection = select(arguments.tasks, [property_of(text).name for text in arguments.property])
    tasks = sample(selection.tasks, arguments.sample, arguments.seed) if arguments.sample else selection.tasks
    jobs = all_jobs(tasks, contestants, Limits(arguments.timeout, arguments.memory, each))
    rows = Rows(_file(arguments.output, ROWS))
    if arguments.renew:
        rows.forget(lambda version: version != our_version())
    elif arguments.renew_stale:
        rows.forget(is_stale)
    interrupted = False
    with _telling(wanted=not arguments.quiet) as tell:
        try:
            run_missing(jobs, rows, _runner(arguments.cluster, places, each), tell)
        except KeyboardInterrupt:
            interrupted = True
    results = Results(rows.of(jobs), selection.skipped)
    _save(results, arguments)
    emit(render_bench_text(results) + _notes(results, selection, len(jobs)))
    return Exit.VIOLATED if results.wrong else Exit.UNKNOWN if interrupted else Exit.HOLDS


def _contestants(arguments: argparse.Namespace) -> list[Contestant]:
    from certus.pipeline.bench.contestants import ours, outside, with_patterns

    engines = arguments.engine or ([] if arguments.tool else ["auto"])
    contestants = [*map(ours, engines), *map(outside, arguments.tool)]
    return with_patterns(contestants, dict(arguments.holds), dict(arguments.violated))


def _runner(cluster: str | None, places: int, each: int) -> Callable[[Sequence[Job]], Generator[Row]]:
    if cluster is not None:
        from certus.pipeline.bench.cluster import run_on_cluster

        return partial(run_on_cluster, address=cluster)
    from certus.pipeline.bench.pool import run_here, slots

    return partial(run_here, places=slots(places, each))


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=REGEX")
    return name, value


def _file(directory: Path | None, name: str) -> Path | None:
    """A file in the directory for results, which is made if it is not there."""
    if directory is None:
        return None
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        from certus.cli.terminal import cannot_write

        raise cannot_write(directory, error) from error
    return directory / name


def _save(results: Results, arguments: argparse.Namespace) -> None:
    from certus.cli.terminal import emit
    from certus.report.bench import render_bench_csv, render_bench_json
    from certus.report.bench_page import render_bench_page

    if arguments.output is not None:
        emit(render_bench_csv(results).rstrip("\n"), arguments.output / "results.csv")
        emit(render_bench_json(results), arguments.output / "results.json")
        emit(render_bench_page(results, seconds=arguments.timeout), arguments.output / "index.html")


def _notes(results: Results, selection: Selection, jobs: int) -> str:
    from certus.pipeline.bench.versions import TRUSTED, is_stale

    found = ""
    if len(results.rows) < jobs:
        found += (
            f"\n{jobs - len(results.rows)} of {jobs} runs are missing; the same command goes on with them"
        )
    stale = [row for row in results.rows if row.version and is_stale(row.version)]
    if stale:
        found += f"\n{len(stale)} runs are of changed files, or older than the last change to"
        found += f" {', '.join(TRUSTED)}; --renew-stale repeats them"
    if selection.skipped:
        found += f"\n{len(selection.skipped)} files skipped, such as {selection.skipped[0]}"
    return found


@contextmanager
def _telling(*, wanted: bool) -> Iterator[Callable[[str], None]]:
    """Progress: one line, rewritten, on a terminal; elsewhere a new line now and then."""
    from certus.cli.terminal import ProgressLine, write

    said = time.monotonic()

    def tell(text: str) -> None:
        nonlocal said
        line.show(text)
        if wanted and not sys.stderr.isatty() and time.monotonic() - said >= _PAUSE:
            said = time.monotonic()
            write(sys.stderr, f"{text}\n")

    with ProgressLine(sys.stderr, wanted=wanted) as line:
        yield tell
