"""A job: one run of a contestant on a task. It is sent to workers as JSON, and gives one row of results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from certus.bench.contestants import Contestant, Limits
from certus.bench.results import Row
from certus.bench.tasks import BenchTask
from certus.bench.versions import our_version
from certus.system.supervise import Ended, Supervised

GRACE: Final = 1.0  # seconds after the limit in which a contestant may print why it has no answer


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do; `version` is that of Certus, for an engine."""

    task: BenchTask
    contestant: Contestant
    limits: Limits
    version: str

    @property
    def key(self) -> tuple[str, ...]:
        """Return the key of its row."""
        task, contestant, limits = self.task, self.contestant, str(self.limits)
        return task.name, task.digest, task.property_name, contestant.name, contestant.title, limits

    def start(self, cores: Sequence[int] = ()) -> Supervised:
        """Start the run on these cores. An engine runs in the same installation of Certus as this code."""
        search = os.environ.get("PYTHONPATH")
        environment = {} if search is None else {"PYTHONPATH": _absolute(search)}
        return Supervised(
            self.contestant.command(self.task, self.limits),
            seconds=self.limits.seconds + GRACE,
            memory=self.limits.memory,
            environment=environment,
            processors=cores,
        )

    def row(self, ended: Ended) -> Row:
        """Return the row for a run that has ended."""
        answered = self.contestant.read(ended, self.limits)
        return Row(
            task=self.task.name,
            property_name=self.task.property_name,
            expected=self.task.expected,
            digest=self.task.digest,
            contestant=self.contestant.name,
            command=self.contestant.title,
            limits=str(self.limits),
            version=self.version,
            answer=answered.answer,
            reason=answered.reason,
            engine=answered.engine,
            wall=round(ended.wall, 3),
            cpu=round(ended.cpu, 3),
            memory=ended.peak,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def encode_job(job: Job) -> dict[str, Any]:
    """Return the job as JSON data."""
    return asdict(job)


def decode_job(values: dict[str, Any]) -> Job:
    """Return the job from JSON data."""
    contestant = values["contestant"] | {"words": tuple(values["contestant"]["words"])}
    task, limits = BenchTask(**values["task"]), Limits(**values["limits"])
    return Job(task, Contestant(**contestant), limits, values["version"])


def run_job(values: dict[str, Any]) -> dict[str, Any]:
    """Run an encoded job and return its encoded row: the function that workers of a cluster call."""
    job = decode_job(values)
    if job.contestant.is_engine:
        job = replace(job, version=our_version())
    return asdict(job.row(job.start().result()))


def _absolute(search: str) -> str:
    """Return a search path with absolute directories."""
    return os.pathsep.join(os.path.abspath(part) for part in search.split(os.pathsep) if part)
