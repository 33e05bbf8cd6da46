"""What a front end gives."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.diagnostic import Diagnostic
from certus.core.program import Program


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program and what should be said about it although it is well-formed."""

    program: Program
    warnings: tuple[Diagnostic, ...] = ()
