"""The kinds of memory errors, and the properties that they violate.

A property of several parts (valid-memsafety) is violated by an error of any part; an answer names the part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

READ: Final = "invalid-read"
WRITE: Final = "invalid-write"
FREE: Final = "invalid-free"
LEAK: Final = "memory-leak"
NOT_FREED: Final = "not-freed"

PART_OF_KIND: Final[Mapping[str, str]] = {
    READ: "valid-deref",
    WRITE: "valid-deref",
    FREE: "valid-free",
    LEAK: "valid-memtrack",
    NOT_FREED: "valid-memcleanup",
}
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "valid-memsafety": ("valid-deref", "valid-free", "valid-memtrack"),
}


def kinds_of(property_name: str) -> frozenset[str]:
    """Return the kinds of memory errors that violate a property; none for other properties."""
    parts = PARTS.get(property_name, (property_name,))
    return frozenset(kind for kind, part in PART_OF_KIND.items() if part in parts)


def part_of(property_name: str, kind: str) -> str | None:
    """Return the part of a property that an error of this kind violates; None if it has no parts."""
    return PART_OF_KIND.get(kind) if property_name in PARTS else None
