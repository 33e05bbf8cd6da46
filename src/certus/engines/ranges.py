"""The engine `ranges`: range analysis by linear programming (Zaks et al. 2006) as a prover.

The bounds of all variables are the least solution of a system of linear constraints in e-SSA form, computed
by an interval pass and by max-strategy iteration over linear programs (`analysis.ranges`). If they exclude
all errors, the ranges at loop heads and entries and the summaries are an inductive proof.

Invariant: the ranges hold at every location for every execution; the analysis checks them against all
constraints in exact integers, and `check` checks the proof again. Answers Unknown if an error lies within the
ranges: they over-approximate, so they refute nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import REFERENCE, BackMap, Engine, Task
from certus.core.evidence import Inductive, Safe, Unknown, Verdict
from certus.core.program import Program

if TYPE_CHECKING:
    from certus.analysis.ranges.result import SystemSolver


@dataclass(frozen=True, slots=True)
class Options:
    """For comparison with the paper only. `solver`: strategy iteration, or mixed-integer programs (slow).
    `calls`: parameters and results joined over all calls of a procedure, or unique inlining, which makes the
    program one graph (less precise: the callers' variables are joined, too)."""

    solver: Literal["strategy", "milp"] = field(default="strategy", metadata=REFERENCE)
    calls: Literal["joined", "unique"] = field(default="joined", metadata=REFERENCE)


class RangeAnalysis(Engine[Options]):
    """The engine `ranges`."""

    name = "ranges"
    summary = "range analysis by linear programming; proves what ranges alone can"
    evidence = (Inductive,)
    options = Options

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.analysis.ranges.control import without_blocks
        from certus.analysis.ranges.facts import proof

        program, back = task.subject, BackMap.identity()
        assert isinstance(program, Program)
        if options.calls == "unique":
            from certus.reference.unique_inlining import UniqueInlining

            merged, back = UniqueInlining().apply(replace(task, subject=without_blocks(program)))
            assert isinstance(merged.subject, Program)
            program = merged.subject
        result = proof(program, budget=budget, solver=system_solver(options))
        if isinstance(result, Inductive):
            return back.verdict(Safe(result))
        statistics.count("ranges.programs", result.linear_programs)
        reached = [site for site in result.program.errors if result.reaches(site.location)]
        message = f"the ranges of variables do not rule out this error: {reached[0].text}"
        return Unknown(
            Diagnostic("ranges-not-enough", message, Severity.NOTE, reached[0].span, "try --engine auto")
        )


def system_solver(options: Options) -> SystemSolver:
    """Return the solver of constraint systems that the options select."""
    from certus.analysis.ranges.result import by_strategy

    if options.solver == "strategy":
        return by_strategy
    from certus.reference.mixed_integer_ranges import by_mixed_integer

    return by_mixed_integer
