"""Jobs on a `dask.distributed` cluster (`pip install 'certus[cluster]'`).

The scheduler gives the jobs of a worker that is lost to another one; a row is kept when its job's future is
done, so each job has one row however often it was begun. Workers see the files under the same names, and each
runs the Certus that is installed where it is. A job that takes several workers down with it has no answer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.pipeline.bench.jobs import Job, encode_job, run_job
from certus.report.bench import Row, row_from
from certus.system.supervise import Ended


def run_on_cluster(jobs: Sequence[Job], address: str) -> Generator[Row]:
    """The rows of all jobs, as they are finished. Whoever stops asking cancels the others."""
    try:
        import distributed
    except ImportError:
        hint = "install it with: pip install 'certus[cluster]'"
        raise InputError([Diagnostic("no-cluster", "dask.distributed is not installed", hint=hint)]) from None
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        message = f"there is no scheduler at {address}: {error}"
        raise InputError([Diagnostic("no-cluster", message)]) from None
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
