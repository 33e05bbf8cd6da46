"""The engine `clp`: programs as constraint-logic queries, by abstraction refinement (Flanagan 2004, CAR)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from certus.core.accounting import Budget, Statistics
from certus.core.engine import REFERENCE, Engine, ProgramKind, Slot, Task
from certus.core.evidence import Inductive, Trace, Verdict
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.program import Program


@dataclass(frozen=True, slots=True)
class Options:
    """`explication`: how the abstraction excludes impossible steps (see `fixpoint`). `refinements`: the
    maximal number of traces to exclude (0: no limit). `preprocess`: simplify the clauses first. `effort`:
    resource limit of z3 for one formula for all variants of a relation (0: do not try). `rules`: list the
    Boolean rules of every iteration as findings."""

    explication: Literal["proofs", "cores", "exhaustive"] = field(default="cores", metadata=REFERENCE)
    refinements: int = 0
    preprocess: bool = True
    effort: int = 1_000_000
    rules: bool = False


class ConstraintLogic(Engine[Options]):
    """The engine `clp`."""

    name = "clp"
    summary = "Horn clauses by abstraction refinement with explicated clauses"
    evidence = (Inductive, Trace, Model, Derivation)
    options = Options
    subjects = (Program, HornSystem)
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.RECURSIVE: Slot(50),
        ProgramKind.LINEAR: Slot(60),
        ProgramKind.OTHER: Slot(60),
        ProgramKind.CLAUSES: Slot(20),
    }

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.clp.engine import run

        return run(task, options, budget, statistics)
