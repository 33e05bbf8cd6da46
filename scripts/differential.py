"""Run C programs by our interpreter and compiled, with the same inputs: they must do the same.

    python scripts/differential.py --programs 2000 --seed 0                    # random programs
    python scripts/differential.py --tasks INDEX.csv[.xz] TASKS_DIR --seconds 1800 --rows rows.csv

Prints how many runs agreed, were discarded (undefined behaviour, found by Clang's sanitizers or by our
interpreter; too long) or differ; the exit code is 1 if one differs or a program is refused that must not be.

Random programs come from the seed; files with a difference are kept in the directory of `--keep`. Tasks are
the unreach-call tasks of an index with the columns suite, task, property, in an order that comes from the
seed; a task is TASKS_DIR/suite/task.yml. With `--rows` each run is a line of that file, and tasks that are
in it are not run again: a run cut short goes on where it ended.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import lzma
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.laws.c_differential import Comparison, Result, compare  # noqa: E402

from certus.core.errors import InputError, Unsupported  # noqa: E402
from certus.system.child import Reporter, run_limited  # noqa: E402

BATCH = 25  # random programs in a file
TASK_SECONDS, TASK_MEMORY = 90.0, 4 << 30
DIFFERING = "differing"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first file; the others follow")
    parser.add_argument("--inputs", type=int, default=3, help="runs of each random program")
    parser.add_argument(
        "--models", default="LP64,ILP32", help="data models; each gets a share of the random programs"
    )
    parser.add_argument(
        "--opinions",
        default="gcc,O2" if shutil.which("gcc") else "O2",
        help="further builds of random programs: gcc (LP64 only), O2 (Clang with sanitizers), or both",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("differing"))
    parser.add_argument("--tasks", nargs=2, type=Path, metavar=("INDEX", "TASKS_DIR"))
    parser.add_argument("--suite", default="", help="only suites that begin so")
    parser.add_argument("--seconds", type=float, default=1800.0, help="no task is begun after so long")
    parser.add_argument("--rows", type=Path, help="a line for each run of a task, and what not to run again")
    options = parser.parse_args()
    return tasks(options) if options.tasks else programs(options)


# ------------------------------------------------------------------------------- random programs


def programs(options: argparse.Namespace) -> int:
    options.keep.mkdir(exist_ok=True)
    models = options.models.split(",")
    jobs = []
    for number, first in enumerate(range(0, options.programs, BATCH)):
        size = min(BATCH, options.programs - first)
        model = models[number % len(models)]
        opinions = [o for o in options.opinions.split(",") if o and (o != "gcc" or model == "LP64")]
        settings = (options.seed + number, size, model, options.inputs, options.keep)
        jobs.append((*settings, opinions))
    counts: Counter[str] = Counter()
    failed = False
    with Pool(options.jobs) as pool:
        try:
            for seed, model, found in pool.imap_unordered(compared, jobs):
                failed |= counted(seed, model, found, counts)
        except KeyboardInterrupt:
            print("interrupted; so far:")
            failed = True
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    if not any(options.keep.iterdir()):
        options.keep.rmdir()
    return 1 if failed else 0


def compared(
    job: tuple[int, int, str, int, Path, list[str]],
) -> tuple[int, str, list[Comparison] | str]:
    seed, size, model, tables, keep, opinions = job
    path = keep / f"{model}-{seed}.c"
    try:
        found = compare(seed, size, tables=tables, model=model, keep=path, opinions=opinions)
    except Exception as error:  # a program that is refused is a difference as well
        return seed, model, f"{type(error).__name__}: {error}"
    if all(c.result is not Result.DIFFERING for c in found):
        path.unlink()
    return seed, model, found


def counted(seed: int, model: str, found: list[Comparison] | str, counts: Counter[str]) -> bool:
    """Count the runs of one file; whether it has a difference, which is printed."""
    if isinstance(found, str):
        print(f"{model} seed {seed}: {found}", flush=True)
        return True
    counts["programs"] += len({one.program for one in found})
    for one in found:
        counts[f"{model} {one.result.value}"] += 1
        if one.result is Result.AGREED and one.ours.ending is not None:
            counts[f"{model} agreed: {one.ours.ending.value}"] += 1
        if one.result is Result.DIFFERING:
            print(f"{model} seed {seed}: {explained(one)}", flush=True)
    return any(one.result is Result.DIFFERING for one in found)


def explained(one: Comparison) -> str:
    """Where two runs part."""
    ours, theirs = one.ours, one.theirs
    place = f"program_{one.program} with inputs {one.inputs}, compiled by {theirs.compiler}"
    for at, (mine, other) in enumerate(zip(ours.observed, theirs.observed, strict=False)):
        if mine != other:
            return f"{place}: observation {at} is {mine:#x}, compiled {other:#x}"
    numbers = f"{len(ours.observed)} and {len(theirs.observed)} observations"
    return f"{place}: {numbers}; {ours.ending} ({ours.detail}), compiled {theirs.ending} ({theirs.detail})"


# ------------------------------------------------------------------------------------ real tasks


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a task, or one line for a task that the front end does not accept."""

    suite: str
    task: str
    kind: str  # of its inputs
    result: str
    end: str
    events: int
    detail: str


def tasks(options: argparse.Namespace) -> int:
    index, directory = options.tasks
    before = list(read_rows(options.rows)) if options.rows and options.rows.exists() else []
    done = {(row.suite, row.task) for row in before}
    chosen = [t for t in read_index(index, options.suite) if t not in done]
    Random(options.seed).shuffle(chosen)
    importlib.import_module("tests.laws.c_tasks")  # once, here, so that no child pays for it
    rows, until = before, time.monotonic() + options.seconds
    work = partial(task_rows, directory=directory, seed=options.seed, until=until)
    with Pool(options.jobs) as pool:
        try:
            for number, found in enumerate(pool.imap_unordered(work, chosen), 1):
                rows += found
                save_rows(options.rows, found)
                for row in found:
                    if row.result == DIFFERING:
                        print(f"{row.suite}/{row.task} ({row.kind}): {row.detail}", flush=True)
                if found and number % 200 == 0:
                    print(f"{number} of {len(chosen)} tasks", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print("interrupted; so far:")
    summary(rows)
    return 1 if any(row.result in (DIFFERING, "crashed") for row in rows) else 0


def read_index(path: Path, suite: str) -> list[tuple[str, str]]:
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as stream:
        rows = list(csv.DictReader(stream))
    wanted = [row for row in rows if row["property"] == "unreach-call" and row["suite"].startswith(suite)]
    return [(row["suite"], row["task"]) for row in wanted]


def task_rows(name: tuple[str, str], directory: Path, seed: int, until: float) -> list[Row]:
    """The runs of one task, in a child under limits; none if the time is over."""
    if time.monotonic() > until:
        return []
    suite, task = name
    path = directory / suite / f"{task}.yml"
    result = run_limited(partial(task_work, path, seed), seconds=TASK_SECONDS, memory=TASK_MEMORY)
    if result.payload is None:
        kind = "crashed" if result.kind == "crashed" else "refused"
        return [Row(suite, task, "", kind, result.kind, 0, " ".join(result.detail.split())[-400:])]
    return [Row(suite, task, *run) for run in json.loads(result.payload)]


def task_work(path: Path, seed: int, _: Reporter) -> bytes:
    from tests.laws.c_tasks import compare_task

    try:
        found = compare_task(path, seed=seed)
    except (Unsupported, InputError) as error:
        return json.dumps([("", "refused", "", 0, str(error)[:200])]).encode()
    return json.dumps([(c.kind, c.result.value, c.end, c.events, c.detail[:600]) for c in found]).encode()


def save_rows(path: Path | None, rows: list[Row]) -> None:
    if path is None or not rows:
        return
    new = not path.exists()
    with path.open("a", newline="") as stream:
        lines = csv.DictWriter(stream, [field.name for field in fields(Row)])
        if new:
            lines.writeheader()
        lines.writerows(map(asdict, rows))


def read_rows(path: Path) -> Iterator[Row]:
    with path.open(newline="") as stream:
        for line in csv.DictReader(stream):
            yield Row(**{**line, "events": int(line["events"])})


def summary(rows: list[Row]) -> None:
    run = [row for row in rows if row.kind]
    accepted = {(row.suite, row.task) for row in run}
    print(
        f"tasks: {len({(row.suite, row.task) for row in rows})}, accepted: {len(accepted)}, runs: {len(run)}"
    )
    for result, count in sorted(Counter(row.result for row in run).items()):
        print(f"{result}: {count}")
        ends = Counter(row.end for row in run if row.result == result)
        for end, number in sorted(ends.items()) if result == "agreed" else ():
            print(f"    {end}: {number}")
    if run:
        print(f"events compared: {sum(row.events for row in run)}")


if __name__ == "__main__":
    sys.exit(main())
