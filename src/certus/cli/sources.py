"""Source text for the excerpts of diagnostics about input that could not be loaded."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_LIMIT: Final = 16 << 20  # bytes; a larger file is reported without an excerpt


@cache
def source_of(file: str) -> str | None:
    """The text of the file, if it can be read."""
    try:
        path = Path(file)
        if path.stat().st_size > _LIMIT:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None
