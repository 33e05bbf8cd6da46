"""The engine `predicate`: abstraction with summaries (Wolff 2015) of large blocks (Mertens 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from certus.core.accounting import Budget, Statistics
from certus.core.engine import REFERENCE, Engine, Facts, ProgramKind, Slot, Task
from certus.core.evidence import Inductive, Trace, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`refinements`: the maximal number of paths to exclude (0: no limit). `minterms`: the maximal number of
    valuations to enumerate for a group of predicates. `abstraction`: predicates are abstracted jointly
    (boolean), or one by one until a path comes up again (cartesian). `rounds`: the search gives up after
    refinements have unrolled one loop this number of times (0: never). `invariants`: whether invariants of
    the loops on a path, and ranges of variables, give predicates too, or only interpolants of the path.
    `via`: the abstract states of blocks are computed directly, or by a Boolean program of single statements
    (as in the paper, without other predicates than interpolants; use --blocks single)."""

    refinements: int = 0
    minterms: int = 512
    abstraction: Literal["boolean", "cartesian"] = field(default="boolean", metadata=REFERENCE)
    rounds: int = 40
    invariants: bool = field(default=True, metadata=REFERENCE)
    via: Literal["blocks", "boolean"] = field(default="blocks", metadata=REFERENCE)


class PredicateAbstraction(Engine[Options]):
    """The engine `predicate`."""

    name = "predicate"
    summary = "predicate abstraction of large blocks, summaries, refinement by interpolants"
    evidence = (Inductive, Trace)
    options = Options
    facts = Facts.AT_START
    explicit_proofs = True
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.BOOLEAN: Slot(30),
        ProgramKind.ACYCLIC: Slot(20),
        ProgramKind.ACYCLIC_FLOATS: Slot(20, 0.2),
        ProgramKind.RECURSIVE: Slot(40),
        ProgramKind.LARGE: Slot(30),
        ProgramKind.LINEAR: Slot(50),
        ProgramKind.MEMORY: Slot(60),
        ProgramKind.ARRAYS: Slot(60),
        ProgramKind.OTHER: Slot(50),
        ProgramKind.FLOATS: Slot(50),
    }

    def facts_wanted(self, options: Options) -> Facts:
        return self.facts if options.invariants and options.via == "blocks" else Facts.NEVER

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.predicate.engine import run

        return run(task, options, budget, statistics)
