"""Parts of expressions, by the places of their operators or first words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from certus.frontend.c.source.expressions import Range, argument, call, effect, question_mark
from certus.frontend.c.source.statements import Statements


def quoted(find: Callable[[Statements, int], Range | None], text: str) -> str | None:
    """The text of what is found at the mark `@`."""
    before, _, after = text.partition("@")
    statements = Statements("f.c", before + after)
    token = statements.tokens.at(1, len(before) + 1)
    assert token is not None
    part = find(statements, token)
    return None if part is None else statements.quoted(*part)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (@++rounds > 4) x = 1;", "++rounds"),
        ("*q@++ = *p++;", "q++"),
        ("*q++ @= *p++;", "*q++ = *p++"),
        ("a[i]@++;", "a[i]++"),
        ("x = s->n[1].m@-- + 2;", "s->n[1].m--"),
        ("(*p)@++;", "(*p)++"),
        ("x = @--*p[1] + 2;", "--*p[1]"),
        ("x = @++(*p).n;", "++(*p).n"),
        ("g(x @= 3, y);", "x = 3"),
        ("while ((x @= g(x)) != 0) ;", "x = g(x)"),
        ("x @+= rounds, rounds++;", "x += rounds"),
        ("a = b @= c;", "b = c"),
        ("a @= b = c;", "a = b = c"),
        ("x ? (y @= 1) : 2;", "y = 1"),
        ("x = a ? y @= b ? 1 : 2 : 3;", "y = b ? 1 : 2"),
        ("for (i @= 0; i < n; i++) ;", "i = 0"),
        ("for (i = 0; i < n; i@++) ;", "i++"),
        ("int n @= 3;", None),
        ("x @+ 1;", None),
        ("{ @}", None),
    ],
)
def test_effects(text: str, expected: str | None) -> None:
    assert quoted(effect, f"int f(void) {{ {text} }}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = @f(a, g(b)) + 1;", "f(a, g(b))"),
        ("x = @p->f[1](a)(b);", "p->f[1](a)(b)"),
        ("x = @(*f)(a);", "(*f)(a)"),
        ("x = @a[1];", None),
        ("x @= a;", None),
    ],
)
def test_calls(text: str, expected: str | None) -> None:
    assert quoted(call, f"int f(int a) {{ {text} }}") == expected


def test_the_argument_of_a_macro() -> None:
    texts = ("@assert(a < (b + 1)); abort(); x; }", "assert(a); @abort(); x; }", "assert(a); abort(); @x; }")
    found = [quoted(argument, f"void f(void) {{ {text}") for text in texts]
    assert found == ["a < (b + 1)", None, None]


def test_question_marks() -> None:
    statements = Statements("f.c", "void f(void) {\n x = a > (b ? 1 : 2)\n ? c : d; y = 1; }")
    tokens = statements.tokens
    outer, inner = tokens.at(3, 2), tokens.at(2, 13)
    found = [question_mark(statements, tokens.at(*place) or 0) for place in ((2, 6), (2, 11), (2, 13))]
    assert found == [outer, inner, inner]
    assert [question_mark(statements, tokens.at(*place) or 0) for place in ((3, 6), (3, 12))] == [None, None]
