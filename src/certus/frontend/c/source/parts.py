"""Cut a file into the parts of its statements, in one pass over its tokens.

A statement with a head (`if (...)`, `for (...)`) consists of a part for its head and the statements in its
body; any other is one part. The pass keeps a stack of its own, so that nesting may be deep, and returns to
the stack of `#if` at `#else`. If macros hide brackets or semicolons, the text may be cut in wrong places, but
it is always cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from certus.frontend.c.source.tokens import TAGS, WITH_PARENTHESES, Tokens, is_declaration, is_word


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
