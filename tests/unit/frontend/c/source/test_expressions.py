"""Assignments and increments inside of expressions, by the places of their operators."""

from __future__ import annotations

import pytest

from certus.frontend.c.source.expressions import effect
from certus.frontend.c.source.statements import Statements


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
    before, _, after = f"int f(void) {{ {text} }}".partition("@")
    written = effect(Statements("f.c", before + after), 1, len(before) + 1)
    assert (None if written is None else written.text) == expected
