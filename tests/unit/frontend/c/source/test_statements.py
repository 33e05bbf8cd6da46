"""What is written at a place."""

from __future__ import annotations

import time

import pytest

from certus.frontend.c.model.sources import SourceFile
from certus.frontend.c.source.statements import LIMIT, Statements, Written

MARK = "@"


def found(text: str) -> Written | None:
    """What is written where the mark is."""
    before, _, after = text.partition(MARK)
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    statements = Statements("f.c", before + after)
    token = statements.tokens.at(line, column)
    return None if token is None else statements.written(token)


def in_function(text: str) -> Written | None:
    return found(f"int f(int a) {{ {text} }}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x @= y + 1;", "x = y + 1"),
        ("@f(x);", "f(x)"),
        ("int @n = 3;", "int n = 3"),
        ("@int n = 3, m;", "int n = 3"),
        ("int n = 3, @m;", "int m"),
        ("int n = g(1, 2), *const @p = &n, m;", "int *const p = &n"),
        ("int n, (*@q)(int, int) = h, m;", "int (*q)(int, int) = h"),
        ("word w, @v = 4;", "word v = 4"),
        ("struct point { int x, y; } here, @there = {1, 2};", "struct point { int x, y; } there = {1, 2}"),
        ("struct point *here, @there[2] = {{1, 2}, {3}};", "struct point there[2] = {{1, 2}, {3}}"),
        ("unsigned long long const n = 1, @m;", "unsigned long long const m"),
        ("typeof(x + 1) a, @b;", "typeof(x + 1) b"),
        ("if (a @< 0 /* why */ || // well\n a > 4) b = 1; else c = 2;", "if (a < 0 || a > 4)"),
        ("@if (a) b = 1;", "if (a)"),
        ("if (a) b = 1; else @c = 2;", "c = 2"),
        ("if (a) b = 1; else if (@b) c = 2;", "if (b)"),
        ("while (@*p++) ;", "while (*p++)"),
        ("do { a--; } while (@a > 0); b = 1;", "while (a > 0)"),
        ("@do { a--; } while (a > 0);", "do"),
        ("for (i = 0; i @< n; i++) a[i] = 0;", "for (; i < n;)"),
        ("for (@i = 0; i < n; i++) a[i] = 0;", "i = 0"),
        ("for (int i = 0, @j = 1; i < n; i++) a[i] = 0;", "int j = 1"),
        ("for (@int i = 0, j = 1; i < n; i++) a[i] = 0;", "int i = 0"),
        ("for (i = 0; i < n; i@++, j--) a[i] = 0;", "i++, j--"),
        ("@for (i = 0; i < n; i++) a[i] = 0;", "for (; i < n;)"),
        ("@for (;;) break;", "for (;;)"),
        ("for (;;) @break;", "break;"),
        ("switch (a @+ 1) { case 1: b = 2; }", "switch (a + 1)"),
        ("switch (a) { case x ? 1 : 2: @b = 2; }", "b = 2"),
        ("switch (a) { @case 1 ... 3: default: b = 2; }", "case 1 ... 3:"),
        ("switch (a) { default: @b = 2; }", "b = 2"),
        ("@again: x = a ? b : c;", "again:"),
        ("again: x = a ? b @: c;", "x = a ? b : c"),
        ("@return a + b;", "return a + b"),
        ("return (struct s){@1, 2};", "return (struct s){1, 2}"),
        ("x = (struct s){1}; y @= 2;", "y = 2"),
        ("@goto out;", "goto out;"),
        ("assert(@sum < 25);", "assert(sum < 25)"),
        ("x = ({ int t = 1; @t + 1; }) + 2;", "t + 1"),
        ("x = ({ int t = 1; t + 1; }) @+ 2;", "x = ({ int t = 1; t + 1; }) + 2"),
        ("if (({ @g(); 1; })) x = 1;", "g()"),
        ("EACH(i, list) { @g(i); }", "g(i)"),
        ("@EACH(i, list) { g(i); } x = 1;", "EACH(i, list)"),
        ("EACH(i, list) { g(i); } @x = 1;", "x = 1"),
        ("int inner(int b) { @return b; } x = 1;", "return b"),
        ("f(1\n#ifdef A\n, 2\n#endif\n, @3);", "f(1 , 2 , 3)"),
        ("\n#ifdef A\nif (a) {\n#else\nif (@b) {\n#endif\nx = 1; } y = 2;", "if (b)"),
        ("\n#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\nx = 1; } y @= 2;", "y = 2"),
        ('@puts("a // b" /* c */ "\\\n;");', 'puts("a // b" ";")'),
        ("if (a) { @} x = 1;", None),
        ('asm volatile ("nop" : @"=r"(x));', 'asm volatile ("nop" : "=r"(x))'),
        ("__extension__ int @n = 1;", "__extension__ int n = 1"),
    ],
)
def test_statements_of_functions(text: str, expected: str | None) -> None:
    written = in_function(text)
    assert (None if written is None else written.text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("static int @a[] = {1, 2}, b = 3;", "static int a[] = {1, 2}"),
        ("static int a[] = {1, 2}, @b = 3;", "static int b = 3"),
        ("int (*@g(int n))(int) { return 0; }", "int (*g(int n))(int)"),
        ("int g(a) int a; { @return a; }", "return a"),
        ("struct __attribute__((packed)) s { int x; }; int g(void) { @return 1; }", "return 1"),
        ("__attribute__((noreturn)) void g(void) { @h(); }", "h()"),
        ("void g(void) __attribute__((noreturn)); void g(void) { @h(); }", "h()"),
        ("enum { A, B } e; union u { int x; } v; int g(void) { @return 1; }", "return 1"),
        ("<% int @z; %>", "int z"),
        ("} int g(void) { @return 1; }", "return 1"),
        ("int g(void) { x = (; } int h(void) { @return 1; }", "return 1"),
    ],
)
def test_outside_of_functions(text: str, expected: str) -> None:
    written = found(text)
    assert written is not None
    assert written.text == expected


def test_spans() -> None:
    written = found("void f(void)\n{\n  if (@a\n      > 1)\n    x = 1;\n  else\n    x = 2;\n}\n")
    assert written is not None
    assert written.text == "if (a > 1)"
    assert (str(written.span), written.span.end_line, written.span.end_column) == ("f.c:3:3", 4, 11)
    assert (str(written.statement), written.statement.end_line, written.statement.end_column) == (
        "f.c:3:3",
        7,
        10,
    )


def test_the_condition_of_do_belongs_to_the_whole_loop() -> None:
    written = in_function("do { a--; } while (@a);")
    assert written is not None
    assert (written.statement.column, written.span.column) == (16, 28)


def test_the_first_in_a_line() -> None:
    source = SourceFile("f.c", "f.c", "int f(void) {\n\n  x = 1; y = 2;\n}", blanked=False)
    assert source.written_at(3, 0).text == "x = 1"


def test_long_text_is_cut() -> None:
    written = in_function(f"@x = {' + '.join(['one'] * 500)};")
    assert written is not None
    assert len(written.text) == LIMIT
    assert written.text.endswith("...")


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        ("int f(int x) {", "if (x == 1) x = 2; else ", "x = 3; }"),
        ("int f(int x) {", "if (x) ", "x = 3; }"),
        ("int f(int x) {", "{", "x = 3; }"),
        ("int f(int x) { x = ", "(", "1; }"),
        ("int f(int x) { int y", ", a = 1", "; }"),
        ("int f(int x) { ", "({ x; ", "}"),
        ("", "int f(int x) { return x; } ", ""),
        ("int f(int x) { ", "do ", "x; }"),
    ],
)
def test_deep_and_long_text_takes_linear_time(before: str, piece: str, after: str) -> None:
    start, number = time.process_time(), 20_000
    statements = Statements("f.c", before + piece * number + after)
    for column in range(len(before) + 1, len(before) + len(piece) * number, len(piece)):
        token = statements.tokens.at(1, column)
        assert token is None or statements.written(token) is not None or statements.part(token) is None
    assert time.process_time() - start < 60
