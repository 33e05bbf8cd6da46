"""The engine `bmc`: bounded model checking of large blocks (Mertens 2014, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.accounting import Budget, Statistics
from certus.core.engine import PROGRAMS, Engine, Facts, Role, Slot, Task
from certus.core.evidence import Trace, Unrolling, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`bound`: the maximal number of entries of a loop head, or of simultaneous activations of a recursive
    procedure (0: no limit). `shortest`: minimise the number of statements of a counterexample. `narrow`:
    search for executions with small numbers first (`narrowing`). `within`: assume the ranges of executions
    within each bound (`analysis.ranges.bounded`). `facts`: use the ranges of all executions, which take
    longer to compute than most short counterexamples. `vectors`: from loop heads on, values have only the
    bits of these ranges."""

    bound: int = 0
    shortest: bool = True
    narrow: bool = False
    within: bool = False
    facts: bool = False
    vectors: bool = False


class BoundedModelChecking(Engine[Options]):
    """The engine `bmc`."""

    name = "bmc"
    summary = "bounded model checking of large blocks, shortest counterexample first"
    evidence = (Trace, Unrolling)
    options = Options
    role = Role.STEADY
    schedule = dict.fromkeys(PROGRAMS, Slot(0))

    def facts_wanted(self, options: Options) -> Facts:
        return Facts.AT_START if options.facts else Facts.NEVER

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.bmc.engine import run

        return run(task, options, budget, statistics)
