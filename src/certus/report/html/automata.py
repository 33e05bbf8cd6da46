"""The tab of automata: every procedure before and after large blocks, drawn by `certus.report.cfa_svg`.

The pictures are in templates, which a browser renders only when the user selects one. A picture that is too
large to read, or would make the file too large, is replaced by a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.outcome import Outcome, Replay
from certus.core.program import Procedure, Program
from certus.report.cfa import cluster
from certus.report.cfa_svg import picture, tips
from certus.report.html.markup import text

LARGEST: Final = 400  # edges in one picture
ROOM: Final = 900_000  # bytes for all pictures together

_TOO_MUCH: Final = (
    '<p class="absent">This picture would make the report too large. '
    "<code>certus cfa</code> draws it alone.</p>"
)
_WAYS: Final = {"before": "as written", "after": "in large blocks"}


@dataclass(frozen=True, slots=True)
class _Size:
    locations: int
    edges: int

    def __str__(self) -> str:
        return f"{self.locations:,} locations, {self.edges:,} edges"


def panel(outcome: Outcome) -> str:
    """Return the tab, empty if there is nothing to draw."""
    program, blocks = outcome.subject, outcome.blocks
    if not isinstance(program, Program) or not program.procedures:
        return ""
    ways = {"before": program} if blocks is None else {"before": program, "after": blocks}
    names = list(program.procedures)
    options = "".join(f'<option value="{n}">{text(name)}</option>' for n, name in enumerate(names))
    choices = "".join(
        f'<label><input type="radio" name="way" value="{way}"{" checked" if way == "before" else ""}> '
        f"{_WAYS[way]}</label>"
        for way in ways
    )
    return f"""<div class="choose">
<label>Procedure <select id="procedure">{options}</select></label>
<span class="ways" role="radiogroup" aria-label="Blocks">{choices}</span>
<span class="zoom"><button id="smaller" aria-label="Smaller">&minus;</button>
<button id="larger" aria-label="Larger">+</button></span>
<span class="quiet" id="size"></span>
</div>
<p class="quiet">Dashed border: entry. Double border: loop head. Blue arrow: back to a loop head. Red: error.
Click a location, or press Enter, to go to its line.</p>
<div id="picture"></div>
<svg class="tips" aria-hidden="true">{tips()}</svg>
{"".join(_templates(ways, _order(outcome, program)))}"""


def _order(outcome: Outcome, program: Program) -> list[str]:
    """Return the procedures: first those of the counterexample, then those with errors, then the others."""
    ordered: dict[str, None] = {}
    if isinstance(outcome.check, Replay):
        for step in outcome.check.kept:
            ordered[program.edge[step.edge].source.procedure] = None
    for site in program.errors:
        ordered[site.location.procedure] = None
    ordered[program.main] = None
    return [*ordered, *(name for name in program.procedures if name not in ordered)]


def _templates(ways: dict[str, Program], order: list[str]) -> Iterator[str]:
    """Yield all pictures that fit, first those of large blocks, on which engines work."""
    room = ROOM
    numbers = {name: n for n, name in enumerate(ways["before"].procedures)}
    for way in reversed(ways):
        program = ways[way]
        for name in order:
            procedure = program.procedures.get(name)
            if procedure is None:
                continue
            size = _Size(len(procedure.locations), len(procedure.edges))
            drawn = _drawn(program, procedure, size, room)
            if len(drawn) > room:
                room, drawn = 0, _TOO_MUCH
            room -= len(drawn) if room else 0
            yield f'<template id="{way}-{numbers[name]}" data-size="{size}">{drawn}</template>\n'


def _drawn(program: Program, procedure: Procedure, size: _Size, room: int) -> str:
    if size.edges > LARGEST:
        reason = f"This procedure has {size.edges:,} edges; pictures are limited to {LARGEST}."
        return f'<p class="absent">{reason} Its picture in large blocks may be smaller.</p>'
    return picture(cluster(program, procedure)) if room else _TOO_MUCH
