"""UNKNOWN that helps: why each engine gave up, and the one or two options most likely to change that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.outcome import Outcome
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.engines.registry import ENGINES
from certus.pipeline.settings import AUTO, Settings

MORE: Final = 5  # times the limit that was too small
FOREMOST: Final = (  # whoever says it; a trace that was found says more than that others found nothing
    "internal-contradiction",
    "interrupted",
    "compiled-replay-disagrees",
    "compilers-disagree",
    "trace-needs-unmodelled-value",
    "trace-needs-undefined-behaviour",
    "trace-not-replayed",
    "second-solver-missing",
)
TOO_LATE: Final = frozenset({"time-limit", "evidence-not-checked"})
OWN_WORDS: Final = frozenset(  # the hint that comes with these says more than any option
    {
        "internal-contradiction",
        "engine-crashed",
        "interrupted",
        "bound-reached",
        "too-many-paths",
        "trace-needs-unmodelled-value",
        "trace-needs-undefined-behaviour",
        "compiled-replay-disagrees",
        "compilers-disagree",
        "second-solver-missing",
    }
)


def advised(outcomes: Sequence[Outcome], settings: Settings) -> Outcome:
    """One UNKNOWN of those that engines ended with: the reason of the last, who had the most time, with
    advice; the reasons of the others as notes. If there is something wrong with us, somebody interrupted us,
    or a trace was found but not confirmed, that is the reason."""
    reasons = [(o, o.verdict.reason) for o in outcomes if isinstance(o.verdict, Unknown)]
    foremost = ((o, r) for code in FOREMOST for o, r in reasons if r.code == code)
    whole, reason = next(foremost, reasons[-1])
    notes = [
        replace(r, message=_by(o, r), hint=r.hint if r.code in OWN_WORDS else None)
        for o, r in reasons
        if o is not whole
    ]
    tried = list(dict.fromkeys(o.engine for o, _ in reasons))
    others = _others(Task(whole.subject, whole.property_name), tried)
    options = list(_options(reason, {r.code for _, r in reasons}, others, settings))[:2]
    own = None if _names_any(reason.hint, tried) else reason.hint
    hint = own if reason.code in OWN_WORDS or not options else f"try {', or '.join(options)}"
    message = _by(whole, reason) if len(reasons) > 1 else reason.message
    told = Unknown(replace(reason, message=message, hint=hint))
    return replace(whole, verdict=told, diagnostics=(*whole.diagnostics, *notes))


def needs_time(outcome: Outcome) -> bool:
    """Whether it was only time that was missing."""
    return isinstance(outcome.verdict, Unknown) and outcome.verdict.reason.code in TOO_LATE


def _by(outcome: Outcome, reason: Diagnostic) -> str:
    """The message, with who says it."""
    own = reason.message.startswith(f"{outcome.engine} ")
    return reason.message if own else f"{outcome.engine}: {reason.message}"


def _others(task: Task, tried: Sequence[str]) -> list[str]:
    """The engines that treat such a task and were not asked."""
    return [
        name for name, engine in ENGINES.items() if name not in tried and engine.unsupported(task) is None
    ]


def _names_any(hint: str | None, tried: Sequence[str]) -> bool:
    """Whether a hint proposes an engine that has just been tried."""
    named = re.findall(r"--engines? ([\w,]+)", hint or "")
    return any(name in tried for names in named for name in names.split(","))


def _options(
    reason: Diagnostic, codes: Collection[str], others: Sequence[str], settings: Settings
) -> Iterator[str]:
    """What to try, the most promising first. Engines that have just been tried are not named: those that a
    limit ended need a larger one, and the others gave up for good."""
    if "cpu-limit" in codes and settings.cpu_time is not None:
        yield f"--cpu-time {duration_text(MORE * settings.cpu_time)}"
    if "memory-limit" in codes and settings.memory is not None:
        yield f"--memory {size_text(2 * settings.memory)}"
    if not TOO_LATE.isdisjoint(codes) and settings.timeout is not None:
        yield f"--timeout {duration_text(MORE * settings.timeout)}"
    if reason.code == "k-reached":
        yield f"--set kind.k={2 * int(settings.options.get('kind.k', 10))}"
    if settings.engine != AUTO:
        yield "--engine auto"
    elif others and not settings.bound:
        yield f"--engines {','.join(others)}"


def duration_text(seconds: float) -> str:
    """As `--timeout` takes it."""
    if seconds < 90:
        return f"{seconds:.0f}s" if seconds >= 10 else f"{seconds:g}s"
    return f"{seconds / 60:.0f}m"


def size_text(size: int) -> str:
    """As `--memory` takes it."""
    return f"{size / 1e9:.3g}GB" if size >= 1e9 else f"{size / 1e6:.0f}MB"
