"""The engine `kind`: k-induction over large blocks.

*Base*: no execution that has passed fewer than k loop heads reaches an error. *Step*: no execution that
passes k heads, starting at any of them with any values that its facts allow, reaches an error before the next
one. Together they prove the program safe; k grows until they hold. The proof is k-inductive, with the facts
(checked ranges and invariants of other engines) as its formulas; `check` checks it again.

Invariant: the base holds for every smaller k. A counterexample of the base is a violation.
Answers Unknown at the given k, if calls are left that were not inlined, and if the solver gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Task
from certus.core.evidence import KInductive, Point, Safe, Unknown, Unsafe, Verdict
from certus.core.loops import loop_forest
from certus.core.program import Location, Program, called
from certus.core.solver import Answer, Solver
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.encoding.induction_unroller import Layers
from certus.encoding.unrolling import Node
from certus.engines.kind import Options
from certus.solvers.portfolio import SolverPortfolio


def run(task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    program = task.subject
    assert isinstance(program, Program)
    main = program.procedures[program.main]
    if any(True for edge in main.edges for _ in called(edge.op)):
        message = "calls are left that were not inlined: recursion, or a program too large for it"
        return Unknown(Diagnostic("calls-left", message, Severity.NOTE, hint="try --engine predicate"))
    facts = {
        p.location: f for p, f in task.facts.items() if not p.calls and p.location in set(main.locations)
    }
    base = Layers(program, SolverPortfolio(statistics), facts, "b")
    step = Layers(program, SolverPortfolio(statistics), facts, "s")
    base.from_entry()
    step.from_heads()
    depths = _depths(statistics)
    while True:
        k = next(depths)
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
            message = f"the solver cannot decide whether the program is {k}-inductive"
            return Unknown(Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine"))
        if k == options.k:
            message, hint = f"the program is not {k}-inductive", f"try --set kind.k={2 * k}"
            return Unknown(Diagnostic("k-reached", message, Severity.NOTE, hint=hint))


def _depths(statistics: Statistics) -> Iterator[int]:
    """Yield 1, 2, ... and report each of them."""
    for k in count(1):
        statistics.counters["kind.k"] = k
        statistics.progress(f"induction with k = {k}")
        yield k


def _reached(layers: Layers, errors: list[Node], budget: Budget, purpose: str) -> Answer:
    """Decide whether an execution reaches one of the errors."""
    if not errors:
        return Answer.UNSAT
    return layers.solver.check(
        [layers.some([error.literal for error in errors])], budget=budget, purpose=purpose
    )


def _proof(program: Program, k: int, facts: Mapping[Location, Expr]) -> KInductive:
    heads = loop_forest(program.procedures[program.main]).heads
    return KInductive(k, {Point(at): facts.get(at, build.TRUE) for at in heads})


def _scalars(solver: Solver) -> Callable[[Expr], Value]:
    def value(term: Expr) -> Value:
        scalar = solver.value(term)
        assert not isinstance(scalar, ArrayValue), "inputs are scalars"
        return scalar

    return value
