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
_SAFETY: Final = ("valid-deref", "valid-free", "valid-memtrack")
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "valid-memsafety": _SAFETY,
    "memory": _SAFETY,  # the kind of checks (`core.check_kinds`)
}


def kinds_of(property_name: str) -> frozenset[str]:
    """Return the kinds of memory errors that violate a property, or one of several kinds of checks that are
    separated by commas; none for other properties."""
    parts = [part for name in property_name.split(",") for part in PARTS.get(name, (name,))]
    return frozenset(kind for kind, part in PART_OF_KIND.items() if part in parts)


def part_of(property_name: str, kind: str) -> str | None:
    """Return the part of a property that an error of this kind violates; None if it has no parts."""
    parted = any(name in PARTS for name in property_name.split(","))
    return PART_OF_KIND.get(kind) if parted else None
