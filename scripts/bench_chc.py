"""Measure the engines on Horn clauses, as Markdown on standard output (figures `chc-*`).

    python scripts/bench_chc.py sample LIST.csv TASKS_DIR --rows ROWS.csv [--cpu] [--seconds 10] [--every 5]
    python scripts/bench_chc.py queries
    python scripts/bench_chc.py bounds

sample    answers by suite; LIST.csv has lines `suite/task,sat|unsat`, TASKS_DIR the tasks; wall-clock limit.
          Each run is appended to ROWS.csv; runs that the file has for this commit are not repeated.
          With --cpu the seconds are CPU time of a process, which a busy machine changes less
queries   prover queries with explication, with cores, and with exhaustive predicate abstraction
bounds    iterations, prover queries and seconds for growing loop bounds, `bmc` beside `clp`
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANNERS = ("proofs", "cores", "exhaustive")
PATIENCE = 30  # times the limit of CPU time, as wall-clock time
BOUNDS = (10, 100, 1000, 100_000)


def run_certus(*arguments: str, seconds: float, cpu: int | None = None) -> tuple[str, float]:
    """What `certus` prints, and how long it takes: wall-clock time, or CPU time if that is limited."""
    start = time.monotonic() if cpu is None else _cpu_seconds()
    command = [sys.executable, "-m", "certus", *arguments, "--timeout", f"{seconds}s"]
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=settings,
        start_new_session=True,
    )
    if cpu is not None:  # before it starts processes of its own, which inherit the limit
        resource.prlimit(child.pid, resource.RLIMIT_CPU, (cpu, cpu))
    try:
        text, _ = child.communicate(timeout=seconds + 5)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        text = ""
    return text, (time.monotonic() if cpu is None else _cpu_seconds()) - start


def _cpu_seconds() -> float:
    """Of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counter(report: str, name: str) -> int:
    """A counter out of a verbose report, where seconds of the same name come later."""
    for line in report.splitlines():
        words = line.lstrip("; ").split()
        if len(words) == 2 and words[0] == name:
            return int(words[1])
    return 0


@dataclass(frozen=True, slots=True)
class Row:
    """One run: what `engine` said of `task`, `note` why not or nothing."""

    commit: str
    engine: str
    task: str
    expected: str
    answer: str
    seconds: str
    note: str

    @property
    def suite(self) -> str:
        return self.task.partition("/")[0]

    @property
    def is_right(self) -> bool:
        return self.answer == self.expected


def commit() -> str:
    """The commit that is run, with a `+` if its sources have been changed."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--short", "--", "src") else "")


def sample(arguments: argparse.Namespace) -> Iterator[str]:
    """Runs that the file of rows has for this commit are not repeated, so a run can be broken off."""
    current, engines = commit(), arguments.engines.split(",")
    listed = [line.rsplit(",", 1) for line in arguments.list.read_text().splitlines() if line.strip()]
    wanted = [(task, expected) for task, expected in listed[arguments.first :: arguments.every]]
    with arguments.rows.open("a+", newline="") as file:
        file.seek(0)
        rows = {(r.engine, r.task): r for r in (Row(*c) for c in csv.reader(file)) if r.commit == current}
        writer = csv.writer(file)
        for task, expected in wanted:
            for engine in engines:
                if (engine, task) in rows:
                    continue
                row = rows[engine, task] = run_task(current, engine, task, expected, arguments)
                writer.writerow(dataclasses.astuple(row))
                file.flush()
                print(*dataclasses.astuple(row), file=sys.stderr, flush=True)
    yield from summary([rows[engine, task] for task, _ in wanted for engine in engines], engines)


def run_task(current: str, engine: str, task: str, expected: str, arguments: argparse.Namespace) -> Row:
    file = str(arguments.tasks / f"{task}.smt2")
    seconds, cpu = arguments.seconds, None
    if arguments.cpu:
        seconds, cpu = PATIENCE * arguments.seconds, ceil(arguments.seconds)
    text, taken = run_certus("chc", file, "--engine", engine, seconds=seconds, cpu=cpu)
    answer = text.split(maxsplit=1)[0] if text.strip() else "unknown"
    reason = re.search(r"unknown\[([\w-]+)\]", text) if answer == "unknown" else None
    note = "" if answer != "unknown" else reason.group(1) if reason else "killed"
    if note and cpu is not None and taken > 0.9 * cpu:
        note = "cpu-limit"
    return Row(current, engine, task, expected, answer, f"{taken:.1f}", note)


def summary(rows: list[Row], engines: list[str]) -> Iterator[str]:
    """Answers by suite, those that are wrong, and the tasks that only one engine solves."""
    solved: dict[str, Counter[str]] = defaultdict(Counter)
    right: dict[str, list[str]] = {}
    for row in rows:
        solved[row.suite][row.engine] += row.is_right
        right.setdefault(row.task, [])
        if row.is_right:
            right[row.task].append(row.engine)
    for task in right:
        solved[task.partition("/")[0]]["tasks"] += 1
    yield f"| suite | tasks | {' | '.join(engines)} |"
    yield f"|---|---:|{'---:|' * len(engines)}"
    for suite, found in (*sorted(solved.items()), ("all", sum(solved.values(), Counter()))):
        yield f"| {suite} | {found['tasks']} | {' | '.join(str(found[e]) for e in engines)} |"
    wrong = [row for row in rows if not row.is_right and row.answer in ("sat", "unsat")]
    yield f"\ncommit {rows[0].commit if rows else commit()}; wrong: {len(wrong)}"
    yield from (f"{row.task}: {row.engine} says {row.answer}" for row in wrong)
    for engine in engines:
        yield f"only {engine}: {', '.join(t for t, who in right.items() if who == [engine]) or 'none'}"


def queries(arguments: argparse.Namespace) -> Iterator[str]:
    yield f"| program | {' | '.join(MANNERS)} |"
    yield f"|---|{'---:|' * len(MANNERS)}"
    files = [*sorted((ROOT / "tests" / "programs" / "chc").glob("*.smt2"))]
    files += [ROOT / "examples" / name for name in ("traffic_light.lp", "locks.lp", "swap.lp", "rational.c")]
    for file in files:
        cells = []
        for manner in MANNERS:
            property_ = ("--property", "unreach-call") if file.suffix == ".c" else ()
            flags = (*property_, "--engine", "clp", "--verbose", "--set", f"clp.explication={manner}")
            report, _ = run_certus("verify", str(file), *flags, seconds=arguments.seconds)
            answer = report.split(maxsplit=1)[0] if report else "UNKNOWN"
            asked = counter(report, "solver.clp.prover") + counter(report, "solver.clp.trace")
            cells.append(f"{asked} in {counter(report, 'clp.iterations')}" if answer != "UNKNOWN" else "-")
        yield f"| {file.name} | {' | '.join(cells)} |"


def bounds(arguments: argparse.Namespace) -> Iterator[str]:
    yield "| bound | clp: iterations | prover queries | seconds | bmc: seconds |"
    yield "|---:|---:|---:|---:|---:|"
    text = (ROOT / "examples" / "rational.c").read_text()
    with tempfile.TemporaryDirectory() as directory:
        for bound in BOUNDS:
            file = Path(directory) / "rational.c"
            file.write_text(text.replace("100000", str(bound)))
            verify = ("verify", str(file), "--property", "unreach-call")
            report, taken = run_certus(*verify, "--engine", "clp", "--verbose", seconds=arguments.seconds)
            asked = counter(report, "solver.clp.prover") + counter(report, "solver.clp.trace")
            unrolled, other = run_certus(*verify, "--engine", "bmc", seconds=arguments.seconds)
            beside = f"{other:.1f}" if unrolled.startswith("HOLDS") else "-"
            iterations = counter(report, "clp.iterations")
            yield f"| {bound:,} | {iterations} | {asked} | {taken:.1f} | {beside} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = parser.add_subparsers(required=True)
    first = tables.add_parser("sample")
    first.add_argument("list", type=Path)
    first.add_argument("tasks", type=Path)
    first.add_argument("--rows", type=Path, required=True)
    first.add_argument("--cpu", action="store_true")
    first.add_argument("--every", type=int, default=1)
    first.add_argument("--first", type=int, default=0)
    first.add_argument("--engines", default="clp,spacer")
    first.set_defaults(table=sample)
    tables.add_parser("queries").set_defaults(table=queries)
    tables.add_parser("bounds").set_defaults(table=bounds)
    for each in tables.choices.values():
        each.add_argument("--seconds", type=float, default=10.0 if each is first else 60.0)
    arguments = parser.parse_args()
    for line in arguments.table(arguments):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
