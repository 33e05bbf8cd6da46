"""Measures range analysis: growth with size, bits saved by suite, and values of runs against their ranges.

    python scripts/bench_ranges.py growth
    python scripts/bench_ranges.py bits DIRECTORY...      # one row for each directory of .c, .i or .yml tasks
    python scripts/bench_ranges.py observe N DIRECTORY... # until N values were seen to lie in their ranges
    python scripts/bench_ranges.py engines DIRECTORY...   # engines with and without ranges, by task

Numbers go to standard output as a table in Markdown. A task that Certus cannot model, or that takes longer
than the limit, is counted as such.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.laws.flow_programs import FlowShape, flow_program  # noqa: E402
from tests.laws.observed_ranges import observe  # noqa: E402
from tests.reference_flow import reference_program  # noqa: E402

from certus.analysis.ranges.result import analyse  # noqa: E402
from certus.core.budget import Budget  # noqa: E402
from certus.core.errors import BudgetExceeded, InputError, Unsupported  # noqa: E402
from certus.core.program import Program  # noqa: E402
from certus.core.sorts import INT, machine  # noqa: E402
from certus.core.task import Task  # noqa: E402
from certus.core.verdict import Unknown  # noqa: E402
from certus.frontend import load_question, read_question  # noqa: E402
from certus.pipeline.ranges import numeric_report  # noqa: E402
from certus.pipeline.verify import Settings, verify  # noqa: E402
from certus.transform.constants import Constants  # noqa: E402
from certus.transform.memory import Memory  # noqa: E402
from certus.transform.passes import apply_passes  # noqa: E402

SIZES = (100, 300, 1_000, 3_000, 10_000)
VARIABLES = 20
ENGINES = {
    "predicate": Settings(engine="predicate"),
    "predicate, no ranges": Settings(engine="predicate", ranges=False),
    "kind": Settings(engine="kind"),
    "kind, no ranges": Settings(engine="kind", ranges=False),
    "bmc": Settings(engine="bmc", ranges=False),
    "bmc, facts": Settings(engine="bmc", options={"bmc.facts": "true"}),
    "bmc, vectors": Settings(engine="bmc", options={"bmc.facts": "true", "bmc.vectors": "true"}),
    "bmc, bounded ranges": Settings(engine="bmc", options={"bmc.within": "true"}),
}


def growth() -> None:
    print("| blocks | quantities | linear programs | seconds |\n|---:|---:|---:|---:|")
    for blocks in SIZES:
        program = reference_program(blocks, VARIABLES, sort=machine(32, signed=True))
        start = time.process_time()
        found = analyse(program)
        spent = time.process_time() - start
        print(
            f"| {blocks} | {len(found.version.system)} | {found.linear_programs} | {spent:.2f} |", flush=True
        )


def tasks(directory: Path) -> Iterator[Path]:
    definitions = sorted(directory.glob("*.yml"))
    yield from definitions or sorted(path for path in directory.iterdir() if path.suffix in (".c", ".i"))


def lowered(path: Path, seconds: float) -> Program:
    budget = Budget(seconds)
    program = load_question(read_question(path), budget=budget).program
    prepared = apply_passes(Task(program), [Memory()])[0].subject
    assert isinstance(prepared, Program)
    return prepared


def bits(directories: list[Path], seconds: float, most: int) -> None:
    print("| suite | tasks | not modelled | too slow | variables | bits | saved | ratio | median s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for directory in directories:
        refused = slow = variables = declared = saved = 0
        times = []
        chosen = list(tasks(directory))
        chosen = chosen[:: max(1, len(chosen) // most)]
        for path in chosen:
            start = time.perf_counter()
            try:
                report = numeric_report(lowered(path, seconds), None, Budget(seconds))
            except (Unsupported, InputError):
                refused += 1
                continue
            except BudgetExceeded:
                slow += 1
                continue
            times.append(time.perf_counter() - start)
            variables += len(report.variables)
            declared += report.declared
            saved += report.saved
        ratio = f"{100 * saved / declared:.0f} %" if declared else "-"
        middle = sorted(times)[len(times) // 2] if times else 0.0
        print(
            f"| {directory.name} | {len(chosen)} | {refused} | {slow} | {variables} | {declared} | {saved} "
            f"| {ratio} | {middle:.2f} |",
            flush=True,
        )


def observations(wanted: int, directories: list[Path], seconds: float) -> None:
    """Half of the values from random programs, half from the tasks."""
    sorts = (INT, machine(8, signed=True), machine(8, signed=False), machine(32, signed=True))
    seen = seed = 0
    while seen < (wanted // 2 if directories else wanted):
        shape = FlowShape(blocks=4 + seed % 12, sort=sorts[seed % 4], linear=seed % 3 == 0)
        seen += observe(flow_program(f"bench/{seed}", shape), runs=10, steps=200, seed=str(seed))
        seed += 1
    print(f"{seen} values in runs of {seed} random programs lie in their ranges", flush=True)
    total, used = seen, 0
    for path in (path for directory in directories for path in tasks(directory)):
        if total >= wanted:
            break
        try:
            program = apply_passes(Task(lowered(path, seconds)), [Constants()])[0].subject
            assert isinstance(program, Program)
            total += observe(program, runs=3, steps=400, seed=path.name, budget=Budget(seconds))
        except (Unsupported, InputError, BudgetExceeded):
            continue
        used += 1
    print(f"{total - seen} values in runs of {used} tasks lie in their ranges", flush=True)


@dataclass(slots=True)
class Runs:
    """What one engine did with the tasks: its answers (none for unknown) and CPU seconds."""

    answers: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0

    def add(self, path: Path, settings: Settings) -> None:
        before = _cpu()
        outcome = verify(path, settings)
        self.seconds.append(_cpu() - before)
        unknown = isinstance(outcome.verdict, Unknown)
        self.answers.append("" if unknown else type(outcome.verdict).__name__)
        self.wrong += outcome.contradicted


def _cpu() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def engines(directories: Sequence[Path], seconds: float, most: int, names: Sequence[str]) -> None:
    """Every task by every engine, one after the other, so that other loads disturb all alike."""
    runs = {name: Runs() for name in names}
    for directory in directories:
        chosen = list(tasks(directory))
        for path in chosen[:: max(1, len(chosen) // most)][:most]:
            for name in names:
                runs[name].add(path, replace(ENGINES[name], timeout=seconds, execute=False))
            told = ", ".join(f"{runs[n].answers[-1] or '-'} {runs[n].seconds[-1]:.2f}" for n in names)
            print(f"{directory.name}/{path.stem}: {told}", file=sys.stderr, flush=True)
    print("| engine | tasks | solved | wrong | median s | total s | median s of all solved | total s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    answers = zip(*(each.answers for each in runs.values()), strict=True)
    common = [n for n, solved in enumerate(answers) if all(solved)]
    for name, each in runs.items():
        both = [each.seconds[n] for n in common] or [0.0]
        print(
            f"| {name} | {len(each.answers)} | {sum(map(bool, each.answers))} | {each.wrong} "
            f"| {median(each.seconds):.2f} | {sum(each.seconds):.1f} | {median(both):.2f} | {sum(both):.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("growth", "bits", "observe", "engines"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit for each task")
    parser.add_argument("--most", type=int, default=30, help="tasks of a suite, evenly chosen")
    parser.add_argument("--only", nargs="*", default=list(ENGINES), choices=list(ENGINES), help="of engines")
    given = parser.parse_args()
    if given.what == "growth":
        growth()
    elif given.what == "bits":
        bits([Path(each) for each in given.rest], given.seconds, given.most)
    elif given.what == "engines":
        engines([Path(each) for each in given.rest], given.seconds, given.most, given.only)
    else:
        observations(int(given.rest[0]), [Path(each) for each in given.rest[1:]], given.seconds)


if __name__ == "__main__":
    main()
