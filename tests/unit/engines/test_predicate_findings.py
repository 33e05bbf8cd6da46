"""Reports of a search by predicates."""

from __future__ import annotations

from tests.automata import X, number

from certus.core import build
from certus.core.accounting import Finding, Refinement
from certus.core.diagnostic import Span
from certus.core.program import Location, Program
from certus.engines.predicate.abstraction import Precision
from certus.engines.predicate.report import PASSED, predicate_findings, refinement


def test_predicates_by_location_in_the_names_of_the_source() -> None:
    program = Program({}, "main", (X,), (), source_names={X: "count"})
    loop = Location(1, "main", Span("a.lp", 9, 1, 9, 2), loop=Span("a.lp", 4, 3, 6, 4))
    precision = {
        Location(3, "main"): Precision((build.le(X, number(3)), build.eq(X, number(0)))),
        Location(2, "main"): Precision(),
        loop: Precision((build.lt(X, number(7)),)),
    }
    assert predicate_findings(program, precision) == [
        Finding("predicates", "line 4", "count < 7"),
        Finding("predicates", "main:3", "count <= 3; count == 0"),
    ]


def test_a_round_tells_the_path_and_what_excluded_it() -> None:
    program = Program({}, "main", (X,), (), source_names={X: "count"})
    loop = Location(1, "main", loop=Span("a.lp", 4, 3, 6, 4))
    end = Location(3, "main", Span("a.lp", 9, 1, 9, 2))
    added = {end: [build.eq(X, number(0))], loop: [build.lt(X, number(7)), build.le(X, number(3))]}
    assert refinement(program, [loop, loop, end], added) == Refinement(
        ("line 4 (2 times)", "line 9"),
        (("line 4", "count < 7"), ("line 4", "count <= 3"), ("line 9", "count == 0")),
    )
    long = refinement(program, [loop, end] * PASSED, {})
    assert len(long.path) == PASSED + 1
    assert long.path[PASSED // 2 - 1 : PASSED // 2 + 2] == ("line 9", "...", "line 4")
