"""Expressions of others, put into a program at a place: `__certus_probe(N, expression)`.

Clang reads them in the scope of that place. A probe of a loop is evaluated each time before the loop's
condition is, one of a statement before the statement. Its expression must be one, without side effects,
whatever its author tried. Lowering makes the failure of probe N an error site of its own
(`core.witness.probe_kind`); the steps of probes are marked, so that they can be told from the program.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import Unsupported
from certus.frontend.c import ast
from certus.frontend.c.edits import EditedText, Insertion
from certus.frontend.c.source.probes import DECLARATION, FUNCTION, Probe, check_expression, refuse

_LOOPS: Final = (ast.While, ast.DoWhile, ast.For)
_LABELS: Final = (ast.Label, ast.Case, ast.Default)
_KEYWORD: Final = re.compile(r"(while|for|do)\b")
_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spot:
    """A statement; in a block, others can be put in front of it."""

    statement: ast.Statement
    in_block: bool


class Spots:
    """The statements of a unit by the lines in which they start."""

    def __init__(self, unit: ast.Unit) -> None:
        self.text = unit.source
        self._lines = unit.source.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line.encode()) + 1)
        self._by_line: dict[int, list[tuple[int, Spot]]] = {}
        self._functions: list[Span] = []
        for function in unit.functions.values():
            if function.body is not None:
                self._functions.append(function.span)
                for spot in _spots(function.body):
                    span = spot.statement.span
                    if span.file == unit.file:
                        self._by_line.setdefault(span.line, []).append((span.column, spot))
        for found in self._by_line.values():
            found.sort(key=lambda each: each[0])

    def insertions(self, probe: Probe) -> list[Insertion]:
        """What makes the program evaluate the probe at its place. Raises `InputError` if it has none,
        `Unsupported` if that is in no function that is ever called."""
        check_expression(probe)
        call = f"{FUNCTION}({probe.number}, ({probe.text}))"
        spot = self._find(probe)
        return self._in_loop(probe, spot, call) if probe.loop else self._before(spot, call)

    def _find(self, probe: Probe) -> Spot:
        """The statement at a place: with a column exactly there, without one the first in the line."""
        place, what = probe.place, "loop" if probe.loop else "statement"
        found = [
            each
            for each in self._by_line.get(place.line, ())
            if not probe.loop or isinstance(_inner(each[1]).statement, _LOOPS)
        ]
        exact = [spot for column, spot in found if place.column in (None, column)]
        if exact:
            return _inner(exact[0])
        if probe.loop and len(found) == 1:
            return _inner(found[0][1])
        written = "".join(self._lines[place.line - 1 : place.line]).strip()
        called = any(span.line <= place.line <= span.end_line for span in self._functions)
        if written and not written.startswith(("#", "//")) and not called:
            message = f"Line {place.line} is in no function that `main` can call."
            raise Unsupported(Diagnostic("unreachable-place", message, span=probe.span))
        if not found:
            refuse(probe, f"In line {place.line} starts no {what}.")
        columns = ", ".join(str(column) for column, _ in found)
        refuse(
            probe,
            f"No {what} starts in line {place.line}, column {place.column}.",
            f"In that line {what}s start in column {columns}.",
        )

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][: column - 1].encode())

    def _start(self, span: Span) -> int:
        return self._offset(span.line, span.column)

    def _before(self, spot: Spot, call: str) -> list[Insertion]:
        span = spot.statement.span
        start = self._start(span)
        if spot.in_block:
            return [Insertion(start, f"{call}; ".encode())]
        end = self._offset(span.end_line, span.end_column)
        if not isinstance(spot.statement, ast.Block):
            rest = self.text.encode()[end:].decode()
            blank = _SPACE.match(rest)
            assert blank is not None
            if rest[blank.end() : blank.end() + 1] == ";":
                end += len(rest[: blank.end() + 1].encode())
        return [Insertion(start, f"{{ {call}; ".encode()), Insertion(end, b" }")]

    def _in_loop(self, probe: Probe, spot: Spot, call: str) -> list[Insertion]:
        loop = spot.statement
        assert isinstance(loop, _LOOPS)
        written = self._lines[loop.span.line - 1][loop.span.column - 1 :]
        if _KEYWORD.match(written) is None:
            refuse(probe, "The loop stands in a macro, where nothing can be put.")
        if loop.condition is not None:
            return [Insertion(self._start(loop.condition.span), f"{call}, ".encode())]
        return [Insertion(self._after_first_part(loop.span), f" {call},".encode())]

    def ends(self, probes: Sequence[Probe]) -> list[Insertion]:
        """A condition for the loops without one that have got probes."""
        loops = [spot.statement for probe in probes if probe.loop for spot in [self._find(probe)]]
        bare = [loop.span for loop in loops if isinstance(loop, ast.For) and loop.condition is None]
        return [Insertion(at, b" 1") for at in dict.fromkeys(self._after_first_part(span) for span in bare)]

    def _after_first_part(self, span: Span) -> int:
        """Behind the first `;` of `for (...;...;...)`."""
        start = self._start(span)
        text = self.text.encode()[start:].decode()
        depth = 0
        skipped = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\n]*|/\*.*?\*/|[(){};]', re.DOTALL)
        for match in skipped.finditer(text):
            depth += (match[0] in "({") - (match[0] in ")}") if len(match[0]) == 1 else 0
            if match[0] == ";" and depth == 1:
                return start + len(text[: match.end()].encode())
        return start


def _inner(spot: Spot) -> Spot:
    """The statement behind labels."""
    while isinstance(spot.statement, _LABELS):
        spot = Spot(spot.statement.body, False)
    return spot


def _spots(body: ast.Statement) -> Iterator[Spot]:
    stack = [Spot(body, False)]
    while stack:
        spot = stack.pop()
        node = spot.statement
        if isinstance(node, ast.Block):
            stack.extend(Spot(each, True) for each in reversed(node.statements))
        elif isinstance(node, ast.If):
            branches = (node.otherwise, node.then)
            stack.extend(Spot(each, False) for each in branches if each is not None)
        elif isinstance(node, (*_LOOPS, ast.Switch, *_LABELS)):
            stack.append(Spot(node.body, False))
        if not isinstance(node, (ast.Block, ast.UnmodelledStatement)):
            yield spot


def edited_text(unit: ast.Unit, data: bytes, probes: Sequence[Probe]) -> EditedText:
    """The bytes of the unit's file with probes; a byte order mark stays first."""
    spots = Spots(unit)
    first = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    inserted = [insertion for probe in probes for insertion in spots.insertions(probe)]
    found = (Insertion(0, DECLARATION.encode()), *inserted, *spots.ends(probes))
    return EditedText(data, [Insertion(first + each.offset, each.text) for each in found])
