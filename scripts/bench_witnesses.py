"""Witnesses of many tasks: written, accepted by our schema, confirmed by our validator. Markdown on standard
output.

    python scripts/bench_witnesses.py LIST TASKS SECONDS [--suites A,B] [--each N] [--engine E]

LIST has lines `suite/name,verdict`; the task is TASKS/suite/name.yml. `certus verify` gets SECONDS, `certus
validate` twice as many. `--suites` takes tasks of these suites only, `--each` so many of a suite at most;
`--engine` is the one that verifies.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from certus.core.errors import CertusError
from certus.frontend import read_question
from certus.frontend.witness import read_witness


@dataclass(frozen=True)
class Row:
    """One task: the verdict, whether the schema accepts the witness, the answer about it, and why."""

    task: str
    verdict: str
    accepted: bool = False
    answer: str = ""
    reason: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Witnesses of many tasks.")
    parser.add_argument("list", type=Path)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--suites", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--each", type=int, default=1000, help="tasks of a suite at most")
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    taken: Counter[str] = Counter()
    rows: list[Row] = []
    for line in given.list.read_text().split():
        name = line.partition(",")[0]
        suite = name.partition("/")[0]
        if (given.suites and suite not in given.suites) or taken[suite] >= given.each:
            continue
        taken[suite] += 1
        rows.append(measure(name, given.tasks / f"{name}.yml", given.seconds, given.engine))
        print(rows[-1], file=sys.stderr, flush=True)
    report(rows)


def measure(name: str, task: Path, seconds: float, engine: str) -> Row:
    with tempfile.TemporaryDirectory() as directory:
        witness = Path(directory) / "witness.yml"
        limits = ("--engine", engine, "--timeout", f"{seconds}s")
        said = certus("verify", task, *limits, "--json", "--witness", witness)
        verdict = str(said.get("verdict"))
        if verdict not in ("HOLDS", "VIOLATED") or not witness.exists():
            reason = said.get("reason") or {}
            return Row(name, verdict, reason=str(reason.get("code", "no witness")))
        try:
            read_witness(witness)
            question = read_question(task)
        except CertusError as error:
            return Row(name, verdict, reason=str(error))
        limit = f"{2 * seconds}s"
        found = certus("validate", witness, question.file, "--timeout", limit, "--json")
        reason = found.get("reason") or {}
        return Row(name, verdict, True, str(found.get("answer")), str(reason.get("code", "crash")))


def certus(*arguments: str | Path) -> dict[str, object]:
    command = [sys.executable, "-m", "certus", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: dict[str, object] = json.loads(done.stdout)
    except ValueError:
        return {"reason": {"code": done.stderr.strip()[:200] or "crash"}}
    return found


def report(rows: list[Row]) -> None:
    print("| verdict | tasks | schema accepts | confirmed | refuted | unknown |")
    print("|---|---:|---:|---:|---:|---:|")
    for verdict in ("HOLDS", "VIOLATED"):
        own = [row for row in rows if row.verdict == verdict]
        answers = Counter(row.answer for row in own)
        counts = [len(own), sum(row.accepted for row in own)]
        counts += [answers[answer] for answer in ("CONFIRMED", "REFUTED", "UNKNOWN")]
        print(f"| {verdict} | {' | '.join(map(str, counts))} |")
    others = Counter(row.reason for row in rows if not row.accepted)
    print(f"\nWithout a witness: {sum(others.values())}", dict(sorted(others.items())))
    print("\n| not confirmed | verdict | answer | reason |\n|---|---|---|---|")
    for row in rows:
        if row.accepted and row.answer != "CONFIRMED":
            print(f"| {row.task} | {row.verdict} | {row.answer} | {row.reason} |")


if __name__ == "__main__":
    main()
