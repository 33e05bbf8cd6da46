"""Offsets of pointers hold in runs of programs with memory."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from tests.laws.memory_programs import Made, memory_programs, run

from certus.core.accounting import Budget
from certus.core.errors import Unsupported
from certus.report.ranges import VariableRange
from certus.run.ranges import numeric_report, without_memory

FAR = 10_000  # objects start at multiples of it


@settings(max_examples=120, derandomize=True, deadline=None)
@given(memory_programs())
def holds(made: Made) -> None:
    try:
        lowered, offsets = without_memory(made.program)
    except Unsupported:
        return
    done, _ = run(made.program, made.inputs)
    report = numeric_report(lowered, None, Budget(20), offsets)
    for each in report.variables:
        value = done.values.get(each.name)
        if each.objects and isinstance(value, int):
            seen[_placed(each, value)] += 1


def _placed(pointer: VariableRange, value: int) -> str:
    """What is known of a pointer with this value; it must be true."""
    if value == 0 or not pointer.given:
        return "null"
    if value < FAR or pointer.low is None or pointer.high is None:
        return "anything"
    assert pointer.low <= value % FAR <= pointer.high, (pointer, value)
    return "offset"


seen: Counter[str] = Counter()


def test_pointers_of_runs_have_their_offsets() -> None:
    seen.clear()
    holds()
    assert seen["offset"] > 100
