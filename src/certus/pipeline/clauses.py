"""One run on Horn clauses: reading, search, checking. The same for `certus chc` and `certus verify`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.horn import HornSystem
from certus.core.outcome import Outcome, ProofCheck
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.frontend import Question, load_clauses
from certus.pipeline.apart import saved
from certus.pipeline.auto import Portfolio
from certus.pipeline.confirm import confirm
from certus.pipeline.running import before_validation, run_engine
from certus.pipeline.settings import Settings, engine_options
from certus.system.usage import cpu_seconds

SUFFIX: Final = ".smt2"
RESERVE = 1.0  # seconds at least that are kept for checking


def verify_clauses(
    question: Question, settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> Outcome:
    """The answer about the clauses in a file. Raises `InputError` if they are malformed."""
    start, budget = time.monotonic(), Budget(settings.timeout)
    cpu = None if settings.cpu_time is None else cpu_seconds() + settings.cpu_time
    try:
        system = load_clauses(question, budget)
    except Unsupported as refusal:
        return _not_read(question, settings, refusal.diagnostic, start)
    except BudgetExceeded:
        limit = "" if settings.timeout is None else f" within {settings.timeout:g} s"
        reason = Diagnostic("time-limit", f"the clauses were not read{limit}", Severity.NOTE)
        return _not_read(question, settings, reason, start)
    task = Task(system, question.property.name)
    parsed = time.monotonic()
    outcome = Portfolio(task, settings, on_progress, question, cpu=cpu, seconds=budget.remaining()).run()
    outcome = saved(outcome, question, settings)
    end = time.monotonic()
    seconds = {"frontend": parsed - start, "solve": end - parsed, "total": end - start}
    return replace(outcome, seconds=seconds, expected=question.expected)


def _not_read(question: Question, settings: Settings, reason: Diagnostic, start: float) -> Outcome:
    nothing = HornSystem((), (), file=str(question.file))
    spent = {"frontend": time.monotonic() - start, "total": time.monotonic() - start}
    return Outcome(
        nothing,
        question.property.name,
        Unknown(reason),
        settings.engine,
        seconds=spent,
        expected=question.expected,
    )


def solve_clauses(
    task: Task,
    settings: Settings,
    on_progress: Callable[[str], None] | None = None,
    *,
    keep: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Answer a question about Horn clauses within the time limit of the settings, in this process.

    `keep` gets an outcome whose model is proved before other solvers are asked for their opinions on it."""
    from certus.engines.registry import ENGINES

    assert isinstance(task.subject, HornSystem)
    statistics = Statistics(on_progress=on_progress)
    if settings.log_queries is not None:
        from certus.logic.querylog import QueryLog

        statistics.queries = QueryLog(settings.log_queries)
    whole = Budget(settings.timeout)
    engine = ENGINES[settings.engine]
    options = engine_options(engine, settings)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return Outcome(task.subject, task.property_name, Unknown(refusal), engine.name)
    verdict = run_engine(engine, task, options, before_validation(whole, RESERVE), statistics)
    found = Outcome(task.subject, task.property_name, verdict, engine.name, statistics=statistics)

    def sufficient(check: ProofCheck) -> None:
        if keep is not None:
            keep(replace(found, check=check))

    verdict, check = confirm(
        task.subject,
        verdict,
        budget=whole,
        statistics=statistics,
        solvers=settings.solvers,
        on_sufficient=sufficient,
    )
    if isinstance(verdict, Unknown) and verdict.reason.code == "derivation-refuted":
        hint = "this is a defect of Certus, not of the clauses: please report it"
        verdict = Unknown(replace(verdict.reason, hint=hint))
    return Outcome(task.subject, task.property_name, verdict, engine.name, check, statistics)


def has_clauses(file: Path) -> bool:
    """Whether a file has Horn clauses, by its name."""
    return file.suffix.lower() == SUFFIX
