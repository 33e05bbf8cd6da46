"""The exceptions of Certus: one tree. Handlers distinguish them by type, never by message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certus.core.diagnostic import Diagnostic


class CertusError(Exception):
    """The base class of everything Certus raises on purpose."""


class InputError(CertusError):
    """The input is malformed; the diagnostics say where and why. Exit code 2."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = tuple(diagnostics)


class Unsupported(CertusError):
    """Well-formed input that Certus cannot model or an engine cannot treat. Verdict UNKNOWN."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class BudgetExceeded(CertusError):
    """A limit was reached; `limit` names it: "time", "memory", "effort" or "interrupt"."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"{limit} limit reached")
        self.limit = limit


class Undefined(CertusError):
    """A term has no definite value: a division by zero or an oversized shift."""


class Inconsistent(CertusError):
    """Two parts of Certus disagree: a defect of Certus, never of the input."""
