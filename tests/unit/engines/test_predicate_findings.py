"""What a search by predicates has to show."""

from __future__ import annotations

from tests.automata import X, number

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Location, Program
from certus.core.statistics import Finding
from certus.engines.predicate.abstraction import Precision
from certus.engines.predicate.findings import findings


def test_predicates_by_location_in_the_names_of_the_source() -> None:
    program = Program({}, "main", (X,), (), source_names={X: "count"})
    loop = Location(1, "main", Span("a.lp", 9, 1, 9, 2), loop=Span("a.lp", 4, 3, 6, 4))
    precision = {
        Location(3, "main"): Precision((build.le(X, number(3)), build.eq(X, number(0)))),
        Location(2, "main"): Precision(),
        loop: Precision((build.lt(X, number(7)),)),
    }
    assert findings(program, precision) == [
        Finding("predicates", "line 4", "count < 7"),
        Finding("predicates", "main:3", "count <= 3; count == 0"),
    ]
