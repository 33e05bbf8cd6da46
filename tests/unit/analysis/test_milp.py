"""The paper's mixed-integer programs: its three heuristics, and what its misprint would do."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import lp_program

from certus.analysis.ranges import milp
from certus.analysis.ranges.result import analyse
from certus.core.budget import Budget
from certus.core.loops import loop_forest

DOWN = "void main() {{ int x; int y; x = {x}; y = {y}; while (x <= y + 1) {{ y = y - 1; }} assert(y != 0); }}"


def head(x: int, y: int) -> tuple[int | None, int | None]:
    """The range of y at the head of the loop, by mixed-integer programs."""
    found = analyse(lp_program(DOWN.format(x=x, y=y)), budget=Budget(20), solver="milp")
    (at,) = loop_forest(found.program.procedures["main"]).heads
    (range_,) = (r for v, r in found.at(at).items() if v.name.endswith("y"))
    return range_.low, range_.high


def test_conditions_relax_flow() -> None:
    assert head(10, 100) == (8, 100)


def test_the_printed_sign_loses_the_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 4.1 prints `L + M D <= ...`: a binary then makes its part stronger, both parts hold at once,
    and the flow of `y - 1` around the loop has no least value: no solution, and so no bound."""
    monkeypatch.setattr(milp, "RELAXED", -milp.RELAXED)
    assert head(10, 100) == (None, None)


def test_a_part_that_is_close_to_m_is_dropped() -> None:
    """The condition says y >= 49,998. As a disjunct it is too close to M, and the flow has no least value."""
    assert milp.CLOSE < 49_998 < milp.LARGE
    assert head(50_000, 50_100) == (None, None)


def test_what_stands_alone_may_be_close_to_m() -> None:
    """No binary relaxes what a variable starts with: nothing is dropped there."""
    assert head(10, 90_000) == (8, 90_000)


def test_a_part_that_is_not_bounded_is_dropped_and_the_flow_stays() -> None:
    text = """void main() { int x; int y; int n; n = *; x = 0; y = 5;
        while (*) { if (x < 7 && y <= n) { x = x + 1; y = x; } } assert(x != 9); }"""
    found = analyse(lp_program(text), budget=Budget(20), solver="milp")
    (at,) = loop_forest(found.program.procedures["main"]).heads
    assert {v.name[-1]: (r.low, r.high) for v, r in found.at(at).items()} | {"n": None} == {
        "x": (0, 7),
        "y": (1, 7),
        "n": None,
    }
