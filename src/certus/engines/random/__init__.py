"""The engine `random`: a few runs on random inputs, which find shallow errors within milliseconds.

The run that reaches an error is made short and its inputs simple (`interpreter.simplification`). Says Unknown
if no run reaches an error: it never proves anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import PROGRAMS, Engine, NoOptions, ProgramForm, Role, Slot, Task
from certus.core.evidence import Trace, Unknown, Unsafe, Verdict
from certus.core.program import Program

if TYPE_CHECKING:
    from certus.interpreter.compile import Compiled

STEPS: Final = 2000  # of one run; or what may pass every edge twice, if that is more
EVERY: Final = 8  # the last of each 8 runs gets steady inputs
FURTHER: Final = 12  # times as many steps for it
ALL_STEPS: Final = 400_000  # of all runs
START: Final = 3000  # the cost of starting a run, in steps


class RandomRuns(Engine[NoOptions]):
    """The engine `random`."""

    name = "random"
    summary = "a few runs on random inputs"
    evidence = (Trace,)
    form = ProgramForm.ORIGINAL
    role = Role.QUICK
    schedule = dict.fromkeys(PROGRAMS, Slot(1))

    def run(self, task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.interpreter.compile import compile_program

        assert isinstance(task.subject, Program)
        trace = random_error(compile_program(task.subject), budget)
        if trace is not None:
            return Unsafe(trace)
        message = "no run on random inputs reached an error"
        return Unknown(Diagnostic("nothing-found", message, Severity.NOTE, hint="try --engine auto"))


def random_error(compiled: Compiled, budget: Budget) -> Trace | None:
    """Return a trace to an error that random inputs lead to. The effort is counted in steps, not in seconds,
    so that a program always gets the same runs; a run that reads no input is the only one."""
    from certus.engines.random.inputs import RunInputs
    from certus.interpreter.inputs import constants
    from certus.interpreter.interpreter import Ending, run
    from certus.interpreter.simplification import simplified

    numbers = constants(compiled.program)
    limit = max(STEPS, 2 * len(compiled.program.edge))
    number, left = 0, ALL_STEPS
    while left > 0:
        steady = number % EVERY == EVERY - 1
        inputs = RunInputs(compiled.program, number, numbers, steady=steady)
        end = run(compiled, inputs, step_limit=FURTHER * limit if steady else limit, budget=budget)
        if end.ending is Ending.ERROR:
            return simplified(compiled, inputs.trace(end.location.name), end.steps, budget)
        if not inputs.asked and (steady or end.ending is not Ending.LIMIT):
            return None
        following = number + 1 if inputs.asked else number + EVERY - 1 - number % EVERY
        number, left = following, left - START - end.steps
    return None
