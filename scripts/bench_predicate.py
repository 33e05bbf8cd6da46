"""The tables on predicate abstraction in docs/benchmarks.md, as Markdown on standard output.

    python scripts/bench_predicate.py                  # all three tables
    python scripts/bench_predicate.py blocks phases    # only these
    python scripts/bench_predicate.py blocks --only sort --limit 60

blocks  single, large and advanced blocks, encoding and CEGAR apart (seed 004, Table 5.2), and the engine
        `spacer` on large blocks
phases  where the time goes under large blocks (seed 001 conjectures: into abstraction)
growth  locks 5..50 under large and single blocks

Seconds are CPU seconds of this process, so other loads disturb them little.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.memory import uses_memory
from certus.core.outcome import ProofCheck, Replay
from certus.core.statistics import Statistics
from certus.core.task import Engine, Pass, Task
from certus.core.verdict import Safe, Unknown, Unsafe
from certus.engines.predicate import PredicateAbstraction
from certus.engines.spacer import Spacer
from certus.frontend import load
from certus.pipeline.confirm import examine
from certus.transform.constants import Constants
from certus.transform.inline import Inline
from certus.transform.large_blocks import MODES, LargeBlocks, Mode
from certus.transform.memory import Memory
from certus.transform.passes import apply_passes
from certus.transform.slice import Slice

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LIMIT = 20.0  # seconds of wall time for the engine, unless asked otherwise
LOCKS = (5, 8, 10, 12, 15)
GROWTH = (5, 10, 20, 30, 40, 50)
PHASES = ("abstraction", "reachability", "trace", "refinement")


@dataclass(frozen=True)
class Run:
    """One program under one size of blocks."""

    answer: str
    encoding: float
    cegar: float
    statistics: Statistics

    @property
    def text(self) -> str:
        return f"{self.answer} {self.cegar:.2f}"


@dataclass(frozen=True)
class Plan:
    """What is asked for: programs whose names begin so, and seconds of wall time for an engine."""

    directory: Path
    limit: float
    only: str

    def programs(self) -> list[Path]:
        return [path for path in programs(self.directory) if path.stem.startswith(self.only)]


def run(path: Path, mode: Mode, limit: float, engine: Engine | None = None) -> Run:
    """A program under an engine, by default `predicate`."""
    engine = engine or PredicateAbstraction()
    program = load(path).program
    task, statistics = Task(program), Statistics()
    memory: list[Pass] = [Memory()] if uses_memory(program) else []
    small, first, _ = apply_passes(task, [*memory, Constants(), Slice(), Inline()])
    start = time.process_time()
    blocks, second = LargeBlocks(mode).apply(small)
    encoded = time.process_time()
    try:
        verdict = engine.run(blocks, engine.options(), Budget(limit), statistics)
    except BudgetExceeded:
        return Run("TO", encoded - start, time.process_time() - encoded, statistics)
    cegar = time.process_time() - encoded
    if isinstance(verdict, Unknown):
        return Run(verdict.reason.code, encoded - start, cegar, statistics)
    back = second.after(first).verdict(verdict)
    check = examine(program, back, budget=Budget(60), statistics=Statistics())
    assert isinstance(verdict, Safe | Unsafe)
    assert isinstance(check, ProofCheck | Replay), check
    return Run("safe" if isinstance(verdict, Safe) else "unsafe", encoded - start, cegar, statistics)


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
    yield from sorted((EXAMPLES / "thesis").glob("*.c"))
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


def blocks(plan: Plan) -> None:
    print(f"### Encoding and CEGAR by size of blocks (limit {plan.limit:.0f} s of wall time)\n")

    def row(path: Path) -> list[str]:
        single, large, advanced = (run(path, mode, plan.limit) for mode in MODES)
        spacer = run(path, "large", plan.limit, Spacer())
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
        found = run(path, "large", plan.limit)
        counters, seconds = found.statistics.counters, found.statistics.seconds
        times = [seconds.get(f"predicate.{phase}", 0.0) for phase in PHASES]
        total = sum(times) + seconds.get("predicate.blocks", 0.0) or 1.0
        for phase, spent in zip((*PHASES, "all"), (*times, total), strict=True):
            sums[phase] += spent
        solver = sum(spent for key, spent in seconds.items() if key.startswith("solver."))
        calls = sum(n for key, n in counters.items() if key.startswith("solver."))
        return [
            path.stem,
            *(f"{spent / total:.0%}" for spent in times),
            str(counters["predicate.abstractions"]),
            str(calls),
            str(counters["predicate.refinements"]),
            str(counters["predicate.predicates"]),
            f"{solver / total:.0%}",
        ]

    heads = ["program", *PHASES, "abstractions", "solver calls", "refinements", "predicates", "in solvers"]
    table(heads, map(row, plan.programs()))
    print(", ".join(f"{phase} {sums[phase] / sums['all']:.0%}" for phase in PHASES), "of all time.\n")


def growth(plan: Plan) -> None:
    print(f"### Growth with the number of locks (limit {plan.limit:.0f} s of wall time)\n")

    def row(number: int) -> list[str]:
        path = lock_file(plan.directory, number)
        large = run(path, "large", plan.limit)
        return [str(number), f"{large.encoding:.4f}", large.text, run(path, "single", plan.limit).text]

    table(["locks", "encoding (large)", "CEGAR large", "CEGAR single"], map(row, GROWTH))


def main() -> None:
    tables = {"blocks": blocks, "phases": phases, "growth": growth}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of: {', '.join(tables)}")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose names begin so")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help="wall seconds for an engine")
    given = parser.parse_args()
    chosen = given.tables or list(tables)
    with tempfile.TemporaryDirectory() as directory:
        for name in chosen:
            if name not in tables:
                parser.error(f"no table {name!r}: choose of {', '.join(tables)}")
            tables[name](Plan(Path(directory), given.limit, given.only))


if __name__ == "__main__":
    main()
