"""Campaigns: every job once, however often they are interrupted."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from certus.bench.campaign import ROWS, Progress, Rows, all_jobs, duration_text, run_missing
from certus.bench.contestants import Limits, tool_contestant
from certus.bench.jobs import Job, decode_job, encode_job, run_job
from certus.bench.results import Row, row_from
from certus.bench.runners import core_sets, run_locally
from certus.bench.tasks import BenchTask
from certus.system.supervise import Ended

LIMITS = Limits(60.0, None, 1)


def jobs(number: int, tool: str = "t=echo TRUE {file}", limits: Limits = LIMITS) -> list[Job]:
    tasks = [BenchTask(f"{n}.yml", f"/{n}.yml", f"/{n}.c", "p", None, True, "d") for n in range(number)]
    return all_jobs(tasks, [tool_contestant(tool)], limits)


def quickly(jobs: Sequence[Job]) -> Generator[Row]:
    for job in jobs:
        yield job.row(Ended("exit", 0, "TRUE", 1.0, 1.0, 1))


def run(jobs: list[Job], rows: Rows) -> list[str]:
    """The tasks that were run now."""
    told: list[str] = []
    run_missing(jobs, rows, quickly, told.append)
    return [line.rpartition(" ")[2] for line in told]


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    file = tmp_path / ROWS
    assert run(jobs(2), Rows(file)) == ["0.yml", "1.yml"]
    assert run(jobs(3), Rows(file)) == ["2.yml"]
    assert len(Rows(file).of(jobs(3))) == 3
    assert run(jobs(1, limits=Limits(30.0, None, 1)), Rows(file)) == ["0.yml"]
    assert run(jobs(1, "t=echo FALSE {file}"), Rows(file)) == ["0.yml"]


def test_a_line_cut_off_costs_its_row_only(tmp_path: Path) -> None:
    file = tmp_path / ROWS
    run(jobs(2), Rows(file))
    file.write_bytes(file.read_bytes()[:-40])
    assert run(jobs(3), Rows(file)) == ["1.yml", "2.yml"]
    assert run(jobs(3), Rows(file)) == []


def test_rows_of_another_version_can_be_renewed(tmp_path: Path) -> None:
    rows = Rows(tmp_path / ROWS)
    (job,) = jobs(1)
    rows.add(Job(job.task, job.contestant, job.limits, "0.1+old").row(Ended("exit", 0, "TRUE", 1, 1, 1)))
    assert run([job], rows) == []
    rows.forget(lambda version: version == "0.1+new")
    assert run([job], rows) == []
    rows.forget(lambda version: version == "0.1+old")
    assert run([job], rows) == ["0.yml"]


def test_jobs_travel() -> None:
    (job,) = jobs(1)
    assert decode_job(encode_job(job)) == job
    row = row_from(run_job(encode_job(job)))
    assert (row.answer, row.key) == ("true", job.key)


def test_the_pool_runs_all_side_by_side(tmp_path: Path) -> None:
    meet = f"touch {tmp_path}/$$; until [ $(ls {tmp_path} | wc -l) = 4 ]; do sleep 0.1; done; echo TRUE"
    rows = list(run_locally(jobs(4, f"t=sh -c '{meet}' {{file}}"), [()] * 4))
    assert sorted(row.task for row in rows) == ["0.yml", "1.yml", "2.yml", "3.yml"]
    assert [row.answer for row in rows] == ["true"] * 4


def test_who_stops_asking_ends_what_is_under_way() -> None:
    start = time.monotonic()
    results = run_locally(jobs(4, "t=sh -c 'test {file} = /0.c || sleep 600' {file}"), [()] * 2)
    assert next(results).task == "0.yml"
    results.close()
    assert time.monotonic() - start < 60


def test_places_share_out_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 1, 2, 0})
    assert core_sets(2, 2) == [(0, 1), (2, 3)]
    assert core_sets(1, 1) == [(0,)]
    assert core_sets(3, 2) == [(), (), ()]


def test_the_estimate_knows_the_slow_from_the_quick() -> None:
    quick, slow = jobs(3, "q=q {file}"), jobs(3, "s=s {file}")
    told: list[str] = []
    progress = Progress([*quick, *slow], told.append)
    progress.count(quick[0].row(Ended("exit", 0, "TRUE", 1.0, 1.0, 1)))
    assert progress.remaining(1.0) == pytest.approx(2 * 1 + 3 * 1)
    progress.count(slow[0].row(Ended("exit", 0, "FALSE", 50.0, 1.0, 1)))
    assert progress.remaining(51.0) == pytest.approx(2 * 1 + 2 * 50)
    assert progress.remaining(25.5) == pytest.approx((2 * 1 + 2 * 50) / 2)  # two at a time
    assert told[-1].startswith("2 of 6 runs, 1 WRONG, about ")
    assert told[-1].endswith(" left: 0.yml")


def test_spans_in_words() -> None:
    assert [duration_text(s) for s in (5, 89, 600, 7200)] == ["5 s", "89 s", "10 min", "2.0 h"]
