"""A trampoline: recursive descent without Python's stack.

A lowering routine is a generator. It yields the routine for a part of its tree (or a finished result, for
parts without parts) and is sent that part's result; what it returns is its own result. Nesting is a list, so
trees may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Generator
from types import GeneratorType
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]  # a routine whose result is a T


def run(first: Any) -> Any:
    """The result of a routine (or of what is already a result)."""
    if not isinstance(first, GeneratorType):
        return first
    stack: list[Generator[Any, Any, Any]] = [first]
    result: Any = None
    while stack:
        try:
            part = stack[-1].send(result)
        except StopIteration as end:
            stack.pop()
            result = end.value
            continue
        if isinstance(part, GeneratorType):
            stack.append(part)
            result = None
        else:
            result = part
    return result
