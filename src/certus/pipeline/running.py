"""One engine's run within its part of the time: the rest is for validation."""

from __future__ import annotations

from typing import Any, Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded
from certus.core.statistics import Statistics
from certus.core.task import Engine, Task
from certus.core.verdict import Unknown, Verdict

RESERVED: Final = 0.1  # of the time, for validation
HINTS: Final = {"time": "try a larger --timeout", "memory": "try a larger --memory"}


def before_validation(whole: Budget, reserve: float) -> Budget:
    """The engine's part of the time that is left: at least `reserve` seconds less, if that is not most."""
    left = whole.remaining()
    if left is None:
        return Budget()
    return Budget(max(left - max(RESERVED * left, reserve), left / 2))


def run_engine(engine: Engine, task: Task, options: Any, budget: Budget, statistics: Statistics) -> Verdict:
    """What the engine says; UNKNOWN when a limit is reached."""
    given = budget.remaining()
    try:
        with statistics.timed("engine"):
            return engine.run(task, options, budget, statistics)
    except BudgetExceeded as reached:
        limit = reached.limit
        timed = limit == "time" and given is not None
        within = f"the {given:.1f} s it had" if timed else f"the {limit} limit"
        known = f"; last: {statistics.latest}" if statistics.latest else ""
        message = f"{engine.name} did not finish within {within}{known}"
        return Unknown(Diagnostic(f"{limit}-limit", message, Severity.NOTE, hint=HINTS.get(limit)))
