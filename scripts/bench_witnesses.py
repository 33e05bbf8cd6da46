"""Measure how many witnesses are written and confirmed, as Markdown on standard output (figures `witnesses`).

    python scripts/bench_witnesses.py results.csv SECONDS [--engine E]

`results.csv` comes from `certus bench`: the tasks that engine E (auto) answered there are verified again with
`--witness`. `certus verify` gets SECONDS, `certus validate` twice as many.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certus.core.errors import CertusError
from certus.frontend import read_question
from certus.witness.read import read_witness


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
    parser.add_argument("results", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    rows: list[Row] = []
    with given.results.open() as file:
        runs = [run for run in csv.DictReader(file) if run["contestant"] == given.engine]
    for run in runs:
        task = Path(run["task"])
        name = f"{task.parent.name}/{task.stem}"
        if run["answer"] in ("true", "false"):
            rows.append(measure(name, task, given.seconds, given.engine))
            print(rows[-1], file=sys.stderr, flush=True)
        else:
            rows.append(Row(name, "UNKNOWN", reason=run["reason"]))
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
        reasons = [found.get("reason"), *found.get("diagnostics", []), {"code": "crash"}]
        reason = next(each for each in reasons if each)
        return Row(name, verdict, True, str(found.get("answer", "refused")), str(reason["code"]))


def certus(*arguments: str | Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "certus", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
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
