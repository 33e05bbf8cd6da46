"""The statements of a file: their texts and spans, and the scopes of the names they declare. A statement is
looked up by the number of any of its tokens.

One pass over the tokens cuts the file into parts. A statement with a head (`if (...)`, `for (...)`) consists
of a part for its head and the statements in its body; any other is one part. The pass keeps a stack of its
own, so that nesting may be deep, and returns to the stack of `#if` at `#else`. If macros hide brackets or
semicolons, the text may be cut in wrong places, but it is always cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.source.tokens import (
    TAGS,
    WITH_PARENTHESES,
    Declarator,
    Tokens,
    declarators,
    is_declaration,
    is_word,
)


class Kind(Enum):
    """The kind of a part. `DO` is the keyword, `DO_WHILE` the condition after the body; `return` counts as
    an expression, `case` as a label."""

    IF = "if"
    WHILE = "while"
    SWITCH = "switch"
    FOR = "for"
    DO = "do"
    DO_WHILE = "do while"
    LABEL = "label"
    JUMP = "jump"
    DECLARATION = "declaration"
    EXPRESSION = "expression"
    FUNCTION = "function"


@dataclass(slots=True, eq=False)
class Part:
    """The tokens from `first` to `last`, without a semicolon. The whole statement, with its body, is from
    `begin` to `end`. `block` is the opening brace, or the `for`, of the block to which names declared here
    belong; -1 outside functions. `single`: it is the body of another statement, without braces. `around` is
    the part that contains this one, as for a statement in `({ ... })`; -1 if there is none."""

    kind: Kind
    first: int
    last: int
    block: int
    single: bool
    begin: int
    end: int
    stop: int  # as `end`, with a semicolon that belongs to it
    around: int = -1


_HEADS: Final = {"if": Kind.IF, "while": Kind.WHILE, "switch": Kind.SWITCH, "for": Kind.FOR}
_JUMPS: Final = ("goto", "break", "continue")
_BEFORE_VALUE: Final = frozenset(
    ["=", ",", "(", "[", "{", "return", "?", ":", "&&", "||", "!", "&", "sizeof"]
)


# What is open, the innermost first: the part whose body follows, None for a block; the block that names
# belong to; and whether the body is that after `else`.
_Frames = tuple["Part | None", int, bool, "_Frames"] | None


def find_parts(tokens: Tokens) -> list[Part]:
    """Return the parts in the order of their first tokens."""
    parts: list[Part] = []
    _Pass(tokens, parts, 0, len(tokens), None).run()
    for opened, text in enumerate(tokens.texts):
        if text == "{" and opened and tokens.texts[opened - 1] == "(" and tokens.partners[opened] > opened:
            _Pass(tokens, parts, opened + 1, tokens.partners[opened], (None, opened, False, None)).run()
    parts.sort(key=lambda part: part.first)
    outer: list[int] = []
    for number, part in enumerate(parts):
        while outer and parts[outer[-1]].last < part.first:
            outer.pop()
        part.around = outer[-1] if outer else -1
        outer.append(number)
    return parts


class _Pass:
    """Reads the tokens from `at` up to `end`, where `frames` are open. Statements in expressions are
    skipped."""

    def __init__(self, tokens: Tokens, parts: list[Part], at: int, end: int, frames: _Frames) -> None:
        self._texts, self._partners, self._tokens = tokens.texts, tokens.partners, tokens
        self._marks = tokens.marks if frames is None else []
        self._parts = parts
        self._at, self._end = at, end
        self._frames = frames

    def run(self) -> None:
        mark, before = 0, list[_Frames]()
        while self._at < self._end:
            while mark < len(self._marks) and self._marks[mark][0] <= self._at:
                line = self._marks[mark][1]
                mark += 1
                if line == "if":
                    before.append(self._frames)
                elif line == "else":
                    self._frames = before[-1]
                else:
                    before.pop()
            if self._frames is None:
                self._outside()
            else:
                self._statement()

    def _text(self, at: int) -> str:
        return self._texts[at] if at < self._end else ""

    def _beyond(self, at: int) -> int:
        """Return the next token; after an opening bracket, the one after its partner."""
        return max(at, self._partners[at]) + 1

    # --------------------------------------------------------------------------- between functions

    def _outside(self) -> None:
        """Read a declaration, or the text in front of the brace of a function."""
        first = at = self._at
        while at < self._end:
            text = self._texts[at]
            if text == "{" and not self._is_value(at, first):
                if at > first:
                    end = max(at, self._partners[at])
                    self._parts.append(Part(Kind.FUNCTION, first, at - 1, -1, False, first, end, end))
                self._at, self._frames = at + 1, (None, at, False, None)
                return
            if text in {";", "}"}:
                break
            at = self._beyond(at)
        if min(at, self._end) > first:
            self._add(Kind.DECLARATION, first, min(at, self._end) - 1)
        self._at = at + 1

    def _is_value(self, brace: int, first: int) -> bool:
        """Return whether a brace begins an initialiser, a compound literal or the members of a type, and not
        a block."""
        texts, before = self._texts, brace - 1
        if before < first:
            return False
        if texts[before] in _BEFORE_VALUE or texts[before] in TAGS:
            return True
        if texts[before] == ")":  # of the type of a literal, of an attribute, or of a head
            opened = self._partners[before]
            if opened <= first:
                return opened == first
            leading, named = texts[opened - 1], texts[opened - 2] if opened > first + 1 else ""
            attribute = leading in WITH_PARENTHESES
            return named in TAGS if attribute else leading != ")" and not is_word(leading)
        if not is_word(texts[before]) or before == first:
            return False
        if texts[before - 1] == ")":  # struct __attribute__((packed)) name {
            opened = self._partners[before - 1]
            return opened > first + 1 and texts[opened - 1] in WITH_PARENTHESES and texts[opened - 2] in TAGS
        return texts[before - 1] in TAGS

    # ------------------------------------------------------------------------------- in functions

    def _statement(self) -> None:
        at, text = self._at, self._texts[self._at]
        if text == "}":
            self._close()
        elif text == "{":
            self._frames, self._at = (None, at, False, self._frames), at + 1
        elif text in _HEADS and self._text(at + 1) == "(" and self._partners[at + 1] > at:
            last = self._partners[at + 1]
            self._open(self._add(_HEADS[text], at, last), last + 1)
        elif text == "do":
            self._open(self._add(Kind.DO, at, at), at + 1)
        elif text == ";":
            self._add(Kind.EXPRESSION, at, at)
            self._finish(at, at + 1)
        elif (colon := self._label()) is not None:
            self._add(Kind.LABEL, at, colon)
            self._at = colon + 1
        else:
            self._simple()

    def _simple(self) -> None:
        """Read a statement without a head, up to its semicolon. A block that follows is the body of a
        macro."""
        first = self._at
        at = self._beyond(first)
        while at < self._end and self._texts[at] not in (";", "}"):
            if self._texts[at] == "{" and not self._is_value(at, first):
                self._open(self._add(Kind.EXPRESSION, first, at - 1), at)
                return
            at = self._beyond(at)
        last = min(at, self._end) - 1
        kind = Kind.JUMP if self._texts[first] in _JUMPS else Kind.EXPRESSION
        if is_declaration(self._tokens, first):
            kind = Kind.DECLARATION
        following = at + 1 if self._text(at) == ";" else at
        self._add(kind, first, last).stop = following - 1
        self._finish(last, following)

    def _label(self) -> int | None:
        """Return the colon of the label that starts here."""
        texts, at = self._texts, self._at
        if texts[at] == "case":
            choices = 0
            while at < self._end and texts[at] not in (";", "{", "}"):
                if texts[at] == ":" and not choices:
                    return at
                choices += (texts[at] == "?") - (texts[at] == ":")
                at = self._beyond(at)
            return None
        named = texts[at] == "default" or is_word(texts[at])
        return at + 1 if named and self._text(at + 1) == ":" else None

    def _add(self, kind: Kind, first: int, last: int) -> Part:
        block = -1 if self._frames is None else self._frames[1]
        single = self._frames is not None and self._frames[0] is not None
        part = Part(kind, first, last, first if kind is Kind.FOR else block, single, first, last, last)
        self._parts.append(part)
        return part

    def _open(self, part: Part, body: int) -> None:
        """Continue in the body of a part."""
        self._frames, self._at = (part, part.block, False, self._frames), body

    def _close(self) -> None:
        """End the innermost block at a brace, and the statements in it that have no body yet."""
        at, part, frames = self._at, None, self._frames
        while frames is not None:
            part, _, _, frames = frames
            if part is None:
                break
            part.end = part.stop = at - 1
        self._frames, self._at = frames, at + 1
        if frames is not None:
            self._finish(at, at + 1)

    def _finish(self, last: int, following: int) -> None:
        """End a statement with the token `last`, and the statements whose body it is; `following` comes
        next."""
        self._at = following
        while self._frames is not None:
            part, block, behind_else, outer = self._frames
            if part is None:
                break
            if part.kind is Kind.IF and not behind_else and self._text(self._at) == "else":
                self._frames, self._at = (part, block, True, outer), self._at + 1
                return
            self._frames = outer
            if part.kind is Kind.DO:
                last = self._do_while(part, last)
            part.end, part.stop = last, self._at - 1

    def _do_while(self, part: Part, last: int) -> int:
        """Read the condition after a body, if there is one; return the last token of the statement."""
        at = self._at
        if self._text(at) != "while" or self._text(at + 1) != "(" or self._partners[at + 1] < at:
            return last
        last = self._partners[at + 1]
        self._add(Kind.DO_WHILE, at, last).begin = part.first
        self._at = last + 2 if self._text(last + 1) == ";" else last + 1
        return last


# ----------------------------------------------------------------------------------------- statements

LIMIT: Final = 160  # characters of a text
# A line marker, such as `# 12 "f.c"`, that does not continue the line before.
MARKER: Final = re.compile(
    r"(?<!\\\n)(?<!\\\r\n)^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)"
    r'(?:[ \t]+"((?:[^"\\\n]|\\.)*)"[ \t\d]*)?[ \t]*\r?$',
    re.MULTILINE,
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
        for match in MARKER.finditer(text) if "#" in text else ():
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

    def before(self, token: int) -> Iterator[Part]:
        """Yield the parts before a token in the same function, the last first, and the head of the
        function."""
        for number in range(bisect_right(self._firsts, token) - 1, -1, -1):
            yield self.parts[number]
            if self.parts[number].kind is Kind.FUNCTION:
                break

    def enclosing(self, token: int) -> Iterator[Part]:
        """Yield the statements whose bodies contain a token, the innermost first, and the function."""
        return (each for each in self.before(token) if each.last < token <= each.end)

    def enclosing_if(self, token: int) -> tuple[int, int] | None:
        """Return the range of the innermost `if` statement whose body contains a token."""
        return next(((each.begin, each.end) for each in self.enclosing(token) if each.kind is Kind.IF), None)

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
        part, tokens, declarator = self.part(token), self.tokens, self.declarator(token)
        if part is None:
            return None
        if part.kind is Kind.FUNCTION and part.last < part.end:
            start, end = tokens.starts[part.last + 1], tokens.ends[part.end]
        elif part.kind is Kind.FOR:
            start, end = tokens.starts[part.first], tokens.ends[part.end]
        elif declarator is not None:
            closing = tokens.partners[part.block] if part.block >= 0 else -1
            start = tokens.ends[declarator.last]
            end = tokens.ends[closing] if closing >= 0 else len(self.text)
        else:
            return None
        return Span(self.shown, *tokens.place(start), *tokens.place(end))

    # --------------------------------------------------------------------------------- text and places

    def quoted(self, first: int, last: int) -> str:
        """Return tokens as one line, without comments, cut to a limited length."""
        tokens, text = self.tokens, ""
        for number in range(first, last + 1):
            if number > first and tokens.starts[number] > tokens.ends[number - 1]:
                text += " "
            text += tokens.texts[number]
            if len(text) > LIMIT:
                return text[: LIMIT - 3] + "..."
        return text

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
