"""Work in a process apart: one engine's, and what its parent makes of the way that ended; saving evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from certus.core.budget import Budget
from certus.core.codec import decode_outcome, encode_outcome
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.horn import HornSystem
from certus.core.outcome import Outcome
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.frontend import Question
from certus.pipeline.exchange import Exchange
from certus.pipeline.plan import SEARCH
from certus.pipeline.settings import Settings
from certus.system.child import ChildResult, Reporter, run_limited


@dataclass(frozen=True, slots=True)
class Limit:
    """The seconds that a child had: all there were, or its share of them."""

    seconds: float | None
    shared: bool = False

    def is_part_of(self, left: float | None) -> bool:
        """Whether it was a share, and less than what is left."""
        return self.shared and self.seconds is not None and (left is None or self.seconds < left)

    def __str__(self) -> str:
        if self.seconds is None:
            return "its time"
        return f"its share of the time, {self.seconds:.1f} s" if self.shared else f"{self.seconds:g} s"


def work(
    task: Task,
    settings: Settings,
    reporter: Reporter,
    *,
    looks: str | None = None,
    exchange: Exchange | None = None,
) -> bytes:
    """Do all that happens in the child. An outcome whose proof is complete is kept before further opinions on
    the proof are asked for."""
    whole = Budget(settings.timeout)

    def keep(outcome: Outcome) -> None:
        reporter.keep(_encoded(outcome))

    if isinstance(task.subject, HornSystem):
        from certus.pipeline.clauses import solve_clauses

        settings = replace(settings, timeout=whole.remaining())
        return _encoded(solve_clauses(task, settings, reporter.progress, keep=keep))
    from certus.pipeline.solve import search, solve

    settings = replace(settings, timeout=whole.remaining())  # imports take time, too
    if settings.engine == SEARCH:
        return _encoded(search(task, settings, reporter.progress, keep=keep))
    found = solve(task, settings, reporter.progress, looks=looks, exchange=exchange, keep=keep)
    return _encoded(found)


def _encoded(outcome: Outcome) -> bytes:
    return json.dumps(encode_outcome(outcome)).encode()


def outcome_of(task: Task, engine: str, result: ChildResult, limit: Limit) -> Outcome:
    """What the child answered, or why it did not. If it crashed after its proof was complete, both."""
    if result.payload is not None:
        outcome = decode_outcome(json.loads(result.payload), task.subject)
        if result.kind != "crashed":
            return outcome
        return replace(outcome, diagnostics=(*outcome.diagnostics, _no_answer(result, limit)))
    return Outcome(task.subject, task.property_name, Unknown(_no_answer(result, limit)), engine)


def _no_answer(result: ChildResult, limit: Limit) -> Diagnostic:
    known = f"; last: {result.progress}" if result.progress else ""
    if result.kind == "timeout":
        message = f"no answer within {limit}{known}"
        return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
    if result.kind == "cpu":
        message = f"{result.detail}{known}"
        return Diagnostic("cpu-limit", message, Severity.NOTE, hint="try a larger --cpu-time")
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
