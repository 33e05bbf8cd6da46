"""Certus: a software model checker that gives evidence for every answer.

>>> import certus
>>> outcome = certus.verify("examples/parity.lp")
>>> outcome.answer
'HOLDS'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from certus.core.version import VERSION as __version__

if TYPE_CHECKING:
    from certus.core.diagnostic import Diagnostic
    from certus.core.errors import CertusError, InputError
    from certus.core.evidence import Safe, Unknown, Unsafe
    from certus.core.outcome import Outcome
    from certus.run.recheck import recheck
    from certus.run.settings import Settings
    from certus.run.verify import verify

__all__ = [
    "CertusError",
    "Diagnostic",
    "InputError",
    "Outcome",
    "Safe",
    "Settings",
    "Unknown",
    "Unsafe",
    "__version__",
    "recheck",
    "verify",
]

_HOMES = {
    "CertusError": "certus.core.errors",
    "Diagnostic": "certus.core.diagnostic",
    "InputError": "certus.core.errors",
    "Outcome": "certus.core.outcome",
    "Safe": "certus.core.evidence",
    "Settings": "certus.run.settings",
    "Unknown": "certus.core.evidence",
    "Unsafe": "certus.core.evidence",
    "recheck": "certus.run.recheck",
    "verify": "certus.run.verify",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that importing Certus is cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'certus' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
