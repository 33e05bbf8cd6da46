"""`linear`: the Linear Program of a program, as text that can be verified in turn."""

from __future__ import annotations

from pathlib import Path

from certus.core.accounting import Budget
from certus.core.effects import uses_memory
from certus.core.engine import Task
from certus.core.program import Program
from certus.frontend import load_question, read_question
from certus.passes.linear_program import linear_program
from certus.passes.memory import Memory
from certus.report.linear_program import render_linear
from certus.run.settings import Settings


def linear(path: str | Path, settings: Settings | None = None) -> str:
    """Return the Linear Program of the program in a file. Raises `InputError` if the program is malformed,
    and `Unsupported` if it has no model."""
    settings = settings or Settings()
    question = read_question(Path(path), property=settings.property_name, data_model=settings.data_model)
    budget = Budget(settings.timeout)
    program = load_question(question, arguments=settings.clang_arguments, budget=budget).program
    if uses_memory(program):
        lowered = Memory().apply(Task(program))[0].subject
        assert isinstance(lowered, Program)
        program = lowered
    return render_linear(linear_program(program))
