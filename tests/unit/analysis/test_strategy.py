"""Cycles of a strategy: differences by shortest paths, others by HiGHS."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import Analysed, lp_program

from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.strategy import Row, StrategyIteration, shortest

DOUBLING = "void main() { int i; i = 1; while (i < 1000) { i = 2 * i; } assert(i != 1); }"
TWO = """void main() { int i; int j; i = 0; j = 0;
while (i + 2 * j <= 100) { if (*) { i = i + 1; } else { j = j + 1; } } assert(i >= 0); }"""


def test_shortest_paths() -> None:
    rows = [Row(0, 1, ((1, 1),), 1), Row(1, 1, ((0, 1),), 0), Row(1, 1, (), 99)]
    assert shortest(2, rows, [500, 500]) == [100, 99]
    assert shortest(2, rows[:2], [500, 400]) == [401, 400]
    assert shortest(2, rows[:2], [INFINITE, INFINITE]) == [INFINITE, INFINITE]


def test_beyond_floating_point() -> None:
    rows = [Row(0, 1, ((1, 1),), 1), Row(1, 1, ((0, 1),), 0), Row(1, 1, (), 2**60 + 1)]
    assert shortest(2, rows, [2**64 - 1, 2**64 - 1]) == [2**60 + 2, 2**60 + 1]


def test_what_is_no_difference_is_left_to_highs() -> None:
    assert shortest(1, [Row(0, 2, (), 7)], [100]) is None
    assert shortest(2, [Row(0, 1, ((1, 2),), 0)], [100, 100]) is None
    assert shortest(1, [Row(0, 1, ((0, 1),), -1)], [100]) is None  # x <= x - 1


@pytest.mark.parametrize(
    ("text", "ranges"), [(DOUBLING, {"i": (1, 1998)}), (TWO, {"i": (0, 101), "j": (0, 51)})]
)
def test_cycles_that_need_highs(
    text: str, ranges: dict[str, tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    original = StrategyIteration._by_highs

    def counted(self: StrategyIteration, cycle, rows, budget):  # type: ignore[no-untyped-def]
        asked.append(len(cycle))
        return original(self, cycle, rows, budget)

    monkeypatch.setattr(StrategyIteration, "_by_highs", counted)
    assert Analysed(lp_program(text)).heads() == [ranges]
    assert asked


def test_what_does_not_check_is_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a solver got wrong grow until every constraint holds, at the worst to those of the type."""
    original = StrategyIteration.solve

    def wrong(self: StrategyIteration, budget):  # type: ignore[no-untyped-def]
        analysed = original(self, budget)
        for quantity in range(len(self.system)):
            analysed.high[quantity] = min(analysed.high[quantity], 3)
        return analysed

    monkeypatch.setattr(StrategyIteration, "solve", wrong)
    analysed = Analysed(
        lp_program("void main() { int i; i = 0; while (i < 10) { i = i + 1; } assert(i == 10); }")
    )
    assert analysed.ranges.widened > 0
    low, high = analysed.heads()[0]["i"]
    assert low == 0
    assert high is None or high >= 10
