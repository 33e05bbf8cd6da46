"""Where names can be used: the end of a block, and the stretch in which a declaration is in scope."""

from __future__ import annotations

from collections.abc import Sequence

from certus.core.diagnostic import Span
from certus.frontend.c.source.parts import Kind
from certus.frontend.c.source.statements import Statements


def block(statements: Statements, line: int, column: int) -> Span | None:
    """The block that starts at a place: at a brace, or at a statement, whose whole extent it is then."""
    tokens = statements.tokens
    token = tokens.at(line, column)
    if token is None:
        return None
    if tokens.texts[token] == "{" and tokens.partners[token] > token:
        return tokens.span(token, tokens.partners[token], statements.file)
    number = statements.part(token)
    if number is None:
        return None
    part = statements.parts[number]
    return tokens.span(part.begin, part.end, statements.file)


def scope(statements: Statements, line: int, column: int) -> Span | None:
    """Where the name can be used that is declared at a place: from the end of its declarator to the end of
    its block, for one in the head of a `for` all of the loop, for a parameter the body of the function, and
    outside of functions the rest of the file. None if nothing is declared there."""
    tokens = statements.tokens
    token = tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None:
        return None
    part = statements.parts[number]
    if part.kind is Kind.FUNCTION:
        body = part.last + 1
        return tokens.span(body, part.end, statements.file) if body <= part.end else None
    if part.kind is Kind.FOR:
        return tokens.span(part.first, part.end, statements.file)
    declarator = statements.declarator(token)
    if declarator is None:
        return None
    begin = tokens.place(tokens.ends[declarator.last])
    if part.block < 0:
        return Span(statements.file, *begin, *tokens.place(len(tokens.text)))
    return Span(statements.file, *begin, *_end(statements, part.block))


def _end(statements: Statements, opened: int) -> tuple[int, int]:
    """Where the block ends that a brace or the `for` of a loop opens."""
    tokens = statements.tokens
    if tokens.texts[opened] == "{":
        close = tokens.partners[opened]
        return tokens.place(tokens.ends[close] if close > opened else len(tokens.text))
    number = statements.part(opened)
    assert number is not None
    return tokens.place(tokens.ends[statements.parts[number].end])


def innermost(scopes: Sequence[Span | None], line: int, column: int) -> int | None:
    """Of declarations of one name, by where each is in scope, the one that the name means at a place: the
    number of the scope that covers the place and starts last."""
    found: int | None = None
    for number, each in enumerate(scopes):
        if each is None or not (each.line, each.column) <= (line, column) < (each.end_line, each.end_column):
            continue
        last = None if found is None else scopes[found]
        if last is None or (last.line, last.column) <= (each.line, each.column):
            found = number
    return found
