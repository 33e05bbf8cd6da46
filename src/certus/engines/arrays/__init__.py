"""The engine `arrays`: invariants about all elements of arrays and all objects, guessed and pruned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Engine, Facts, NoOptions, ProgramKind, Slot, Task
from certus.core.evidence import Inductive, Verdict


class ArrayClaims(Engine[NoOptions]):
    """The engine `arrays`."""

    name = "arrays"
    summary = "invariants about all elements of arrays and all objects on the heap, guessed and pruned"
    evidence = (Inductive,)
    facts = Facts.AT_START
    watches = True
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.MEMORY: Slot(20, 0.7),
        ProgramKind.ARRAYS: Slot(20, 0.4),
    }

    def run(self, task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.arrays.engine import run

        return run(task, options, budget, statistics)
