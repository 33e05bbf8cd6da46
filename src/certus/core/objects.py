"""Objects in memory as the source names them: which lvalue denotes which bytes.

A *shape* tells what an object consists of, as far as names reach: scalars, elements, members. What is in no
shape (bit-fields, floating-point numbers, padding) has no name. Members of a union overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.diagnostic import Span


@dataclass(frozen=True, slots=True)
class ScalarShape:
    """An integer or, if `pointer`, an address: `width` bits."""

    width: int
    signed: bool
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """`count` elements of `size` bytes each."""

    count: int
    size: int
    element: Shape


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Members by name and offset; an anonymous one has no name, and its members are those of the record."""

    members: tuple[tuple[str, int, Shape], ...]


Shape = ScalarShape | ArrayShape | RecordShape


@dataclass(frozen=True, slots=True)
class SourceObject:
    """A variable that is an object in memory: its name, where that can be used, and what of it has a name
    (None: nothing that is known)."""

    name: str
    scope: Span
    shape: Shape | None


def extent(shape: Shape | None) -> int:
    """Bytes from the start of an object that certainly belong to it."""
    if isinstance(shape, ArrayShape):
        return shape.count * shape.size
    return shape.width // 8 if isinstance(shape, ScalarShape) else 0


def lvalue(name: str, shape: Shape, offset: int, width: int) -> tuple[str, ScalarShape] | None:
    """The lvalue for the `width` bytes at `offset` of an object, and its shape; None if there is none."""
    work: list[tuple[str, Shape, int]] = [(name, shape, offset)]
    while work:
        text, part, at = work.pop()
        if isinstance(part, ScalarShape):
            if at == 0 and part.width == 8 * width:
                return text, part
        elif isinstance(part, ArrayShape):
            if 0 <= at < part.count * part.size:
                work.append((f"{text}[{at // part.size}]", part.element, at % part.size))
        else:
            inner = [(m, start, s) for m, start, s in part.members if start <= at]
            work += [(f"{text}.{m}" if m else text, s, at - start) for m, start, s in reversed(inner)]
    return None
