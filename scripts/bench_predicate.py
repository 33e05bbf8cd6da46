"""Measure predicate abstraction, as Markdown on standard output (figures `predicate-*`).

    python scripts/bench_predicate.py --tasks TASKS --keep DIR   # all tables
    python scripts/bench_predicate.py blocks phases              # only these
    python scripts/bench_predicate.py blocks --only sort --limit 60

blocks    single, large and advanced blocks, encoding and CEGAR separately (Mertens 2014, Table 5.2), and
          the engine `spacer` on large blocks
phases    where the time goes under large blocks (Wolff 2015 conjectures: into abstraction)
growth    locks 5..50 under large and single blocks
ablation  refinements and seconds of the parts of refinement, and of the loop as published (Wolff 2015)
levels    Boolean programs with 5 to 500 procedures, as in the benchmark of Bebop, by three engines
contract  programs that have to be proved within 1 s or 5 s, from start to end
suites    real C tasks below TASKS, suite by suite, each with --limit seconds of CPU

Seconds are CPU seconds, so other loads disturb them little; the limit of the first three tables is wall time.
Runs recorded in DIR are not repeated, so the same command continues after an interruption; use another DIR
for another version of Certus.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from certus.bench.campaign import ROWS, Rows, all_jobs, run_missing
from certus.bench.contestants import Limits, engine_contestant
from certus.bench.results import Row
from certus.bench.runners import core_sets, run_locally
from certus.bench.tasks import BenchTask, sample, select
from certus.core.accounting import Budget, Statistics
from certus.core.effects import uses_memory
from certus.core.engine import Engine, Pass, Task, apply_passes
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Safe, Unknown, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.vocabulary import UNREACH_CALL
from certus.engines.predicate import Options, PredicateAbstraction
from certus.engines.spacer import Spacer
from certus.frontend import load
from certus.interpolation.interpolants import _Search
from certus.passes.constants import Constants
from certus.passes.inline import Inline
from certus.passes.large_blocks import MODES, LargeBlocks, Mode
from certus.passes.memory import Memory
from certus.passes.slice import Slice
from certus.run.publish import examine

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
LIMIT = 20.0  # seconds for one run, unless asked otherwise
PATIENCE = 6  # seconds of wall time for each of CPU time, at the most
LOCKS = (5, 8, 10, 12, 15)
GROWTH = (5, 10, 20, 30, 40, 50)
PHASES = ("abstraction", "reachability", "trace", "refinement")
SUITES = (
    "sv-locks",
    "sv-ntdrivers-simplified",
    "sv-ssh-simplified",
    "sv-systemc",
    "sv-loops*",
    "sv-loop-*",
    "sv-recurs*",
    "code2inv-linear",
)
WHOLE = SUITES[:2]  # these run as a whole, without sampling
ADDITION = """
int add(int m, int n) { if (n == 0) return m; if (n > 0) { int r = add(m + 1, n - 1); return r; }
    int s = add(m - 1, n + 1); return s; }
void main() { int m = *; int n = *; int r = add(m, n); assert(r == m + n); }
"""
EVEN_ODD = """
int even(int n) { if (n == 0) return 1; int r = odd(n - 1); return r; }
int odd(int n) { if (n == 0) return 0; int r = even(n - 1); return r; }
void main() { int n = *; assume(n >= 0); int a = even(n); int b = odd(n); assert(a + b == 1); }
"""
TWO_LOOPS = """
void main() { int x = 0, y = 0, n = *; assume(n >= 0);
    while (x < n) { x = x + 1; y = y + 1; } while (x > 0) { x = x - 1; y = y - 1; } assert(y == 0); }
"""
MCCARTHY = """
int f(int n) { if (n > 100) return n - 10; int a = f(n + 11); int b = f(a); return b; }
void main() { int n = *; int r = f(n); assert(n > 101 || r == 91); }
"""


RECURSIVE_SUM = """
int sum(int n) { if (n <= 0) return 0; int r = sum(n - 1); return r + n; }
void main() { int n = *; int r = sum(n); assert(r >= 0); }
"""
COUNTER = """if (g) { a, b, c = false, false, false; while (!a || !b || !c)
    { if (!a) { a = true; } else { a, b, c = false, !b, b != c; } } assert(a && b && c); }"""
LEVELS = (5, 20, 100, 500)
SSH = ("s3_clnt_1.cil-1", "s3_srvr_1.cil-1")


@dataclass(frozen=True)
class Run:
    """One program under one size of blocks. `counters` and `seconds` are the engine's statistics."""

    answer: str
    encoding: float
    cegar: float
    counters: dict[str, int]
    seconds: dict[str, float]

    @property
    def text(self) -> str:
        return f"{self.answer} {self.cegar:.2f}"


@dataclass
class Plan:
    """What is asked for: programs whose names begin so, seconds for one run, a number of tasks. Runs are kept
    in a file, by what was run."""

    directory: Path  # for programs that are made
    keep: Path
    limit: float
    only: str
    tasks: Path | None
    sample: int | None
    jobs: int
    _known: dict[str, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        file = self.keep / "runs.jsonl"
        for line in file.read_text().splitlines() if file.exists() else ():
            with suppress(ValueError):  # cut off
                key, values = json.loads(line)
                self._known[key] = Run(**values)

    def programs(self) -> list[Path]:
        return [path for path in programs(self.directory) if path.stem.startswith(self.only)]

    def run(self, path: Path, mode: Mode, engine: Engine[Any] | None = None) -> Run:
        """A program under an engine, by default `predicate`, unless that is known already."""
        engine = engine or PredicateAbstraction()
        key = f"{path.name}, {mode} blocks, {engine.name}, {self.limit:g} s"
        if key not in self._known:
            self._known[key] = run(path, mode, self.limit, engine)
            with (self.keep / "runs.jsonl").open("a") as stream:
                stream.write(json.dumps([key, asdict(self._known[key])]) + "\n")
        return self._known[key]


def run(path: Path, mode: Mode, limit: float, engine: Engine[Any], options: object = None) -> Run:
    program = load(path).program
    task, statistics = Task(program), Statistics()
    memory: list[Pass] = [Memory()] if uses_memory(program) else []
    small, first, _ = apply_passes(task, [*memory, Constants(), Slice(), Inline()])
    start = time.process_time()
    blocks, second = LargeBlocks(mode).apply(small)
    encoded = time.process_time()

    def ended(answer: str) -> Run:
        spent = time.process_time() - encoded
        return Run(answer, encoded - start, spent, dict(statistics.counters), statistics.seconds)

    try:
        verdict = engine.run(blocks, options or engine.options(), Budget(limit), statistics)
    except BudgetExceeded:
        return ended("TO")
    if isinstance(verdict, Unknown):
        return ended(verdict.reason.code)
    found = ended("safe" if isinstance(verdict, Safe) else "unsafe")
    assert isinstance(verdict, Safe | Unsafe)
    back = second.after(first).verdict(verdict)
    check = examine(program, back, budget=Budget(60), statistics=Statistics())
    return found if isinstance(check, ProofCheck | Replay) else ended(check.code)


def lock_file(directory: Path, number: int, **variant: bool) -> Path:
    spec = importlib.util.spec_from_file_location("locks", EXAMPLES / "locks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    name = "".join((f"locks {number}", *(f", {word}" for word, on in variant.items() if on)))
    path = directory / f"{name}.lp"
    path.write_text(module.locks(number, **variant))
    return path


def programs(directory: Path) -> Iterator[Path]:
    yield from sorted((EXAMPLES / "papers" / "mertens2014").glob("*.c"))
    for number in LOCKS:
        yield lock_file(directory, number)
    for number in (5, 12):
        yield lock_file(directory, number, persist=True)
    for number in (5, 10):
        yield lock_file(directory, number, correlate=True)
    for name in ("swap", "parity", "gcd", "sum", "traffic_light"):
        yield EXAMPLES / f"{name}.lp"


def table(heads: list[str], rows: Iterator[list[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


# ---------------------------------------------------------------------------- programs of our own


def blocks(plan: Plan) -> None:
    print(f"### Encoding and CEGAR by size of blocks (limit {plan.limit:.0f} s of wall time)\n")

    def row(path: Path) -> list[str]:
        single, large, advanced = (plan.run(path, mode) for mode in MODES[:3])
        spacer = plan.run(path, "large", Spacer())
        total = large.encoding + large.cegar
        definite = {"safe", "unsafe"}
        saving = "-"
        if {single.answer, large.answer} <= definite:
            saving = f"{1 - total / single.cegar:.0%}"
        wins = large.answer in definite or single.answer not in definite
        loses = not wins or (single.answer in definite and total > single.cegar)
        name = f"**{path.stem}**" if loses else path.stem
        encoding = f"{large.encoding:.4f}"
        return [name, encoding, large.text, advanced.text, single.text, saving, spacer.text]

    cegar = [f"CEGAR {mode}" for mode in ("large", "advanced", "single")]
    heads = ["program", "encoding (large)", *cegar, "saved by large", "spacer"]
    table(heads, map(row, plan.programs()))


def phases(plan: Plan) -> None:
    print("### Where the time goes (large blocks)\n")
    sums = dict.fromkeys((*PHASES, "all"), 0.0)

    def row(path: Path) -> list[str]:
        found = plan.run(path, "large")
        counters, seconds = found.counters, found.seconds
        times = [seconds.get(f"predicate.{phase}", 0.0) for phase in PHASES]
        total = sum(times) + seconds.get("predicate.blocks", 0.0) or 1.0
        for phase, spent in zip((*PHASES, "all"), (*times, total), strict=True):
            sums[phase] += spent
        solver = sum(spent for key, spent in seconds.items() if key.startswith("solver."))
        calls = sum(n for key, n in counters.items() if key.startswith("solver."))
        return [
            path.stem,
            *(f"{spent / total:.0%}" for spent in times),
            str(counters.get("predicate.abstractions", 0)),
            str(calls),
            str(counters.get("predicate.refinements", 0)),
            str(counters.get("predicate.predicates", 0)),
            f"{solver / total:.0%}",
        ]

    heads = ["program", *PHASES, "abstractions", "solver calls", "refinements", "predicates", "in solvers"]
    table(heads, map(row, plan.programs()))
    print(", ".join(f"{phase} {sums[phase] / sums['all']:.0%}" for phase in PHASES), "of all time.\n")


def growth(plan: Plan) -> None:
    print(f"### Growth with the number of locks (limit {plan.limit:.0f} s of wall time)\n")

    def row(number: int) -> list[str]:
        path = lock_file(plan.directory, number)
        large = plan.run(path, "large")
        return [str(number), f"{large.encoding:.4f}", large.text, plan.run(path, "single").text]

    table(["locks", "encoding (large)", "CEGAR large", "CEGAR single"], map(row, GROWTH))


def ablation(plan: Plan) -> None:
    print(f"### What each part of refinement does (limit {plan.limit:.0f} s of wall time)\n")
    plain = Options(invariants=False)
    variants: dict[str, tuple[Mode, Options, bool]] = {
        "all parts": ("large", Options(), True),
        "without collapsing": ("large", plain, True),
        "without Spacer": ("large", plain, False),
        "via a Boolean program": ("single", Options(via="boolean"), True),
    }

    def cell(path: Path, mode: Mode, options: Options, spacer: bool) -> str:
        if options.via == "boolean":
            return published(path)
        with nullcontext() if spacer else patch.object(_Search, "_spacer", lambda *_: None):
            found = run(path, mode, plan.limit, PredicateAbstraction(), options)
        refinements = found.counters.get("predicate.refinements", 0)
        return f"{found.answer}, {refinements}, {found.cegar:.2f}"

    def published(path: Path) -> str:
        """A command, since z3 may not end in time: the schedule ends its process."""
        options = ["--blocks", "single", "--set", "predicate.via=boolean", "--property", "unreach-call"]
        answer, statistics, spent = command(path, "predicate", plan.limit, *options)
        word = {"HOLDS": "safe", "VIOLATED": "unsafe"}.get(answer, "TO")
        return f"{word}, {statistics.get('predicate.refinements', 0)}, {spent:.2f}"

    texts = [EXAMPLES / f"{name}.lp" for name in ("gcd", "traffic_light", "sum", "parity")]
    paths = [
        *texts,
        made(plan, "recursive sum", RECURSIVE_SUM),
        *(lock_file(plan.directory, n) for n in (3, 5)),
    ]
    if plan.tasks is not None:
        paths += [plan.tasks / "sv-ssh-simplified" / f"{name}.c" for name in SSH]
    rows = ([path.stem, *(cell(path, *variant) for variant in variants.values())] for path in paths)
    table(["program", *variants], rows)


def levels(plan: Plan) -> None:
    print(f"### Boolean programs with many procedures (limit {plan.limit:.0f} s of wall time)\n")

    def cell(path: Path, engine: str) -> str:
        answer, _, spent = command(path, engine, plan.limit)
        return f"{spent:.1f}" if answer == "HOLDS" else "-"

    def row(number: int) -> list[str]:
        path = made(plan, f"levels {number}", level_program(number))
        return [str(number), *(cell(path, engine) for engine in ("boolean", "predicate", "spacer"))]

    table(["procedures", "boolean", "predicate", "spacer"], map(row, LEVELS))


def command(path: Path, engine: str, limit: float, *options: str) -> tuple[str, dict[str, int], float]:
    """The answer of a whole command, its counters, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["verify", str(path), "--engine", engine, "--json", "--timeout", f"{limit:g}s", *options]
    done = subprocess.run(
        [sys.executable, "-m", "certus", *words], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    outcome = json.loads(done.stdout)
    return outcome["verdict"], outcome["statistics"]["counters"], spent


def level_program(number: int) -> str:
    """The benchmark of Bebop (Ball and Rajamani 2000): a level counts to seven and calls the next twice."""
    texts = ["bool g;", "void main() { g = *; level1(); level1(); assert(g || !g); }"]
    for level in range(1, number + 1):
        calls = f"level{level + 1}(); level{level + 1}();" if level < number else ""
        texts.append(f"void level{level}() {{ bool a, b, c; {COUNTER} {calls} g = !g; }}")
    return "\n".join(texts)


def made(plan: Plan, name: str, text: str) -> Path:
    path = plan.directory / f"{name}.lp"
    path.write_text(text)
    return path


def contract(plan: Plan) -> None:
    print("### The programs of the contract (whole commands)\n")

    def row(path: Path, limit: int) -> list[str]:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        words = ["verify", str(path), "--engine", "predicate", "--timeout", f"{plan.limit * PATIENCE:g}s"]
        done = subprocess.run(
            [sys.executable, "-m", "certus", *words], capture_output=True, text=True, check=False
        )
        passed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        answer = done.stdout.split(maxsplit=1)[0] if done.stdout else f"exit code {done.returncode}"
        return [path.stem, answer, f"{passed:.2f}", f"{spent:.2f}", str(limit)]

    quick = [EXAMPLES / "swap.lp", EXAMPLES / "parity.lp", *(lock_file(plan.directory, n) for n in (5, 15))]
    texts = {"addition": ADDITION, "even and odd": EVEN_ODD, "two loops": TWO_LOOPS}
    quick += [made(plan, name, text) for name, text in texts.items()]
    slow = [
        lock_file(plan.directory, 12, persist=True),
        lock_file(plan.directory, 10, correlate=True),
        made(plan, "McCarthy 91", MCCARTHY),
    ]
    limits = [*((path, 1) for path in quick), *((path, 5) for path in slow)]
    table(["program", "answer", "seconds", "CPU seconds", "limit"], (row(*each) for each in limits))


# ------------------------------------------------------------------------------------- real tasks


def suites(plan: Plan) -> None:
    if plan.tasks is None:
        print("No table of the suites without --tasks.\n")
        return
    found = _rows(plan, plan.tasks)
    print(f"### Verdicts on real tasks ({plan.limit:g} s of CPU)\n")

    def row(name: str, rows: list[Row]) -> list[str]:
        right = [each for each in rows if each.judgement == "correct"]
        counts = [sum(each.answer == answer for each in right) for answer in ("true", "false")]
        counts += [sum(each.judgement == kind for each in rows) for kind in ("wrong", "unknown")]
        times = sorted(each.cpu for each in right)
        shown = (f"{times[len(times) // 2]:.1f}", f"{times[-1]:.1f}") if times else ("-", "-")
        return [name, str(len(rows)), *map(str, counts), *shown]

    by_suite: dict[str, list[Row]] = {}
    for each in found:
        by_suite.setdefault(each.suite, []).append(each)
    heads = ["suite", "tasks", "HOLDS", "VIOLATED", "wrong", "none", "median CPU s", "slowest CPU s"]
    table(heads, (row(name, rows) for name, rows in [*by_suite.items(), ("all", found)]))
    left = [each for each in found if each.suite in WHOLE and each.judgement != "correct"]
    print("Without a correct answer in", " and ".join(WHOLE) + ":", ", ".join(e.task for e in left) or "none")


def _rows(plan: Plan, tasks: Path) -> list[Row]:
    """What `predicate` says to the tasks; those that have a row in DIR are not run again."""
    paths = [path for pattern in SUITES for path in sorted(tasks.glob(pattern)) if path.is_dir()]
    by_suite: dict[str, list[BenchTask]] = {}
    for task in select(paths, [UNREACH_CALL]).tasks:
        by_suite.setdefault(Path(task.file).parent.name, []).append(task)
    chosen: list[BenchTask] = []
    for suite, mine in by_suite.items():
        chosen += mine if plan.sample is None or suite in WHOLE else sample(mine, plan.sample, 0)
    contestant = engine_contestant(f"predicate --cpu-time {plan.limit:g}s")
    jobs = all_jobs(chosen, [contestant], Limits(plan.limit * PATIENCE, 4 * 10**9, 1))
    kept = Rows(plan.keep / ROWS)
    run_missing(jobs, kept, partial(run_locally, core_sets=core_sets(plan.jobs, 1)), _tell)
    return kept.of(jobs)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    own = {"blocks": blocks, "phases": phases, "growth": growth, "ablation": ablation, "levels": levels}
    tables = {**own, "contract": contract, "suites": suites}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of: {', '.join(tables)}")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose names begin so")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="seconds for one run")
    parser.add_argument("--tasks", type=Path, metavar="TASKS", help="the directory that has the suites")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N tasks of each suite")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tasks at a time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where runs are kept")
    given = parser.parse_args()
    chosen = given.tables or list(tables)
    with tempfile.TemporaryDirectory() as directory:
        keep = given.keep or Path(directory)
        keep.mkdir(parents=True, exist_ok=True)
        limits = (given.limit, given.only, given.tasks, given.sample, given.jobs)
        plan = Plan(Path(directory), keep, *limits)
        for name in chosen:
            if name not in tables:
                parser.error(f"no table {name!r}: choose from: {', '.join(tables)}")
            tables[name](plan)


if __name__ == "__main__":
    main()
