"""Put probes into a program: expressions of a witness, as calls `__certus_probe(N, expression)`.

Clang reads each expression in the scope of its place. The probe of a loop is evaluated each time before the
loop's condition, that of a statement before the statement. This module makes sure that the inserted text is a
single expression; the lowering sees in the IR whether it has side effects. The failure of probe N is an error
site of its own (`core.witness.probe_kind`).
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.witness import PROBE, Place
from certus.frontend.c.source.statements import Kind, Part, Statements
from certus.frontend.c.source.tokens import Tokens

DECLARATION: Final = f"void {PROBE}(int, _Bool);\n"
CODE: Final = "bad-witness"
_LOOPS: Final = (Kind.WHILE, Kind.DO, Kind.FOR)
_TOKEN: Final = re.compile(
    r"""(?P<literal>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<wrong>//|/\*|<%|%>|%:|\?\?|[;{}\#\\"'@`$])|(?P<open>[(\[])|(?P<close>[)\]])""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """An expression at a place; `loop` tells whether it belongs to a loop. `span` is its place in the
    witness."""

    number: int
    place: Place
    expression: str
    loop: bool = False
    span: Span | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the expression in one line."""
        return " ".join(self.expression.split())


def refuse(probe: Probe, message: str, hint: str | None = None) -> NoReturn:
    raise InputError([Diagnostic(CODE, message, span=probe.span, hint=hint)])


class Insertion(NamedTuple):
    """`text`, perhaps with a call of a probe, is inserted in front of the byte at `offset`."""

    offset: int
    text: bytes
    probe: int | None = None


class EditedText:
    """A text with insertions; those at one offset keep their order."""

    def __init__(self, original: bytes, insertions: Sequence[Insertion]) -> None:
        self._insertions = sorted(insertions, key=lambda each: each.offset)
        self._starts: list[int] = []  # of the insertions, in the edited text
        parts: list[bytes] = []
        at = inserted = 0
        for offset, text, _ in self._insertions:
            parts += [original[at:offset], text]
            self._starts.append(offset + inserted)
            at, inserted = offset, inserted + len(text)
        self.data = b"".join((*parts, original[at:]))

    def locate(self, offset: int) -> tuple[int, Insertion | None]:
        """Return where an offset of the edited text is in the original, and the insertion that it is in."""
        last = bisect_right(self._starts, offset) - 1
        if last < 0:
            return offset, None
        insertion, distance = self._insertions[last], offset - self._starts[last]
        length = len(insertion.text)
        if distance < length:
            return insertion.offset, insertion
        return insertion.offset + distance - length, None


class ProbedText:
    """The bytes of a file with probes; a byte order mark stays first. Raises `InputError` for a probe that
    has no place or is not an expression, `Unsupported` for one that is outside all functions."""

    def __init__(self, statements: Statements, data: bytes, probes: Sequence[Probe]) -> None:
        first = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        added = _Insertions(statements)
        for probe in probes:
            added.add(probe)
        declaration = Insertion(0, DECLARATION.encode())
        insertions = [declaration, *added.closings, *added.insertions, *added.conditions()]
        self._edited = EditedText(data, [each._replace(offset=first + each.offset) for each in insertions])
        self.data = self._edited.data
        self._lines = _line_starts(self.data)
        self._original = _line_starts(data)

    def _offset(self, line: int, column: int) -> int | None:
        exists = 1 <= line <= len(self._lines) and column >= 1
        return self._lines[line - 1] + column - 1 if exists else None

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Convert a line and a column, in bytes, of the text with probes to those of the text without."""
        offset = self._offset(line, column)
        if offset is None:
            return line - 1, column
        original, _ = self._edited.locate(offset)
        number = bisect_right(self._original, original)
        return number, original - self._original[number - 1] + 1

    def probe(self, line: int, column: int) -> int | None:
        """Return the number of the probe that a line and a column of the text with probes belong to."""
        offset = self._offset(line, column)
        insertion = None if offset is None else self._edited.locate(offset)[1]
        return None if insertion is None else insertion.probe


def _line_starts(data: bytes) -> list[int]:
    return [0, *(match.end() for match in re.finditer(b"\n", data))]


class _Insertions:
    """The insertions that make a program evaluate probes; offsets are in bytes."""

    def __init__(self, statements: Statements) -> None:
        self.insertions: list[Insertion] = []
        self.closings: list[Insertion] = []  # braces, which end before whatever is inserted at the same place
        self._statements = statements
        self._tokens = statements.tokens
        self._ascii = statements.tokens.text.isascii()
        self._by_line: dict[int, list[tuple[int, Part]]] = {}  # columns, and the statements that start there
        self._tails: dict[int, Part] = {}  # the conditions of `do`, by the keyword
        self._bare: dict[int, None] = {}  # where loops have no condition
        for number, part in enumerate(statements.parts):
            if part.kind is Kind.DO_WHILE:
                self._tails[part.begin] = part
            elif part.kind is not Kind.FUNCTION and part.block >= 0:
                line, column = self._tokens.place(self._tokens.starts[part.first])
                self._by_line.setdefault(line, []).append((column, self._behind_labels(number)))

    def add(self, probe: Probe) -> None:
        check_expression(probe)
        call, part = f"{PROBE}({probe.number}, ({probe.text}))", self._find(probe)
        offset, text = self._in_loop(part, call) if probe.loop else self._before(part, call)
        self.insertions.append(Insertion(offset, text.encode(), probe.number))

    def conditions(self) -> list[Insertion]:
        """Return a condition for each loop with a probe that has none."""
        return [Insertion(at, b" 1") for at in self._bare]

    def _find(self, probe: Probe) -> Part:
        """Return the statement at a place: with a column exactly there, without one the first in the line."""
        place, what = probe.place, "loop" if probe.loop else "statement"
        here = self._by_line.get(place.line, [])
        fitting = [each for each in here if not probe.loop or _is_loop(each[1])]
        exact = [part for column, part in fitting if place.column in (None, column)]
        if not exact and probe.loop and len(fitting) == 1 and fitting[0][1].kind in _LOOPS:
            exact = [fitting[0][1]]
        if exact:
            if probe.loop and exact[0].kind not in _LOOPS:
                refuse(probe, "This loop is the use of a macro, into which no expression can be inserted.")
            return exact[0]
        if not here and self._is_outside(place.line):
            message = f"Line {place.line} is in no function."
            raise Unsupported(Diagnostic("unreachable-place", message, span=probe.span))
        if not fitting:
            refuse(probe, f"No {what} starts in line {place.line}.")
        columns = ", ".join(dict.fromkeys(str(column) for column, _ in fitting))
        message = f"No {what} starts in line {place.line}, column {place.column}."
        refuse(probe, message, f"In that line {what}s start in column {columns}.")

    def _behind_labels(self, number: int) -> Part:
        """Return the statement that labels belong to: the next part that is not a label."""
        parts = self._statements.parts
        while (
            number + 1 < len(parts)
            and parts[number].kind is Kind.LABEL
            and parts[number + 1].first == parts[number].last + 1
        ):
            number += 1
        return parts[number]

    def _is_outside(self, line: int) -> bool:
        """Return whether the first token of a line belongs to no function."""
        token = next(iter(self._tokens.in_line(line)), None)
        part = None if token is None else self._statements.part(token)
        return part is not None and part.block < 0

    def _before(self, part: Part, call: str) -> tuple[int, str]:
        """Return where a call of a probe before a statement is inserted, and its text."""
        start = self._offset(self._tokens.starts[part.begin])
        if not part.single:
            return start, f"{call}; "
        self.closings.append(Insertion(self._offset(self._tokens.ends[part.stop]), b" }"))
        return start, f"{{ {call}; "

    def _in_loop(self, part: Part, call: str) -> tuple[int, str]:
        """Return where a call of a probe in the condition of a loop is inserted, and its text."""
        if part.kind is not Kind.FOR:
            part = self._tails[part.first] if part.kind is Kind.DO else part
            return self._offset(self._tokens.ends[part.first + 1]), f"{call}, "
        first, last = self._statements.stretches(part)[1]
        at = self._offset(self._tokens.ends[first - 1])
        if first > last:
            self._bare[at] = None
        return at, f" {call},"

    def _offset(self, character: int) -> int:
        if self._ascii:
            return character
        return len(self._tokens.text[:character].encode("utf-8", "surrogateescape"))


def _is_loop(part: Part) -> bool:
    """Return whether a part is a loop, or the use of a macro with a block after it, which may be one."""
    return part.kind in _LOOPS or (part.kind is Kind.EXPRESSION and part.end > part.last)


def check_expression(probe: Probe) -> None:
    """Refuse text that would not stay inside its parentheses."""
    if PROBE in probe.expression:
        refuse(probe, f"`{PROBE}` is a function of Certus, which no expression may call.")
    stack: list[str] = []
    for match in _TOKEN.finditer(probe.expression):
        if match["wrong"]:
            refuse(probe, f"`{match['wrong']}` cannot be part of a C expression.")
        if match["open"]:
            stack.append(")" if match["open"] == "(" else "]")
        elif match["close"] and not (stack and stack.pop() == match["close"]):
            stack.append("unmatched")
            break
    if stack or not probe.expression.strip():
        refuse(probe, "The parentheses of this expression do not match, or it is empty.")


def conjuncts(expression: str) -> list[str]:
    """Return the operands of `&&` outside parentheses, unless a weaker operator stands there."""
    tokens = Tokens(expression)
    operands, start, at = list[str](), 0, 0
    while at < len(tokens):
        if tokens.texts[at] in ("||", "?", ","):
            return [expression]
        if tokens.texts[at] == "&&":
            operands.append(expression[start : tokens.starts[at]].strip())
            start = tokens.ends[at]
        at = max(at, tokens.partners[at]) + 1
    operands.append(expression[start:].strip())
    return operands if all(operands) else [expression]
