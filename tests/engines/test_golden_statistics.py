"""How much work each small program takes, in counters: a change shows in review.

`CERTUS_ACCEPT=1 pytest tests/engines/test_golden_statistics.py` writes the file anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.expectations import all_expected

from certus.core.budget import Budget
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp.load import load_lp
from certus.transform.large_blocks import LargeBlocks

GOLDEN = Path(__file__).parent / "golden_statistics.json"


def counters() -> dict[str, dict[str, int]]:
    found = {}
    for expected in all_expected():
        program = load_lp(expected.path.read_text(), expected.path.name, expected.property_name).program
        task, _ = LargeBlocks("large").apply(Task(program, expected.property_name))
        statistics = Statistics()
        BoundedModelChecking().run(task, Options(bound=12), Budget(60), statistics)
        found[expected.path.stem] = dict(sorted(statistics.counters.items()))
    return found


def test_the_counters_are_as_recorded() -> None:
    now = counters()
    if os.environ.get("CERTUS_ACCEPT"):
        GOLDEN.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
    assert now == json.loads(GOLDEN.read_text())
    assert len(now) >= 30
