"""The rows of a benchmark, one for each run: judge them, count them, and render them as text, CSV and JSON.

Points are those of SV-COMP: 2 for a correct HOLDS, 1 for a correct VIOLATED, -16 for a wrong VIOLATED, -32
for a wrong HOLDS. An answer to a task without an expected verdict is unjudged and has no points.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final, Literal

FORMAT: Final = 1
Answer = Literal["true", "false", "unknown"]
Judgement = Literal["correct", "wrong", "unknown", "unjudged"]

_POINTS: Final[Mapping[tuple[str, Judgement], int]] = {
    ("true", "correct"): 2,
    ("false", "correct"): 1,
    ("false", "wrong"): -16,
    ("true", "wrong"): -32,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `digest` is a hash of the task's files, `version` that of Certus (empty for other tools), and
    `reason` says why there is no answer or, of a violation that Certus found, whether the compiled program
    confirmed it (`confirmed`) or why not. `wall` and `cpu` are seconds and `memory` is the peak in bytes, of
    all processes together."""

    task: str
    property_name: str
    expected: bool | None
    digest: str
    contestant: str
    command: str
    limits: str
    version: str
    answer: Answer
    reason: str
    engine: str
    wall: float
    cpu: float
    memory: int
    when: str

    @property
    def key(self) -> tuple[str, ...]:
        """Return what identifies the run: rows with equal keys are repetitions of one run."""
        return self.task, self.digest, self.property_name, self.contestant, self.command, self.limits

    @property
    def judgement(self) -> Judgement:
        if self.answer == "unknown":
            return "unknown"
        if self.expected is None:
            return "unjudged"
        return "correct" if (self.answer == "true") is self.expected else "wrong"

    @property
    def points(self) -> int:
        return _POINTS.get((self.answer, self.judgement), 0)

    @property
    def suite(self) -> str:
        return PurePath(self.task).parent.name


def row_from(values: Mapping[str, Any]) -> Row:
    """Return a row from JSON data; fields that a later version has added are ignored."""
    return Row(**{field.name: values[field.name] for field in fields(Row)})


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of one contestant. Times are sums over its correct answers."""

    contestant: str
    rows: int
    right_true: int
    right_false: int
    wrong: int
    unknown: int
    unjudged: int
    cpu: float
    wall: float
    score: int

    @property
    def correct(self) -> int:
        return self.right_true + self.right_false


def tally(contestant: str, rows: Iterable[Row]) -> Tally:
    """Count the rows of one contestant."""
    own = [row for row in rows if row.contestant == contestant]
    right = [row for row in own if row.judgement == "correct"]
    counts = {kind: sum(row.judgement == kind for row in own) for kind in ("wrong", "unknown", "unjudged")}
    return Tally(
        contestant,
        len(own),
        sum(row.answer == "true" for row in right),
        sum(row.answer == "false" for row in right),
        **counts,
        cpu=sum(row.cpu for row in right),
        wall=sum(row.wall for row in right),
        score=sum(row.points for row in own),
    )


class Results:
    """All rows of a benchmark, the last one of each key, ordered by task."""

    def __init__(self, rows: Iterable[Row], skipped: Sequence[str] = ()) -> None:
        latest = {row.key: row for row in rows}
        self.rows = sorted(latest.values(), key=lambda row: (row.task, row.property_name))
        self.skipped = tuple(skipped)

    @cached_property
    def contestants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.contestant for row in self.rows))

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        return tuple(tally(name, self.rows) for name in self.contestants)

    @cached_property
    def wrong(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.judgement == "wrong")

    @cached_property
    def contradictions(self) -> tuple[tuple[Row, Row], ...]:
        """Return pairs of contradicting answers to tasks without an expected verdict."""
        pairs = []
        for rows in self.by_task.values():
            answers = {row.answer: row for row in rows.values() if row.judgement == "unjudged"}
            if len(answers) > 1:
                pairs.append((answers["true"], answers["false"]))
        return tuple(pairs)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.limits for row in self.rows))

    @cached_property
    def versions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.version for row in self.rows if row.version))

    @cached_property
    def by_task(self) -> dict[tuple[str, str], dict[str, Row]]:
        """Return the rows of each task and property, by contestant."""
        groups: dict[tuple[str, str], dict[str, Row]] = {}
        for row in self.rows:
            groups.setdefault((row.task, row.property_name), {})[row.contestant] = row
        return groups

    @cached_property
    def by_suite(self) -> dict[str, list[Row]]:
        """Return the rows of each suite, which is the directory of the task."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.suite, []).append(row)
        return dict(sorted(groups.items()))


# --------------------------------------------------------------------------------------- as text

HEADS: Final = (
    "contestant",
    "tasks",
    "correct",
    "true",
    "false",
    "wrong",
    "unknown",
    "unjudged",
    "CPU s",
    "wall s",
    "score",
)


def cells(line: Tally) -> tuple[str, ...]:
    """Return the cells of a tally, one for each of `HEADS`."""
    counts = (line.rows, line.correct, line.right_true, line.right_false)
    rest = (line.wrong, line.unknown, line.unjudged)
    return (
        line.contestant,
        *map(str, (*counts, *rest)),
        f"{line.cpu:.1f}",
        f"{line.wall:.1f}",
        str(line.score),
    )


def render_bench_text(results: Results) -> str:
    """Render the table, then each wrong verdict, and each contradiction between two contestants."""
    lines = [HEADS, *map(cells, results.tallies)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
    for row in results.wrong:
        expected = "true" if row.expected else "false"
        place = f"{row.task} ({row.property_name})"
        text.append(f"WRONG: {row.contestant} says {row.answer}, expected {expected}: {place}")
    for yes, no in results.contradictions:
        answers = f"{yes.contestant} says true, {no.contestant} says false"
        text.append(f"CONTRADICTION: {answers}: {yes.task} ({yes.property_name})")
    return "\n".join(text)


def render_bench_csv(results: Results) -> str:
    """Render one line for each row, with its judgement and points."""
    stream = io.StringIO()
    names = [field.name for field in fields(Row)]
    writer = csv.DictWriter(stream, [*names, "judgement", "points"], lineterminator="\n")
    writer.writeheader()
    for row in results.rows:
        writer.writerow(_judged(row))
    return stream.getvalue()


def render_bench_json(results: Results) -> str:
    """Render the tallies and all rows."""
    data = {
        "format": FORMAT,
        "contestants": [asdict(each) | {"correct": each.correct} for each in results.tallies],
        "skipped": list(results.skipped),
        "rows": [_judged(row) for row in results.rows],
    }
    return json.dumps(data, indent=1)


def _judged(row: Row) -> dict[str, Any]:
    return asdict(row) | {"judgement": row.judgement, "points": row.points}
