"""Checked access to data that came as JSON: each function gives what it names or raises ValueError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def shown(data: object) -> str:
    """Data in a message, shortened."""
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def mapping(data: object, what: str, required: Sequence[str] = ()) -> Mapping[str, Any]:
    """An object that has the required fields."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{what} must be an object, not {shown(data)}")
    for field in required:
        if field not in data:
            raise ValueError(f"{what} lacks the field {field!r}")
    for key in data:
        if not isinstance(key, str):
            raise ValueError(f"{what} has a key that is no text: {shown(key)}")
    return data


def sequence(data: object, what: str, length: int | None = None) -> Sequence[Any]:
    """A list, of the given length if there is one."""
    if not isinstance(data, (list, tuple)):
        raise ValueError(f"{what} must be a list, not {shown(data)}")
    if length is not None and len(data) != length:
        raise ValueError(f"{what} must have {length} parts, not {len(data)}")
    return data


def text(data: object, what: str) -> str:
    if not isinstance(data, str):
        raise ValueError(f"{what} must be a text, not {shown(data)}")
    return data


def natural(data: object, what: str) -> int:
    """An integer that is not negative."""
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise ValueError(f"{what} must be a natural number, not {shown(data)}")
    return data


def position(data: object, size: int, what: str) -> int:
    """A number that counts something in a table of `size` entries."""
    index = natural(data, f"the number of a {what}")
    if index >= size:
        raise ValueError(f"there is no {what} number {index}")
    return index


def seconds(data: object, what: str) -> float:
    """A duration."""
    if isinstance(data, bool) or not isinstance(data, (int, float)) or not 0 <= data < float("inf"):
        raise ValueError(f"{what} must be a number of seconds, not {shown(data)}")
    return float(data)
