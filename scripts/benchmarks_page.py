"""Write docs/benchmarks.md from the figures in docs/figures/*.jsonl.

    python scripts/benchmarks_page.py                              write the page
    python scripts/benchmarks_page.py --check                      fail if the page is not up to date
    python scripts/bench_X.py ... | python scripts/benchmarks_page.py --take NAME --commit COMMIT

A file of figures is one table. Its first line is an object that describes the table: `section`, `title`,
`about` (one or two sentences), `command`, `machine`, `commit`, and optionally `figure` (an image beside it).
Every other line is one row: an object from column headings to values. If the first line has `rows`, it names
a compressed file of `certus bench` rows (`rows.jsonl`, with TASKS for the directory of the tasks), and the
tables are computed from them. With `replays` they also say how violations were replayed.

    python scripts/benchmarks_page.py --rows results/rows.jsonl TASKS_DIR --take memory-tasks --commit COMMIT

replaces the compressed rows of such a file and its commit.

`--take` reads a Markdown table, as the other benchmark scripts print it, from standard input. It replaces the
rows and the commit of `docs/figures/NAME.jsonl` and keeps the rest of the description.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES = DOCS / "figures"
PAGE = DOCS / "benchmarks.md"

SECTIONS = (
    "Answers on real tasks",
    "Cost of a run",
    "Agreement with compiled programs",
    "The C front end",
    "Large blocks",
    "Predicate abstraction",
    "Linear constraints",
    "Ranges",
    "Horn clauses",
    "Witnesses",
)
INTRODUCTION = """\
# Benchmarks

This page is generated from `docs/figures/*.jsonl` by `scripts/benchmarks_page.py`. Each table names the
command that produces its figures, the machine, and the commit at which they were measured. TASKS is a
directory with the tasks of [sv-benchmarks](https://gitlab.com/sosy-lab/benchmarking/sv-benchmarks) or a
similar collection. `-` means no answer within the limit. What the figures taught us is in the
[decision records](adr/index.md) and in [GOTCHAS.md](../GOTCHAS.md)."""
CONFIRMED = "confirmed"  # the `reason` of a violation that the compiled program confirmed
REFUSED = ("unsupported-", "no-main", "bad-task-file", "clang-error")

Value = str | int | float | None
Row = Mapping[str, Value]
BenchRow = Mapping[str, Any]
Description = Mapping[str, str]


def page() -> str:
    """Return the text of the benchmarks page."""
    topics = sorted(
        (SECTIONS.index(described(file)["section"]), file.name, file) for file in FIGURES.glob("*.jsonl")
    )
    parts, section = [INTRODUCTION], -1
    for number, _, file in topics:
        if number != section:
            parts.append(f"## {SECTIONS[number]}")
            section = number
        parts.extend(topic(file))
    return "\n\n".join(parts) + "\n"


def described(file: Path) -> Description:
    """Return the description in the first line of a file of figures."""
    description: Description = json.loads(file.read_text(encoding="utf-8").split("\n", 1)[0])
    return description


def topic(file: Path) -> Iterator[str]:
    """Yield the paragraphs of one file of figures."""
    head = described(file)
    yield f"### {head['title']}"
    yield head["about"]
    yield "\n".join(f"    {line}" for line in head["command"].split("\n"))
    yield f"Machine: {head['machine']}. Commit: {head['commit']}."
    if "figure" in head:
        yield f"![{head['title']}](figures/{head['figure']})"
    if "rows" in head:
        rows = read_rows(FIGURES / head["rows"])
        yield from bench_tables(rows, replays="replays" in head)
    else:
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        yield table([json.loads(line) for line in lines])


def table(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table. Columns of numbers are aligned to the right."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    texts = {name: column_texts(values) for name, values in columns.items()}
    rules = ["---:" if numeric(values) else "---" for values in columns.values()]
    lines = [cells(columns), f"|{'|'.join(rules)}|"]
    lines += [cells(texts[name][number] for name in columns) for number in range(len(rows))]
    return "\n".join(lines)


def cells(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def numeric(values: Sequence[Value]) -> bool:
    return all(value is None or isinstance(value, int | float) for value in values)


def column_texts(values: Sequence[Value]) -> list[str]:
    """Return the values of one column as text, fractions with equally many digits."""
    digits = max(
        (len(repr(value).partition(".")[2]) for value in values if isinstance(value, float)), default=0
    )

    def text(value: Value) -> str:
        if value is None:
            return "-"
        if isinstance(value, str):
            return value
        return f"{value:,.{digits}f}" if digits else f"{value:,}"

    return [text(value) for value in values]


def read_rows(file: Path) -> list[BenchRow]:
    """Return compressed rows of `certus bench`."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def bench_tables(rows: Sequence[BenchRow], *, replays: bool) -> Iterator[str]:
    """Yield tables of the rows of `certus bench`: answers by suite, by engine, and causes of no answer."""
    judged = [(row, judgement(row)) for row in rows]
    suites: dict[str, Counter[str]] = {}
    for row, kind in judged:
        for suite in (Path(row["task"]).parent.name, "all"):
            suites.setdefault(suite, Counter())[kind] += 1
            if row["answer"] == "false":
                suites[suite]["compiled" if row["reason"] == CONFIRMED else "interpreter only"] += 1
    kinds = ["HOLDS", "VIOLATED", "against the label", "no label", "no answer", "not modelled"]
    kinds += ["compiled", "interpreter only"] if replays else []
    order = sorted(suites, key=lambda suite: (suite == "all", suite))
    tasks = Counter(Path(row["task"]).parent.name for row in rows) | Counter({"all": len(rows)})
    yield table([{"suite": s, "tasks": tasks[s]} | {kind: suites[s][kind] for kind in kinds} for s in order])
    if replays:
        yield from replay_table(rows)
    expected = [row for row, kind in judged if kind in {"HOLDS", "VIOLATED"}]
    engines = Counter(row["engine"] for row in expected)
    yield "Which engine gave the expected answers:"
    yield table([{"engine": name, "answers": number} for name, number in ranked(engines)])
    causes = Counter(row["reason"] for row, kind in judged if kind in {"no answer", "not modelled"})
    causes["time-limit"] += causes.pop("timeout", 0)
    yield "Why the other tasks have no answer (causes of UNKNOWN):"
    yield table([{"cause": f"`{name}`", "tasks": number} for name, number in ranked(causes)])


def replay_table(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield a table of how violations were replayed."""
    reasons = (re.sub(r"`[^`]*`", "`...`", row["reason"]) for row in rows if row["answer"] == "false")
    replayed = Counter(reasons)
    confirmed = replayed.pop(CONFIRMED, 0)
    names = {
        "the compiled program, with checks of every access": confirmed,
        **{f"the interpreter only: {name or 'not compiled'}": number for name, number in ranked(replayed)},
    }
    yield "How the violations were replayed:"
    yield table([{"replayed by": name, "violations": number} for name, number in names.items()])


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def judgement(row: BenchRow) -> str:
    """Return the column of a row of `certus bench` in the table by suite."""
    answer, expected = row["answer"], row["expected"]
    if answer == "unknown":
        return "not modelled" if str(row["reason"]).startswith(REFUSED) else "no answer"
    if expected is None:
        return "no label"
    if (answer == "true") != expected:
        return "against the label"
    return "HOLDS" if answer == "true" else "VIOLATED"


def take(name: str, commit: str) -> None:
    """Replace the rows and the commit of a file of figures by a Markdown table from standard input."""
    file = FIGURES / f"{name}.jsonl"
    head = {**described(file), "commit": commit}
    lines = [line.strip() for line in sys.stdin if line.startswith("|")]
    names = split(lines[0])
    rows = [dict(zip(names, map(value, split(line)), strict=True)) for line in lines[2:]]
    write(file, [head, *rows])


def take_rows(name: str, commit: str, file: Path, tasks: str) -> None:
    """Replace the compressed rows and the commit of a file of figures by rows of `certus bench`."""
    figures = FIGURES / f"{name}.jsonl"
    head = {**described(figures), "commit": commit}
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    last = {(row["task"], row["property_name"], row["contestant"]): row for row in rows}
    with lzma.open(FIGURES / head["rows"], "wt", encoding="utf-8") as out:
        for row in last.values():
            out.write(json.dumps({**row, "task": row["task"].replace(tasks.rstrip("/"), "TASKS")}) + "\n")
    write(figures, [head])


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def value(text: str) -> Value:
    """Return a cell of a table as a number if it is one, and as None if it is empty."""
    if text in {"", "-"}:
        return None
    plain = text.replace(",", "")
    if re.fullmatch(r"-?\d+", plain):
        return int(plain)
    return float(plain) if re.fullmatch(r"-?\d+\.\d+", plain) else text


def write(file: Path, objects: Iterable[object]) -> None:
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)
    file.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail if the page is not up to date")
    parser.add_argument("--take", metavar="NAME", help="replace the rows of a file of figures")
    parser.add_argument(
        "--rows", nargs=2, metavar=("FILE", "TASKS_DIR"), help="take the rows of `certus bench`"
    )
    parser.add_argument("--commit", help="the commit at which the rows of --take were measured")
    arguments = parser.parse_args()
    if arguments.check:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/benchmarks.md is out of date: run python scripts/benchmarks_page.py", file=sys.stderr)
        return 1
    if arguments.take:
        if not arguments.commit:
            parser.error("--take needs --commit")
        if arguments.rows:
            take_rows(arguments.take, arguments.commit, Path(arguments.rows[0]), arguments.rows[1])
        else:
            take(arguments.take, arguments.commit)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
