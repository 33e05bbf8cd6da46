"""`verify`: the entry point. The front end works in this process, engines in child processes under limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.evidence import Unknown
from certus.core.horn import HornSystem
from certus.core.outcome import Outcome, Replay
from certus.core.program import Program, SourceText
from certus.core.task import Task
from certus.core.vocabulary import KINDS
from certus.engines.registry import ENGINES
from certus.frontend import Question, has_clauses, load_clauses, load_question, read_question
from certus.frontend.tasks.properties import SUPPORTED, UNREACH_CALL, Property, check_line
from certus.run.schedule import Schedule
from certus.run.settings import AUTO, Settings, check_owners, engine_options
from certus.system.usage import cpu_seconds

__all__ = ["Settings", "verify"]


def verify(
    path: str | Path | Sequence[str | Path],
    settings: Settings | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Verify the program or the Horn clauses in a file, or a C program in several files. Raises `InputError`
    if they, or the settings, are malformed.

    The time limit covers the front end too, which checks the budget as it works."""
    settings = settings or Settings()
    start, budget = time.monotonic(), Budget(settings.timeout)
    cpu = None if settings.cpu_time is None else cpu_seconds() + settings.cpu_time
    _check(settings)
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    if not paths:
        raise InputError([Diagnostic("usage", "There is no file to verify.", hint="Name one.")])
    question = Question(paths[0], Property(settings.property_name or UNREACH_CALL), others=tuple(paths[1:]))
    try:
        question = read_question(
            paths,
            property=settings.property_name,
            data_model=settings.data_model,
            checks=settings.checks,
        )
        question = replace(question, malloc_may_fail=settings.malloc_may_fail)
        subject, warnings = _load(question, settings, budget)
        budget.check()
    except Unsupported as refusal:
        return _not_loaded(question, settings, refusal.diagnostic, start)
    except BudgetExceeded:
        return _not_loaded(question, settings, _too_slow(question, settings), start)
    loaded = time.monotonic()
    settings = replace(settings, data_model=question.data_model)
    left = budget.remaining()
    if question.property.kinds and isinstance(subject, Program):
        from certus.run.kinds import KindsSchedule

        outcome = KindsSchedule(subject, question, settings, start, on_progress, cpu, left).run()
        answers = (replace(each, diagnostics=(*warnings, *each.diagnostics)) for each in outcome.answers)
        outcome = replace(outcome, answers=tuple(answers))
    else:
        task = Task(subject, question.property.name)
        outcome = Schedule(task, settings, on_progress, question, cpu, left).run()
    if settings.evidence is not None:
        from certus.run.evidence import saved

        outcome = saved(outcome, question, settings)
    end = time.monotonic()
    outcome = replace(
        outcome,
        diagnostics=(*warnings, *outcome.diagnostics),
        seconds={**outcome.seconds, "frontend": loaded - start, "solve": end - loaded, "total": end - start},
        expected=question.expected,
    )
    return outcome if isinstance(subject, HornSystem) else _with_property(outcome, question.property)


def _check(settings: Settings) -> None:
    """Raise `InputError` for engines and options that do not exist."""
    check_owners(settings, ENGINES)
    for name, engine in ENGINES.items():
        if settings.engine in (AUTO, name):
            engine_options(engine, settings)


def _load(
    question: Question, settings: Settings, budget: Budget
) -> tuple[Program | HornSystem, Sequence[Diagnostic]]:
    """Return what is to be verified, and the warnings of the front end."""
    if has_clauses(question):
        return load_clauses(question, budget), ()
    loaded = load_question(question, arguments=settings.clang_arguments, budget=budget)
    return loaded.program, loaded.warnings


def _with_property(outcome: Outcome, wanted: Property) -> Outcome:
    """Add the property as property files have it. One that names no function means several functions; then
    the function that was called is named."""
    function = wanted.function
    program, check = outcome.subject, outcome.check
    if wanted.kinds:
        answers = tuple(_with_property(each, _property_of(each)) for each in outcome.answers)
        specification = _with_property(outcome, _property_of(outcome)).specification
        return replace(outcome, answers=answers, specification=specification)
    if wanted.name not in SUPPORTED:
        return outcome
    if wanted == Property(UNREACH_CALL) and isinstance(program, Program) and isinstance(check, Replay):
        site = program.error_at(program.location[check.error])
        wanted = Property(UNREACH_CALL, "__assert_fail" if site.kind == "assertion" else site.function)
    if outcome.subproperty is not None:
        wanted = Property(outcome.subproperty)
    return replace(outcome, specification=check_line(wanted), error_function=function)


def _property_of(outcome: Outcome) -> Property:
    """Return the property that an answer to the default question decides; one without a name if property
    files have none for it. That all kinds hold decides `unreach-call`. Signed overflow alone is only a part
    of no-overflow, which covers shifts as well."""
    kinds, name = outcome.kinds, outcome.property_name
    if outcome.answer != "HOLDS":
        return Property(name)
    if outcome.assumed:
        return Property("")
    if not outcome.kind:
        name = next((KINDS[kind].property for kind in kinds), "")
    return Property("" if name == "no-overflow" and "shift" not in kinds else name)


def _not_loaded(question: Question, settings: Settings, reason: Diagnostic, start: float) -> Outcome:
    """Return UNKNOWN for a file that the front end cannot model, or did not read in time."""
    first, *others = (SourceText(str(file), _text(file), "") for file in question.files)
    empty: Program | HornSystem = HornSystem((), (), file=first.file)
    if not has_clauses(question):
        empty = Program({}, "main", (), (), source=first.text, file=first.file, others=tuple(others))
    spent = time.monotonic() - start
    outcome = Outcome(
        empty,
        question.property.name,
        Unknown(reason),
        settings.engine,
        seconds={"frontend": spent, "total": spent},
        expected=question.expected,
    )
    kinds = question.property.kinds
    if not kinds or not isinstance(empty, Program):
        return outcome
    from certus.run.kinds import not_asked

    return not_asked(empty, kinds, outcome)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _too_slow(question: Question, settings: Settings) -> Diagnostic:
    what = "clauses were" if has_clauses(question) else "program was"
    message = f"the {what} not read within {settings.timeout:g} s"
    return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
