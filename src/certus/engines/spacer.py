"""The engine `spacer`: z3's Spacer on Horn clauses, the baseline for our own engines.

A program is first translated to error and transfer relations over mathematical integers. Spacer
(property-directed reachability for Horn clauses) answers with an interpretation of the relations, or with a
refutation by ground facts. The interpretation is translated back to terms. Of a refutation only the facts are
used: for each of them we compute a clause and values of its variables that derive it from earlier facts. So
both kinds of evidence are about our clauses, whatever z3 transforms them to.

Answers Unknown if z3 gives up, or if its answer cannot be translated: quantifiers in a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Engine, ProgramKind, Slot, Task
from certus.core.evidence import Inductive, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.program import Program

if TYPE_CHECKING:
    from certus.solvers.z3.spacer import Fixedpoint

NEAR: Final = 100  # facts of a derivation that we search for ourselves


@dataclass(frozen=True, slots=True)
class Options:
    """`preprocess`: simplify the clauses first. `simplified`: z3 may merge and slice them before it searches.
    `effort`: resource limit of z3, at which it always gives up at the same point (0: no limit)."""

    preprocess: bool = True
    simplified: bool = False
    effort: int = 0


class Spacer(Engine[Options]):
    """The engine `spacer`."""

    name = "spacer"
    summary = "Horn clauses solved by z3's Spacer"
    evidence = (Inductive, Trace, Model, Derivation)
    options = Options
    subjects = (Program, HornSystem)
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {
        ProgramKind.BOOLEAN: Slot(40),
        ProgramKind.ACYCLIC: Slot(30),
        ProgramKind.RECURSIVE: Slot(30, 0.3),
        ProgramKind.LARGE: Slot(40),
        ProgramKind.LINEAR: Slot(30, 0.2),
        ProgramKind.MEMORY: Slot(50, 0.2),
        ProgramKind.ARRAYS: Slot(50, 0.2),
        ProgramKind.OTHER: Slot(40, 0.2),
        ProgramKind.CLAUSES: Slot(10, 0.5),
    }

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.passes.horn.programs import decide_task

        def search(system: HornSystem) -> Verdict:
            return solve_clauses(system, options, budget, statistics)

        simplify = options.preprocess
        return decide_task(task, search, simplify=simplify, budget=budget, statistics=statistics)


def solve_clauses(system: HornSystem, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    """Return a model or a derivation, if Spacer finds one that can be translated."""
    from certus.core.solver import Answer
    from certus.solvers.z3.derivations import Unexplained
    from certus.solvers.z3.reader import Unreadable
    from certus.solvers.z3.spacer import Fixedpoint

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
        return _unknown("answer-not-read", f"the answer of Spacer cannot be used: {problem}")
    finally:
        fixedpoint.close()
    budget.check()
    return _unknown("solver-gave-up", "Spacer gave no answer")


def _derivation(
    system: HornSystem, fixedpoint: Fixedpoint, budget: Budget, statistics: Statistics
) -> Derivation:
    """Return a derivation by z3's refutation; if that cannot be translated, by a short search of our own."""
    from certus.solvers.z3.derivations import Unexplained, derive, forward
    from certus.solvers.z3.reader import Unreadable

    try:
        return derive(system, fixedpoint.refutation(), budget=budget, statistics=statistics)
    except (Unreadable, Unexplained):
        derivation = forward(system, facts=NEAR, budget=budget, statistics=statistics)
        if derivation is None:
            raise
        return derivation


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
