"""What `auto` is built on, measured: cheap looks, passes and ranges, the cost of a trivial program.

    python scripts/bench_auto.py looks TASKS... [--sample N]     tasks expected false: whom random runs find
    python scripts/bench_auto.py passes TASKS... [--sample N]    seconds of each pass, and of ranges
    python scripts/bench_auto.py trivial [PROGRAMS...]           CPU seconds of whole runs: auto and bmc

TASKS are those of `certus bench`; only `unreach-call` is asked for. Which engine answers what is for that
command.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.memory import uses_memory
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import Pass, Task
from certus.core.verdict import Unsafe
from certus.frontend import load_question, read_question
from certus.frontend.properties import UNREACH_CALL
from certus.pipeline.bench.tasks import BenchTask, sample, select
from certus.pipeline.facts import RangeFacts
from certus.pipeline.looks import look
from certus.transform.bounds import Bounds
from certus.transform.constants import Constants
from certus.transform.inline import Inline
from certus.transform.large_blocks import LargeBlocks
from certus.transform.memory import Memory
from certus.transform.slice import Slice
from certus.validate.replay import replay

LIMIT = 20.0  # seconds that looks take their share of
PROGRAMS = ("tests/cli/triangle.lp", "examples/gcd_bug.lp", "examples/parity.lp", "examples/window.c")


def programs(arguments: argparse.Namespace) -> Iterator[tuple[BenchTask, Program]]:
    """The tasks that the front end accepts, loaded."""
    tasks = select(arguments.tasks, [UNREACH_CALL]).tasks
    wanted = [task for task in tasks if arguments.what != "looks" or task.expected is False]
    for task in sample(wanted, arguments.sample or len(wanted), arguments.seed):
        question = read_question(Path(task.file), property=UNREACH_CALL, data_model=task.data_model)
        try:
            yield task, load_question(question, budget=Budget(60)).program
        except (Unsupported, BudgetExceeded, InputError):
            continue


def looks(arguments: argparse.Namespace) -> None:
    tried = found = replayed = 0
    for task, program in programs(arguments):
        start = time.perf_counter()
        verdict, how = look(program, Budget(LIMIT))
        spent = time.perf_counter() - start
        tried += 1
        ended = ""
        if isinstance(verdict, Unsafe):
            found += 1
            again = replay(program, verdict.refutation, budget=Budget(LIMIT))
            replayed += isinstance(again, Replay)
            ended = "replayed" if isinstance(again, Replay) else again.code
        print(f"{task.name}: {len(program.edge)} edges, {how}, {spent:.2f} s {ended}", flush=True)
    print(f"{tried} programs, {found} errors found, {replayed} replayed")


def passes(arguments: argparse.Namespace) -> None:
    for task, program in programs(arguments):
        memory: list[Pass] = [Memory()] if uses_memory(program) else []
        ranges = RangeFacts(Budget(60), Statistics())
        present, cells = Task(program), []
        for each in (*memory, Constants(), Slice(), Inline(), Bounds(), ranges, LargeBlocks("large")):
            start = time.perf_counter()
            present, _ = each.apply(present)
            cells.append(f"{each.name} {time.perf_counter() - start:.2f}")
        print(f"{task.name}: {len(program.edge)} edges, {', '.join(cells)}", flush=True)


def trivial(arguments: argparse.Namespace) -> None:
    for program in arguments.tasks or map(Path, PROGRAMS):
        for engine in ("auto", "bmc") * 3:
            before = _cpu()
            words = ["-m", "certus", "verify", str(program), "--engine", engine, "--quiet"]
            done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
            print(f"{program} {engine}: {_cpu() - before:.2f} s of CPU time, {done.stdout.strip()}")


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what auto is built on.")
    parser.add_argument("what", choices=("looks", "passes", "trivial"))
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    {"looks": looks, "passes": passes, "trivial": trivial}[arguments.what](arguments)


if __name__ == "__main__":
    main()
