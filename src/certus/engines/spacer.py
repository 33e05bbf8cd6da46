"""z3's Spacer on Horn clauses: the baseline that our own engines are measured against.

A program becomes error and transfer relations first, over mathematical integers. Spacer (property-directed
reachability for Horn clauses) answers with an interpretation of the relations, or with a refutation made of
ground facts. The interpretation is read back as formulas of ours. Of a refutation
only the facts are taken: for each of them we look for the clause and the values of its variables that give
it from the facts before. So both kinds of evidence are about our clauses, whatever z3 did to them.

Says Unknown where z3 gives up, or where its answer cannot be read: quantifiers in a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.horn import Derivation, HornSystem
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict

if TYPE_CHECKING:
    from certus.logic.spacer import Fixedpoint

NEAR: Final = 100  # facts of a derivation that we look for ourselves


@dataclass(frozen=True, slots=True)
class Options:
    """`preprocess`: whether we simplify clauses first. `simplified`: z3 may merge and slice them before it
    searches. `effort`: in z3's unit of work, after which it gives up at the same point every time; 0 means
    without end."""

    preprocess: bool = True
    simplified: bool = False
    effort: int = 0


class Spacer:
    """The engine `spacer`."""

    name = "spacer"
    summary = "Horn clauses solved by z3's Spacer"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        return None

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.transform.horn.programs import decide_task

        def search(system: HornSystem) -> Verdict:
            return solve_clauses(system, options, budget, statistics)

        simplify = options.preprocess
        return decide_task(task, search, simplify=simplify, budget=budget, statistics=statistics)


def solve_clauses(system: HornSystem, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    """A model or a derivation, if Spacer finds one that can be read."""
    from certus.logic.derive import Unexplained
    from certus.logic.solver import Answer
    from certus.logic.spacer import Fixedpoint
    from certus.logic.z3read import Unreadable

    fixedpoint = Fixedpoint(system, simplified=options.simplified)
    try:
        with statistics.timed("solver.spacer"):
            statistics.count("solver.spacer")
            answer = fixedpoint.query(budget, options.effort or None)
        if answer is Answer.UNSAT:
            return Safe(fixedpoint.model())
        if answer is Answer.SAT:
            return Unsafe(_derivation(system, fixedpoint, budget, statistics))
    except (Unreadable, Unexplained) as problem:
        budget.check()
        return _unknown("answer-not-read", f"Spacer found an answer, but it cannot be used: {problem}")
    finally:
        fixedpoint.close()
    budget.check()
    return _unknown("solver-gave-up", "Spacer gave no answer")


def _derivation(
    system: HornSystem, fixedpoint: Fixedpoint, budget: Budget, statistics: Statistics
) -> Derivation:
    """By z3's refutation; where that cannot be read, by a short search of our own."""
    from certus.logic.derive import Unexplained, derive, forward
    from certus.logic.z3read import Unreadable

    try:
        return derive(system, fixedpoint.refutation(), budget=budget, statistics=statistics)
    except (Unreadable, Unexplained):
        found = forward(system, facts=NEAR, budget=budget, statistics=statistics)
        if found is None:
            raise
        return found


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
