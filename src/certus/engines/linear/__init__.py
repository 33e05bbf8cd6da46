"""The engine `linear`: reachability of Linear Programs by linear constraints (Armando et al. 2004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Engine, Facts, ProgramForm, ProgramKind, Slot, Task
from certus.core.evidence import Execution, Inductive, Trace, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`accelerate`: use closures of loops and recursion. `widen`: over-approximate if the exact search does
    not end within `patience` steps. `steps`: limit of path edges to follow exactly (0: none). `refinements`:
    how often what is not linear may be refined."""

    accelerate: bool = True
    widen: bool = True
    patience: int = 100
    steps: int = 0
    refinements: int = 8


class LinearReachability(Engine[Options]):
    """The engine `linear`."""

    name = "linear"
    summary = "linear-constraint reachability: path and summary edges, closures, widening"
    evidence = (Inductive, Execution, Trace)
    options = Options
    form = ProgramForm.PROCEDURES
    facts = Facts.ON_DEMAND
    explicit_proofs = True
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.RECURSIVE: Slot(20, 0.4),
        ProgramKind.LINEAR: Slot(20, 0.25),
        ProgramKind.MEMORY: Slot(30, 0.2),
        ProgramKind.ARRAYS: Slot(30, 0.2),
        ProgramKind.OTHER: Slot(20, 0.2),
    }

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.linear.engine import run

        return run(task, options, budget, statistics)
