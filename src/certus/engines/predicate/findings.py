"""The predicates of a search, for people: by location, and round by round as they came, as C expressions in
the names of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from certus.core.ctext import c_text
from certus.core.program import Location, Program
from certus.core.statistics import Finding, Refinement
from certus.core.terms import Expr
from certus.engines.predicate.abstraction import Precision

SHOWN: Final = 300  # locations, and rounds
PASSED: Final = 40  # places on a path


def findings(program: Program, precision: Mapping[Location, Precision]) -> list[Finding]:
    """One finding for each location that has predicates, in program order."""
    found = []
    for at, known in sorted(precision.items(), key=lambda item: item[0].index)[:SHOWN]:
        if known.predicates:
            words = "; ".join(c_text(p, names=program.source_names, limit=200) for p in known.predicates)
            found.append(Finding("predicates", _place(at), words))
    return found


def refinement(
    program: Program, path: Sequence[Location], added: Mapping[Location, Sequence[Expr]]
) -> Refinement:
    """A round that excluded a path by new predicates."""
    visits = [(place, len(list(group))) for place, group in groupby(map(_place, path))]
    places = [f"{place} ({times} times)" if times > 1 else place for place, times in visits]
    if len(places) > PASSED:
        places[PASSED // 2 : -PASSED // 2] = ["..."]
    new = [
        (_place(at), c_text(p, names=program.source_names, limit=200))
        for at, predicates in sorted(added.items(), key=lambda item: item[0].index)
        for p in predicates
    ]
    return Refinement(tuple(places), tuple(dict.fromkeys(new)))


def _place(at: Location) -> str:
    span = at.loop or at.span
    return at.name if span is None else f"line {span.line}"
