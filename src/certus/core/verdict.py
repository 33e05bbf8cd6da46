"""The three answers, each with what backs it."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Proof, Refutation


@dataclass(frozen=True, slots=True)
class Safe:
    """The property holds; `proof` shows it."""

    proof: Proof


@dataclass(frozen=True, slots=True)
class Unsafe:
    """The property is violated; `refutation` shows it."""

    refutation: Refutation


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer; `reason` says why and what to try. `code` of the reason is the cause."""

    reason: Diagnostic


Verdict = Safe | Unsafe | Unknown
