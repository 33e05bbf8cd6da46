"""The engine `bmc`: bounded model checking of large blocks (Mertens 2014, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from certus.core.accounting import Budget, Statistics
from certus.core.engine import PROGRAMS, REFERENCE, Engine, Role, Slot, Task
from certus.core.evidence import Trace, Unrolling, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`bound`: the maximal number of entries of a loop head, or of simultaneous activations of a recursive
    procedure (0: no limit). `shortest`: minimise the number of statements of a counterexample. `narrow`:
    search for executions with small numbers first (Zaks et al. 2006, section 5.2: `narrowing`)."""

    bound: int = 0
    shortest: bool = True
    narrow: bool = field(default=False, metadata=REFERENCE)


class BoundedModelChecking(Engine[Options]):
    """The engine `bmc`."""

    name = "bmc"
    summary = "bounded model checking of large blocks, shortest counterexample first"
    evidence = (Trace, Unrolling)
    options = Options
    role = Role.STEADY
    schedule = dict.fromkeys(PROGRAMS, Slot(0))

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.bmc.engine import run

        return run(task, options, budget, statistics)
