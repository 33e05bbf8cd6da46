"""Run jobs: in parallel on this machine, or on a `dask.distributed` cluster (`pip install
'certus[cluster]'`).

Both runners are generators of rows. Closing one ends or cancels the jobs that are still running.

On a cluster, the scheduler gives the jobs of a lost worker to another one. A row is kept when its job's
future is done, so each job has one row however often it was started. Workers find the files under the same
names, and each runs the Certus that is installed there. A job that crashes several workers has no answer.
"""

from __future__ import annotations

import os
import select
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from certus.bench.jobs import Job, encode_job, run_job
from certus.bench.results import Row, row_from
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.system.supervise import Ended, Supervised


def core_sets(number: int, cores: int) -> list[tuple[int, ...]]:
    """Return disjoint sets of cores for `number` parallel jobs; empty sets, which mean any core, if there are
    too few cores."""
    available = sorted(os.sched_getaffinity(0))
    if number * cores > len(available):
        return [()] * number
    return [tuple(available[n * cores : (n + 1) * cores]) for n in range(number)]


def run_locally(jobs: Iterable[Job], core_sets: list[tuple[int, ...]]) -> Generator[Row]:
    """Yield the row of each job when it has finished; as many jobs run in parallel as there are core sets."""
    waiting = iter(jobs)
    free = list(reversed(core_sets))
    running: dict[Supervised, tuple[Job, tuple[int, ...]]] = {}
    try:
        while True:
            while free and (job := next(waiting, None)) is not None:
                cores = free.pop()
                running[job.start(cores)] = (job, cores)
            if not running:
                return
            for run in select.select(list(running), [], [])[0]:
                if run.finished():
                    job, cores = running.pop(run)
                    free.append(cores)
                    yield job.row(run.result())
    finally:
        for run in running:
            run.cancel()


def run_on_cluster(jobs: Sequence[Job], address: str) -> Generator[Row]:
    """Yield the row of each job when it has finished on the cluster."""
    try:
        import distributed
    except ImportError:
        hint = "install it with: pip install 'certus[cluster]'"
        raise InputError([Diagnostic("no-cluster", "dask.distributed is not installed", hint=hint)]) from None
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        message = f"cannot connect to a scheduler at {address}: {error}"
        hint = "start one with `dask scheduler`, and give its address"
        raise InputError([Diagnostic("no-cluster", message, hint=hint)]) from None
    with client:
        futures: dict[Any, Job] = {client.submit(run_job, encode_job(job), pure=False): job for job in jobs}
        try:
            for future in distributed.as_completed(list(futures)):
                yield _row(future, futures.pop(future))
        finally:
            client.cancel(list(futures))


def _row(future: Any, job: Job) -> Row:
    error = future.exception()
    if error is None:
        return row_from(future.result())
    return job.row(Ended("failed", -1, "", 0.0, 0.0, 0, f"{type(error).__name__}: {error}"))
