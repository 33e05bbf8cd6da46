"""Read the JSON that Clang prints: one value, key or bracket a line.

`orjson` refuses nesting beyond a thousand levels, which an `else if` chain of some hundred branches reaches.
Since every line is either a bracket or one scalar, such a text is put together line by line, without
recursion.
"""

from __future__ import annotations

from typing import Any, Final

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded

Tree = dict[str, Any]


class NotATree(ValueError):
    """The text is not what Clang prints."""


_BYTES_PER_SECOND: Final = 400_000_000  # of text that `orjson` reads, which nothing can interrupt
_LINES: Final = 10_000  # between looks at the clock


def load_lines(text: bytes, budget: Budget | None = None) -> Tree:
    """The object that `text` describes; indentation does not matter. Raises `BudgetExceeded`, also if the
    text is too long for the time that is left."""
    import orjson

    budget = budget or Budget()
    left = budget.remaining()
    if left is not None and left < len(text) / _BYTES_PER_SECOND:
        raise BudgetExceeded("time")
    try:
        tree = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth" not in str(error) and "recursion" not in str(error):
            try:
                tree = orjson.loads(text.decode(errors="replace"))
            except orjson.JSONDecodeError:
                raise NotATree(str(error)) from error
        else:
            tree = _assemble(text, budget)
    if not isinstance(tree, dict):
        raise NotATree("the outermost value is not an object")
    return tree


def _assemble(text: bytes, budget: Budget) -> Any:
    """The value of a text of any depth: a stack of the objects and lists that are open."""
    import orjson

    top: list[Any] = []
    current: Any = top
    stack: list[Any] = []
    try:
        for number, indented in enumerate(text.decode(errors="replace").split("\n")):
            if number % _LINES == 0:
                budget.check()
            line = indented.lstrip(" ")
            if not line:
                continue
            last = line[-1]
            if last in "{[" and (len(line) == 1 or line[-3:-1] == ": "):
                new: Any = {} if last == "{" else []
                _put(current, line[:-3] if len(line) > 1 else "", new)
                stack.append(current)
                current = new
            elif line in ("}", "},", "]", "],"):
                current = stack.pop()
            else:
                body = line.removesuffix(",")
                if isinstance(current, dict):
                    current.update(orjson.loads("{" + body + "}"))
                else:
                    current.append(orjson.loads(body))
    except (orjson.JSONDecodeError, IndexError, ValueError) as error:
        raise NotATree(str(error)) from error
    if stack or len(top) != 1:
        raise NotATree("it ends too early")
    return top[0]


def _put(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key[1:-1]] = value
    else:
        container.append(value)
