"""The tab of automata."""

from __future__ import annotations

from certus.core.outcome import Outcome


def panel(outcome: Outcome) -> str:
    return ""
