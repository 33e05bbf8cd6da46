"""A campaign: run every contestant on every task, except for runs that have a row already.

Each row is appended to a file as soon as its run ends; a line that a crash has cut off does not count. So a
campaign that was interrupted, or has got more tasks or contestants, runs only what is missing.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from certus.bench.contestants import Contestant, Limits
from certus.bench.jobs import Job
from certus.bench.results import Row, row_from
from certus.bench.tasks import BenchTask
from certus.bench.versions import our_version

ROWS: Final = "rows.jsonl"


def all_jobs(tasks: Sequence[BenchTask], contestants: Sequence[Contestant], limits: Limits) -> list[Job]:
    """Return all jobs, task by task, so that contestants run on a task under similar conditions."""
    version = our_version()
    return [
        Job(task, contestant, limits, version if contestant.is_engine else "")
        for task in tasks
        for contestant in contestants
    ]


class Rows:
    """The rows of all finished runs, by key, and the file they are appended to, if any."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._by_key: dict[tuple[str, ...], Row] = {}
        if file is not None and file.exists():
            self._by_key = {row.key: row for row in _read(file)}

    def __contains__(self, job: Job) -> bool:
        return job.key in self._by_key

    def of(self, jobs: Iterable[Job]) -> list[Row]:
        """Return the rows of those of the jobs that have run."""
        return [self._by_key[job.key] for job in jobs if job.key in self._by_key]

    def add(self, row: Row) -> None:
        """Add a row, and append it to the file."""
        self._by_key[row.key] = row
        if self._file is not None:
            line = json.dumps(asdict(row)).encode() + b"\n"
            with self._file.open("ab") as stream:
                if stream.tell() and not _ends_a_line(self._file):
                    stream.write(b"\n")
                stream.write(line)

    def forget(self, is_old: Callable[[str], bool]) -> None:
        """Drop rows of engines whose version is old. Rows of other tools have no version and stay."""
        rows = self._by_key.items()
        self._by_key = {key: row for key, row in rows if not (row.version and is_old(row.version))}


def _read(file: Path) -> Iterator[Row]:
    for line in file.read_bytes().splitlines():
        try:
            yield row_from(json.loads(line))
        except (ValueError, KeyError):  # cut off
            continue


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


@dataclass(slots=True)
class Progress:
    """The progress of a campaign. The remaining time is estimated from the average time of each contestant
    and from the number of parallel runs."""

    jobs: Sequence[Job]
    report: Callable[[str], None]
    start: float = field(default_factory=time.monotonic)
    done: int = 0
    wrong: int = 0
    _times: dict[str, list[float]] = field(default_factory=dict)

    def count(self, row: Row) -> None:
        """Count a finished run and report the progress."""
        self.done += 1
        self.wrong += row.judgement == "wrong"
        self._times.setdefault(row.contestant, []).append(row.wall)
        wrong = f", {self.wrong} WRONG" if self.wrong else ""
        left = duration_text(self.remaining(time.monotonic() - self.start))
        self.report(f"{self.done} of {len(self.jobs)} runs{wrong}, about {left} left: {row.task}")

    def remaining(self, elapsed: float) -> float:
        """Estimate the remaining seconds."""
        spent = sum(map(sum, self._times.values()))
        ahead = 0.0
        for name, number in Counter(job.contestant.name for job in self.jobs).items():
            own = self._times.get(name, [])
            usual = sum(own) / len(own) if own else spent / self.done
            ahead += (number - len(own)) * usual
        return ahead * elapsed / spent if spent else 0.0


def duration_text(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run_missing(
    jobs: Sequence[Job],
    rows: Rows,
    runner: Callable[[Sequence[Job]], Generator[Row]],
    report: Callable[[str], None],
) -> None:
    """Run the jobs without a row. An interruption loses only the runs that have not finished."""
    missing = [job for job in jobs if job not in rows]
    progress = Progress(missing, report)
    with closing(runner(missing)) as results:
        for row in results:
            rows.add(row)
            progress.count(row)
