"""The tabs of findings and of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from certus.core.outcome import Outcome
from certus.report.html.markup import code, sentence, table, text

MOST = 2000  # findings in a table


def findings(outcome: Outcome) -> str:
    """Return the intermediate results of the engine: predicates, relations, unreachable lines."""
    parts = []
    for kind, group in groupby(outcome.statistics.findings, key=lambda f: f.kind):
        items = list(group)
        rows = [(sentence(item.place), code(item.text)) for item in items[:MOST]]
        parts.append(f"<h2>{text(kind.capitalize())}</h2>{table(('where', 'what'), rows)}")
        if len(items) > MOST:
            parts.append(f'<p class="quiet">{len(items) - MOST:,} more are not shown.</p>')
    parts.append(_refinements(outcome))
    return "\n".join(part for part in parts if part)


def _refinements(outcome: Outcome) -> str:
    """Return the abstract counterexample of each refinement, and the predicates that exclude it."""
    rounds = outcome.statistics.refinements
    if not rounds:
        return ""
    rows = [
        (str(number), " → ".join(map(sentence, each.path)), _added(each.added))
        for number, each in enumerate(rounds, 1)
    ]
    heads = ("#round", "the abstract counterexample passes", "predicates that exclude it")
    more = outcome.statistics.counters["predicate.refinements"] - len(rounds)
    rest = f'<p class="quiet">{more:,} more rounds added nothing, or are not shown.</p>' if more > 0 else ""
    return f"<h2>Refinements</h2>{table(heads, rows)}{rest}"


def _added(pairs: Sequence[tuple[str, str]]) -> str:
    if not pairs:
        return '<span class="quiet">none that were not there already</span>'
    groups = groupby(pairs, key=lambda pair: pair[0])
    return "<br>".join(f"{sentence(at)}: {', '.join(code(p) for _, p in group)}" for at, group in groups)


def statistics(outcome: Outcome) -> str:
    """Return passes, counters and times."""
    parts = []
    if outcome.passes:
        rows = [
            (
                code(p.name),
                *(f"{n:,}" for n in (p.before.locations, p.after.locations, p.before.edges, p.after.edges)),
            )
            for p in outcome.passes
        ]
        heads = ("pass", "#locations", "#after", "#edges", "#after")
        parts.append(f"<section><h2>Passes</h2>{table(heads, rows)}</section>")
    counters = sorted(outcome.statistics.counters.items())
    if counters:
        rows_ = [(code(name), f"{number:,}") for name, number in counters]
        parts.append(f"<section><h2>Counters</h2>{table(('counter', '#number'), rows_)}</section>")
    times = {**outcome.seconds, **outcome.statistics.seconds}
    if times:
        longest = max(times.values()) or 1.0
        lines = [
            (
                code(name),
                f'<meter min="0" max="1" value="{seconds / longest:.3f}"></meter>',
                f"{seconds:.3f}",
            )
            for name, seconds in sorted(times.items(), key=lambda item: (-item[1], item[0]))
        ]
        parts.append(f"<section><h2>Time</h2>{table(('phase', '', '#seconds'), lines)}</section>")
    return f'<div class="columns">{"".join(parts)}</div>'
