"""The engine `search`: try a few values for each input, state by state, breadth first."""

from __future__ import annotations

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import PROGRAMS, Engine, NoOptions, ProgramForm, Role, Slot, Task
from certus.core.evidence import Inductive, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.program import Program


class InputSearch(Engine[NoOptions]):
    """The engine `search`."""

    name = "search"
    summary = "a breadth-first search among the values that the program compares its inputs with"
    evidence = (Inductive, Trace)
    form = ProgramForm.ORIGINAL
    role = Role.TENTATIVE
    schedule = dict.fromkeys(PROGRAMS, Slot(10, 0.7))

    def run(self, task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.engines.search.engine import explore
        from certus.interpreter.compile import compile_program

        assert isinstance(task.subject, Program)
        evidence = explore(compile_program(task.subject), budget)
        if isinstance(evidence, Inductive):
            return Safe(evidence)
        if isinstance(evidence, Trace):
            return Unsafe(evidence)
        message = "the search among inputs found neither an error nor a proof"
        return Unknown(Diagnostic("nothing-found", message, Severity.NOTE, hint="try --engine auto"))
