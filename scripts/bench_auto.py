"""Measure what the schedule of `auto` rests on, as Markdown tables on standard output.

    python scripts/bench_auto.py concrete TASKS... [--sample N]  errors that running the program finds
    python scripts/bench_auto.py passes TASKS... [--sample N]    seconds of all passes, and of ranges
    python scripts/bench_auto.py trivial [PROGRAMS...]           CPU seconds of whole runs: auto and bmc
    python scripts/bench_auto.py limits                          what runs use that a limit ends

TASKS are those of `certus bench`; only `unreach-call` is considered, and for `concrete` only tasks that are
expected to be violated. `scripts/benchmarks_page.py --take NAME` reads a table: `concrete-runs`, `passes`,
`small-programs` or `limits`. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from certus.bench.tasks import BenchTask, sample, select
from certus.check.replay.replay import replay
from certus.core.accounting import Budget, Statistics
from certus.core.effects import uses_memory
from certus.core.engine import Pass, Task
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.evidence import Unknown, Unsafe
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.core.vocabulary import UNREACH_CALL
from certus.engines.registry import ENGINES
from certus.frontend import load_question, read_question
from certus.passes.bounds import Bounds
from certus.passes.constants import Constants
from certus.passes.inline import Inline
from certus.passes.large_blocks import LargeBlocks
from certus.passes.memory import Memory
from certus.passes.slice import Slice
from certus.run.sharing import RangeFacts
from certus.system.supervise import memory_of

LIMIT = 20.0  # seconds that concrete runs take their share of
ASKED = ("--property", "unreach-call")
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
    wanted = [task for task in tasks if arguments.what != "concrete" or task.expected is False]
    for task in sample(wanted, arguments.sample or len(wanted), arguments.seed):
        question = read_question(Path(task.file), property=UNREACH_CALL, data_model=task.data_model)
        try:
            yield task, load_question(question, budget=Budget(60)).program
        except (Unsupported, BudgetExceeded, InputError):
            continue


def concrete(arguments: argparse.Namespace) -> None:
    found: Counter[str] = Counter()
    for task, program in programs(arguments):
        found["accepted"] += 1
        for name in ("execution", "random", "search"):
            engine = ENGINES[name]
            verdict = engine.run(Task(program), engine.options(), Budget(LIMIT), Statistics())
            if not isinstance(verdict, Unknown):
                break
        if isinstance(verdict, Unsafe):
            found[name] += 1
            found["found"] += 1
            again = replay(program, verdict.refutation, budget=Budget(LIMIT))
            found["replayed"] += isinstance(again, Replay)
        print(f"{task.name}: {name} {type(verdict).__name__}", file=sys.stderr, flush=True)
    heads = ("accepted", "single run", "random runs", "search", "found", "replayed")
    names = ("accepted", "execution", "random", "search", "found", "replayed")
    table(heads, [[str(found[name]) for name in names]])


def passes(arguments: argparse.Namespace) -> None:
    def row(task: BenchTask, program: Program) -> list[str]:
        memory: list[Pass] = [Memory()] if uses_memory(program) else []
        present, seconds = Task(program), []
        for stage in (
            [*memory, Constants(), Slice(), Inline(), Bounds()],
            [RangeFacts(Budget(60), Statistics())],
            [LargeBlocks("large")],
        ):
            start = time.perf_counter()
            for each in stage:
                present, _ = each.apply(present)
            seconds.append(time.perf_counter() - start)
        before, ranges, blocks = seconds
        return [Path(task.name).stem, str(len(program.edge)), f"{before + blocks:.2f}", f"{ranges:.2f}"]

    heads = ("task", "edges", "all passes", "ranges with their check")
    table(heads, (row(task, program) for task, program in programs(arguments)))


def trivial(arguments: argparse.Namespace) -> None:
    def seconds(program: Path, engine: str) -> float:
        before = _cpu()
        words = ["-m", "certus", "verify", str(program), "--engine", engine, *ASKED, "--quiet"]
        subprocess.run([sys.executable, *words], capture_output=True, check=False)
        return _cpu() - before

    def row(program: Path) -> list[str]:
        runs = [[seconds(program, engine) for engine in ("auto", "bmc")] for _ in range(3)]
        return [str(program), *(f"{statistics.median(times):.2f}" for times in zip(*runs, strict=True))]

    table(("program", "auto", "bmc"), map(row, arguments.tasks or map(Path, PROGRAMS)))


def limits(_: argparse.Namespace) -> None:
    """Run programs that no engine answers under each limit."""
    engines = ("auto", "bmc", "kind", "predicate", "linear", "spacer", "clp")
    limited = {"--timeout 10s": "s", "--timeout 60s --cpu-time 10s": "s of CPU time", "--memory 400MB": "MB"}
    used: dict[str, list[tuple[float, str]]] = {options: [] for options in limited}
    with TemporaryDirectory() as scratch:
        for name, text in HARD.items():
            file = Path(scratch, name)
            file.write_text(text)
            for engine in engines:
                for options, unit in limited.items():
                    words = ["verify", str(file), *ASKED, "--engine", engine, "--quiet", *options.split()]
                    usage = _watched([sys.executable, "-m", "certus", *words])
                    used[options].append((usage[unit], engine))
                    print(name, engine, options, usage, file=sys.stderr, flush=True)

    def row(options: str) -> list[str]:
        most, engine = max(used[options])
        return [f"`{options}`", str(len(used[options])), f"{most:.1f} {limited[options]} (`{engine}`)"]

    table(("limit", "runs", "largest use"), map(row, limited))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def _watched(command: list[str]) -> dict[str, float]:
    """Run a command and return what it used: time, CPU time, and the most memory seen."""
    before, start, most = _cpu(), time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            most = max(most, memory_of([child.pid], 0)[child.pid])
            time.sleep(0.05)
    spent = time.monotonic() - start
    return {"s": spent, "s of CPU time": _cpu() - before, "MB": most / 2**20}


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = {"concrete": concrete, "passes": passes, "trivial": trivial, "limits": limits}
    parser.add_argument("what", choices=tables)
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tables[arguments.what](arguments)


if __name__ == "__main__":
    main()
