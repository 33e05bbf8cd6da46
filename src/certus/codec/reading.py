"""Check data that came as JSON: each function returns a value of the type it names or raises ValueError.

Encoders return `Json`. Decoders take `object`: what comes from another process or a file can be anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject = dict[str, Json]


def shown(data: object) -> str:
    """Return data as text for a message, shortened."""
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def mapping(data: object, what: str, required: Sequence[str] = ()) -> Mapping[str, object]:
    """Return an object that has the required fields."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{what} must be an object, not {shown(data)}")
    for field in required:
        if field not in data:
            raise ValueError(f"{what} lacks the field {field!r}")
    for key in data:
        if not isinstance(key, str):
            raise ValueError(f"{what} has a key that is not a string: {shown(key)}")
    return data


def sequence(data: object, what: str, length: int | None = None) -> Sequence[object]:
    """Return a list, of the required length if there is one."""
    if not isinstance(data, (list, tuple)):
        raise ValueError(f"{what} must be a list, not {shown(data)}")
    if length is not None and len(data) != length:
        raise ValueError(f"{what} must have {length} parts, not {len(data)}")
    return data


def text(data: object, what: str) -> str:
    """Return a string."""
    if not isinstance(data, str):
        raise ValueError(f"{what} must be a string, not {shown(data)}")
    return data


def integer(data: object, what: str) -> int:
    """Return an integer."""
    if isinstance(data, bool) or not isinstance(data, int):
        raise ValueError(f"{what} must be an integer, not {shown(data)}")
    return data


def natural(data: object, what: str) -> int:
    """Return an integer that is not negative."""
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise ValueError(f"{what} must be a natural number, not {shown(data)}")
    return data


def position(data: object, size: int, what: str) -> int:
    """Return an index into a table of `size` entries, counted from 0."""
    index = natural(data, f"the number of a {what}")
    if index >= size:
        raise ValueError(f"there is no {what} number {index}")
    return index


def seconds(data: object, what: str) -> float:
    """Return a duration."""
    if isinstance(data, bool) or not isinstance(data, (int, float)) or not 0 <= data < float("inf"):
        raise ValueError(f"{what} must be a number of seconds, not {shown(data)}")
    return float(data)
