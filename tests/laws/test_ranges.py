"""Ranges hold in every run; the two solvers agree; growth is near linear."""

from __future__ import annotations

import time

import pytest
from tests.laws.flow_programs import FlowShape, flow_program
from tests.laws.observed_ranges import OutOfRange, observe, observe_bounded, observe_symbolic
from tests.laws.pattern_programs import as_patterns
from tests.laws.plain_system import plain_essa
from tests.reference_flow import reference_program

from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.result import analyse, solve
from certus.analysis.ranges.strategy import StrategyIteration
from certus.core.accounting import Budget
from certus.core.terms import INT, Sort, machine
from certus.reference.mixed_integer_ranges import by_mixed_integer

SORTS = (INT, machine(8, signed=True), machine(8, signed=False), machine(32, signed=True))


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
@pytest.mark.parametrize("linear", [True, False], ids=["linear", "any"])
def test_values_of_runs_lie_in_their_ranges(sort: Sort, linear: bool) -> None:
    seen = 0
    for seed in range(36):
        shape = FlowShape(blocks=4 + seed % 9, sort=sort, linear=linear)
        seen += observe(flow_program(seed, shape), runs=8, steps=120, seed=str(seed))
    assert seen > 10_000


@pytest.mark.parametrize("width", [8, 32])
def test_bits_that_are_read_as_signed_lie_in_their_ranges(width: int) -> None:
    """Cells of memory are unsigned; where loads convert them, ranges are those of signed numbers."""
    seen = viewed = 0
    for seed in range(24):
        shape = FlowShape(blocks=4 + seed % 7, sort=machine(width, signed=True), linear=seed % 3 == 0)
        program = as_patterns(flow_program(seed, shape), seed)
        ranges = analyse(program, Scope(everywhere=True))
        viewed += len(ranges.essa.translation.views)
        seen += observe(program, runs=6, steps=100, seed=str(seed), ranges=ranges)
    assert viewed > 40
    assert seen > 4_000


@pytest.mark.parametrize(
    ("blocks", "variables", "seed"), [(100, 20, 0), (100, 5, 1), (100, 3, 2), (1000, 20, 0)]
)
def test_strategy_iteration_and_the_mixed_integer_program_agree(
    blocks: int, variables: int, seed: int
) -> None:
    found = analyse(reference_program(blocks, variables, seed=seed))
    system, limits = found.essa.system, found.essa.translation.limits
    by_strategy = StrategyIteration(system, limits, found.values).solve(Budget())
    by_program, _ = by_mixed_integer(found.essa, found.values, Budget())
    live = [q for q in range(len(system)) if found.values.has(q)]
    assert len(live) > blocks
    assert [by_strategy[q] for q in live] == [by_program[q] for q in live]


def test_all_constraints_of_reference_flows_check() -> None:
    for seed in range(5):
        assert analyse(reference_program(200, 6, seed=seed)).widened == 0


def test_the_time_is_near_linear() -> None:
    """10,000 blocks of 20 variables take some 4 s on one core; here with slack for busy machines."""

    def seconds(blocks: int) -> float:
        program = reference_program(blocks, 20, sort=machine(32, signed=True))
        start = time.process_time()
        analyse(program)
        return time.process_time() - start

    small, large = seconds(1000), seconds(10_000)
    assert large < 25
    assert large < 40 * max(small, 0.1)


def test_simplifications_preserve_all_bounds() -> None:
    """Against the system with every constraint that section 3.5 of the paper leaves out. Copies are one
    quantity only in e-SSA form, where conditions on one are conditions on the other: they may be better."""
    equal = better = smaller = larger = 0
    for seed in range(40):
        shape = FlowShape(blocks=3 + seed % 8, sort=SORTS[seed % 4], linear=True, inputs=seed % 2 == 0)
        program = flow_program(seed, shape)
        found, plain = analyse(program, Scope(everywhere=True)), solve(plain_essa(program), Budget())
        for at in found.essa.at:
            assert found.reaches(at) is plain.reaches(at)
            for x, range_ in found.at(at).items() if found.reaches(at) else ():
                assert range_.within(plain.at(at)[x])
                equal, better = equal + (range_ == plain.at(at)[x]), better + (range_ != plain.at(at)[x])
        smaller, larger = smaller + len(found.essa.system), larger + len(plain.essa.system)
    assert equal > 50 * better
    assert larger > 2 * smaller


@pytest.mark.parametrize("seed", range(30))
def test_symbolic_bounds_hold_in_runs(seed: int) -> None:
    shape = FlowShape(blocks=3 + seed % 4, variables=2, sort=SORTS[seed % 4], linear=True, parameters=2)
    assert observe_symbolic(flow_program(seed, shape), runs=12, steps=60, seed=str(seed)) > 0


def test_bounded_ranges_hold_in_bounded_runs() -> None:
    seen = 0
    for seed in range(60):
        shape = FlowShape(blocks=4 + seed % 6, sort=SORTS[seed % 4], linear=False)
        seen += observe_bounded(flow_program(seed, shape), 1 + seed % 4, runs=8, steps=120, seed=str(seed))
    assert seen > 2_000


def test_a_wrong_range_is_noticed() -> None:
    """The laws can fail: with an upper bound that is too small, they do."""
    program = flow_program(5, FlowShape(blocks=6, sort=INT, linear=True, inputs=True))
    found = analyse(program, Scope(everywhere=True))
    for quantity in range(len(found.essa.system)):
        found.values.high[quantity] = min(found.values.high[quantity], 3)
    with pytest.raises(OutOfRange):
        observe(program, runs=20, steps=60, ranges=found)
