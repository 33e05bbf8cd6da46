"""One pass over the tokens of a file cuts it into the parts of its statements.

A statement with a head (`if (...)`, `for (...)`) is a part, its head, and the statements in its body; others
are one part each. The pass keeps a stack of its own, so that nesting may be deep, and goes back to the stack
at `#if` where `#else` is. Text whose macros hide brackets or semicolons may be cut in wrong places, but
always is cut somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from certus.frontend.c.source.declarators import TAGS, WITH_PARENTHESES, is_declaration, is_word
from certus.frontend.c.source.tokens import Conditional, Tokens


class Kind(Enum):
    """What a part is. `DO` is the keyword, `DO_WHILE` the condition behind the body."""

    IF = "if"
    WHILE = "while"
    SWITCH = "switch"
    FOR = "for"
    DO = "do"
    DO_WHILE = "do while"
    CASE = "case"
    LABEL = "label"
    RETURN = "return"
    JUMP = "jump"
    DECLARATION = "declaration"
    EXPRESSION = "expression"
    EMPTY = "empty"
    FUNCTION = "function"


@dataclass(slots=True)
class Part:
    """Tokens from `first` to `last`, without a semicolon. The whole statement, with its body, is from `begin`
    to `end`. `block` is the opening brace, or the `for`, of the block that names belong to which are declared
    here, -1 outside of functions. `single`: it is the body of another statement, without braces. `around` is
    the part that this one stands inside of, as a statement of `({ ... })` does; -1 for others."""

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
_JUMPS: Final = {"return": Kind.RETURN, "goto": Kind.JUMP, "break": Kind.JUMP, "continue": Kind.JUMP}
_BEFORE_VALUE: Final = frozenset(
    ("=", ",", "(", "[", "{", "return", "?", ":", "&&", "||", "!", "&", "sizeof")
)


class _Frame(Enum):
    """What is open: a block, or a statement whose body follows; of an `if`, the body behind `else`."""

    BLOCK = "{"
    BODY = "body"
    ELSE = "else"


# The innermost first: what it is, its brace or the number of its part, and the block that names belong to.
_Frames = tuple[_Frame, int, int, "_Frames"] | None


def find_parts(tokens: Tokens) -> list[Part]:
    """The parts in the order of their first tokens."""
    found: list[Part] = []
    _Pass(tokens, found, 0, len(tokens), None).run()
    for opened, text in enumerate(tokens.texts):
        if text == "{" and opened and tokens.texts[opened - 1] == "(" and tokens.partners[opened] > opened:
            _Pass(
                tokens, found, opened + 1, tokens.partners[opened], (_Frame.BLOCK, opened, opened, None)
            ).run()
    found.sort(key=lambda part: part.first)
    outer: list[int] = []
    for number, part in enumerate(found):
        while outer and found[outer[-1]].last < part.first:
            outer.pop()
        part.around = outer[-1] if outer else -1
        outer.append(number)
    return found


class _Pass:
    """Reads the tokens from `at` up to `end`, where `frames` are open. Statements in expressions are passed
    over."""

    def __init__(self, tokens: Tokens, parts: list[Part], at: int, end: int, frames: _Frames) -> None:
        self._texts, self._partners, self._tokens = tokens.texts, tokens.partners, tokens
        self._marks = tokens.marks if frames is None else []
        self._parts = parts
        self._at, self._end = at, end
        self._frames = frames

    def run(self) -> None:
        mark, before = 0, list[_Frames]()
        while self._at < self._end:
            while mark < len(self._marks) and self._marks[mark].token <= self._at:
                self._conditional(self._marks[mark].kind, before)
                mark += 1
            if self._frames is None:
                self._outside()
            else:
                self._statement()

    def _conditional(self, kind: Conditional, before: list[_Frames]) -> None:
        if kind is Conditional.BEGIN:
            before.append(self._frames)
        elif kind is Conditional.OTHERWISE:
            self._frames = before[-1]
        else:
            before.pop()

    def _text(self, at: int) -> str:
        return self._texts[at] if at < self._end else ""

    def _beyond(self, at: int) -> int:
        """The token behind this one; behind the partner of a bracket."""
        return max(at, self._partners[at]) + 1

    # --------------------------------------------------------------------------- between functions

    def _outside(self) -> None:
        """A declaration, or what stands in front of the brace of a function."""
        first = at = self._at
        while at < self._end:
            text = self._texts[at]
            if text == "{" and not self._is_value(at, first):
                if at > first:
                    end = max(at, self._partners[at])
                    self._parts.append(Part(Kind.FUNCTION, first, at - 1, -1, False, first, end, end))
                self._at, self._frames = at + 1, (_Frame.BLOCK, at, at, None)
                return
            if text in {";", "}"}:
                break
            at = self._beyond(at)
        if min(at, self._end) > first:
            self._add(Kind.DECLARATION, first, min(at, self._end) - 1)
        self._at = at + 1

    def _is_value(self, brace: int, first: int) -> bool:
        """Whether a brace begins an initialiser, a compound literal or the members of a type, and no
        block."""
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
            self._frames, self._at = (_Frame.BLOCK, at, at, self._frames), at + 1
        elif text in _HEADS and self._text(at + 1) == "(" and self._partners[at + 1] > at:
            last = self._partners[at + 1]
            self._open(self._add(_HEADS[text], at, last), last + 1)
        elif text == "do":
            self._open(self._add(Kind.DO, at, at), at + 1)
        elif text == ";":
            self._add(Kind.EMPTY, at, at)
            self._finish(at, at + 1)
        elif (colon := self._label()) is not None:
            self._add(Kind.CASE if text in ("case", "default") else Kind.LABEL, at, colon)
            self._at = colon + 1
        else:
            self._simple()

    def _simple(self) -> None:
        """A statement without a head, up to its semicolon. A block that follows on it is the body of a
        macro."""
        first = self._at
        at = self._beyond(first)
        while at < self._end and self._texts[at] not in (";", "}"):
            if self._texts[at] == "{" and not self._is_value(at, first):
                self._open(self._add(Kind.EXPRESSION, first, at - 1), at)
                return
            at = self._beyond(at)
        last = min(at, self._end) - 1
        declares = is_declaration(self._tokens, first)
        kind = _JUMPS.get(self._texts[first]) or (Kind.DECLARATION if declares else Kind.EXPRESSION)
        following = at + 1 if self._text(at) == ";" else at
        self._parts[self._add(kind, first, last)].stop = following - 1
        self._finish(last, following)

    def _label(self) -> int | None:
        """The colon of the label that starts here."""
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

    def _add(self, kind: Kind, first: int, last: int) -> int:
        block = -1 if self._frames is None else self._frames[2]
        if kind is Kind.FOR:
            block = first
        single = self._frames is not None and self._frames[0] is not _Frame.BLOCK
        self._parts.append(Part(kind, first, last, block, single, first, last, last))
        return len(self._parts) - 1

    def _open(self, part: int, body: int) -> None:
        """The body of a part is what follows."""
        self._frames, self._at = (_Frame.BODY, part, self._parts[part].block, self._frames), body

    def _close(self) -> None:
        """A brace ends the innermost block, and those statements in it that have no body yet."""
        at, frames = self._at, self._frames
        while frames is not None:
            frame, number, _, frames = frames
            if frame is _Frame.BLOCK:
                break
            self._parts[number].end = self._parts[number].stop = at - 1
        self._frames, self._at = frames, at + 1
        if frames is not None:
            self._finish(at, at + 1)

    def _finish(self, last: int, following: int) -> None:
        """A statement ends with the token `last`, and so do those whose body it is; `following` comes
        next."""
        self._at = following
        while self._frames is not None and self._frames[0] is not _Frame.BLOCK:
            frame, number, block, outer = self._frames
            part = self._parts[number]
            if part.kind is Kind.IF and frame is _Frame.BODY and self._text(self._at) == "else":
                self._frames, self._at = (_Frame.ELSE, number, block, outer), self._at + 1
                return
            self._frames = outer
            if part.kind is Kind.DO:
                last = self._do_while(number, last)
            part.end, part.stop = last, self._at - 1

    def _do_while(self, number: int, last: int) -> int:
        """The condition behind a body, if it is there; the last token of the statement."""
        at = self._at
        if self._text(at) != "while" or self._text(at + 1) != "(" or self._partners[at + 1] < at:
            return last
        last = self._partners[at + 1]
        tail = self._parts[self._add(Kind.DO_WHILE, at, last)]
        tail.begin = self._parts[number].first
        self._at = last + 2 if self._text(last + 1) == ";" else last + 1
        return last
