"""The statement at a place: how it is written, from where to where, and of which kind it is.

A place is looked up by the token there, so any column of a statement does.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.source.declarators import Declarator, declarators, is_declaration
from certus.frontend.c.source.parts import Kind, find_parts
from certus.frontend.c.source.tokens import Tokens

LIMIT: Final = 160  # characters of a text


@dataclass(frozen=True, slots=True)
class Written:
    """A stretch of the source as a step shows it. `span` is the head of a statement, or all of it without the
    semicolon; `statement` is the whole statement; `condition` is what decides, in `if (condition)` and the
    like."""

    kind: Kind
    text: str
    span: Span
    statement: Span
    condition: str = ""


class Statements:
    """The statements of one file. Columns are in characters (`Tokens.column` converts those of Clang)."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.tokens = Tokens(text)
        self.parts = find_parts(self.tokens)
        self._firsts = [part.first for part in self.parts]
        self._declarators: dict[int, tuple[list[Declarator], list[int]]] = {}
        self._for_cuts: dict[int, list[tuple[int, int]]] = {}

    # ---------------------------------------------------------------------------------- questions

    def at(self, line: int, column: int) -> Written | None:
        """What is written at a place: of a declaration, the declarator; of the head of a `for`, the part of
        it. With column 0, the first statement in the line. None where there is none, as at a brace."""
        token = self.tokens.at(line, column) if column else self.tokens.first_in(line)
        number = None if token is None else self.part(token)
        if token is not None and number is None and self.tokens.texts[token] == "}":
            number = self._tail(token + 1)
        return None if token is None or number is None else self._written(number, token)

    def _tail(self, token: int) -> int | None:
        """The condition of a `do` statement that starts with a token."""
        number = self.part(token) if token < len(self.tokens) else None
        return number if number is not None and self.parts[number].kind is Kind.DO_WHILE else None

    def part(self, token: int) -> int | None:
        """The number of the innermost part that covers a token."""
        found = bisect_right(self._firsts, token) - 1
        while found >= 0 and self.parts[found].last < token:
            found = self.parts[found].around
        return found if found >= 0 else None

    def call(self, line: int, column: int) -> Written | None:
        """The call that starts at a place: `f(x)`, `p->f(x)`; None if there is none."""
        first = self.tokens.at(line, column)
        if first is None:
            return None
        texts, partners = self.tokens.texts, self.tokens.partners
        last, at = -1, max(first, partners[first])
        while at + 1 < len(texts):
            following = texts[at + 1]
            if following in ("(", "[") and partners[at + 1] > at:
                at = partners[at + 1]
                last = at if following == "(" else last
            elif following in (".", "->"):
                at += 2
            else:
                break
        if last < 0:
            return None
        span = self.tokens.span(first, last, self.file)
        return Written(Kind.EXPRESSION, self.text(first, last), span, span)

    def enclosing_if(self, line: int, column: int) -> Written | None:
        """The innermost `if` statement that has a place in its body."""
        token = self.tokens.at(line, column)
        number = None if token is None else self.part(token)
        while token is not None and number is not None and number > 0:
            number -= 1
            part = self.parts[number]
            if part.kind is Kind.FUNCTION:
                break
            if part.kind is Kind.IF and part.last < token <= part.end:
                span = self.tokens.span(part.begin, part.end, self.file)
                return Written(part.kind, "", span, span)
        return None

    def argument(self, line: int, column: int) -> str | None:
        """What stands in the parentheses of the call, or the use of a macro, that starts at a place."""
        first = self.tokens.at(line, column)
        if first is None or first + 1 >= len(self.tokens) or self.tokens.texts[first + 1] != "(":
            return None
        close = self.tokens.partners[first + 1]
        return self.text(first + 2, close - 1) if close > first + 2 else None

    def question_mark(self, line: int, column: int) -> tuple[int, int] | None:
        """The place of the `?` that stands at a place, or behind the operand there."""
        token = self.tokens.at(line, column)
        texts, partners = self.tokens.texts, self.tokens.partners
        while token is not None and token < len(texts) and texts[token] not in (";", "{", "}", ":", ","):
            if texts[token] == "?":
                return self.tokens.place(self.tokens.starts[token])
            token = max(token, partners[token]) + 1
        return None

    def declarator(self, token: int) -> Declarator | None:
        """The declarator that covers a token of a declaration."""
        number = self.part(token)
        found, firsts = ([], list[int]()) if number is None else self._declarators_of(number)
        at = bisect_right(firsts, token) - 1
        if not found or (number is not None and token > found[-1].last):
            return None
        return found[max(at, 0)]

    def text(self, first: int, last: int) -> str:
        """Tokens as one line, without comments, cut where it gets long."""
        tokens, pieces, length = self.tokens, list[str](), 0
        for number in range(first, last + 1):
            if number > first and tokens.starts[number] > tokens.ends[number - 1]:
                pieces.append(" ")
                length += 1
            pieces.append(tokens.texts[number])
            length += len(tokens.texts[number])
            if length > LIMIT:
                return "".join(pieces)[: LIMIT - 3] + "..."
        return "".join(pieces)

    # ------------------------------------------------------------------------------------ answers

    def _written(self, number: int, token: int) -> Written:
        part, tokens = self.parts[number], self.tokens
        whole = tokens.span(part.begin, part.end, self.file)
        span = tokens.span(part.first, part.last, self.file)
        if part.kind in (Kind.IF, Kind.WHILE, Kind.SWITCH, Kind.DO_WHILE):
            condition = self.text(part.first + 2, part.last - 1) if part.last > part.first + 2 else ""
            return Written(part.kind, f"{tokens.texts[part.first]} ({condition})", span, whole, condition)
        if part.kind is Kind.FOR:
            return self._of_for(number, token, whole)
        if part.kind is Kind.DECLARATION:
            declarator = self.declarator(token)
            if declarator is not None:
                return self._declared(part.first, declarator, whole)
        end = ";" if part.kind is Kind.JUMP else ""
        return Written(part.kind, self.text(part.first, part.last) + end, span, whole)

    def _declared(self, start: int, declarator: Declarator, whole: Span) -> Written:
        """One declarator with the type in front of it, as if it stood alone."""
        first = start if declarator.leads else declarator.first
        text = self.text(first, declarator.last)
        if not declarator.leads and declarator.specifiers >= start:
            text = f"{self.text(start, declarator.specifiers)} {text}"
        return Written(Kind.DECLARATION, text, self.tokens.span(first, declarator.last, self.file), whole)

    def _of_for(self, number: int, token: int, whole: Span) -> Written:
        """The first or third stretch of a head; elsewhere the condition, which counts even if it is not
        written."""
        part, cuts = self.parts[number], self.for_stretches(number)
        inside = next((n for n, (first, last) in enumerate(cuts) if first <= token <= last), 1)
        if inside == 1:
            first, last = cuts[1] if len(cuts) > 1 else (1, 0)
            condition = self.text(first, last) if first <= last else ""
            text = f"for (; {condition};)" if condition else "for (;;)"
            return Written(
                Kind.FOR, text, self.tokens.span(part.first, part.last, self.file), whole, condition
            )
        first, last = cuts[inside]
        declarator = self.declarator(token) if inside == 0 else None
        if declarator is not None:
            return self._declared(first, declarator, whole)
        return Written(
            Kind.EXPRESSION, self.text(first, last), self.tokens.span(first, last, self.file), whole
        )

    def for_stretches(self, number: int) -> list[tuple[int, int]]:
        """The first and last tokens between the parentheses and semicolons of the head of a `for`."""
        found = self._for_cuts.get(number)
        if found is None:
            part, texts, partners = self.parts[number], self.tokens.texts, self.tokens.partners
            found = self._for_cuts[number] = []
            start = at = part.first + 2
            while at < part.last:
                if texts[at] == ";":
                    found.append((start, at - 1))
                    start = at + 1
                at = max(at, partners[at]) + 1
            found.append((start, part.last - 1))
        return found

    def _declarators_of(self, number: int) -> tuple[list[Declarator], list[int]]:
        known = self._declarators.get(number)
        if known is None:
            part = self.parts[number]
            first, last = part.first, part.last
            if part.kind is Kind.FOR:
                first, last = self.for_stretches(number)[0]
            declares = part.kind in (Kind.DECLARATION, Kind.FOR) and first <= last
            found = (
                declarators(self.tokens, first, last)
                if declares and is_declaration(self.tokens, first)
                else []
            )
            known = self._declarators[number] = (found, [each.first for each in found])
        return known
