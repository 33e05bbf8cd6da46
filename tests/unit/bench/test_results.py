"""Rows of a benchmark: points as in SV-COMP, tallies, tables, and the page."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from html.parser import HTMLParser

import pytest

from certus.bench.html_page import render_bench_page
from certus.bench.results import (
    Answer,
    Results,
    Row,
    render_bench_csv,
    render_bench_json,
    render_bench_text,
    row_from,
)


def row(
    answer: Answer = "true",
    expected: bool | None = True,
    *,
    task: str = "s/a.yml",
    who: str = "bmc",
    wall: float = 1.0,
) -> Row:
    reason = "time-limit" if answer == "unknown" else ""
    return Row(
        task, "unreach-call", expected, "d", who, "w", "20 s", "0.1", answer, reason, "", wall, 2.0, 1, "now"
    )


RESULTS = Results(
    [
        row(),
        row("false", False, task="s/b.yml", wall=3.0),
        row("unknown", task="t/<c>.yml"),
        row("false", None, task="t/d.yml"),
        row("false", who="other"),
        row("false", False, who="other", task="s/b.yml"),
    ],
    skipped=["x.yml: no <input> file"],
)


@pytest.mark.parametrize(
    ("answer", "expected", "judgement", "points"),
    [
        ("true", True, "correct", 2),
        ("false", False, "correct", 1),
        ("false", True, "wrong", -16),
        ("true", False, "wrong", -32),
        ("unknown", True, "unknown", 0),
        ("unknown", None, "unknown", 0),
        ("true", None, "unjudged", 0),
    ],
)
def test_points(answer: Answer, expected: bool | None, judgement: str, points: int) -> None:
    judged = row(answer, expected)
    assert (judged.judgement, judged.points) == (judgement, points)


def test_tallies() -> None:
    ours, other = RESULTS.tallies
    assert (ours.contestant, ours.rows, ours.correct, ours.score) == ("bmc", 4, 2, 3)
    assert (ours.wrong, ours.unknown, ours.unjudged, ours.wall, ours.cpu) == (0, 1, 1, 4.0, 4.0)
    assert (other.correct, other.wrong, other.score) == (1, 1, -15)


def test_of_two_rows_with_one_key_the_later_counts() -> None:
    assert [each.answer for each in Results([row("unknown"), row("true")]).rows] == ["true"]
    other = replace(row("unknown"), limits="60 s")
    assert len(Results([row(), other]).rows) == 2


def test_rows_survive_json() -> None:
    assert row_from(json.loads(json.dumps(asdict(row()) | {"later": 1}))) == row()


def test_the_text_names_what_is_wrong() -> None:
    table, *_, last = render_bench_text(RESULTS).splitlines()
    assert table.split()[:3] == ["contestant", "tasks", "correct"]
    assert last == "WRONG: other says false, expected true: s/a.yml (unreach-call)"


def test_who_contradicts_whom_where_nobody_knows() -> None:
    rows = [row("true", None), row("false", None, who="other"), row("unknown", None, who="third")]
    last = render_bench_text(Results(rows)).splitlines()[-1]
    assert last == "CONTRADICTION: bmc says true, other says false: s/a.yml (unreach-call)"
    assert Results([*rows[:1], *rows[2:]]).contradictions == ()


def test_csv_and_json_have_every_row_judged() -> None:
    lines = list(csv.DictReader(render_bench_csv(RESULTS).splitlines()))
    assert [line["judgement"] for line in lines if line["contestant"] == "other"] == ["wrong", "correct"]
    whole = json.loads(render_bench_json(RESULTS))
    assert [each["score"] for each in whole["contestants"]] == [3, -15]
    assert [str(each["points"]) for each in whole["rows"]] == [line["points"] for line in lines]


class Page(HTMLParser):
    """What stands in cells, and whether all that was opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.references: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input"):
            self.open.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    text = render_bench_page(RESULTS, seconds=20.0)
    page = Page(text)
    assert page.open == []
    assert page.references == []
    assert "t/<c>.yml" in page.cells
    assert "time-limit, 1.0 s" in page.cells
    assert "0, 1 wrong" not in page.cells
    assert "1, 1 wrong" in page.cells
    assert text.count("<svg") == 2  # cactus, and one scatter plot for two contestants


def test_one_contestant_without_an_answer_has_a_page_too() -> None:
    assert render_bench_page(Results([row("unknown")]), seconds=20.0).count("<svg") == 1
