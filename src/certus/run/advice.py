"""Advice for UNKNOWN: why each engine gave up, and the one or two options most likely to change that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.engine import Role, Task
from certus.core.evidence import Unknown
from certus.core.outcome import Outcome
from certus.engines.registry import ENGINES
from certus.run.schedule import TOO_LATE
from certus.run.settings import AUTO, Settings

TIME: Final = "time-limit"
MORE: Final = 5  # times the limit that was too small
FOREMOST: Final = (  # reasons before all others, whichever engine gives them, in this order
    "internal-contradiction",
    "interrupted",
    "compiled-replay-disagrees",
    "compilers-disagree",
    "trace-needs-unmodelled-value",
    "trace-needs-undefined-behaviour",
    "trace-not-replayed",
    "leak-before-endless-loop",
    "second-solver-missing",
)
OWN_HINTS: Final = frozenset(  # reasons that come with a hint that says more than any option
    {
        "internal-contradiction",
        "engine-crashed",
        "interrupted",
        "bound-reached",
        "k-reached",
        "too-many-disjuncts",
        "trace-needs-unmodelled-value",
        "trace-needs-undefined-behaviour",
        "compiled-replay-disagrees",
        "compilers-disagree",
        "second-solver-missing",
    }
)


def advise(outcomes: Sequence[Outcome], settings: Settings) -> Outcome:
    """Merge the UNKNOWN outcomes of engines into one: the reason of the last engine that reached a limit, or
    of the last one, with advice, and the reasons of the others as notes. A defect of Certus, an interruption,
    a trace that was not confirmed, and an object that may be lost come before all other reasons. If several
    engines ran out of time, that is the reason, and all engines have notes."""
    reasons = [(o, o.verdict.reason) for o in outcomes if isinstance(o.verdict, Unknown)]
    foremost = ((o, r) for code in FOREMOST for o, r in reasons if r.code == code)
    late = ((o, r) for o, r in reversed(reasons) if r.code in TOO_LATE)
    whole, reason = next(chain(foremost, late), reasons[-1])
    all_late = reason.code == TIME and sum(r.code == TIME for _, r in reasons) > 1
    notes = [
        replace(r, message=_by(o, r), hint=r.hint if r.code in OWN_HINTS else None)
        for o, r in reasons
        if all_late or o is not whole
    ]
    tried = list(dict.fromkeys(o.engine for o, _ in reasons))
    others = _others(Task(whole.subject, whole.property_name), tried)
    options = list(_options(reason, {r.code for _, r in reasons}, others, settings))[:2]
    own = None if _names_any(reason.hint, tried) else reason.hint
    hint = own if reason.code in OWN_HINTS or not options else f"try {', or '.join(options)}"
    message = _by(whole, reason) if len(reasons) > 1 else reason.message
    if all_late:
        message = f"none of {len(reasons)} engines found an answer in the time it had"
    verdict = Unknown(replace(reason, message=message, hint=hint))
    return replace(whole, verdict=verdict, diagnostics=(*whole.diagnostics, *notes))


def _by(outcome: Outcome, reason: Diagnostic) -> str:
    """Return the message with the name of the engine."""
    own = reason.message.startswith(f"{outcome.engine} ")
    return reason.message if own else f"{outcome.engine}: {reason.message}"


def _others(task: Task, tried: Sequence[str]) -> list[str]:
    """Return the engines that decide such a task and have not run; runs on a few inputs seldom do."""
    return [
        name
        for name, engine in ENGINES.items()
        if name not in tried
        and engine.role not in (Role.QUICK, Role.TENTATIVE)
        and engine.unsupported(task) is None
    ]


def _names_any(hint: str | None, tried: Sequence[str]) -> bool:
    """Return whether a hint names an engine that has just run."""
    named = re.findall(r"--engines? ([\w,]+)", hint or "")
    return any(name in tried for names in named for name in names.split(","))


def _options(
    reason: Diagnostic, codes: Collection[str], others: Sequence[str], settings: Settings
) -> Iterator[str]:
    """Yield what to try, the most promising first, without the engines that have just run: those that reached
    a limit need a larger one, and the others gave up for good."""
    if "cpu-limit" in codes and settings.cpu_time is not None:
        yield f"--cpu-time {duration_text(MORE * settings.cpu_time)}"
    if "memory-limit" in codes and settings.memory is not None:
        yield f"--memory {size_text(2 * settings.memory)}"
    if not TOO_LATE.isdisjoint(codes) and settings.timeout is not None:
        yield f"--timeout {duration_text(MORE * settings.timeout)}"
    if settings.engine != AUTO:
        yield "--engine auto"
    elif others and not settings.bound:
        yield f"--engines {','.join(others)}"


def duration_text(seconds: float) -> str:
    """Return a duration as `--timeout` takes it."""
    if seconds < 90:
        return f"{seconds:.0f}s" if seconds >= 10 else f"{seconds:g}s"
    return f"{seconds / 60:.0f}m"


def size_text(size: int) -> str:
    """Return a size as `--memory` takes it."""
    return f"{size / 1e9:.3g}GB" if size >= 1e9 else f"{size / 1e6:.0f}MB"
