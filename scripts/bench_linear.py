"""Measure the eureka library (Armando et al. 2004, Figure 2): a table, and the figure of `linear-eureka`.

    python scripts/bench_linear.py [--limit 20] [--rows ROWS.csv] [--figure docs/figures/eureka.svg]

Each family runs for growing N under enumeration (`linear` without acceleration), acceleration, `bmc`,
`predicate`, `clp` and `spacer`, one after the other, each within the limit; a series ends at its first
time-out. All times are CPU time of one process, without start-up, so that other work on the machine does
not count; every definite answer is checked, and the time of the check is a column of its own. With `--rows`
new measurements replace the rows of the same family and series, and the figure shows the whole file.

If CBMC is on PATH, it is a series of its own, in place of the paper's BLAST: the programs are translated to C
and run by `certus bench --tool`, unwound as often as they need. Its times are those of the whole command.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

from certus.bench.svg_charts import Axis, Panel, charts
from certus.core.accounting import Budget, Statistics
from certus.core.engine import ProgramForm, Task, apply_passes
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Unknown, Verdict
from certus.core.outcome import ProofCheck, Replay
from certus.engines.registry import ENGINES
from certus.frontend.lp.library import FAMILIES, program
from certus.frontend.lp.load import load_lp
from certus.passes.constants import Constants
from certus.passes.inline import Inline
from certus.passes.large_blocks import LargeBlocks
from certus.passes.slice import Slice
from certus.run.publish import examine

BEGIN = time.monotonic()
EVERY = "every N"
SIZES = (1, 2, 3, 4, 6, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
SERIES: dict[str, tuple[str, dict[str, bool]]] = {
    "enumeration": ("linear", {"accelerate": False, "widen": False}),
    "acceleration": ("linear", {}),
    "bmc": ("bmc", {}),
    "predicate": ("predicate", {}),
    "clp": ("clp", {}),
    "spacer": ("spacer", {}),
}
CBMC = "cbmc"
if shutil.which(CBMC) is not None:
    SERIES[CBMC] = (CBMC, {})


class CpuBudget(Budget):
    """A limit on the CPU time of this process."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.process_time() + seconds

    def remaining(self) -> float:
        """As wall time, which solvers keep to, as far as other work on the machine lets us see."""
        used = time.process_time()
        return max(0.0, self._end - used) * max(1.0, (time.monotonic() - BEGIN) / max(used, 0.1))

    def check(self) -> None:
        if time.process_time() > self._end:
            raise BudgetExceeded("time")

    def part(self, share: float, *, at_least: float = 0.0, at_most: float = inf) -> Budget:
        return CpuBudget(min(max((self._end - time.process_time()) * share, at_least), at_most))


@dataclass(frozen=True)
class Measured:
    """One run: the answer, seconds of the engine, of isl in it, of the check, and what it counted."""

    answer: str
    seconds: float
    isl: float
    check: float
    joins: int
    entailments: int
    disjuncts: int


def measure(text: str, series: str, limit: float) -> Measured:
    engine_name, options = SERIES[series]
    engine, statistics = ENGINES[engine_name], Statistics()
    subject = load_lp(text, "library.lp").program
    inline = [Inline()] if engine.form is ProgramForm.INLINED else []
    task, back, _ = apply_passes(Task(subject), [Constants(), Slice(), *inline, LargeBlocks("large")])
    start = time.process_time()
    verdict: Verdict | None = None
    try:
        verdict = engine.run(task, engine.options(**options), CpuBudget(limit), statistics)
    except BudgetExceeded:
        answer = "time-out"
    seconds = time.process_time() - start
    checked = 0.0
    if isinstance(verdict, Unknown):
        answer = verdict.reason.code
    elif verdict is not None:
        start = time.process_time()
        check = examine(subject, back.verdict(verdict), budget=CpuBudget(5 * limit), statistics=Statistics())
        checked = time.process_time() - start
        answer = {ProofCheck: "HOLDS", Replay: "VIOLATED"}.get(type(check), "unchecked")
    counters = statistics.counters
    return Measured(
        answer,
        seconds,
        statistics.seconds.get("linear.isl", 0.0),
        checked,
        counters["linear.joins"],
        counters["linear.entailments"],
        counters["linear.disjuncts"],
    )


# --------------------------------------------------------------------------------------- CBMC

_C = """#include <assert.h>
#include <stdbool.h>
#define assume(condition) __CPROVER_assume(condition)
int nondet_int(void);
"""


def as_c(text: str) -> str:
    """A program of the library in C: globals get any value, procedures are declared first."""
    text = re.sub(r"^//.*\n", "", text)
    names = [name for line in re.findall(r"^int ([\w, ]+);", text, re.M) for name in line.split(", ")]
    start = "".join(f"    {name} = nondet_int();\n" for name in names)
    declared = [f"{head};\n" for head in re.findall(r"^((?:void|int|bool) \w+\([^)]*\)) \{", text, re.M)]
    text = re.sub(r"^void main\(\) \{\n", f"int main(void) {{\n{start}", text, flags=re.M)
    text = re.sub(r"(?<=\{ )(\w+), (\w+) = ([^,;]+), ([^;]+);", r"{ int t = \3; \2 = \4; \1 = t; }", text)
    text = text.replace("= *;", "= nondet_int();")
    return _C + "".join(head for head in declared if " main(" not in head) + text


def measure_cbmc(text: str, number: int, limit: float) -> Measured:
    """One run of CBMC on a program of the library."""
    command = f"{CBMC}={CBMC} --unwind {2 * number + 3} --unwinding-assertions {{file}}"
    with tempfile.TemporaryDirectory() as place:
        file, results = Path(place, "program.c"), Path(place, "results")
        file.write_text(as_c(text))
        bench = [sys.executable, "-m", "certus", "bench", str(file), "--tool", command]
        limits = ["--timeout", f"{limit:g}s", "-o", str(results)]
        subprocess.run([*bench, *limits], stdout=subprocess.DEVNULL, check=False)
        (row,) = [json.loads(line) for line in (results / "rows.jsonl").read_text().splitlines()]
    answer = {"true": "HOLDS", "false": "VIOLATED"}.get(row["answer"], row["reason"] or "unknown")
    return Measured(answer, row["cpu"], 0.0, 0.0, 0, 0, 0)


# ---------------------------------------------------------------------------------------- rows


def rows(
    limit: float, families: list[str], series_: list[str], largest: int
) -> Iterator[tuple[str, str, str, Measured]]:
    """All runs: family, series, N or "every N", what was measured."""
    for family in families:
        for series in series_:
            if FAMILIES[family].symbolic and series not in ("enumeration", CBMC):
                yield family, series, EVERY, measure(program(family, None), series, limit)
            for number in [size for size in SIZES if size <= largest]:
                text = program(family, number)
                found = measure_cbmc(text, number, limit) if series == CBMC else measure(text, series, limit)
                yield family, series, str(number), found
                if found.answer != "HOLDS" or max(2 * found.seconds, found.check) > limit:
                    break


Row = tuple[str, str, str, str, str]  # family, series, N, answer, seconds


def kept(path: Path | None, families: list[str], series_: list[str]) -> list[Row]:
    """The rows of a file about other families and series."""
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        found = [row for row in csv.reader(file) if row][1:]
    return [(a, b, c, d, e) for a, b, c, d, e in found if not (a in families and b in series_)]


def write(path: Path, known: list[Row]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [("family", "series", "N", "answer", "seconds"), *known]
        )


def picture(known: list[Row]) -> str:
    panels = []
    for family in FAMILIES:
        lines = {
            series: [
                (float(n), max(float(seconds), 0.001))
                for name, of, n, answer, seconds in known
                if (name, of, answer) == (family, series, "HOLDS") and n != EVERY
            ]
            for series in SERIES
        }
        panels.append(Panel(f"{family}(N)", {name: line for name, line in lines.items() if line}))
    return charts(panels, Axis("N", logarithmic=True), Axis("seconds", logarithmic=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of one run")
    parser.add_argument("--rows", type=Path, help="where to keep what was measured")
    parser.add_argument("--figure", type=Path, help="where to write the plots")
    parser.add_argument("--series", nargs="*", choices=SERIES, default=list(SERIES), help="only these")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="largest N")
    parser.add_argument("families", nargs="*", help="only these")
    arguments = parser.parse_args()
    families = arguments.families or list(FAMILIES)
    known = kept(arguments.rows, families, arguments.series)
    print(
        "| family | engine | N | answer | seconds | of these isl | check | joins | entailments | disjuncts |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for family, series, number, found in rows(arguments.limit, families, arguments.series, arguments.largest):
        counts = f"{found.joins:,} | {found.entailments:,} | {found.disjuncts:,}"
        times = f"{found.seconds:.3f} | {found.isl:.3f} | {found.check:.3f}"
        print(f"| {family} | {series} | {number} | {found.answer} | {times} | {counts} |", flush=True)
        known.append((family, series, number, found.answer, f"{found.seconds:.3f}"))
        if arguments.rows is not None:
            write(arguments.rows, known)
    if arguments.figure is not None:
        arguments.figure.parent.mkdir(parents=True, exist_ok=True)
        arguments.figure.write_text(picture(known))


if __name__ == "__main__":
    main()
