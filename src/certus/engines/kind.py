"""k-induction over large blocks.

*Base*: no execution that has passed fewer than k loop heads reaches an error. *Step*: no execution that
passes k heads, starting at any of them with any values that its facts allow, reaches an error before the next
one. Together they prove the program safe; k grows until they hold. The proof is k-inductive, with the facts
(ranges, invariants that others found and that were checked) as its formulas; `validate` checks it again.

Invariant: the base holds for every k tried before. Says Unknown at the k asked for, where calls are left that
were not inlined, and where the solver gives up; a counterexample of the base is a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import KInductive, Point
from certus.core.loops import loop_forest
from certus.core.program import Location, Program, called
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.logic.layers import Layers, Node
from certus.logic.solver import Answer, Solver


@dataclass(frozen=True, slots=True)
class Options:
    """`k`: the most loop heads to look back over; 0 means without end."""

    k: int = 0


class KInduction:
    """The engine `kind`."""

    name = "kind"
    summary = "k-induction over large blocks, with the facts others found"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "kind treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.logic.patient import PatientSolver

        program = task.subject
        assert isinstance(program, Program)
        main = program.procedures[program.main]
        if any(True for edge in main.edges for _ in called(edge.op)):
            message = "calls are left that were not inlined: recursion, or a program too large for it"
            return Unknown(Diagnostic("calls-left", message, Severity.NOTE, hint="try --engine predicate"))
        facts = {
            p.location: f for p, f in task.facts.items() if not p.calls and p.location in set(main.locations)
        }
        base = Layers(program, PatientSolver(statistics), facts, "b")
        step = Layers(program, PatientSolver(statistics), facts, "s")
        base.from_entry()
        step.from_heads()
        k = 0
        while True:
            k += 1
            statistics.counters["kind.k"] = k
            statistics.progress(f"induction over {k} loop heads")
            errors = base.extend()
            answer = _reached(base, errors, budget, "kind.base")
            if answer is Answer.SAT:
                error = next(e for e in errors if base.solver.value(e.literal))
                return Unsafe(base.trace(error, _scalars(base.solver)))
            holds = answer is Answer.UNSAT
            answer = _reached(step, step.extend(), budget, "kind.step") if holds else Answer.UNKNOWN
            if answer is Answer.UNSAT:
                return Safe(_proof(program, k, facts))
            if answer is Answer.UNKNOWN:
                budget.check()
                message = f"the solver cannot tell whether the program is {k}-inductive"
                return Unknown(
                    Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine")
                )
            if k == options.k:
                message = f"the program is not {k}-inductive"
                return Unknown(Diagnostic("k-reached", message, Severity.NOTE, hint="try a larger k"))


def _reached(layers: Layers, errors: list[Node], budget: Budget, purpose: str) -> Answer:
    """Whether an execution reaches one of the errors."""
    if not errors:
        return Answer.UNSAT
    return layers.solver.check([layers.some(errors)], budget=budget, purpose=purpose)


def _proof(program: Program, k: int, facts: Mapping[Location, Expr]) -> KInductive:
    heads = loop_forest(program.procedures[program.main]).heads
    return KInductive(k, {Point(at): facts.get(at, build.TRUE) for at in heads})


def _scalars(solver: Solver) -> Callable[[Expr], Value]:
    def value(term: Expr) -> Value:
        found = solver.value(term)
        assert not isinstance(found, ArrayValue), "inputs are scalars"
        return found

    return value
