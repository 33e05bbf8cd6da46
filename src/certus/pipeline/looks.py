"""A program without inputs has one execution: run it."""

from __future__ import annotations

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Trace
from certus.core.program import Program
from certus.core.verdict import Safe, Unsafe, Verdict
from certus.validate.compile import compile_program
from certus.validate.inputs import NoInputs, Nondeterministic
from certus.validate.interpreter import Ending, run


def execute(program: Program, budget: Budget) -> Verdict | None:
    """The verdict if the program meets no nondeterministic value and ends within the budget."""
    try:
        end = run(compile_program(program), NoInputs(), budget=budget)
    except (Nondeterministic, BudgetExceeded):
        return None
    if end.ending is Ending.ERROR:
        return Unsafe(Trace(end.location.name))
    return Safe(Execution(end.steps)) if end.ending in (Ending.EXIT, Ending.BLOCKED) else None
