"""Measure which tasks the C front end accepts, why it refuses the others, and its cost, as Markdown.

    python scripts/bench_c.py INDEX.csv[.xz] TASKS_DIR                       # all unreach-call tasks
    python scripts/bench_c.py INDEX.csv[.xz] TASKS_DIR --suite sv- --rows rows.csv
    python scripts/bench_c.py --from rows.csv                                # the tables of a run before

INDEX has the columns suite, task, property, bytes; a task is TASKS_DIR/suite/task.yml. Every task is loaded
in a process of its own under limits; seconds are of CPU, Clang's included. Nothing is verified.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import lzma
import multiprocessing
import re
import resource
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

from certus.core.diagnostic import Diagnostic
from certus.core.effects import uses_memory
from certus.core.engine import Task
from certus.core.errors import InputError, Unsupported
from certus.frontend import load_question, read_question
from certus.passes.memory import Memory
from certus.system.child import Reporter, run_limited

KINDS = ("accepted", "unsupported", "input-error", "limit", "crash")
ALLOWED = {  # what Certus does not model yet, and says so
    "unsupported-float",
    "unsupported-threads",
    "unsupported-setjmp",
    "unsupported-asm",
    "unsupported-computed-goto",
}
SIZES = (("below 10 kB", 10_000), ("10 to 100 kB", 100_000), ("100 kB and more", 1 << 40))
MEMORY = 6 << 30


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one task. `code` and `message` say why it was not accepted."""

    suite: str
    task: str
    bytes: int
    kind: str
    seconds: float
    code: str = ""
    place: str = ""
    message: str = ""
    edges: int = 0


def loaded(path: Path, property_name: str, with_memory: bool, _: Reporter) -> bytes:
    """The work of the child: load the program and say how that ended."""
    found: dict[str, object] = {}
    try:
        program = load_question(read_question(path, property=property_name)).program
        edges = sum(len(p.edges) for p in program.procedures.values())
        found = {"kind": "accepted", "edges": edges, "seconds": spent()}
        if with_memory and uses_memory(program):
            Memory().apply(Task(program, property_name))
    except Unsupported as error:
        found |= {"kind": "unsupported", **reason([error.diagnostic])}
    except InputError as error:
        found = {"kind": "input-error", **reason(error.diagnostics)}
    return json.dumps({"seconds": spent(), **found}).encode()


def spent() -> float:
    """Seconds of CPU of this process and of those it waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def reason(diagnostics: Sequence[Diagnostic]) -> dict[str, str]:
    """The first of the diagnostics, in columns."""
    span = diagnostics[0].span
    place = "" if span is None else f"{Path(span.file).name}:{span.line}"
    return {"code": diagnostics[0].code, "message": diagnostics[0].message, "place": place}


def tried(entry: dict[str, str], tasks: Path, property_name: str, seconds: float, with_memory: bool) -> Row:
    """One task of the index in a child."""
    suite, task, size = entry["suite"], entry["task"], int(entry["bytes"])
    path = tasks / suite / f"{task}.yml"
    result = run_limited(partial(loaded, path, property_name, with_memory), seconds=seconds, memory=MEMORY)
    if result.payload is None:
        kind = "crash" if result.kind == "crashed" else "limit"
        message = " ".join(result.detail.split())[:400]
        return Row(suite, task, size, kind, result.cpu_seconds, result.kind, message=message)
    return Row(suite, task, size, **json.loads(result.payload))


def read_index(path: Path, property_name: str, suites: list[str]) -> list[dict[str, str]]:
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["property"] == property_name]
    return [row for row in rows if not suites or row["suite"].startswith(tuple(suites))]


def run_all(arguments: argparse.Namespace) -> list[Row]:
    index = read_index(arguments.index, arguments.property, arguments.suite)[:: arguments.every]
    work = partial(
        tried,
        tasks=arguments.tasks,
        property_name=arguments.property,
        seconds=arguments.seconds,
        with_memory=arguments.memory_pass,
    )
    rows: list[Row] = []
    for module in ("certus.frontend.c.load", "certus.frontend.tasks.yaml_nodes", "yaml"):
        importlib.import_module(module)  # once, here, so that no child pays for it
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool, writer(arguments.rows) as write:
        for number, row in enumerate(pool.imap(work, index, chunksize=4), 1):
            rows.append(row)
            write(row)
            if number % 200 == 0:
                print(f"{number} of {len(index)}", file=sys.stderr, flush=True)
    return rows


# ------------------------------------------------------------------------------------- rows on disk


@contextmanager
def writer(path: Path | None) -> Iterator[Callable[[Row], None]]:
    """Writes each row as it comes, so that a run cut short is not lost."""
    if path is None:
        yield lambda row: None
        return
    with path.open("w", newline="", buffering=1) as stream:
        lines = csv.DictWriter(stream, [field.name for field in fields(Row)])
        lines.writeheader()
        yield lambda row: lines.writerow(asdict(row))


def read_rows(path: Path) -> list[Row]:
    with path.open(newline="") as stream:
        return [
            Row(
                line["suite"],
                line["task"],
                int(line["bytes"]),
                line["kind"],
                float(line["seconds"]),
                line["code"],
                line["place"],
                line["message"],
                int(line["edges"]),
            )
            for line in csv.DictReader(stream)
        ]


# -------------------------------------------------------------------------------------------- tables


def table(heads: list[str], rows: Iterable[list[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def summary(rows: list[Row]) -> None:
    print("### Accepted\n")
    modelled = [row for row in rows if row.code not in ALLOWED]
    integers = [row for row in rows if "float" not in row.suite.lower()]
    groups = (
        ("all tasks", rows),
        ("without the features not modelled yet", modelled),
        ("outside the suites named `*float*`", integers),
    )
    table(["tasks", "number", "accepted", "share"], (_accepted(name, group) for name, group in groups))


def _accepted(name: str, rows: list[Row]) -> list[str]:
    accepted = sum(row.kind == "accepted" for row in rows)
    return [name, str(len(rows)), str(accepted), share(accepted, len(rows))]


def by_suite(rows: list[Row]) -> None:
    print("### Accepted by suite\n")
    suites = {row.suite: Counter(r.kind for r in rows if r.suite == row.suite) for row in rows}
    lines = (
        [
            suite,
            str(found.total()),
            *(str(found[kind]) for kind in KINDS),
            share(found["accepted"], found.total()),
        ]
        for suite, found in sorted(suites.items())
    )
    table(["suite", "tasks", *KINDS, "share"], lines)


def by_reason(rows: list[Row], *, examples: bool) -> None:
    print("### Why tasks are refused\n")
    refused = [row for row in rows if row.kind != "accepted"]
    codes = Counter((row.kind, row.code) for row in refused)
    lines = ([f"`{code}` ({kind})", str(n), share(n, len(rows))] for (kind, code), n in codes.most_common())
    table(["reason", "tasks", "share of all"], lines)
    if examples:
        sentences = Counter((row.code, _without_names(row.message)) for row in refused)
        for (code, sentence), n in sentences.most_common(80):
            row = next(r for r in refused if (r.code, _without_names(r.message)) == (code, sentence))
            print(f"- {n} x {code}: {row.message[:300]}  ({row.suite}/{row.task} {row.place})")
        print()


def _without_names(message: str) -> str:
    if message.startswith("The file") or "Traceback" in message:
        return message
    return re.sub(r"\d+", "N", message)


def cost(rows: list[Row]) -> None:
    print("### What the front end costs\n")
    accepted = [row for row in rows if row.kind == "accepted"]
    table(["size", "tasks", "seconds, median", "90 %", "most", "ms per kB, median", "90 %"], _costs(accepted))


def _costs(rows: list[Row]) -> Iterator[list[str]]:
    low = 0
    for name, high in SIZES:
        group = [row for row in rows if low <= row.bytes < high]
        low = high
        if len(group) > 1:
            seconds = sorted(row.seconds for row in group)
            rates = sorted(1e6 * row.seconds / max(row.bytes, 1) for row in group)
            yield [
                name,
                str(len(group)),
                *(f"{value:.2f}" for value in (statistics.median(seconds), _ninth(seconds), seconds[-1])),
                *(f"{value:.0f}" for value in (statistics.median(rates), _ninth(rates))),
            ]


def _ninth(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[8]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", nargs="?", type=Path)
    parser.add_argument("tasks", nargs="?", type=Path)
    parser.add_argument("--property", default="unreach-call")
    parser.add_argument(
        "--suite", action="append", default=[], help="only suites that begin so; may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for one task")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="only each N-th task of the index")
    parser.add_argument("--rows", type=Path, help="write a line for each task")
    parser.add_argument("--from", dest="before", type=Path, help="read the lines of a run before")
    parser.add_argument("--memory-pass", action="store_true", help="the memory pass must accept it too")
    parser.add_argument("--examples", action="store_true", help="show a task for each reason")
    arguments = parser.parse_args()
    if arguments.before is None and arguments.tasks is None:
        parser.error("INDEX and TASKS_DIR are needed")
    rows = read_rows(arguments.before) if arguments.before else run_all(arguments)
    shown: tuple[Callable[[list[Row]], None], ...] = (
        summary,
        by_suite,
        partial(by_reason, examples=arguments.examples),
        cost,
    )
    for show in shown:
        show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
