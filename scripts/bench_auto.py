"""What `auto` is built on, measured: cheap looks, passes and ranges, a trivial program, limits.

    python scripts/bench_auto.py looks TASKS... [--sample N]     tasks expected false: whom looks find
    python scripts/bench_auto.py passes TASKS... [--sample N]    seconds of each pass, and of ranges
    python scripts/bench_auto.py trivial [PROGRAMS...]           CPU seconds of whole runs: auto and bmc
    python scripts/bench_auto.py limits                          what runs use that a limit ends
    python scripts/bench_auto.py suites results.csv...           what `certus bench` found, by suite

TASKS are those of `certus bench`; only `unreach-call` is asked for.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

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
from certus.pipeline.looks import LOOKS
from certus.system.usage import memory_of
from certus.transform.bounds import Bounds
from certus.transform.constants import Constants
from certus.transform.inline import Inline
from certus.transform.large_blocks import LargeBlocks
from certus.transform.memory import Memory
from certus.transform.slice import Slice
from certus.validate.replay import replay

REFUSALS = ("unsupported-", "no-main", "bad-task-file", "clang-error")
LIMIT = 20.0  # seconds that looks take their share of
PROGRAMS = ("tests/cli/triangle.lp", "examples/gcd_bug.lp", "examples/parity.lp", "examples/window.c")
HARD = {  # a question that is hard for solvers, and one whose unrollings grow
    "factors.c": """
unsigned long long __VERIFIER_nondet_ulonglong(void);
void reach_error(void) {}
int main(void) {
  unsigned long long a = __VERIFIER_nondet_ulonglong(), b = __VERIFIER_nondet_ulonglong();
  if (a > 1 && b > 1 && a < 4294967296 && b < 4294967296 && a * b == 8670687648630721837ULL) reach_error();
}
""",
    "growing.c": """
unsigned __VERIFIER_nondet_uint(void);
void reach_error(void) {}
int main(void) {
  unsigned table[64], n = 0, sum = 0;
  while (__VERIFIER_nondet_uint()) {
    unsigned i = __VERIFIER_nondet_uint() % 64;
    table[i] = table[(i * i + n) % 64] * 5 + __VERIFIER_nondet_uint();
    sum ^= table[i] * sum + i, n++;
    if (n > 1000000 && sum == 12345678 && table[0] == sum * 3) reach_error();
  }
}
""",
}


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
        for each in LOOKS.values():
            verdict, how = each(program, Budget(LIMIT))
            if verdict is not None:
                break
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


def limits(_: argparse.Namespace) -> None:
    """Programs that no engine answers, under each limit."""
    engines = ("auto", "bmc", "kind", "predicate", "linear", "spacer", "clp")
    given = (["--timeout", "10s"], ["--timeout", "60s", "--cpu-time", "10s"], ["--memory", "400MB"])
    with TemporaryDirectory() as scratch:
        for name, text in HARD.items():
            file = Path(scratch, name)
            file.write_text(text)
            for engine in engines:
                for options in given:
                    words = ["verify", str(file), "--engine", engine, "--quiet", *options]
                    answer, used = _watched([sys.executable, "-m", "certus", *words])
                    print(f"{name} {engine} {' '.join(options)}: {used}  {answer.split()[0]}", flush=True)


def suites(arguments: argparse.Namespace) -> None:
    """Tables in Markdown: answers by suite, refused tasks apart, and who gave them."""
    rows = [row for file in arguments.tasks for row in csv.DictReader(file.open(encoding="utf-8"))]
    kinds = ("true", "false", "wrong", "unjudged", "unknown", "refused")
    by_suite: dict[str, Counter[str]] = {}
    for row in rows:
        kind = row["judgement"] if row["judgement"] != "correct" else row["answer"]
        refused = row["answer"] == "unknown" and row["reason"].startswith(REFUSALS)
        for suite in (Path(row["task"]).parent.name, "all"):
            by_suite.setdefault(suite, Counter())[kind if not refused else "refused"] += 1
    print("| suite | tasks | HOLDS | VIOLATED | against label | no label | none | not modelled |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for suite, found in sorted(by_suite.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"| {suite} | {found.total()} |", " | ".join(str(found[kind]) for kind in kinds), "|")
    engines = Counter(row["engine"] for row in rows if row["judgement"] == "correct")
    print("\nAnswered by:", ", ".join(f"{name} {number}" for name, number in engines.most_common()))
    print(
        "Versions:",
        ", ".join(f"{name} {number}" for name, number in Counter(r["version"] for r in rows).items()),
    )


def _watched(command: list[str]) -> tuple[str, str]:
    """What a command prints, and what it used: time, CPU time, and the most memory seen."""
    before, start, most = _cpu(), time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        while child.poll() is None:
            most = max(most, memory_of([child.pid], 0)[child.pid])
            time.sleep(0.05)
        assert child.stdout is not None
        answer = child.stdout.read()
    spent = time.monotonic() - start
    return answer, f"{spent:.1f} s, {_cpu() - before:.1f} s of CPU time, {most >> 20} MB"


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what auto is built on.")
    tables = {"looks": looks, "passes": passes, "trivial": trivial, "limits": limits, "suites": suites}
    parser.add_argument("what", choices=tables)
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tables[arguments.what](arguments)


if __name__ == "__main__":
    main()
