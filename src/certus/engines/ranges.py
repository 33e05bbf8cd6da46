"""The engine `ranges`: range analysis by linear programming (seed 002), as a prover by itself.

The bounds of all variables are the least solution of a system of linear constraints in e-SSA form, found by
an interval pass and by max-strategy iteration over linear programs (`analysis.ranges`). If no error is
reached under them, the ranges at loop heads and entries and the summaries are an inductive proof.

Invariant: the ranges hold at every location for every execution; they were checked against all constraints
in exact integers, and `validate` checks the proof again. Says Unknown where an error lies within the
ranges: they over-approximate, so that nothing is refuted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Inductive
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import BackMap, Task
from certus.core.verdict import Safe, Unknown, Verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`solver`: strategy iteration over linear programs, or the paper's mixed-integer programs (slow).
    `calls`: parameters and results joined over all calls of a procedure, or the paper's one graph, in which
    every procedure stands once (less precise: a caller's variables are joined, too)."""

    solver: Literal["strategy", "milp"] = "strategy"
    calls: Literal["joined", "unique"] = "joined"


class RangeAnalysis:
    """The engine `ranges`."""

    name = "ranges"
    summary = "range analysis by linear programming; proves what ranges alone can"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "ranges treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.analysis.ranges.control import flat
        from certus.analysis.ranges.facts import proof
        from certus.transform.unique import Unique

        program, back = task.subject, BackMap.identity()
        assert isinstance(program, Program)
        if options.calls == "unique":
            merged, back = Unique().apply(replace(task, subject=flat(program)))
            assert isinstance(merged.subject, Program)
            program = merged.subject
        found = proof(program, budget=budget, solver=options.solver)
        if isinstance(found, Inductive):
            return back.verdict(Safe(found))
        statistics.count("ranges.programs", found.linear_programs)
        reached = [site for site in found.program.errors if found.reaches(site.location)]
        message = f"the ranges of variables do not rule out this error: {reached[0].text}"
        return Unknown(
            Diagnostic("ranges-not-enough", message, Severity.NOTE, reached[0].span, "try --engine auto")
        )
