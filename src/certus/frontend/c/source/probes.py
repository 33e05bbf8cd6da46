"""Expressions of others, put into a program at a place: `__certus_probe(N, expression)`.

Clang reads them in the scope of that place. A probe of a loop is evaluated each time before the loop's
condition is, one of a statement before the statement. Its expression must be one, whatever its author tried;
that it has no side effects the lowering sees in the IR. Lowering makes the failure of probe N an error site
of its own (`core.witness.probe_kind`).
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.witness import Place
from certus.frontend.c.edits import EditedText, Insertion
from certus.frontend.c.source.parts import Kind, Part
from certus.frontend.c.source.statements import Statements

FUNCTION: Final = "__certus_probe"
DECLARATION: Final = f"void {FUNCTION}(int, _Bool);\n"
CODE: Final = "bad-witness"
_LOOPS: Final = (Kind.WHILE, Kind.DO, Kind.FOR)
_FORMS: Final = ("{}; ", "{{ {}; ", "{}, ", " {},")  # how a call of a probe is inserted
_LABELS: Final = (Kind.LABEL, Kind.CASE)
_TOKEN: Final = re.compile(
    r"""(?P<literal>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<wrong>//|/\*|<%|%>|%:|\?\?|[;{}\#\\"'@`$])|(?P<open>[(\[])|(?P<close>[)\]])""",
    re.DOTALL,
)
_JOINT: Final = re.compile(r"""\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|&&|\|\||[()\[\]?,]""")


@dataclass(frozen=True, slots=True)
class Probe:
    """`loop`: whether it belongs to a loop. `span` is where a witness has it."""

    number: int
    place: Place
    expression: str
    loop: bool = False
    span: Span | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The expression in one line."""
        return " ".join(self.expression.split())


def refuse(probe: Probe, message: str, hint: str | None = None) -> NoReturn:
    raise InputError([Diagnostic(CODE, message, span=probe.span, hint=hint)])


class ProbedText:
    """The bytes of a file with probes; a byte order mark stays first. Raises `InputError` for a probe that
    has no place or is no expression, `Unsupported` for one that is outside of all functions."""

    def __init__(self, statements: Statements, data: bytes, probes: Sequence[Probe]) -> None:
        self._first = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        insertions = _Insertions(statements)
        for probe in probes:
            insertions.add(probe)
        found = [Insertion(0, DECLARATION.encode()), *insertions.found, *insertions.conditions()]
        self._numbers = insertions.numbers
        self._edited = EditedText(data, [Insertion(self._first + each.offset, each.text) for each in found])
        self.data = self._edited.data
        self._lines = _line_starts(self.data)
        self._original = _line_starts(data)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Where a line and a column, in bytes, of the text with probes are in the text without."""
        if not 1 <= line <= len(self._lines) or column < 1:
            return line - 1, column
        offset = self._edited.back(self._lines[line - 1] + column - 1)
        found = bisect_right(self._original, offset)
        return found, offset - self._original[found - 1] + 1

    def probe(self, line: int, column: int) -> int | None:
        """The number of the probe that a line and a column of the text with probes belong to."""
        if not 1 <= line <= len(self._lines) or column < 1:
            return None
        inserted = self._edited.inserted(self._lines[line - 1] + column - 1)
        return None if inserted is None else self._numbers.get(inserted.text)


def _line_starts(data: bytes) -> list[int]:
    return [0, *(match.end() for match in re.finditer(b"\n", data))]


class _Insertions:
    """What makes the program evaluate probes at their places: offsets are in bytes."""

    def __init__(self, statements: Statements) -> None:
        self.found: list[Insertion] = []
        self.numbers: dict[bytes, int] = {}  # of probes, by the text inserted for each
        self._statements = statements
        self._tokens = statements.tokens
        self._ascii = statements.tokens.text.isascii()
        self._by_line: dict[int, list[int]] = {}
        self._conditions: dict[int, int] = {}  # of `do`: the part of the condition, by the keyword
        self._bare: dict[int, None] = {}  # where loops have no condition
        for number, part in enumerate(statements.parts):
            if part.kind is Kind.DO_WHILE:
                self._conditions[part.begin] = number
            elif part.kind is not Kind.FUNCTION and part.block >= 0:
                line, _ = self._tokens.place(self._tokens.starts[part.first])
                self._by_line.setdefault(line, []).append(number)

    def add(self, probe: Probe) -> None:
        check_expression(probe)
        call = f"{FUNCTION}({probe.number}, ({probe.text}))"
        part = self._statements.parts[self._find(probe)]
        self.numbers |= dict.fromkeys((form.format(call).encode() for form in _FORMS), probe.number)
        if probe.loop:
            self._in_loop(part, call)
        else:
            self._before(part, call)

    def conditions(self) -> list[Insertion]:
        """A condition for loops without one that have got probes."""
        return [Insertion(at, b" 1") for at in self._bare]

    def _find(self, probe: Probe) -> int:
        """The statement at a place: with a column exactly there, without one the first in the line."""
        place, what = probe.place, "loop" if probe.loop else "statement"
        here = [
            (self._column(number), self._behind_labels(number))
            for number in self._by_line.get(place.line, ())
        ]
        found = [(column, n) for column, n in here if not probe.loop or self._is_loop(n)]
        exact = [number for column, number in found if place.column in (None, column)]
        if exact:
            if probe.loop and self._statements.parts[exact[0]].kind not in _LOOPS:
                refuse(probe, "The loop stands in a macro, where nothing can be put.")
            return exact[0]
        if probe.loop and len(found) == 1 and self._statements.parts[found[0][1]].kind in _LOOPS:
            return found[0][1]
        if not found and not here and self._is_outside(place.line):
            message = f"Line {place.line} is in no function."
            raise Unsupported(Diagnostic("unreachable-place", message, span=probe.span))
        if not found:
            refuse(probe, f"In line {place.line} starts no {what}.")
        columns = ", ".join(dict.fromkeys(str(column) for column, _ in found))
        refuse(
            probe,
            f"No {what} starts in line {place.line}, column {place.column}.",
            f"In that line {what}s start in column {columns}.",
        )

    def _column(self, number: int) -> int:
        return self._tokens.place(self._tokens.starts[self._statements.parts[number].first])[1]

    def _behind_labels(self, number: int) -> int:
        """The statement that labels belong to: the next part but for labels."""
        parts = self._statements.parts
        at = number
        while at + 1 < len(parts) and parts[at].kind in _LABELS and parts[at + 1].first == parts[at].last + 1:
            at += 1
        return at

    def _is_loop(self, number: int) -> bool:
        """Whether a part is a loop, or the use of a macro that a block follows, which may be one."""
        part = self._statements.parts[number]
        return part.kind in _LOOPS or (part.kind is Kind.EXPRESSION and part.end > part.last)

    def _is_outside(self, line: int) -> bool:
        """Whether a line has a token in it that belongs to no function."""
        token = self._tokens.first_in(line)
        number = None if token is None else self._statements.part(token)
        return number is not None and self._statements.parts[number].block < 0

    def _before(self, part: Part, call: str) -> None:
        start = self._offset(self._tokens.starts[part.begin])
        if not part.single:
            self.found.append(Insertion(start, f"{call}; ".encode()))
            return
        end = self._offset(self._tokens.ends[part.stop])
        self.found += [Insertion(start, f"{{ {call}; ".encode()), Insertion(end, b" }")]

    def _in_loop(self, part: Part, call: str) -> None:
        if part.kind is Kind.DO:
            part = self._statements.parts[self._conditions[part.first]]
        if part.kind is not Kind.FOR:
            at = self._offset(self._tokens.ends[part.first + 1])
            self.found.append(Insertion(at, f"{call}, ".encode()))
            return
        number = self._statements.part(part.first)
        assert number is not None
        first, last = self._statements.for_stretches(number)[1]
        at = self._offset(self._tokens.ends[first - 1])
        if first > last:
            self._bare[at] = None
        self.found.append(Insertion(at, f" {call},".encode()))

    def _offset(self, character: int) -> int:
        if self._ascii:
            return character
        return len(self._tokens.text[:character].encode("utf-8", "surrogateescape"))


def check_expression(probe: Probe) -> None:
    """Refuse what would not stay inside of its parentheses."""
    stack: list[str] = []
    matching = True
    for match in _TOKEN.finditer(probe.expression):
        if match["wrong"]:
            refuse(probe, f"`{match['wrong']}` cannot be part of an expression of C.")
        if match["open"]:
            stack.append(")" if match["open"] == "(" else "]")
        elif match["close"] and not (stack and stack.pop() == match["close"]):
            matching = False
            break
    if not matching or stack or not probe.expression.strip():
        refuse(probe, "The parentheses of this expression do not match, or it is empty.")


def conjuncts(expression: str) -> list[str]:
    """The parts that `&&` joins outside of parentheses, unless something weaker stands there."""
    found, start, depth = [], 0, 0
    for match in _JOINT.finditer(expression):
        token = match[0]
        depth += (token in "([") - (token in ")]")
        if depth == 0 and token in ("||", "?", ","):
            return [expression]
        if depth == 0 and token == "&&":
            found.append(expression[start : match.start()].strip())
            start = match.end()
    found.append(expression[start:].strip())
    return found if all(found) else [expression]
