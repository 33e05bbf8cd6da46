"""Work in a process apart: one engine's, and what its parent makes of the way that ended; saving evidence."""

from __future__ import annotations

import json
from dataclasses import replace

from certus.core.codec import decode_outcome, encode_outcome
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.outcome import Outcome
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.frontend import Question
from certus.pipeline.settings import Settings
from certus.system.child import ChildResult, Reporter, run_limited


def work(task: Task, settings: Settings, reporter: Reporter, *, looks: bool = False) -> bytes:
    """All that happens in the child."""
    from certus.pipeline.solve import solve

    return json.dumps(encode_outcome(solve(task, settings, reporter.progress, looks=looks))).encode()


def outcome_of(task: Task, engine: str, result: ChildResult, limit: float | None) -> Outcome:
    """What the child answered, or why it did not; `limit` is the time limit of the whole run."""
    if result.payload is not None:
        return decode_outcome(json.loads(result.payload), task.subject)
    return Outcome(task.subject, task.property_name, Unknown(_no_answer(result, limit)), engine)


def _no_answer(result: ChildResult, limit: float | None) -> Diagnostic:
    known = f"; last: {result.progress}" if result.progress else ""
    if result.kind == "timeout":
        within = "its share of the time" if limit is None else f"{limit:g} s"
        message = f"no answer within {within}{known}"
        return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
    if result.kind == "memory":
        message = f"{result.detail}{known}"
        return Diagnostic("memory-limit", message, Severity.NOTE, hint="try a larger --memory")
    if result.kind == "interrupted":
        return Diagnostic("interrupted", f"interrupted{known}", Severity.NOTE)
    message = f"the engine crashed: {result.detail}{known}"
    return Diagnostic("engine-crashed", message, hint="this is a defect of Certus: please report it")


def saved(outcome: Outcome, question: Question, settings: Settings) -> Outcome:
    """The outcome, its evidence saved in the directory that the settings name, if they name one."""
    directory = settings.evidence
    if directory is None:
        return outcome

    def save_all(_: Reporter) -> bytes:
        from certus.pipeline.evidence import save

        save(directory, outcome, question, settings.clang_arguments)
        return b""

    result = run_limited(save_all, seconds=None, memory=settings.memory)
    if result.kind == "done":
        return outcome
    hint = "see that the directory can be written"
    told = Diagnostic("evidence-not-saved", f"the evidence was not saved: {result.detail}", hint=hint)
    return replace(outcome, diagnostics=(*outcome.diagnostics, told))
