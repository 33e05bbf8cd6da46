"""Cartesian and Boolean abstraction of steps."""

from __future__ import annotations

import pytest
from scripts.bench_abstraction import abstract_states

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe
from certus.engines.predicate import Options, PredicateAbstraction
from certus.engines.predicate.abstraction import Manner
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks, Mode


@pytest.mark.parametrize(
    ("manner", "blocks", "states"),
    [
        ("cartesian", "large", 4),
        ("boolean", "large", 2),
        ("cartesian", "single", 2),
        ("boolean", "single", 2),
    ],
)
def test_the_example_of_the_thesis(manner: Manner, blocks: Mode, states: int) -> None:
    """{(0, 1), (1, 0)}: in large blocks the two ways are one step, which Cartesian abstraction cannot
    separate; in single blocks they are two steps, each with one result."""
    assert abstract_states(manner, blocks) == states


RELATION = """
void main() {
  bool x, y;
  if (*) { x, y = false, true; } else { x, y = true, false; }
  while (*) { x, y = y, x; }
  assert(x != y);
}
"""


@pytest.mark.parametrize("manner", ["cartesian", "boolean"])
def test_a_relation_is_proved_either_way(manner: Manner) -> None:
    """Cartesian abstraction loses the relation; the path that comes up again is abstracted exactly."""
    task, _ = LargeBlocks("large").apply(Task(load_lp(RELATION, "test.lp").program))
    statistics = Statistics()
    verdict = PredicateAbstraction().run(task, Options(abstraction=manner), Budget(60), statistics)
    assert isinstance(verdict, Safe)
    assert (statistics.counters["predicate.states"] == 2) == (manner == "boolean")
    assert (statistics.counters["predicate.repeated"] > 0) == (manner == "cartesian")
