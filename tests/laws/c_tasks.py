"""Run real programs by our interpreter and compiled, on the same inputs: both must behave alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tests.laws.c_task_compiled import NotLinked, compiled_runs
from tests.laws.c_task_events import ENDED, OTHER, End, TaskRun, Watched, interpreted

from certus.core.program import Program
from certus.frontend import Question, load_question, read_question
from certus.frontend.c.load import error_rules
from certus.interpreter.compile import compile_program

KINDS: Final = ("small", "large", "mixed")
STEPS: Final = 200_000  # of one run of the interpreter
SECONDS: Final = 10.0


class Result(Enum):
    """The result of the comparison of two runs; only AGREED runs are compared to their end."""

    AGREED = "agreed"
    LIMIT = "agreed up to the step limit"
    UNDEFINED = "discarded: undefined behaviour"
    UNDETERMINED = "discarded: depends on what nothing determines"
    NOT_COMPILED = "discarded: cannot be compiled alone"
    DIFFERING = "differing"


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One pair of runs. `detail` says how they end and, if they differ, in which event."""

    kind: str
    result: Result
    end: str
    events: int
    detail: str


def compare_task(path: Path, *, property: str = "unreach-call", seed: int = 0) -> list[TaskComparison]:
    """Compare the runs of a task with small, large and mixed inputs.

    Raises what the front end raises if it does not accept the task."""
    question = read_question(path, property=property)
    return compare_program(question, load_question(question).program, seed)


def compare_program(question: Question, program: Program, seed: int) -> list[TaskComparison]:
    watched = Watched.of(program)
    compiled = compile_program(program)
    ours = [
        interpreted(compiled, watched, seed=f"{seed}/{kind}", kind=kind, steps=STEPS, seconds=SECONDS)
        for kind in KINDS
    ]
    errors = tuple(error_rules(question.property).functions)
    try:
        theirs = compiled_runs(program, watched, errors, ours)
    except NotLinked as error:
        return [TaskComparison(kind, Result.NOT_COMPILED, "", 0, str(error)) for kind in KINDS]
    names = {number: name for name, number in (*watched.functions.items(), *watched.inputs.items())}
    return [_compared(kind, *both, names) for kind, *both in zip(KINDS, ours, theirs, strict=True)]


def _compared(kind: str, ours: TaskRun, theirs: TaskRun, names: dict[int, str]) -> TaskComparison:
    ends = f"{ours.end.value} ({ours.detail.strip()}); compiled: {theirs.end.value} ({theirs.detail})"
    parted = _parting(ours, theirs)
    if parted is not None:
        detail = (
            f"event {parted}: {_event(ours, parted, names)}, compiled {_event(theirs, parted, names)}; {ends}"
        )
        return TaskComparison(kind, Result.DIFFERING, ours.end.value, len(ours.events), detail)
    return TaskComparison(kind, _judged(ours, theirs), ours.end.value, len(ours.events), ends)


def _parting(ours: TaskRun, theirs: TaskRun) -> int | None:
    """Return the first event in which the runs differ, as far as both have events."""
    for at, ((number, value), other) in enumerate(zip(ours.events, theirs.events, strict=False)):
        if other[0] != OTHER and (number != other[0] or (value is not None and value != other[1])):
            return at
    return None


def _judged(ours: TaskRun, theirs: TaskRun) -> Result:
    """The events agree as far as both have them. A run that stops early must have the fewer ones."""
    if ours.end is End.LIMIT and len(ours.events) <= len(theirs.events):
        return Result.LIMIT
    if theirs.end is End.UNDEFINED or ours.end is End.UNDEFINED:
        return Result.UNDEFINED
    if ours.end in ENDED:
        same = ours.end is theirs.end and len(ours.events) == len(theirs.events)
        return Result.AGREED if same else Result.DIFFERING
    if len(ours.events) > len(theirs.events):
        return Result.DIFFERING
    return Result.LIMIT if ours.end is End.LIMIT else Result.UNDETERMINED


def _event(run: TaskRun, at: int, names: dict[int, str]) -> str:
    number, value = run.events[at]
    if number >> 63:
        return f"return from {names.get((1 << 64) - number, '?')}"
    return f"{names.get(number, 'end')} {value if value is None else hex(value)}"
