"""Load programs and Horn clauses from source files; the suffix of a file tells its language.

A `Question` is what to verify; it comes from a task file or from the command line alone.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.core.vocabulary import (
    CHECK_SAT,
    UNREACH_CALL,
    Property,
    check_supported,
    default_kinds,
    property_of_kinds,
)
from certus.frontend.graph import LoadedProgram
from certus.frontend.source import read_source
from certus.frontend.tasks.properties import property_of

if TYPE_CHECKING:
    from certus.frontend.c.source.probes import Probe

SUFFIXES: Final = (".yml", ".yaml")
C_SUFFIXES: Final = (".c", ".i")
CHC_SUFFIXES: Final = (".smt2", ".clp")
MODELS: Final = ("ILP32", "LP64")
DEFAULT_MODEL: Final = "LP64"
LANGUAGES: Final = {
    ".c": "C",
    ".i": "preprocessed C",
    ".lp": "the small language of Linear Programs",
    ".smt2": "constrained Horn clauses",
    ".clp": "a constraint logic program",
    ".yml": "a task definition",
}

__all__ = [
    "LANGUAGES",
    "LoadedProgram",
    "Question",
    "has_clauses",
    "load",
    "load_clauses",
    "load_question",
    "read_question",
]


@dataclass(frozen=True, slots=True)
class Question:
    """The question whether the program in `file` has the property. `others` are further files of the program.
    `data_model` is None where the language has none, `expected` is the verdict in the task file, and `span`
    the position of the property there. `malloc_may_fail`: whether allocations in C may return null."""

    file: Path
    property: Property
    data_model: str | None = None
    expected: bool | None = None
    span: Span | None = None
    others: tuple[Path, ...] = ()
    malloc_may_fail: bool = False

    @builtins.property
    def files(self) -> tuple[Path, ...]:
        return (self.file, *self.others)


def read_question(
    path: Path | Sequence[Path],
    *,
    property: str | None = None,
    data_model: str | None = None,
    checks: Sequence[str] | None = (),
) -> Question:
    """Return what to verify, from a program (one file, or several for C) or a task file, and the command
    line. Without a property, `unreach-call` is asked for, or of a C program the kinds of checks `checks`, if
    there are any; None stands for the default ones. Raises `InputError`."""
    if not isinstance(path, Path):
        first, *others = path
        _check_files(path)
        asked = read_question(first, property=property, data_model=data_model, checks=checks)
        return replace(asked, others=(*asked.others, *others))
    if checks and (property is not None or path.suffix.lower() not in C_SUFFIXES):
        message = "--checks is for C programs, and cannot be combined with --property or a task definition."
        raise InputError([Diagnostic("usage", message, hint="Leave out one of them.")])
    if path.suffix.lower() in C_SUFFIXES and property is None and (checks is None or checks):
        return Question(path, property_of_kinds(default_kinds() if checks is None else checks), data_model)
    if path.suffix.lower() not in SUFFIXES or path.is_dir():
        usual = CHECK_SAT if path.suffix.lower() in CHC_SUFFIXES else UNREACH_CALL
        return Question(path, property_of(property or usual), data_model)
    from certus.frontend.tasks.task_files import read_task_file

    task = read_task_file(path)
    if data_model is not None and task.data_model not in (None, data_model):
        message = f"The command line says {data_model}, but the task file says {task.data_model}."
        hint = "Leave out --data-model."
        raise InputError([Diagnostic("contradictory-task", message, span=task.data_model_span, hint=hint)])
    chosen = task.choose(property)
    model, (first, *others) = data_model or task.data_model, task.inputs
    return Question(first, chosen.property, model, chosen.expected, chosen.span, tuple(others))


def _check_files(paths: Sequence[Path]) -> None:
    """Raise unless several files can be the files of one C program."""
    if len(paths) == 1:
        return
    for path in paths:
        if path.suffix.lower() not in C_SUFFIXES:
            message = f"A program in several files must be in C, but {path} is not a C file by its suffix."
            hint = f"C files end in {' or '.join(C_SUFFIXES)}."
            raise InputError([Diagnostic("usage", message, hint=hint)])
    seen: set[str] = set()
    for path in paths:
        place = os.path.realpath(path)
        if place in seen:
            message = f"{path} is on the command line twice."
            raise InputError([Diagnostic("usage", message, hint="Name each file once.")])
        seen.add(place)


def load(path: str | Path, *, property: str | None = None) -> LoadedProgram:
    """Load the program in a file; `property` is a name or a property file.

    Raises `InputError` if the file has no program, `Unsupported` if Certus cannot model it."""
    return load_question(read_question(Path(path), property=property))


def load_question(
    question: Question,
    *,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str | None = None,
) -> LoadedProgram:
    """Load the program of a question. `arguments` are flags for Clang; `entry` is the C function that starts
    the program, if it is not `main`. May raise `BudgetExceeded`."""
    suffix, path = question.file.suffix.lower(), question.file
    if suffix in C_SUFFIXES:
        return _load_c(question, arguments, budget or Budget(), entry)
    if has_clauses(question):
        message = f"{path} has Horn clauses, not a program."
        raise InputError([Diagnostic("usage", message, hint="`certus chc` and `certus verify` solve them.")])
    if suffix not in LANGUAGES and suffix not in SUFFIXES and not path.is_dir():
        supported = ", ".join(f"{name} ({what})" for name, what in LANGUAGES.items())
        message = f"The suffix of {path} does not tell its language."
        raise InputError([Diagnostic("unknown-language", message, hint=f"Supported: {supported}.")])
    source = read_source(path)
    if question.data_model is not None or arguments:
        message = f"{path} is not a C program, so a data model and flags for Clang do not apply to it."
        raise InputError([Diagnostic("usage", message, hint="Leave out --data-model and the flags.")])
    check_supported(question.property, question.span)
    from certus.frontend.lp.load import load_lp

    return load_lp(source.text, source.file, question.property.name)


def has_clauses(question: Question) -> bool:
    """Return whether a question is about Horn clauses, by the name of its file."""
    return question.file.suffix.lower() in CHC_SUFFIXES


def load_clauses(question: Question, budget: Budget) -> HornSystem:
    """Load the Horn clauses of a question. Raises `InputError`, `Unsupported` or `BudgetExceeded`."""
    if question.property.name != CHECK_SAT:
        message = f"The only property of Horn clauses is {CHECK_SAT}, not {question.property.name}."
        raise InputError([Diagnostic("usage", message, hint="Leave out --property.")])
    if question.file.suffix.lower() == ".clp":
        from certus.frontend.clp.load import load_clp

        return load_clp(read_source(question.file), budget)
    from certus.frontend.chc.load import MAX_BYTES, load_chc

    return load_chc(read_source(question.file, limit=MAX_BYTES), budget)


def load_probed(
    path: Path,
    probes: Sequence[Probe],
    watched: frozenset[tuple[int, int | None]],
    *,
    property: Property,
    model: str,
    arguments: Sequence[str],
    budget: Budget,
    invariants: bool,
) -> tuple[LoadedProgram, Program]:
    """Load a C program, and the same program with the expressions of a witness in it; see
    `frontend.c.load.load_probed`."""
    from certus.frontend.c.load import load_probed as load

    return load(
        path,
        probes,
        watched,
        property=property,
        model=model,
        arguments=arguments,
        budget=budget,
        invariants=invariants,
    )


def _load_c(question: Question, arguments: Sequence[str], budget: Budget, entry: str | None) -> LoadedProgram:
    from certus.frontend.c.load import MAIN, load_c

    model = question.data_model or DEFAULT_MODEL
    if model not in MODELS:
        message = f"There is no data model {model}."
        raise InputError([Diagnostic("usage", message, hint=f"Choose {' or '.join(MODELS)}.")])
    check_supported(question.property, question.span)
    for file in question.files:
        read_source(file)  # raises unless it is a text file
    return load_c(
        question.files,
        property=question.property,
        model=model,
        arguments=arguments,
        budget=budget,
        entry=entry or MAIN,
        malloc_may_fail=question.malloc_may_fail,
    )
