"""A job: one contestant on one task. It travels as JSON, and becomes a row wherever it is run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from certus.pipeline.bench.contestants import Contestant, Limits
from certus.pipeline.bench.tasks import BenchTask
from certus.pipeline.bench.versions import our_version
from certus.report.bench import Row
from certus.system.supervise import Ended, Supervised

GRACE: Final = 1.0  # seconds after the limit in which a contestant may say why it has no answer


@dataclass(frozen=True, slots=True)
class Job:
    task: BenchTask
    contestant: Contestant
    limits: Limits
    version: str

    @property
    def key(self) -> tuple[str, ...]:
        """That of its row."""
        task, who = self.task, self.contestant
        return task.name, task.digest, task.property_name, who.name, who.title, str(self.limits)

    def start(self, processors: Sequence[int] = ()) -> Supervised:
        """Under way, on these processors. A contestant of ours is the Certus that is running now."""
        search = os.environ.get("PYTHONPATH")
        environment = {} if search is None else {"PYTHONPATH": _absolute(search)}
        return Supervised(
            self.contestant.command(self.task, self.limits),
            seconds=self.limits.seconds + GRACE,
            memory=self.limits.memory,
            environment=environment,
            processors=processors,
        )

    def row(self, ended: Ended) -> Row:
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
    return asdict(job)


def decode_job(values: dict[str, Any]) -> Job:
    contestant = values["contestant"] | {"words": tuple(values["contestant"]["words"])}
    task, limits = BenchTask(**values["task"]), Limits(**values["limits"])
    return Job(task, Contestant(**contestant), limits, values["version"])


def run_job(values: dict[str, Any]) -> dict[str, Any]:
    """A job from start to end in this process, by the Certus that is here: what a cluster is given."""
    job = decode_job(values)
    if job.contestant.ours:
        job = replace(job, version=our_version())
    return asdict(job.row(job.start().result()))


def _absolute(search: str) -> str:
    """A search path that is the same in every directory."""
    return os.pathsep.join(os.path.abspath(part) for part in search.split(os.pathsep) if part)
