"""Tokens of C text and their places."""

from __future__ import annotations

import time

import pytest

from certus.frontend.c.source.tokens import Tokens


def words(text: str) -> list[str]:
    return Tokens(text).texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a+++b", ["a", "++", "+", "b"]),
        ("x<<=1>>2...", ["x", "<<=", "1", ">>", "2..."]),
        ("0x1p+3 .5e-3 1e5f 1'000", ["0x1p+3", ".5e-3", "1e5f", "1'000"]),
        ("p->q.r", ["p", "->", "q", ".", "r"]),
        ("a /* b */ c // d\ne", ["a", "c", "e"]),
        ('"/* no */" \'"\' "a\\"b"', ['"/* no */"', "'\"'", '"a\\"b"']),
        ("<% a<:0:> %>", ["{", "a", "[", "0", "]", "}"]),
        ("in\\\nt x", ["int", "x"]),
        ("// a \\\n b\nc", ["c"]),
        ("# define A {\nx", ["x"]),
        ("#define A { \\\n } (\nx", ["x"]),
        ("  /* c */ # if X\nx", ["x"]),
        ("#error don't /* here\n*/ x\ny", ["y"]),
        ("a # b", ["a", "#", "b"]),
        ("%: pragma {\nx", ["x"]),
        ("x /* never ends", ["x"]),
        ("\u00e4\u00f6 \U0001d4d0", ["\u00e4\u00f6", "\U0001d4d0"]),
        ("it's \" open", ["it", "'", "s", '"', "open"]),
        ("#if 0\nx {\n#if 1\ny\n#endif\n#else\nz\n#endif\nw", ["z", "w"]),
        ("#if 0 // not now\nx\n#endif\nw", ["w"]),
        ("#if 0 || A\nx\n#endif", ["x"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_places_are_physical() -> None:
    tokens = Tokens("int \\\n  lon\\\ng = 3;\n\ty;")
    assert tokens.texts == ["int", "long", "=", "3", ";", "y", ";"]
    assert [tokens.place(start) for start in tokens.starts] == [
        *((1, 1), (2, 3), (3, 3), (3, 5), (3, 6), (4, 2), (4, 3))
    ]
    assert tokens.place(tokens.ends[3]) == (3, 6)
    assert [tokens.at(2, 3), tokens.at(2, 5), tokens.at(3, 1), tokens.at(3, 2), tokens.at(9, 1)] == [
        *(1, 1, 1, None, None)
    ]
    assert [list(tokens.in_line(line)) for line in range(6)] == [[], [0], [1], [2, 3, 4], [5, 6], []]


def test_columns_in_bytes() -> None:
    tokens = Tokens('s = "\u00e4\u20ac"; x')
    assert [tokens.column(1, column) for column in (1, 6, 8, 11, 12, 14)] == [1, 6, 7, 8, 9, 11]
    assert Tokens("abc").column(1, 3) == 3


def test_brackets() -> None:
    tokens = Tokens("f(a[0]) { g(; } ) h()")
    partners = {
        tokens.texts[n] + str(n): tokens.partners[n] for n in range(len(tokens)) if tokens.partners[n] >= 0
    }
    assert partners == {"(1": 6, "[3": 5, "]5": 3, ")6": 1, "{7": 11, "}11": 7, "(14": 15, ")15": 14}


def test_alternatives_begin_with_the_same_brackets() -> None:
    tokens = Tokens("{\n#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\n}\n}")
    assert tokens.partners[-1] == 0
    assert tokens.partners[-2] == len(tokens) - 3
    assert tokens.marks == [(1, "if"), (6, "else"), (11, "endif")]


def test_stray_conditional_lines_do_nothing() -> None:
    assert words("#endif\n#else\nx\n#elif\ny\n#if\nz") == ["x", "y", "z"]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "piece",
    ["{(", ")}", "'", '"', "/*", "/**/ ", " ", "\\\n", "#if A\n{\n#else\n{\n#endif\n", "#if 0\n", "a "],
)
def test_any_text_takes_linear_time(piece: str) -> None:
    start = time.process_time()
    Tokens(piece * 50_000)
    assert time.process_time() - start < 20
