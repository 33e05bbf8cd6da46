"""Front ends: from source text to programs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.frontend.lp.load import LoadedProgram, load_lp
from certus.frontend.source import read_source

LANGUAGES: Final = {".lp": "the small language of Linear Programs"}

__all__ = ["LANGUAGES", "LoadedProgram", "load"]


def load(path: str | Path, *, property: str = "unreach-call") -> LoadedProgram:
    """The program in a file, whose suffix tells its language. Raises `InputError` if it has none."""
    path = Path(path)
    if path.suffix.lower() not in LANGUAGES and not path.is_dir():
        known = ", ".join(f"{suffix} ({what})" for suffix, what in LANGUAGES.items())
        message = f"The language of {path} is not known from its name."
        raise InputError([Diagnostic("unknown-language", message, hint=f"Supported: {known}.")])
    source = read_source(path)
    return load_lp(source.text, source.file, property)
