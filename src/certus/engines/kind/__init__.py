"""The engine `kind`: k-induction over large blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Engine, Facts, ProgramKind, Slot, Task
from certus.core.evidence import KInductive, Trace, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`k`: the maximal number of loop heads of the induction (0: no limit)."""

    k: int = 0


class KInduction(Engine[Options]):
    """The engine `kind`."""

    name = "kind"
    summary = "k-induction over large blocks, with the facts of other engines"
    evidence = (KInductive, Trace)
    options = Options
    facts = Facts.AT_START
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.LARGE: Slot(20, 0.15),
        ProgramKind.LINEAR: Slot(40, 0.2),
        ProgramKind.MEMORY: Slot(40, 0.25),
        ProgramKind.ARRAYS: Slot(40, 0.25),
        ProgramKind.OTHER: Slot(30, 0.25),
        ProgramKind.FLOATS: Slot(20, 0.7),
    }

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.kind.engine import run

        return run(task, options, budget, statistics)
