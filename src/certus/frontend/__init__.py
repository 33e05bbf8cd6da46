"""Load programs and Horn clauses from source files; the suffix of a file tells its language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend.graph import LoadedProgram
from certus.frontend.source import read_source
from certus.frontend.tasks.properties import CHECK_SAT, Property, check_supported
from certus.frontend.tasks.task_files import (
    C_SUFFIXES,
    CHC_SUFFIXES,
    MODELS,
    SUFFIXES,
    Question,
    read_question,
)

if TYPE_CHECKING:
    from certus.frontend.c.source.probes import Probe

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
