"""The tables on Horn clauses in docs/benchmarks.md, as Markdown on standard output.

    python scripts/bench_chc.py sample LIST.csv TASKS_DIR [--seconds 10] [--every 5] [--engines clp,spacer]
    python scripts/bench_chc.py queries
    python scripts/bench_chc.py bounds

sample    answers by suite; LIST.csv has lines `suite/task,sat|unsat`, TASKS_DIR the tasks; wall-clock limit
queries   prover queries with explication, with cores, and with exhaustive predicate abstraction
bounds    iterations, prover queries and seconds for growing loop bounds, `bmc` beside `clp`
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANNERS = ("proofs", "cores", "exhaustive")
BOUNDS = (10, 100, 1000, 100_000)


def run_certus(*arguments: str, seconds: float) -> tuple[str, float]:
    """What `certus` prints, and how long it takes."""
    start = time.monotonic()
    command = [sys.executable, "-m", "certus", *arguments, "--timeout", f"{seconds}s"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 5, check=False)
    except subprocess.TimeoutExpired:
        return "", time.monotonic() - start
    return done.stdout, time.monotonic() - start


def counter(report: str, name: str) -> int:
    """A counter out of a verbose report, where seconds of the same name come later."""
    for line in report.splitlines():
        words = line.lstrip("; ").split()
        if len(words) == 2 and words[0] == name:
            return int(words[1])
    return 0


def sample(arguments: argparse.Namespace) -> Iterator[str]:
    rows = [line.rsplit(",", 1) for line in arguments.list.read_text().splitlines() if line.strip()]
    engines = arguments.engines.split(",")
    solved: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: list[str] = []
    only: dict[str, list[str]] = {engine: [] for engine in engines}
    for task, expected in rows[:: arguments.every]:
        suite = task.partition("/")[0]
        solved[suite]["tasks"] += 1
        right = []
        for engine in engines:
            file = str(arguments.tasks / f"{task}.smt2")
            text, _ = run_certus("chc", file, "--quiet", "--engine", engine, seconds=arguments.seconds)
            answer = text.strip()
            if answer == expected:
                solved[suite][engine] += 1
                right.append(engine)
            elif answer in ("sat", "unsat"):
                wrong.append(f"{task}: {engine} says {answer}")
        if len(right) == 1:
            only[right[0]].append(task)
        print(task, expected, *right, file=sys.stderr, flush=True)
    yield f"| suite | tasks | {' | '.join(engines)} |"
    yield f"|---|---:|{'---:|' * len(engines)}"
    for suite, found in (*sorted(solved.items()), ("all", sum(solved.values(), Counter()))):
        yield f"| {suite} | {found['tasks']} | {' | '.join(str(found[e]) for e in engines)} |"
    yield f"\nwrong: {len(wrong)}"
    yield from wrong
    for engine, tasks in only.items():
        yield f"only {engine}: {', '.join(tasks) or 'none'}"


def queries(arguments: argparse.Namespace) -> Iterator[str]:
    yield f"| program | {' | '.join(MANNERS)} |"
    yield f"|---|{'---:|' * len(MANNERS)}"
    files = [*sorted((ROOT / "tests" / "programs" / "chc").glob("*.smt2"))]
    files += [ROOT / "examples" / name for name in ("traffic_light.lp", "locks.lp", "swap.lp", "rational.c")]
    for file in files:
        cells = []
        for manner in MANNERS:
            flags = ("--engine", "clp", "--verbose", "--set", f"clp.explication={manner}")
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
            report, taken = run_certus(
                "verify", str(file), "--engine", "clp", "--verbose", seconds=arguments.seconds
            )
            asked = counter(report, "solver.clp.prover") + counter(report, "solver.clp.trace")
            unrolled, other = run_certus("verify", str(file), "--engine", "bmc", seconds=arguments.seconds)
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
    first.add_argument("--every", type=int, default=1)
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
