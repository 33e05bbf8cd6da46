"""Measure range analysis: growth, bits saved, values of runs against ranges (figures `ranges-*`).

    python scripts/bench_ranges.py growth
    python scripts/bench_ranges.py bits DIRECTORY...      # one row for each directory of .c, .i or .yml tasks
    python scripts/bench_ranges.py observe N DIRECTORY... # until N values were seen to lie in their ranges
    python scripts/bench_ranges.py engines DIRECTORY...   # engines with and without ranges, by task
    python scripts/bench_ranges.py calls DIRECTORY...     # parameters joined over calls, against one graph
    python scripts/bench_ranges.py cores                  # bmc with small numbers first, relaxed by cores

Numbers go to standard output as a table in Markdown. A task that Certus cannot model, or that takes longer
than the limit, is counted as such.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.laws.flow_programs import FlowShape, flow_program  # noqa: E402
from tests.laws.observed_ranges import observe  # noqa: E402
from tests.reference_flow import reference_program  # noqa: E402

from certus.analysis.ranges.result import analyse, declared_bits, needed_bits  # noqa: E402
from certus.core.accounting import Budget, Statistics  # noqa: E402
from certus.core.engine import (  # noqa: E402
    Pass,
    Task,
    apply_passes,
)
from certus.core.errors import BudgetExceeded, InputError, Unsupported  # noqa: E402
from certus.core.evidence import Unknown  # noqa: E402
from certus.core.program import Program  # noqa: E402
from certus.core.terms import INT, machine  # noqa: E402
from certus.engines.registry import ENGINES  # noqa: E402
from certus.frontend import load_question, read_question  # noqa: E402
from certus.passes.bounds import Bounds  # noqa: E402
from certus.passes.constants import Constants  # noqa: E402
from certus.passes.large_blocks import LargeBlocks  # noqa: E402
from certus.passes.memory import Memory  # noqa: E402
from certus.passes.slice import Slice, declared  # noqa: E402
from certus.reference.unique_inlining import merge  # noqa: E402
from certus.run.ranges import numeric_report, without_memory  # noqa: E402
from certus.run.verify import Settings, verify  # noqa: E402

SIZES = (100, 300, 1_000, 3_000, 10_000)
VARIABLES = 20
BUSY = 30  # seconds that a busy machine may take for one of CPU time
SETTINGS = {
    "predicate": Settings(engine="predicate"),
    "predicate, no ranges": Settings(engine="predicate", ranges=False),
    "kind": Settings(engine="kind"),
    "kind, no ranges": Settings(engine="kind", ranges=False),
    "bmc": Settings(engine="bmc"),
    "bmc, small numbers first": Settings(engine="bmc", options={"bmc.narrow": "true"}),
}

EXTERNAL = """typedef unsigned long ulong; typedef unsigned uint;
extern ulong any(void); extern void reach_error(void);
"""
SMALL = {  # programs with a counterexample in small numbers, and two without any
    "three factors": "ulong a = any(), b = any(), c = any(); if (a * b * c == 1113121 "
    "&& a + b + c == 311 && a < b && b < c) reach_error();",
    "Pythagoras": "ulong a = any(), b = any(), c = any(); if (a > 20 && a < b && b < c && b - a == 1 "
    "&& a * a + b * b == c * c) reach_error();",
    "taxicab": "ulong a = any(), b = any(), c = any(), d = any(); if (a > 0 && a < c && c < d && d < b "
    "&& a * a * a + b * b * b == c * c * c + d * d * d) reach_error();",
    "Pell": "ulong x = any(), y = any(); if (y > 0 && x > y && x * x - 13 * y * y == 1) reach_error();",
    "hash": "ulong h = 7, i; for (i = 0; i < 4; i++) { ulong x = any(); if (x == 0) return 0; "
    "h = h * 31 + x; } if (h == 7 * 923521 + 3 * 29791 + 5 * 961 + 4 * 31 + 9) reach_error();",
    "division": "ulong x = any(), y = any(); if (y > 1 && x / y == 41 && x % y == 7 "
    "&& x * y == 3738 * 91) reach_error();",
    "no division": "ulong x = any(), y = any(); if (y > 1 && x / y == 41 && x % y == 7 "
    "&& x * y == 3740 * 91) reach_error();",
    "no factors": "ulong a = any(), b = any(); if (a < 3000 && b < 3000 && a > 1000 && b > 1000 "
    "&& a * b == 2 * 1000003) reach_error();",
}
NARROW = {"all numbers": {}, "small numbers first": {"narrow": True}}


def growth() -> None:
    print("| blocks | quantities | linear programs | seconds |\n|---:|---:|---:|---:|")
    for blocks in SIZES:
        program = reference_program(blocks, VARIABLES, sort=machine(32, signed=True))
        start = time.process_time()
        found = analyse(program)
        spent = time.process_time() - start
        print(f"| {blocks} | {len(found.essa.system)} | {found.linear_programs} | {spent:.2f} |", flush=True)


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
    print(
        "| suite | tasks | not modelled | too slow | variables | bits | saved | ratio "
        "| of inputs | ratio of the rest | numbered | median s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for directory in directories:
        refused = slow = variables = total = saved = inputs = numbered = 0
        times = []
        chosen = list(tasks(directory))
        chosen = chosen[:: max(1, len(chosen) // most)]
        for path in chosen:
            start = _cpu()
            try:
                program, offsets = without_memory(load_question(read_question(path)).program)
                report = numeric_report(program, None, Budget(seconds), offsets)
            except (Unsupported, InputError):
                refused += 1
                continue
            except BudgetExceeded:
                slow += 1
                continue
            times.append(_cpu() - start)
            variables += len(report.variables)
            total += report.declared
            saved += report.saved
            inputs += report.inputs
            numbered += report.numbered
        print(
            f"| {directory.name} | {len(chosen)} | {refused} | {slow} | {variables} | {total} | {saved} "
            f"| {_share(saved, total)} | {inputs} | {_share(saved, total - inputs)} "
            f"| {_share(numbered, total - inputs)} | {median(times or [0.0]):.2f} |",
            flush=True,
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


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


@dataclass(frozen=True, slots=True)
class Run:
    """What one engine did with a task: its answer (none for unknown), CPU seconds, whether it is wrong."""

    answer: str
    seconds: float
    wrong: bool


class Record:
    """Runs that were done, one line of JSON each in a file if there is one: a later call goes on there. A run
    counts for the same task, variant and limit only."""

    def __init__(self, file: Path | None, limit: float) -> None:
        self.file, self.limit = file, limit
        self.runs: dict[tuple[str, str], Run] = {}
        text = file.read_text() if file is not None and file.exists() else ""
        for line in text.splitlines():
            with suppress(json.JSONDecodeError):  # the last line of a run that was ended may be cut off
                known = json.loads(line)
                if known["limit"] == limit:
                    run = Run(known["answer"], known["seconds"], known["wrong"])
                    self.runs[known["task"], known["engine"]] = run

    def run(self, path: Path, name: str) -> Run:
        task = f"{path.parent.name}/{path.stem}"
        if (task, name) not in self.runs:
            found = self.runs[task, name] = self._run(path, SETTINGS[name])
            if self.file is not None:
                line = {"task": task, "engine": name, "limit": self.limit, **asdict(found)}
                with self.file.open("a") as out:
                    out.write("\n" * self._cut_off() + json.dumps(line) + "\n")
        return self.runs[task, name]

    def _cut_off(self) -> bool:
        assert self.file is not None
        text = self.file.read_bytes()
        return bool(text) and not text.endswith(b"\n")

    def _run(self, path: Path, settings: Settings) -> Run:
        before = _cpu()
        limits = {"cpu_time": self.limit, "timeout": BUSY * self.limit}
        outcome = verify(path, replace(settings, checks=(), execute=False, **limits))
        unknown = isinstance(outcome.verdict, Unknown)
        answer = "" if unknown else type(outcome.verdict).__name__
        return Run(answer, round(_cpu() - before, 3), outcome.contradicted)


def _cpu() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def engines(
    directories: Sequence[Path], seconds: float, most: int, names: Sequence[str], file: Path | None
) -> None:
    """Every task by every engine, one after the other, so that other loads disturb all alike."""
    record = Record(file, seconds)
    rows: list[list[Run]] = []  # by task
    for directory in directories:
        chosen = list(tasks(directory))
        for path in chosen[:: max(1, len(chosen) // most)][:most]:
            rows.append([record.run(path, name) for name in names])
            told = ", ".join(f"{each.answer or '-'} {each.seconds:.2f}" for each in rows[-1])
            print(f"{directory.name}/{path.stem}: {told}", file=sys.stderr, flush=True)
    print("| engine | tasks | solved | wrong | median s | total s | median s of all solved | total s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, runs in zip(names, zip(*rows, strict=True), strict=True):
        all_ = [each.seconds for each in runs]
        both = [runs[n].seconds for n, row in enumerate(rows) if all(each.answer for each in row)] or [0.0]
        print(
            f"| {name} | {len(runs)} | {sum(bool(each.answer) for each in runs)} "
            f"| {sum(each.wrong for each in runs)} | {median(all_):.2f} | {sum(all_):.1f} "
            f"| {median(both):.2f} | {sum(both):.1f} |"
        )


def calls(directories: Sequence[Path], seconds: float, most: int) -> None:
    """Bits saved by ranges of the same variables, with calls joined and in one graph."""
    print("| suite | tasks | bits | saved, joined | saved, one graph | better | worse |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for directory in directories:
        chosen = list(tasks(directory))
        done = total = 0
        saved = Counter[str]()
        for path in chosen[:: max(1, len(chosen) // most)][:most]:
            try:
                program = apply_passes(Task(lowered(path, seconds)), [Constants(), Slice()])[0].subject
                assert isinstance(program, Program)
                merged = merge(program)
                if merged is None:
                    continue
                joined = analyse(program, budget=Budget(seconds))
                graph = analyse(merged.program, budget=Budget(seconds))
            except (Unsupported, InputError, BudgetExceeded):
                continue
            done += 1
            for x in declared(program):
                bits_ = declared_bits(x.sort) or 0
                one, other = (
                    bits_ - min(bits_, bits_ if (n := needed_bits(r)) is None else n)
                    for r in (joined.quantity_range(x), graph.quantity_range(merged.names.get(x, x)))
                )
                total += bits_
                saved.update(joined=one, graph=other, better=other > one, worse=other < one)
        print(
            f"| {directory.name} | {done} | {total} | {saved['joined']} | {saved['graph']} "
            f"| {saved['better']} | {saved['worse']} |",
            flush=True,
        )


def cores(seconds: float) -> None:
    """The time of `bmc`, in CPU seconds."""
    heads = ("program", "answer", *(f"{name} s" for name in NARROW))
    print(f"| {' | '.join(heads)} |\n|---|---|{'---:|' * len(NARROW)}")
    engine = ENGINES["bmc"]
    for name, body in SMALL.items():
        with TemporaryDirectory() as directory:
            path = Path(directory) / "small.c"
            path.write_text(f"{EXTERNAL}int main(void) {{ {body} return 0; }}\n")
            program = load_question(read_question(path)).program
        row, answer = [], ""
        for variant in NARROW.values():
            options, budget = engine.options(shortest=False, **variant), Budget(seconds)
            start = time.process_time()
            passes: list[Pass] = [Constants(), Slice(), Bounds(), LargeBlocks("large")]
            task = apply_passes(Task(program), passes)[0]
            try:
                answer = type(engine.run(task, options, budget, Statistics())).__name__
                row.append(f"{time.process_time() - start:.2f}")
            except BudgetExceeded:
                row.append("-")
        print(f"| {name} | {answer} | {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("growth", "bits", "observe", "engines", "calls", "cores"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="limit for each task; for engines CPU time"
    )
    parser.add_argument("--most", type=int, default=30, help="tasks of a suite, evenly chosen")
    parser.add_argument(
        "--only", nargs="*", default=list(SETTINGS), choices=list(SETTINGS), help="of engines"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="of engines: keep runs in FILE, go on after those in it",
    )
    given = parser.parse_args()
    if given.what == "growth":
        growth()
    elif given.what == "bits":
        bits([Path(each) for each in given.rest], given.seconds, given.most)
    elif given.what == "cores":
        cores(given.seconds)
    elif given.what == "calls":
        calls([Path(each) for each in given.rest], given.seconds, given.most)
    elif given.what == "engines":
        engines([Path(each) for each in given.rest], given.seconds, given.most, given.only, given.record)
    else:
        observations(int(given.rest[0]), [Path(each) for each in given.rest[1:]], given.seconds)


if __name__ == "__main__":
    main()
