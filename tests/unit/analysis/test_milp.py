"""The paper's mixed-integer programs: its objective, its three heuristics, and what its misprint would do."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import lp_program

from certus.analysis.ranges import milp
from certus.analysis.ranges.essa import EssaForm, Scope, translate
from certus.analysis.ranges.intervals import Propagation
from certus.analysis.ranges.milp import MixedInteger
from certus.analysis.ranges.result import analyse, solve
from certus.analysis.ranges.system import Values
from certus.core.accounting import Budget
from certus.core.loops import loop_forest
from certus.reference.mixed_integer_ranges import by_mixed_integer
from certus.solvers.highs import LinearProgram

DOWN = "void main() {{ int x; int y; x = {x}; y = {y}; while (x <= y + 1) {{ y = y - 1; }} assert(y != 0); }}"


def head(x: int, y: int) -> tuple[int | None, int | None]:
    """The range of y at the head of the loop, by mixed-integer programs."""
    solution = analyse(lp_program(DOWN.format(x=x, y=y)), budget=Budget(20), solver=by_mixed_integer)
    (at,) = loop_forest(solution.program.procedures["main"]).heads
    (range_,) = (r for v, r in solution.at(at).items() if v.name.endswith("y"))
    return range_.low, range_.high


def test_conditions_relax_flow() -> None:
    assert head(10, 100) == (8, 100)


def test_the_objective_is_the_sum_of_all_widths() -> None:
    """Section 3.4: |U - L| of all that is read, with the coefficients of parameters as in section 4; binaries
    and constraints cost nothing."""
    essa = translate(lp_program(DOWN.format(x=10, y=100)), Scope())
    outer = Propagation(essa.system, essa.translation).intervals(Budget())
    whole = MixedInteger(essa.system, outer, {}, lambda quantity: (None, None), parameters=2)
    model = milp._Model(whole, [5, 6, 7])
    assert sorted(model.columns) == [10, 11, 12, 13, 14, 15]  # U and -L of each
    assert [len(columns) for columns in model.columns.values()] == [3] * 6
    assert model.program.cost == [1.0] * 18
    model._either(5, 0, [(1, ((1, 6),), 1), (2, ((1, 7),), 1)])
    assert model.program.whole[18:] == [True, True]
    assert model.program.cost[18:] == [0.0, 0.0]


def test_the_objective_chooses_the_least_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned round, it chooses the widest that the encoding has numbers for."""
    original = LinearProgram.column

    def widest(self: LinearProgram, lower: float, upper: float, cost: float, *, whole: bool = False) -> int:
        return original(self, lower, upper, -cost, whole=whole)

    monkeypatch.setattr(LinearProgram, "column", widest)
    low, high = head(10, 100)
    assert low is None or low < 8
    assert high is None or high > 100


def test_no_single_bound_can_be_less() -> None:
    """The least solution: one number less anywhere, and a constraint does not hold."""
    essa = translate(lp_program(DOWN.format(x=10, y=100)), Scope())
    solution = solve(essa, Budget(20), by_mixed_integer).values
    assert not _violated(essa, solution)
    for quantity in range(len(essa.system)):
        if solution.low[quantity] < solution.high[quantity]:
            for side in (solution.low, solution.high):
                before = side[quantity]
                side[quantity] += 1 if side is solution.low else -1
                assert _violated(essa, solution)
                side[quantity] = before


def _violated(essa: EssaForm, values: Values) -> bool:
    for quantity, definition in enumerate(essa.system.definitions):
        low, high = values.evaluate(quantity, definition)
        if low <= high and (low < values.low[quantity] or high > values.high[quantity]):
            return True
    return False


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
    solution = analyse(lp_program(text), budget=Budget(20), solver=by_mixed_integer)
    (at,) = loop_forest(solution.program.procedures["main"]).heads
    assert {v.name[-1]: (r.low, r.high) for v, r in solution.at(at).items()} | {"n": None} == {
        "x": (0, 7),
        "y": (1, 7),
        "n": None,
    }
