"""The local pool: jobs side by side, each on processors of its own."""

from __future__ import annotations

import os
import select
from collections.abc import Generator, Iterable

from certus.pipeline.bench.jobs import Job
from certus.report.bench import Row
from certus.system.supervise import Supervised


def slots(number: int, cores: int) -> list[tuple[int, ...]]:
    """The processors of each place in the pool; empty, meaning any, where there are too few to share out."""
    processors = sorted(os.sched_getaffinity(0))
    if number * cores > len(processors):
        return [()] * number
    return [tuple(processors[n * cores : (n + 1) * cores]) for n in range(number)]


def run_here(jobs: Iterable[Job], places: list[tuple[int, ...]]) -> Generator[Row]:
    """The rows of all jobs, as they are finished. Whoever stops asking ends what is still under way."""
    waiting = iter(jobs)
    free = list(reversed(places))
    running: dict[Supervised, tuple[Job, tuple[int, ...]]] = {}
    try:
        while True:
            while free and (job := next(waiting, None)) is not None:
                processors = free.pop()
                running[job.start(processors)] = (job, processors)
            if not running:
                return
            for run in select.select(list(running), [], [])[0]:
                if run.finished():
                    job, processors = running.pop(run)
                    free.append(processors)
                    yield job.row(run.result())
    finally:
        for run in running:
            run.cancel()
