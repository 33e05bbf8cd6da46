"""From debug locations to places and words of the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.ir.debug import Debug, DebugVariable, Place
from certus.frontend.c.library.table import SYSTEM_HEADERS
from certus.frontend.c.source.parts import Kind
from certus.frontend.c.source.probes import ProbedText
from certus.frontend.c.source.scopes import scope
from certus.frontend.c.source.statements import Statements
from certus.frontend.c.source.statements import Written as Statement

Finder = Callable[[Statements, int, int], Statement | None]
_MARKER: Final = re.compile(
    r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)"[ \t\d]*)?[ \t]*\r?$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Written:
    """A step of the source: its stretch, its text, and the whole statement."""

    span: Span
    text: str
    statement: Span


class Sources:
    """One file, as Clang knew it (`main`) and as the user does (`shown`). With `blanked`, line markers were
    taken out before Clang read it; with `probed`, probes were put into it."""

    def __init__(
        self,
        debug: Debug,
        main: str,
        shown: str,
        text: str,
        *,
        blanked: bool,
        probed: ProbedText | None = None,
    ) -> None:
        self._debug = debug
        self._main = main
        self._shown = shown
        self.text = text
        self._blanked = blanked
        self._probed = probed
        self._declared = 0 if probed is None else 1  # lines in front of the text
        self._statements: Statements | None = None
        self._files: dict[int, str] = {}  # of scopes
        self._written: dict[int, Written | None] = {}
        self._parts: dict[int, Written] = {}
        self._marked: list[int] = []
        self._claims: list[tuple[str, int]] = []
        file, line, last = shown, 1, 0
        for match in _MARKER.finditer(text) if "#" in text else ():
            line += text.count("\n", last, match.start(1))
            last = match.start(1)
            file = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else file
            self._marked.append(line)
            self._claims.append((file, int(match[1])))

    @property
    def statements(self) -> Statements:
        if self._statements is None:
            self._statements = Statements(self._shown, self.text)
        return self._statements

    def file(self, scope_: int) -> str:
        """Return the file that a scope is in."""
        found = self._files.get(scope_)
        if found is None:
            found = self._files[scope_] = self._debug.file(scope_)
        return found

    def presumed(self, line: int) -> tuple[str, int]:
        """Return what line markers claim a line of the file to be."""
        at = bisect_right(self._marked, line - 1) - 1
        if at < 0:
            return self._shown, line
        file, claimed = self._claims[at]
        return file, claimed + line - self._marked[at] - 1

    def physical(self, file: str, line: int) -> int | None:
        """Return the line of the file that a position of Clang's is in; None if it is in another file."""
        if self._blanked or not self._marked:
            found = line - self._declared
            return found if file == self._main and found > 0 else None
        ends = [*self._marked[1:], self.text.count("\n") + 2]
        for marked, end, (claimed_file, claimed) in zip(self._marked, ends, self._claims, strict=True):
            same = file == claimed_file or file.endswith("/" + claimed_file)
            if same and claimed <= line < claimed + end - marked - 1:
                return marked + 1 + line - claimed
        first = line < self._marked[0] and file == self._main
        return line if first else None

    def of_library(self, file: str, line: int) -> bool:
        """Whether what is declared at a place is part of the C library."""
        found = self.physical(file, line)
        names = (file,) if found is None else (file, self.presumed(found)[0])
        return any(part in name for part in SYSTEM_HEADERS for name in names)

    # ----------------------------------------------------------------------------------- places

    def position(self, place: Place) -> tuple[int, int] | None:
        """Return line and column, in characters, of a place in the file; None if it is elsewhere."""
        line = self.physical(self.file(place.scope), place.line) if place.line else None
        if line is None:
            return None
        column = place.column
        if column and self._probed is not None:
            line, column = self._probed.place(line + self._declared, column)
        return line, self.statements.tokens.column(line, column) if column else 0

    def span_at(self, file: str, line: int, column: int) -> Span | None:
        """Return the token at a place that Clang names, column in bytes; None if it is in another file."""
        found = self.physical(file, line)
        if found is None:
            return None
        if self._probed is not None:
            found, column = self._probed.place(found + self._declared, column)
        tokens = self.statements.tokens
        column = tokens.column(found, column)
        token = tokens.at(found, column)
        span = Span(self._shown, found, column, found, column + 1)
        return self._span(span if token is None else tokens.span(token, token, self._shown))

    def probe(self, number: int | None) -> int | None:
        """Return the number of the probe that a debug location belongs to."""
        place = self._debug.place(number) if self._probed is not None else None
        if place is None or self._probed is None or not place.column:
            return None
        line = self.physical(self.file(place.scope), place.line)
        return None if line is None else self._probed.probe(line + self._declared, place.column)

    def written(self, number: int | None) -> Written | None:
        """Return what is written at a debug location."""
        if number is None:
            return None
        if number not in self._written:
            place = self._debug.place(number)
            self._written[number] = None if place is None or not place.line else self._find(place)
        return self._written[number]

    def _find(self, place: Place) -> Written:
        position = self.position(place)
        if position is None:
            file = self.file(place.scope)
            column = max(place.column, 1)
            span = Span(file, place.line, column, place.line, column + 1, file, place.line)
            return Written(span, "", span)
        return self._at(*position)

    def _at(self, line: int, column: int) -> Written:
        """What is written at a place; places in one statement share it, where it has no parts."""
        statements = self.statements
        tokens = statements.tokens
        token = tokens.at(line, column) if column else None
        if token is not None and tokens.texts[token : token + 2] == ["}", "while"]:
            token += 1  # the condition of `do ... while`
            line, column = tokens.place(tokens.starts[token])
        number = None if token is None else statements.part(token)
        known = None if number is None else self._parts.get(number)
        if known is not None:
            return known
        found = statements.at(line, column)
        if found is None:
            span = self._span(Span(self._shown, line, max(column, 1), line, max(column, 1) + 1))
            return Written(span, "}", span)
        made = Written(self._span(found.span), found.text, self._span(found.statement))
        if number is not None and statements.parts[number].kind not in (Kind.FOR, Kind.DECLARATION):
            self._parts[number] = made
        return made

    def _span(self, span: Span) -> Span:
        file, line = self.presumed(span.line)
        return Span(span.file, span.line, span.column, span.end_line, span.end_column, file, line)

    def part(self, number: int | None, find: Finder) -> tuple[Span, str] | None:
        """Return what `find` finds at a debug location: its stretch, and its text."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        found = None if position is None else find(self.statements, *position)
        return None if found is None else (self._span(found.span), found.text)

    def call(self, number: int | None) -> tuple[Span, str] | None:
        """Return the call that starts at a debug location."""
        return self.part(number, Statements.call)

    def watched(self, number: int | None, places: frozenset[tuple[int, int | None]]) -> bool:
        """Whether the `?` of the condition at a debug location is at one of some places."""
        place = self._debug.place(number) if places else None
        position = None if place is None else self.position(place)
        mark = None if position is None else self.statements.question_mark(*position)
        return mark is not None and (mark in places or (mark[0], None) in places)

    def around(self, number: int | None) -> Span | None:
        """Return the `if` statement that a debug location is in the body of."""
        found = self.part(number, Statements.enclosing_if)
        return None if found is None else found[0]

    def argument(self, number: int | None) -> str | None:
        """Return what stands in the parentheses at a debug location."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        return None if position is None else self.statements.argument(*position)

    def line_span(self, file: str, line: int) -> Span:
        """Return a whole line, of this file or another."""
        found = self.physical(file, line)
        if found is None:
            return Span(file, max(line, 1), 1, max(line, 1), 2, file, max(line, 1))
        return self._span(Span(self._shown, found, 1, found, 2))

    def scope(self, variable: DebugVariable, number: int | None) -> Span | None:
        """Return where the name of a variable can be used; `number` is the location of its declaration."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        if position is None and number is None and variable.line:
            line = self.physical(variable.file, variable.line)
            column = None if line is None else self._column_of(variable.name, line)
            position = None if line is None or column is None else (line, column)
        return None if position is None else scope(self.statements, *position)

    def declaration(self, variable: DebugVariable) -> tuple[Span, str] | None:
        """Return the declaration of a static variable."""
        line = self.physical(variable.file, variable.line) if variable.line else None
        column = None if line is None else self._column_of(variable.name, line)
        found = None if line is None or column is None else self.statements.at(line, column)
        return None if found is None else (self._span(found.span), found.text)

    def _column_of(self, name: str, line: int) -> int | None:
        """The column where a name stands first in a line."""
        texts = self.text.split("\n", line)
        found = re.search(rf"\b{re.escape(name)}\b", texts[line - 1]) if line <= len(texts) else None
        return None if found is None else found.start() + 1
