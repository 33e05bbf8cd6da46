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
    from certus.core.outcome import Outcome
    from certus.core.verdict import Safe, Unknown, Unsafe
    from certus.pipeline.recheck import recheck
    from certus.pipeline.settings import Settings
    from certus.pipeline.verify import verify

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
    "Safe": "certus.core.verdict",
    "Settings": "certus.pipeline.settings",
    "Unknown": "certus.core.verdict",
    "Unsafe": "certus.core.verdict",
    "recheck": "certus.pipeline.recheck",
    "verify": "certus.pipeline.verify",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that importing Certus is cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'certus' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
