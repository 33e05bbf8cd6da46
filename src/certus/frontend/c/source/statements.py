"""The statements of a file: their texts and spans, and the scopes of the names they declare. A statement is
looked up by the number of any of its tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.source.parts import Kind, Part, find_parts
from certus.frontend.c.source.tokens import Declarator, Tokens, declarators, is_declaration

LIMIT: Final = 160  # characters of a text
_UNEVEN: Final = re.compile(r"\s\s|[^\S ]|/[/*]|\\|#|%:|<[:%]|[:%]>")  # text that `quoted` changes
_MARKER: Final = re.compile(
    r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)"[ \t\d]*)?[ \t]*\r?$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Written:
    """A step of the source. `span` is the head of a statement, or the whole statement without the semicolon;
    `statement` is the whole statement."""

    span: Span
    text: str
    statement: Span


class Statements:
    """The statements of one file, which the user knows as `shown`. `markers` has the line of each line
    marker, with the file and the number that it claims for the next line."""

    def __init__(self, shown: str, text: str) -> None:
        self.shown = shown
        self.text = text
        self.tokens = Tokens(text)
        self.parts = find_parts(self.tokens)
        self._firsts = [part.first for part in self.parts]
        self._declarators: dict[Part, list[Declarator]] = {}
        self.markers: list[tuple[int, str, int]] = []
        file, line, last = shown, 1, 0
        for match in _MARKER.finditer(text) if "#" in text else ():
            line += text.count("\n", last, match.start(1))
            last = match.start(1)
            file = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else file
            self.markers.append((line, file, int(match[1])))

    # -------------------------------------------------------------------------------------- parts

    def _number(self, token: int) -> int:
        """Return the number of the innermost part that covers a token, or -1."""
        number = bisect_right(self._firsts, token) - 1
        while number >= 0 and self.parts[number].last < token:
            number = self.parts[number].around
        return number

    def part(self, token: int) -> Part | None:
        """Return the innermost part that covers a token."""
        number = self._number(token)
        return None if number < 0 else self.parts[number]

    def bounds(self, token: int) -> tuple[int, int]:
        """Return the first and the last token of the part that covers a token."""
        part = self.part(token)
        return (token, token) if part is None else (part.first, part.last)

    def enclosing_if(self, token: int) -> tuple[int, int] | None:
        """Return the range of the innermost `if` statement whose body contains a token."""
        for number in range(self._number(token) - 1, -1, -1):
            part = self.parts[number]
            if part.kind is Kind.FUNCTION:
                break
            if part.kind is Kind.IF and part.last < token <= part.end:
                return part.begin, part.end
        return None

    def stretches(self, part: Part) -> list[tuple[int, int]]:
        """Return the first and last tokens of the three parts in the head of a `for`."""
        texts, partners = self.tokens.texts, self.tokens.partners
        stretches: list[tuple[int, int]] = []
        start = at = part.first + 2
        while at < part.last:
            if texts[at] == ";":
                stretches.append((start, at - 1))
                start = at + 1
            at = max(at, partners[at]) + 1
        return [*stretches, (start, part.last - 1)]

    def declarator(self, token: int) -> Declarator | None:
        """Return the declarator that covers a token of a declaration."""
        part = self.part(token)
        if part is None or part.kind not in (Kind.DECLARATION, Kind.FOR):
            return None
        declared = self._declarators.get(part)
        if declared is None:
            first, last = self.stretches(part)[0] if part.kind is Kind.FOR else (part.first, part.last)
            is_one = first <= last and is_declaration(self.tokens, first)
            declared = declarators(self.tokens, first, last) if is_one else []
            self._declarators[part] = declared
        if not declared or token > declared[-1].last:
            return None
        return declared[max(bisect_right(declared, token, key=lambda each: each.first) - 1, 0)]

    # ------------------------------------------------------------------------------------- answers

    def written(self, token: int) -> Written | None:
        """Return what is written at a token: in a declaration, the declarator; in the head of a `for`, the
        part. None where there is no statement, as at a brace."""
        texts = self.tokens.texts
        if texts[token : token + 2] == ["}", "while"]:
            token += 1  # the condition of `do ... while`
        part = self.part(token)
        if part is None:
            return None
        whole = self.span(part.begin, part.end)
        first, last = part.first, part.last
        if part.kind is Kind.FOR:
            return self._of_for(part, token, whole)
        declarator = self.declarator(token)
        if declarator is not None:
            return self._declared(first, declarator, whole)
        text = self.quoted(first, last)
        if part.kind in (Kind.IF, Kind.WHILE, Kind.SWITCH, Kind.DO_WHILE):
            text = f"{texts[first]} ({self.quoted(first + 2, last - 1)})"
        return Written(self.span(first, last), text + ";" * (part.kind is Kind.JUMP), whole)

    def _declared(self, start: int, declarator: Declarator, whole: Span) -> Written:
        """Return one declarator with the type in front of it, as if it stood alone."""
        first = start if declarator.leads else declarator.first
        text = self.quoted(first, declarator.last)
        if not declarator.leads and declarator.specifiers >= start:
            text = f"{self.quoted(start, declarator.specifiers)} {text}"
        return Written(self.span(first, declarator.last), text, whole)

    def _of_for(self, part: Part, token: int, whole: Span) -> Written:
        """Return the first or third part of the head of a `for`; elsewhere the condition, even if it is
        empty."""
        cuts = self.stretches(part)
        inside = next((n for n, (first, last) in enumerate(cuts) if first <= token <= last), 1)
        first, last = cuts[inside] if inside < len(cuts) else (1, 0)
        declarator = self.declarator(token) if inside == 0 else None
        if declarator is not None:
            return self._declared(first, declarator, whole)
        text = self.quoted(first, last)
        if inside == 1:
            first, last, text = part.first, part.last, f"for (; {text};)" if text else "for (;;)"
        return Written(self.span(first, last), text, whole)

    def scope(self, token: int) -> Span | None:
        """Return where the name declared at a token is visible: from the end of its declarator to the end of
        its block; for the head of a `for`, the whole loop; for a parameter, the body of the function; outside
        functions, the rest of the file. None if nothing is declared there."""
        part, tokens = self.part(token), self.tokens
        if part is None:
            return None
        if part.kind is Kind.FUNCTION:
            return tokens.span(part.last + 1, part.end, self.shown) if part.last < part.end else None
        if part.kind is Kind.FOR:
            return tokens.span(part.first, part.end, self.shown)
        declarator = self.declarator(token)
        if declarator is None:
            return None
        end = len(tokens.text)
        if part.block >= 0 and tokens.texts[part.block] != "{":  # the `for` of a loop
            end = tokens.ends[self.parts[self._number(part.block)].end]
        elif part.block >= 0 and tokens.partners[part.block] > part.block:
            end = tokens.ends[tokens.partners[part.block]]
        return Span(self.shown, *tokens.place(tokens.ends[declarator.last]), *tokens.place(end))

    # --------------------------------------------------------------------------------- text and places

    def quoted(self, first: int, last: int) -> str:
        """Return tokens as one line, without comments, cut to a limited length."""
        tokens, pieces, length = self.tokens, list[str](), 0
        if first <= last:
            start = tokens.starts[first]
            raw = tokens.text[start : min(tokens.ends[last], start + LIMIT + 1)]
            if _UNEVEN.search(raw) is None:
                return raw if len(raw) <= LIMIT else raw[: LIMIT - 3] + "..."
        for number in range(first, last + 1):
            if number > first and tokens.starts[number] > tokens.ends[number - 1]:
                pieces.append(" ")
                length += 1
            pieces.append(tokens.texts[number])
            length += len(tokens.texts[number])
            if length > LIMIT:
                return "".join(pieces)[: LIMIT - 3] + "..."
        return "".join(pieces)

    def presumed(self, line: int) -> tuple[str, int]:
        """Return the file and the line that line markers claim for a line."""
        at = bisect_right(self.markers, line - 1, key=lambda marker: marker[0]) - 1
        if at < 0:
            return self.shown, line
        marked, file, claimed = self.markers[at]
        return file, claimed + line - marked - 1

    def presuming(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """Return a span of the file, with the file and the line that line markers claim."""
        return Span(self.shown, line, column, end_line, end_column, *self.presumed(line))

    def span(self, first: int, last: int) -> Span:
        """Return the span from one token to another, both included."""
        place = self.tokens.place
        return self.presuming(*place(self.tokens.starts[first]), *place(self.tokens.ends[last]))
