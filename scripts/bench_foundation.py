"""Measure start-up, small runs, replay speed and the check of a large proof (figures `foundation`).

python scripts/bench_foundation.py        # prints a Markdown table
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from certus.check.proofs.check import check_proof
from certus.check.replay.replay import replay
from certus.core.accounting import Budget, Statistics
from certus.core.build import TRUE
from certus.core.evidence import Inductive, Point, Trace
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck, Replay
from certus.frontend.lp.load import load_lp

ROOT = Path(__file__).resolve().parents[1]
TEN_LINES = """void main() {
  int n = *;
  int i = 0;
  int s = 0;
  assume(0 <= n && n <= 4);
  while (i < n) {
    s = s + 2;
    i = i + 1; }
  assert(s == 2 * n);
}
"""
MILLION = "void main() { int i = 0; while (i < 1000000) { i = i + 1; } assert(i != 1000000); }"


def median(times: int, action: Callable[[], object]) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def command(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run(
        [sys.executable, "-m", "certus", *arguments], capture_output=True, check=False
    )


def locks(number: int) -> str:
    script = ROOT / "examples" / "locks.py"
    return subprocess.run(
        [sys.executable, script, str(number)], capture_output=True, text=True, check=True
    ).stdout


def check_locks(number: int) -> None:
    program = load_lp(locks(number), "locks.lp").program
    proof = Inductive({Point(at): TRUE for at in loop_forest(program.procedures["main"]).heads})
    result = check_proof(program, proof, budget=Budget(600), statistics=Statistics())
    assert isinstance(result, ProofCheck), result


def replay_million() -> int:
    program = load_lp(MILLION, "million.lp").program
    (error,) = program.errors
    result = replay(program, Trace(error.location.name), budget=Budget(600))
    assert isinstance(result, Replay), result
    return result.steps


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ten.lp"
        path.write_text(TEN_LINES)
        rows = [
            ("`certus --help`", median(5, command("--help"))),
            ("`certus verify` of a ten-line program, all in all", median(5, command("verify", str(path)))),
            (
                "checking the proof of a locks-200 body (z3, cvc5, random runs)",
                median(3, lambda: check_locks(200)),
            ),
        ]
    start = time.perf_counter()
    steps = replay_million()
    print("| what | seconds |\n|---|---:|")
    for what, seconds in rows:
        print(f"| {what} | {seconds:.2f} |")
    print(f"| replaying {steps:,} steps | {time.perf_counter() - start:.2f} |")


if __name__ == "__main__":
    main()
