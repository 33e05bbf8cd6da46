"""`verify`: the only door. Front end here, the rest in child processes under hard limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.outcome import Outcome, Replay
from certus.core.program import Program
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.engines.registry import ENGINES
from certus.frontend import Question, load_question, read_question
from certus.frontend.properties import UNREACH_CALL, Property, check_line
from certus.pipeline.apart import saved
from certus.pipeline.auto import Portfolio
from certus.pipeline.clauses import has_clauses, verify_clauses
from certus.pipeline.settings import AUTO, Settings, check_owners, engine_options
from certus.system.usage import cpu_seconds

__all__ = ["Settings", "verify"]


def verify(
    path: str | Path, settings: Settings | None = None, *, on_progress: Callable[[str], None] | None = None
) -> Outcome:
    """Verify the program in a file. Raises `InputError` if it, or the settings, are malformed.

    The time limit covers the front end too, which works in this process and looks at the budget."""
    settings = settings or Settings()
    start, budget = time.monotonic(), Budget(settings.timeout)
    cpu = None if settings.cpu_time is None else cpu_seconds() + settings.cpu_time
    check_owners(settings, ENGINES)
    for name, engine in ENGINES.items():
        if settings.engine in (AUTO, name):
            engine_options(engine, settings)
    question = Question(Path(path), Property(settings.property_name or UNREACH_CALL))
    try:
        question = read_question(Path(path), property=settings.property_name, data_model=settings.data_model)
        if has_clauses(question.file):
            return verify_clauses(question, settings, on_progress=on_progress)
        loaded = load_question(question, arguments=settings.clang_arguments, budget=budget)
        budget.check()
    except Unsupported as refusal:
        return _not_loaded(question, settings, refusal.diagnostic, start)
    except BudgetExceeded:
        return _not_loaded(question, settings, _too_slow(settings), start)
    task = Task(loaded.program, question.property.name)
    parsed = time.monotonic()
    settings = replace(settings, data_model=question.data_model)
    outcome = Portfolio(task, settings, on_progress, question, cpu=cpu, seconds=budget.remaining()).run()
    outcome = saved(outcome, question, settings)
    end = time.monotonic()
    seconds = {**outcome.seconds, "frontend": parsed - start, "solve": end - parsed, "total": end - start}
    diagnostics = (*loaded.warnings, *outcome.diagnostics)
    return replace(
        outcome,
        diagnostics=diagnostics,
        seconds=seconds,
        expected=question.expected,
        specification=_specification(question.property, outcome),
        error_function=question.property.function,
    )


def _specification(wanted: Property, outcome: Outcome) -> str:
    """The property as property files have it. One that names no function means several; then it is the
    function that was called."""
    program, check = outcome.subject, outcome.check
    if wanted == Property(UNREACH_CALL) and isinstance(program, Program) and isinstance(check, Replay):
        site = program.error_at(program.location[check.error])
        wanted = Property(UNREACH_CALL, "__assert_fail" if site.kind == "assertion" else site.function)
    return check_line(wanted)


def _not_loaded(question: Question, settings: Settings, reason: Diagnostic, start: float) -> Outcome:
    """There is no program to verify: the front end cannot model it, or took too long."""
    try:
        source = question.file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        source = ""
    nothing = Program({}, "main", (), (), source=source, file=str(question.file))
    spent = time.monotonic() - start
    return Outcome(
        nothing,
        question.property.name,
        Unknown(reason),
        settings.engine,
        seconds={"frontend": spent, "total": spent},
        expected=question.expected,
    )


def _too_slow(settings: Settings) -> Diagnostic:
    message = f"the program was not read within {settings.timeout:g} s"
    return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
