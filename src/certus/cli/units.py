"""Durations and sizes as people write them: `60s`, `2m`, `500ms`; `4GB`, `500MB`."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError
from typing import Final

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


def duration(text: str) -> float:
    """Seconds; `60`, `60s`, `1.5m`, `500ms`, `1h`."""
    seconds = _quantity(text, _SECONDS, "a duration such as 60s, 2m or 500ms")
    if not 0 < seconds < math.inf:
        raise ArgumentTypeError(f"{text!r} is no time limit: it must be more than zero")
    return seconds


def size(text: str) -> int:
    """Bytes; `4GB` is 4 * 10**9, `4GiB` is 4 * 2**30."""
    found = int(_quantity(text, _BYTES, "a size such as 4GB or 500MB"))
    if found <= 0:
        raise ArgumentTypeError(f"{text!r} is no memory limit: it must be more than zero")
    return found


def _quantity(text: str, units: dict[str, float] | dict[str, int], wanted: str) -> float:
    match = _QUANTITY.fullmatch(text.strip())
    unit = None if match is None else units.get(match[2].lower())
    if match is None or unit is None:
        raise ArgumentTypeError(f"{text!r} is not {wanted}")
    return float(match[1]) * unit
