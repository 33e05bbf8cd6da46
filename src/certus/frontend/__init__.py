"""Front ends: from source text to programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend.c.source.probes import Probe
from certus.frontend.loaded import LoadedProgram
from certus.frontend.properties import CHECK_SAT, Property, check_supported
from certus.frontend.source import read_source
from certus.frontend.task_files import C_SUFFIXES, CHC_SUFFIXES, MODELS, SUFFIXES, Question, read_question

DEFAULT_MODEL: Final = "LP64"
LANGUAGES: Final = {
    ".c": "C",
    ".i": "preprocessed C",
    ".lp": "the small language of Linear Programs",
    ".smt2": "constrained Horn clauses",
    ".yml": "a task definition",
}

__all__ = ["LANGUAGES", "LoadedProgram", "Question", "load", "load_clauses", "load_question", "read_question"]


def load(path: str | Path, *, property: str | None = None) -> LoadedProgram:
    """The program in a file, whose suffix tells its language; `property` is a name or a property file.

    Raises `InputError` if the file has no program, `Unsupported` if Certus cannot model it."""
    return load_question(read_question(Path(path), property=property))


def load_question(
    question: Question,
    *,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str | None = None,
) -> LoadedProgram:
    """The program that a question is about. `arguments` are for Clang; `entry` is the C function that it
    begins with, if not `main`. May raise `BudgetExceeded`."""
    suffix, path = question.file.suffix.lower(), question.file
    if suffix in C_SUFFIXES:
        return _load_c(question, arguments, budget or Budget(), entry)
    if suffix in CHC_SUFFIXES:
        message = f"{path} has Horn clauses, not a program."
        raise InputError([Diagnostic("usage", message, hint="`certus chc` and `certus verify` solve them.")])
    if suffix not in LANGUAGES and suffix not in SUFFIXES and not path.is_dir():
        known = ", ".join(f"{name} ({what})" for name, what in LANGUAGES.items())
        message = f"The language of {path} is not known from its name."
        raise InputError([Diagnostic("unknown-language", message, hint=f"Supported: {known}.")])
    source = read_source(path)
    if question.data_model is not None or arguments:
        message = f"{path} is no C program: a data model and flags for Clang mean nothing to it."
        raise InputError([Diagnostic("usage", message)])
    check_supported(question.property, question.span)
    from certus.frontend.lp.load import load_lp

    return load_lp(source.text, source.file, question.property.name)


def load_clauses(question: Question, budget: Budget) -> HornSystem:
    """The Horn clauses that a question is about. Raises `InputError`, `Unsupported` or `BudgetExceeded`."""
    from certus.frontend.chc.load import MAX_BYTES, load_chc

    if question.property.name != CHECK_SAT:
        message = f"Horn clauses have the property {CHECK_SAT}, not {question.property.name}."
        raise InputError([Diagnostic("usage", message, hint="Leave out --property.")])
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
    """The program of a C file, and the same with the expressions of a witness in it; see
    `frontend.c.load.load_probed`."""
    from certus.frontend.c.load import load_probed as load
    from certus.frontend.c.types import DATA_MODELS

    if os.environ.get("CERTUS_FRONTEND") == "ir":
        from certus.frontend.c.load_ir import load_probed_ir as load
    return load(
        path,
        probes,
        watched,
        property=property,
        model=DATA_MODELS[model],
        arguments=arguments,
        budget=budget,
        invariants=invariants,
    )


def _load_c(question: Question, arguments: Sequence[str], budget: Budget, entry: str | None) -> LoadedProgram:
    from certus.frontend.c.ast import MAIN
    from certus.frontend.c.load import load_c
    from certus.frontend.c.types import DATA_MODELS

    name = question.data_model or DEFAULT_MODEL
    if name not in DATA_MODELS:
        message = f"There is no data model {name}."
        raise InputError([Diagnostic("usage", message, hint=f"Choose {' or '.join(MODELS)}.")])
    check_supported(question.property, question.span)
    for file in question.files:
        read_source(file)  # refuses what is no text
    load: Callable[..., LoadedProgram] = load_c
    if os.environ.get("CERTUS_FRONTEND") == "ir":
        from certus.frontend.c.load_ir import load_ir

        load = load_ir
    elif question.others:
        message = "The program has several files, and this front end reads programs in one file."
        hint = "Set the environment variable CERTUS_FRONTEND=ir."
        raise InputError([Diagnostic("several-files", message, span=question.span, hint=hint)])
    return load(
        question.files if question.others else question.file,
        property=question.property,
        model=DATA_MODELS[name],
        arguments=arguments,
        budget=budget,
        entry=entry or MAIN,
    )
