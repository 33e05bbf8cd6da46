"""The engine `execution`: a program without inputs has one execution, and running it answers the question.

Says Unknown if the program has inputs, and if the run does not end within its part of the time.
"""

from __future__ import annotations

from typing import Final

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import PROGRAMS, Engine, NoOptions, ProgramForm, Role, Slot, Task
from certus.core.evidence import Execution, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.program import Program

SHARE: Final = 0.4  # of the time, for the run


class OnlyExecution(Engine[NoOptions]):
    """The engine `execution`."""

    name = "execution"
    summary = "the only execution of a program without inputs"
    evidence = (Execution, Trace)
    form = ProgramForm.ORIGINAL
    role = Role.QUICK
    schedule = dict.fromkeys(PROGRAMS, Slot(0))

    def run(self, task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.interpreter.compile import compile_program
        from certus.interpreter.inputs import NoInputs, Nondeterministic
        from certus.interpreter.interpreter import Ending, run

        assert isinstance(task.subject, Program)
        try:
            end = run(compile_program(task.subject), NoInputs(), budget=budget.part(SHARE))
        except Nondeterministic:
            return _unknown("has-inputs", "the program has inputs, so it has more than one execution")
        if end.ending is Ending.ERROR:
            return Unsafe(Trace(end.location.name))
        if end.ending in (Ending.EXIT, Ending.BLOCKED):
            return Safe(Execution(end.steps))
        return _unknown("execution-undefined", "the only execution of the program has undefined behaviour")


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try --engine auto"))
