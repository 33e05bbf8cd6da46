"""The predicates of a search, for people: by location, as C expressions in the names of the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.core.ctext import c_text
from certus.core.program import Location, Program
from certus.core.statistics import Finding
from certus.engines.predicate.abstraction import Precision

SHOWN: Final = 300  # locations


def findings(program: Program, precision: Mapping[Location, Precision]) -> list[Finding]:
    """One finding for each location that has predicates, in program order."""
    found = []
    for at, known in sorted(precision.items(), key=lambda item: item[0].index)[:SHOWN]:
        if known.predicates:
            words = "; ".join(c_text(p, names=program.source_names, limit=200) for p in known.predicates)
            found.append(Finding("predicates", _place(at), words))
    return found


def _place(at: Location) -> str:
    span = at.loop or at.span
    return at.name if span is None else f"line {span.line}"
