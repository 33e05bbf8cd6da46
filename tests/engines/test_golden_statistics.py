"""Record how much work each small program takes, in counters, so that a change shows in review.

Bounds follow from the program and must be equal. The number of solver queries depends on the models that a
version of the solver returns and may differ by a factor of two.
`CERTUS_ACCEPT=1 pytest tests/engines/test_golden_statistics.py` writes the file anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.expectations import all_expected

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks

GOLDEN = Path(__file__).parent / "golden_statistics.json"
FACTOR = 2


def counters() -> dict[str, dict[str, int]]:
    """Return the bound and the number of solver queries of each program."""
    work = {}
    for expected in all_expected():
        program = load_lp(expected.path.read_text(), expected.path.name, expected.property_name).program
        task, _ = LargeBlocks("large").apply(Task(program, expected.property_name))
        statistics = Statistics()
        BoundedModelChecking().run(task, Options(bound=12), Budget(60), statistics)
        queries = sum(n for name, n in statistics.counters.items() if name.startswith("solver."))
        work[expected.path.stem] = {"bound": statistics.counters["bmc.bound"], "queries": queries}
    return work


def test_the_counters_are_as_recorded() -> None:
    now = counters()
    if os.environ.get("CERTUS_ACCEPT"):
        GOLDEN.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
    recorded = json.loads(GOLDEN.read_text())
    assert {name: work["bound"] for name, work in now.items()} == {
        name: work["bound"] for name, work in recorded.items()
    }
    beyond = {
        name: (work["queries"], recorded[name]["queries"])
        for name, work in now.items()
        if not recorded[name]["queries"] / FACTOR <= work["queries"] <= recorded[name]["queries"] * FACTOR
    }
    assert beyond == {}
