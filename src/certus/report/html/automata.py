"""The tab of automata: every procedure before and after large blocks, drawn by `certus.report.svg`.

The pictures wait in templates, which cost a browser nothing until one is looked at. What is too large to be
read, or would make the file too large, is not drawn, and the page says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.outcome import Outcome, Replay
from certus.core.program import Procedure, Program
from certus.report.cfa import cluster
from certus.report.html.markup import text
from certus.report.svg import picture, tips

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
    """The tab, empty if there is nothing to draw."""
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
<p class="quiet">Dashed: the entry. Double: the head of a loop. Blue: back to it. Red: an error. A click on a
location, or Enter, leads to its line.</p>
<div id="picture"></div>
<svg class="tips" aria-hidden="true">{tips()}</svg>
{"".join(_templates(ways, _order(outcome, program)))}"""


def _order(outcome: Outcome, program: Program) -> list[str]:
    """The procedures, those first that the counterexample passes through, then those with errors."""
    met: dict[str, None] = {}
    if isinstance(outcome.check, Replay):
        for step in outcome.check.kept:
            met[program.edge[step.edge].source.procedure] = None
    for site in program.errors:
        met[site.location.procedure] = None
    met[program.main] = None
    return [*met, *(name for name in program.procedures if name not in met)]


def _templates(ways: dict[str, Program], order: list[str]) -> Iterator[str]:
    """All pictures there is room for, large blocks first: they are smaller, and what engines work on."""
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
        reason = f"A picture of {size.edges:,} edges cannot be read; the largest has {LARGEST}."
        return f'<p class="absent">{reason} In large blocks it may be smaller.</p>'
    return picture(cluster(program, procedure)) if room else _TOO_MUCH
