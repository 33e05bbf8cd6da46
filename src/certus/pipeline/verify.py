"""`verify`: the only door. Front end here, the rest in a child process under hard limits."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from certus.core.codec import (
    decode_check,
    decode_diagnostic,
    decode_statistics,
    decode_verdict,
    encode_check,
    encode_diagnostic,
    encode_statistics,
    encode_verdict,
)
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.outcome import Outcome, PassSize, Size
from certus.core.program import Program
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.engines.registry import ENGINES
from certus.frontend import load
from certus.pipeline.settings import AUTO, Settings, check_owners, engine_options
from certus.system.child import ChildResult, Reporter, run_limited

__all__ = ["Settings", "verify"]


def verify(
    path: str | Path, settings: Settings | None = None, *, on_progress: Callable[[str], None] | None = None
) -> Outcome:
    """Verify the program in a file. Raises `InputError` if it, or the settings, are malformed."""
    settings = settings or Settings()
    start = time.monotonic()
    check_owners(settings, ENGINES)
    for name, engine in ENGINES.items():
        if settings.engine in (AUTO, name):
            engine_options(engine, settings)
    loaded = load(path, property_name=settings.property_name)
    task = Task(loaded.program, settings.property_name)
    parsed = time.monotonic()
    result = run_limited(
        lambda reporter: _work(task, settings, reporter),
        seconds=settings.timeout,
        memory=settings.memory,
        on_progress=on_progress,
    )
    outcome = _outcome(task, settings, result)
    seconds = {"frontend": parsed - start, "solve": time.monotonic() - parsed, "total": time.monotonic() - start}
    return replace(outcome, diagnostics=(*loaded.warnings, *outcome.diagnostics), seconds=seconds)


def _work(task: Task, settings: Settings, reporter: Reporter) -> bytes:
    """All that happens in the child."""
    from certus.pipeline.solve import solve

    solved = solve(task, settings, reporter.progress)
    if settings.evidence is not None:
        from certus.pipeline.evidence import save

        save(settings.evidence, task, solved)
    message = {
        "verdict": encode_verdict(solved.verdict),
        "engine": solved.engine,
        "check": encode_check(solved.check),
        "statistics": encode_statistics(solved.statistics),
        "notes": [encode_diagnostic(note) for note in solved.notes],
        "passes": [[p.name, *astuple(p.before), *astuple(p.after)] for p in solved.passes],
    }
    return json.dumps(message).encode()


def _outcome(task: Task, settings: Settings, result: ChildResult) -> Outcome:
    assert isinstance(task.subject, Program)
    if result.payload is None:
        verdict = Unknown(_no_answer(result, settings))
        return Outcome(task.subject, task.property_name, verdict, settings.engine)
    message: dict[str, Any] = json.loads(result.payload)
    return Outcome(
        task.subject,
        task.property_name,
        decode_verdict(message["verdict"], task.subject),
        message["engine"],
        decode_check(message["check"], task.subject),
        decode_statistics(message["statistics"]),
        tuple(decode_diagnostic(note) for note in message["notes"]),
        passes=tuple(PassSize(name, Size(a, b), Size(c, d)) for name, a, b, c, d in message["passes"]),
    )


def _no_answer(result: ChildResult, settings: Settings) -> Diagnostic:
    """Why the child gave none."""
    known = f"; last: {result.progress}" if result.progress else ""
    if result.kind == "timeout":
        message = f"no answer within {settings.timeout:g} s{known}"
        return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
    if result.kind == "memory":
        return Diagnostic("memory-limit", f"{result.detail}{known}", Severity.NOTE, hint="try a larger --memory")
    if result.kind == "interrupted":
        return Diagnostic("interrupted", f"interrupted{known}", Severity.NOTE)
    message = f"the engine crashed: {result.detail}{known}"
    return Diagnostic("engine-crashed", message, hint="this is a defect of Certus: please report it")
