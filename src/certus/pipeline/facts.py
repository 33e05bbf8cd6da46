"""The pass `ranges`: what range analysis proves of a program becomes facts of the task.

The analysis is not trusted: the clauses that make the facts an inductive invariant are derived by
`validate` and must be discharged before an engine gets to see them. If one is not, or the time for it
is up, there are no facts. Engines that use facts repeat them in their proofs. The ranges of counters tell how
often their loops are entered, if the program's constants did not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from certus.core import build
from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, Point
from certus.core.program import Program, called
from certus.core.statistics import Statistics
from certus.core.task import BackMap, LateFacts, Task
from certus.core.terms import Expr
from certus.logic.intervals import bounds, conjuncts
from certus.transform.bounds import ranged_bounds

SHARE, SECONDS = 0.25, 5.0  # of the time that is left, for the analysis and for the check together


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """The pass. `find` is where checked facts come from; with `late` only once the engine looks at them."""

    budget: Budget
    statistics: Statistics
    find: Callable[[Program, Budget, Statistics], Mapping[Point, Expr]] = field(
        default_factory=lambda: checked_facts
    )
    late: bool = False

    @property
    def name(self) -> str:
        return "ranges"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not _has_loops(program):
            return task, BackMap.identity()
        if self.late:
            late = LateFacts(lambda: {**task.facts, **self._found(program)})
            return replace(task, facts=late), BackMap.identity()
        found = self._found(program)
        entries = ranged_bounds(program, {p.location: bounds(conjuncts(f)) for p, f in found.items()})
        return (
            replace(task, facts={**task.facts, **found}, bounds={**entries, **task.bounds}),
            BackMap.identity(),
        )

    def _found(self, program: Program) -> Mapping[Point, Expr]:
        left = self.budget.remaining()
        limit = Budget(SECONDS if left is None else min(SECONDS, SHARE * left))
        with self.statistics.timed("ranges"):
            found = self.find(program, limit, self.statistics)
        self.statistics.count("ranges.facts", len(found))
        return found


def _has_loops(program: Program) -> bool:
    from certus.core.loops import loop_forest

    return any(loop_forest(procedure).loops for procedure in program.procedures.values())


def checked_facts(program: Program, budget: Budget, statistics: Statistics) -> Mapping[Point, Expr]:
    """The ranges at loop heads, if they can be checked in time."""
    from certus.analysis.ranges.facts import facts

    try:
        found = facts(program, budget=budget)
        return found if found and are_inductive(program, found, budget, statistics) else {}
    except BudgetExceeded:
        return {}


def are_inductive(
    program: Program, found: Mapping[Point, Expr], budget: Budget, statistics: Statistics
) -> bool:
    """Whether formulas at points without calls hold wherever control comes to them, whatever procedures are
    entered with."""
    from certus.validate.clauses import proof_clauses
    from certus.validate.discharge import discharged_by_z3
    from certus.validate.expansion import Refused

    callees = {call.procedure for p in program.procedures.values() for e in p.edges for call in called(e.op)}
    summaries = {name: build.TRUE for name in program.procedures if name in callees}
    try:
        clauses = proof_clauses(replace(program, errors=()), Inductive(found, summaries))
        return all(discharged_by_z3(clause, budget=budget, statistics=statistics) for clause in clauses)
    except Refused:
        return False
