"""A campaign: every contestant on every task, without what was done before.

Rows are appended to a file one by one as they come; a line that was cut off by a crash is no row. So a
campaign that was interrupted, or is given more tasks or contestants, only runs what is missing.
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

from certus.pipeline.bench.contestants import Contestant, Limits
from certus.pipeline.bench.jobs import Job
from certus.pipeline.bench.tasks import BenchTask
from certus.pipeline.bench.versions import our_version
from certus.report.bench import Row, row_from

ROWS: Final = "rows.jsonl"


def all_jobs(tasks: Sequence[BenchTask], contestants: Sequence[Contestant], limits: Limits) -> list[Job]:
    """Task by task, so that contestants meet the same state of the machine."""
    version = our_version()
    return [Job(task, who, limits, version if who.ours else "") for task in tasks for who in contestants]


class Rows:
    """The rows there are, by key, and the file they are appended to, if any."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[tuple[str, ...], Row] = {}
        if file is not None and file.exists():
            self._known = {row.key: row for row in _read(file)}

    def __contains__(self, job: Job) -> bool:
        return job.key in self._known

    def of(self, jobs: Iterable[Job]) -> list[Row]:
        """The rows of these jobs, as far as they were run."""
        return [self._known[job.key] for job in jobs if job.key in self._known]

    def add(self, row: Row) -> None:
        self._known[row.key] = row
        if self._file is not None:
            line = json.dumps(asdict(row)).encode() + b"\n"
            with self._file.open("ab") as stream:
                if stream.tell() and not _ends_a_line(self._file):
                    stream.write(b"\n")
                stream.write(line)

    def forget(self, old: Callable[[str], bool]) -> None:
        """Forget rows of ours whose version is `old`."""
        self._known = {key: row for key, row in self._known.items() if not (row.version and old(row.version))}


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
    """How far a campaign is, and how long the rest will take: by what each contestant took so far, and by how
    many runs went on at a time."""

    jobs: Sequence[Job]
    tell: Callable[[str], None]
    start: float = field(default_factory=time.monotonic)
    done: int = 0
    wrong: int = 0
    _times: dict[str, list[float]] = field(default_factory=dict)

    def count(self, row: Row) -> None:
        self.done += 1
        self.wrong += row.judgement == "wrong"
        self._times.setdefault(row.contestant, []).append(row.wall)
        wrong = f", {self.wrong} WRONG" if self.wrong else ""
        left = span(self.remaining(time.monotonic() - self.start))
        self.tell(f"{self.done} of {len(self.jobs)} runs{wrong}, about {left} left: {row.task}")

    def remaining(self, elapsed: float) -> float:
        spent = sum(map(sum, self._times.values()))
        ahead = 0.0
        for name, number in Counter(job.contestant.name for job in self.jobs).items():
            own = self._times.get(name, [])
            usual = sum(own) / len(own) if own else spent / self.done
            ahead += (number - len(own)) * usual
        return ahead * elapsed / spent if spent else 0.0


def span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run_missing(
    jobs: Sequence[Job],
    rows: Rows,
    runner: Callable[[Sequence[Job]], Generator[Row]],
    tell: Callable[[str], None],
) -> None:
    """Run what has no row yet. An interruption ends what is under way and loses nothing else."""
    missing = [job for job in jobs if job not in rows]
    progress = Progress(missing, tell)
    with closing(runner(missing)) as results:
        for row in results:
            rows.add(row)
            progress.count(row)
