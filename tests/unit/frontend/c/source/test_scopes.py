"""Where names can be used."""

from __future__ import annotations

import pytest

from certus.core.diagnostic import Span
from certus.frontend.c.source.statements import Statements

TEXT = """\
int g = 1, h;
int f(int a, int b)
{
    int n = a, m = n;
    for (int i = 0; i < n; i++)
        if (i) { int n = i; m += n; }
    {
        static int k;
        k++;
    }
    return m;
}
"""
STATEMENTS = Statements("f.c", TEXT)


def ends(span: Span | None) -> tuple[int, int, int, int] | None:
    return None if span is None else (span.line, span.column, span.end_line, span.end_column)


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (1, 5, (1, 10, 13, 1)),  # g
        (1, 12, (1, 13, 13, 1)),  # h
        (2, 11, (3, 1, 12, 2)),  # a
        (4, 9, (4, 14, 12, 2)),  # n
        (4, 16, (4, 21, 12, 2)),  # m
        (5, 14, (5, 5, 6, 38)),  # i
        (6, 22, (6, 27, 6, 38)),  # n, inside
        (8, 20, (8, 21, 10, 6)),  # k
        (9, 9, None),
        (3, 1, None),
        (99, 1, None),
    ],
)
def test_scopes_of_declarations(line: int, column: int, expected: tuple[int, int, int, int] | None) -> None:
    token = STATEMENTS.tokens.at(line, column)
    assert ends(None if token is None else STATEMENTS.scope(token)) == expected


def test_a_declaration_without_braces_in_a_loop() -> None:
    statements = Statements("f.c", "int f(void) { for (;;) for (int i = 0;;) i++; }")
    token = statements.tokens.at(1, 33)
    assert token is not None
    assert ends(statements.scope(token)) == (1, 24, 1, 45)
