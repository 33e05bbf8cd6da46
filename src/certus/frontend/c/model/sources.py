"""From debug locations to places and words of the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.ir.debug import Debug, DebugVariable, Place
from certus.frontend.c.ir.module import Function
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


class SourceFile:
    """One file, as Clang knew it (`main`) and as the user does (`shown`). With `blanked`, line markers were
    taken out before Clang read it; with `probed`, probes were put into it."""

    def __init__(
        self, main: str, shown: str, text: str, *, blanked: bool, probed: ProbedText | None = None
    ) -> None:
        self._main = main
        self.shown = shown
        self.text = text
        self._blanked = blanked
        self.probed = probed
        self._declared = 0 if probed is None else 1  # lines in front of the text
        self._statements: Statements | None = None
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
            self._statements = Statements(self.shown, self.text)
        return self._statements

    def written(self, line: int, column: int) -> Written:
        """Return what is written at a place; places in one statement share it, where it has no parts."""
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
            span = self.presuming(Span(self.shown, line, max(column, 1), line, max(column, 1) + 1))
            return Written(span, "}", span)
        made = Written(self.presuming(found.span), found.text, self.presuming(found.statement))
        if number is not None and statements.parts[number].kind not in (Kind.FOR, Kind.DECLARATION):
            self._parts[number] = made
        return made

    def presumed(self, line: int) -> tuple[str, int]:
        """Return what line markers claim a line of the file to be."""
        at = bisect_right(self._marked, line - 1) - 1
        if at < 0:
            return self.shown, line
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

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return line and column, in characters, of a column, in bytes, that Clang names in a line of the
        file. Column 0 stands for none."""
        if column and self.probed is not None:
            line, column = self.probed.place(line + self._declared, column)
        return line, self.statements.tokens.column(line, column) if column else 0

    def span_at(self, file: str, line: int, column: int) -> Span | None:
        """Return the token at a place that Clang names, column in bytes; None if it is in another file."""
        found = self.physical(file, line)
        if found is None:
            return None
        at, character = self.place(found, column)
        tokens = self.statements.tokens
        token = tokens.at(at, character)
        span = Span(self.shown, at, character, at, character + 1)
        return self.presuming(span if token is None else tokens.span(token, token, self.shown))

    def probe(self, line: int, column: int) -> int | None:
        """Return the number of the probe that a column, in bytes, that Clang names in a line belongs to."""
        return None if self.probed is None else self.probed.probe(line + self._declared, column)

    def presuming(self, span: Span) -> Span:
        """Return a stretch of this file with what line markers claim it to be."""
        file, line = self.presumed(span.line)
        return Span(span.file, span.line, span.column, span.end_line, span.end_column, file, line)

    def column_of(self, name: str, line: int) -> int | None:
        """Return the column where a name stands first in a line."""
        texts = self.text.split("\n", line)
        found = re.search(rf"\b{re.escape(name)}\b", texts[line - 1]) if line <= len(texts) else None
        return None if found is None else found.start() + 1


Position = tuple[SourceFile, int, int]


class Sources:
    """All files of a program. `bases` are the numbers at which the metadata of each file starts."""

    def __init__(self, debug: Debug, files: Sequence[SourceFile], bases: Sequence[int] = (0,)) -> None:
        self._debug = debug
        self.files = tuple(files)
        self._bases = tuple(bases)
        self._has_probes = any(source.probed is not None for source in self.files)
        self._scope_files: dict[int, str] = {}
        self._written: dict[int, Written | None] = {}

    def _file(self, scope_: int) -> str:
        """Return the path of the file that a scope is in."""
        found = self._scope_files.get(scope_)
        if found is None:
            found = self._scope_files[scope_] = self._debug.file(scope_)
        return found

    def find(self, file: str, line: int, number: int | None) -> tuple[SourceFile, int] | None:
        """Return the file, and the line in it, that a position of Clang's is in; None if it is in a header.
        `number` is that of metadata of the position: the file it comes from is looked at first, since line
        markers of several may claim the same place."""
        files = self.files
        if number is not None and len(files) > 1:
            files = (files[bisect_right(self._bases, number) - 1], *files)
        for source in files:
            found = source.physical(file, line)
            if found is not None:
                return source, found
        return None

    def of_library(self, file: str, line: int, number: int | None) -> bool:
        """Whether what is declared at a place is part of the C library."""
        found = self.find(file, line, number)
        names = (file,) if found is None else (file, found[0].presumed(found[1])[0])
        return any(part in name for part in SYSTEM_HEADERS for name in names)

    # ----------------------------------------------------------------------------------- places

    def position(self, place: Place) -> Position | None:
        """Return file, line and column, in characters, of a place; None if it is in a header."""
        found = self.find(self._file(place.scope), place.line, place.scope) if place.line else None
        if found is None:
            return None
        source, line = found
        return source, *source.place(line, place.column)

    def probe(self, number: int | None) -> int | None:
        """Return the number of the probe that a debug location belongs to."""
        place = self._debug.place(number) if self._has_probes else None
        if place is None or not place.column:
            return None
        found = self.find(self._file(place.scope), place.line, place.scope)
        return None if found is None else found[0].probe(found[1], place.column)

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
            file = self._file(place.scope)
            column = max(place.column, 1)
            span = Span(file, place.line, column, place.line, column + 1, file, place.line)
            return Written(span, "", span)
        source, line, column = position
        return source.written(line, column)

    def statement(self, position: Position | None) -> Span | None:
        """Return the statement at a position."""
        if position is None:
            return None
        source, line, column = position
        found = source.statements.at(line, column)
        return None if found is None else source.presuming(found.statement)

    def part(self, number: int | None, find: Finder) -> tuple[Span, str] | None:
        """Return what `find` finds at a debug location: its stretch, and its text."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        found = None if position is None else find(position[0].statements, *position[1:])
        return None if position is None or found is None else (position[0].presuming(found.span), found.text)

    def call(self, number: int | None) -> tuple[Span, str] | None:
        """Return the call that starts at a debug location."""
        return self.part(number, Statements.call)

    def watched(self, number: int | None, places: frozenset[tuple[int, int | None]]) -> bool:
        """Whether the `?` of the condition at a debug location is at one of some places."""
        place = self._debug.place(number) if places else None
        position = None if place is None else self.position(place)
        mark = None if position is None else position[0].statements.question_mark(*position[1:])
        return mark is not None and (mark in places or (mark[0], None) in places)

    def around(self, number: int | None) -> Span | None:
        """Return the `if` statement that a debug location is in the body of."""
        found = self.part(number, Statements.enclosing_if)
        return None if found is None else found[0]

    def argument(self, number: int | None) -> str | None:
        """Return what stands in the parentheses at a debug location."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        return None if position is None else position[0].statements.argument(*position[1:])

    def line_span(self, file: str, line: int, number: int | None) -> Span:
        """Return a whole line, of one of the files or a header."""
        found = self.find(file, line, number)
        if found is None:
            return Span(file, max(line, 1), 1, max(line, 1), 2, file, max(line, 1))
        source, at = found
        return source.presuming(Span(source.shown, at, 1, at, 2))

    def function_span(self, function: Function) -> Span | None:
        """Return where a function stands."""
        if function.debug is None:
            return None
        file, line = self._debug.file(function.debug), self._debug.node(function.debug).number("line")
        found = self.find(file, line, function.debug)
        if found is None:
            return self.line_span(file, line, function.debug)
        source, at = found
        column = source.column_of(self._debug.node(function.debug).string("name"), at) or 1
        return self.statement((source, at, column)) or self.line_span(file, line, function.debug)

    def scope(self, variable: DebugVariable, number: int | None) -> Span | None:
        """Return where the name of a variable can be used; `number` is the location of its declaration."""
        place = self._debug.place(number)
        position = None if place is None else self.position(place)
        if position is None and number is None and variable.line:
            position = self._declared_at(variable)
        return None if position is None else scope(position[0].statements, *position[1:])

    def declaration(self, variable: DebugVariable) -> tuple[Span, str] | None:
        """Return the declaration of a static variable."""
        position = self._declared_at(variable) if variable.line else None
        found = None if position is None else position[0].statements.at(*position[1:])
        return None if position is None or found is None else (position[0].presuming(found.span), found.text)

    def _declared_at(self, variable: DebugVariable) -> Position | None:
        """Where the name of a variable stands first in the line of its declaration."""
        found = self.find(variable.file, variable.line, variable.scope)
        column = None if found is None else found[0].column_of(variable.name, found[1])
        return None if found is None or column is None else (*found, column)
