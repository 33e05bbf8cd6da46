"""UNKNOWN that helps: why each engine gave up, and the one or two options most likely to change that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.horn import HornSystem
from certus.core.outcome import Outcome
from certus.core.verdict import Unknown
from certus.pipeline.settings import AUTO, Settings

ALL: Final = ("bmc", "kind", "predicate", "linear", "clp", "spacer")  # who may still be asked about programs
FOR_CLAUSES: Final = ("clp", "spacer")
MORE: Final = 5  # times the limit that was too small
FOREMOST: Final = (  # whoever says it; a trace that was found says more than that others found nothing
    "internal-contradiction",
    "interrupted",
    "compiled-replay-disagrees",
    "trace-needs-unmodelled-value",
    "trace-needs-undefined-behaviour",
    "trace-not-replayed",
)
LIMITS: Final = frozenset({"time-limit", "cpu-limit", "memory-limit"})
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
    clauses = isinstance(whole.subject, HornSystem)
    named = [(o.engine, r) for o, r in reasons]
    options = list(_options(reason, named, tried, settings, clauses=clauses))[:2]
    hint = reason.hint if reason.code in OWN_WORDS or not options else f"try {', or '.join(options)}"
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


def _options(
    reason: Diagnostic,
    reasons: Sequence[tuple[str, Diagnostic]],
    tried: Sequence[str],
    settings: Settings,
    *,
    clauses: bool,
) -> Iterator[str]:
    """What to try, the most promising first."""
    codes = {r.code for _, r in reasons}
    if "cpu-limit" in codes and settings.cpu_time is not None:
        yield f"--cpu-time {duration_text(MORE * settings.cpu_time)}"
    if "memory-limit" in codes and settings.memory is not None:
        yield f"--memory {size_text(2 * settings.memory)}"
    ended = {name for name, r in reasons if r.code in LIMITS}
    cut_short = [name for name in ALL if name in ended]
    timed_out = any(r.code in TOO_LATE for _, r in reasons)
    if timed_out and settings.timeout is not None:
        yield f"--timeout {duration_text(MORE * settings.timeout)}"
    if reason.code == "k-reached":
        yield f"--set kind.k={2 * int(settings.options.get('kind.k', 10))}"
    if settings.engine != AUTO:
        yield "--engine auto"
    elif 0 < len(cut_short) < len(tried):
        yield f"--engines {','.join(cut_short)}"
    possible = FOR_CLAUSES if clauses else ALL
    others = [name for name in possible if name not in tried]
    if settings.engine == AUTO and others and not settings.bound:
        yield f"--engines {','.join(others)}"


def duration_text(seconds: float) -> str:
    """As `--timeout` takes it."""
    if seconds < 90:
        return f"{seconds:.0f}s" if seconds >= 10 else f"{seconds:g}s"
    return f"{seconds / 60:.0f}m"


def size_text(size: int) -> str:
    """As `--memory` takes it."""
    return f"{size / 1e9:.3g}GB" if size >= 1e9 else f"{size / 1e6:.0f}MB"
