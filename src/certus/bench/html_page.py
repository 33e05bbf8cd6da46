"""Render a benchmark as one self-contained HTML page: tables, cactus and scatter plots, and every run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from certus.bench.results import HEADS, Results, Row, cells, tally
from certus.bench.svg_charts import Axis, Panel, Points, charts

FLOOR: Final = 0.01  # seconds; shorter times are drawn here
SCATTERS: Final = 6  # scatter plots at most

_STYLE: Final = """
body { font: 15px/1.5 system-ui, Helvetica, Arial, sans-serif; color: #1a1a1a; max-width: 64rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.about { color: #555; margin-top: 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e3e3e3; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
th { color: #555; font-weight: 600; }
td.correct { background: #e6f4ea; } td.wrong { background: #d62728; color: #fff; font-weight: 600; }
td.unknown { color: #8a8a8a; white-space: normal; } td.unjudged { background: #fdf3d8; }
input { font: inherit; padding: .3rem .6rem; width: 20rem; max-width: 100%; margin-bottom: .6rem; }
svg { max-width: 100%; height: auto; }
@media print { input { display: none; } }
"""

_FILTER: Final = """
const box = document.getElementById("filter");
box.addEventListener("input", () => {
  for (const row of document.querySelectorAll("#rows tbody tr"))
    row.hidden = !row.textContent.toLowerCase().includes(box.value.toLowerCase());
});
"""


def render_bench_page(results: Results, *, seconds: float) -> str:
    """Render the page; `seconds` is the time limit, at which the axes of plots end."""
    body = [
        "<h1>Certus benchmark</h1>",
        f'<p class="about">{escape(_about(results))}</p>',
        _table(HEADS, ((_cell(c) for c in cells(line)) for line in results.tallies)),
        *_wrong(results),
        "<h2>Correct answers over time</h2>",
        _cactus(results, seconds),
        *_scatters(results, seconds),
        *_suites(results),
        *_every_row(results),
        *_skipped(results),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<title>Certus benchmark</title><style>{_STYLE}</style>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _about(results: Results) -> str:
    tasks = f"{len(results.by_task):,} tasks; limits {'; '.join(results.limits)}"
    return f"{tasks}; Certus {', '.join(results.versions)}" if results.versions else tasks


def _wrong(results: Results) -> list[str]:
    if not results.wrong:
        return []
    lines = (
        [_cell(row.task), _cell(row.property_name), _expected(row), _cell(row.contestant), _answer(row)]
        for row in results.wrong
    )
    heads = ("task", "property", "expected", "contestant", "answer")
    return ["<h2>Wrong verdicts</h2>", _table(heads, lines)]


# ------------------------------------------------------------------------------------------- plots


def _cactus(results: Results, seconds: float) -> str:
    """Draw a line for each contestant: its n-th point is the n-th shortest time of a correct answer."""
    lines: dict[str, Points] = {}
    for name in results.contestants:
        times = sorted(
            _time(row) for row in results.rows if row.contestant == name and row.judgement == "correct"
        )
        lines[name] = list(enumerate(times, 1))
    panel = Panel("", lines)
    x, y = Axis("tasks answered correctly"), Axis("seconds", logarithmic=True, span=(FLOOR, seconds))
    return charts([panel], x, y, columns=1, size=(760.0, 360.0))


def _scatters(results: Results, seconds: float) -> list[str]:
    """Compare the first contestant with each other one: below the diagonal, the other one was faster."""
    if len(results.contestants) < 2:
        return []
    first, *others = results.contestants
    axes = [
        Axis(f"{which}, seconds", logarithmic=True, span=(FLOOR, seconds)) for which in (first, "the other")
    ]
    panels = [
        Panel(f"{first} / {other}", _pairs(results, first, other, seconds), joined=False) for other in others
    ]
    picture = charts(panels[:SCATTERS], *axes, columns=min(3, len(others)), size=(320.0, 326.0))
    note = (
        f"Each point is a task. Below the diagonal, the other contestant was faster than {escape(first)}. "
        "A task without a correct answer lies at the time limit."
    )
    return ["<h2>Task by task</h2>", f'<p class="about">{note}</p>', picture]


def _pairs(results: Results, first: str, other: str, seconds: float) -> dict[str, Points]:
    points: dict[str, list[tuple[float, float]]] = {"property holds": [], "property violated": []}
    for rows in results.by_task.values():
        if first not in rows or other not in rows:
            continue
        pair = (rows[first], rows[other])
        if any(row.judgement == "correct" for row in pair):
            kind = "property holds" if pair[0].expected else "property violated"
            across, down = (_time(row) if row.judgement == "correct" else seconds for row in pair)
            points[kind].append((min(across, seconds), min(down, seconds)))
    return dict(points)


def _time(row: Row) -> float:
    return max(row.wall, FLOOR)


# ------------------------------------------------------------------------------------------ tables


def _suites(results: Results) -> list[str]:
    if len(results.by_suite) < 2:
        return []
    lines = []
    for suite, rows in results.by_suite.items():
        line = [_cell(suite), _cell(str(len({(row.task, row.property_name) for row in rows})))]
        for each in (tally(name, rows) for name in results.contestants):
            wrong = f", {each.wrong} wrong" if each.wrong else ""
            line.append(_cell(f"{each.correct}{wrong}", "wrong" if wrong else ""))
        lines.append(line)
    return ["<h2>Correct answers by suite</h2>", _table(("suite", "tasks", *results.contestants), lines)]


def _every_row(results: Results) -> list[str]:
    lines = []
    for (task, property_name), rows in results.by_task.items():
        answers = map(_answer, (rows.get(name) for name in results.contestants))
        lines.append([_cell(task), _cell(property_name), _expected(next(iter(rows.values()))), *answers])
    table = _table(("task", "property", "expected", *results.contestants), lines, name="rows")
    search = '<input id="filter" type="search" placeholder="filter by task, verdict or reason">'
    return ["<h2>Every run</h2>", search, table, f"<script>{_FILTER}</script>"]


def _skipped(results: Results) -> list[str]:
    if not results.skipped:
        return []
    lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in results.skipped)
    inside = f"<summary>{len(results.skipped):,} files</summary><ul>{lines}</ul>"
    return [f"<h2>Skipped files</h2><details>{inside}</details>"]


def _expected(row: Row) -> str:
    return _cell({True: "true", False: "false", None: "?"}[row.expected])


def _answer(row: Row | None) -> str:
    if row is None:
        return _cell("-", "unknown")
    text = row.reason or row.answer if row.answer == "unknown" else row.answer
    return _cell(f"{text[:60]}, {row.wall:.1f} s", row.judgement)


def _cell(text: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _table(heads: Sequence[str], lines: Iterable[Iterable[str]], name: str = "") -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "\n".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    mark = f' id="{name}"' if name else ""
    return f"<table{mark}><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"
