"""Static checks of the small language: each error with its code and exact position."""

from __future__ import annotations

import pytest
from tests.unit.frontend.lp.texts import errors_of, load, located, warnings_of

from certus.core.diagnostic import Severity

MAIN = "void main() {}\n"


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        # names
        ("", "missing-main", "1:1-1"),
        ("int x;", "missing-main", "1:1-1"),
        (MAIN + "int x; bool x;", "duplicate-declaration", "2:13-14"),
        (MAIN + "int x; void x() {}", "duplicate-declaration", "2:13-14"),
        (MAIN + "int main() { return 1; }", "duplicate-declaration", "2:5-9"),
        (MAIN + "void f(int a, int a) {}", "duplicate-declaration", "2:19-20"),
        (MAIN + "void f() { int a; bool a; }", "duplicate-declaration", "2:24-25"),
        (MAIN + "int x; void f() { int x; }", "shadowed-name", "2:23-24"),
        (MAIN + "int x; void f(int x) {}", "shadowed-name", "2:19-20"),
        (MAIN + "void f(int a) { int a; }", "shadowed-name", "2:21-22"),
        (MAIN + "void f() { int a; { int a; } }", "shadowed-name", "2:25-26"),
        (MAIN + "void f() { int f; }", "shadowed-name", "2:16-17"),
        (MAIN + "void f() { x = 1; }", "undeclared-variable", "2:12-13"),
        (MAIN + "void f() { assert(y > 1); }", "undeclared-variable", "2:19-20"),
        (MAIN + "void f() { { int y; } y = 1; }", "undeclared-variable", "2:23-24"),
        (MAIN + "void f() { int y = y; }", "undeclared-variable", "2:20-21"),
        (MAIN + "void f() { bool b; b = f; }", "undeclared-variable", "2:24-25"),
        (MAIN + "void f() { g(1); }", "undeclared-procedure", "2:12-13"),
        (MAIN + "void f() { int x, y; x, y, x = 1, 2, 3; }", "repeated-target", "2:28-29"),
        # labels and loops
        (MAIN + "void f() { goto L; }", "unknown-label", "2:12-19"),
        (MAIN + "void f() { L: ; } void g() { goto L; }", "unknown-label", "2:30-37"),
        (MAIN + "void f() { L: ; { L: ; } }", "duplicate-label", "2:19-21"),
        (MAIN + "void f() { break; }", "misplaced-break", "2:12-18"),
        (MAIN + "void f() { while (*) ; continue; }", "misplaced-continue", "2:24-33"),
        # types
        (MAIN + "int x = true;", "type-mismatch", "2:9-13"),
        (MAIN + "void f(int x) { x = true; }", "type-mismatch", "2:21-25"),
        (MAIN + "void f(bool b) { b = 2 + 1; }", "type-mismatch", "2:22-27"),
        (MAIN + "void f(int x) { if (x) ; }", "type-mismatch", "2:21-22"),
        (MAIN + "void f(int x) { assert(x > 1 && x); }", "type-mismatch", "2:33-34"),
        (MAIN + "void f(bool b) { assert(b < 1 && true); }", "type-mismatch", "2:25-26"),
        (MAIN + "void f(bool b, int x) { assert(b == x); }", "type-mismatch", "2:37-38"),
        (MAIN + "void f(bool b, int x) { x = b ? x : b; }", "type-mismatch", "2:37-38"),
        (MAIN + "void f(bool b) { b = -1; }", "type-mismatch", "2:22-24"),
        (MAIN + "void f(bool b) { g(b); } void g(int x) {}", "type-mismatch", "2:20-21"),
        (MAIN + "void f(bool b) { b = g(); } int g() { return 1; }", "type-mismatch", "2:18-19"),
        (MAIN + "int f() { return true; }", "type-mismatch", "2:18-22"),
        (MAIN + "void f() { assert(* == *); }", "unclear-type", "2:19-25"),
        # arity
        (MAIN + "void f(int x, int y) { x, y = 1; }", "wrong-arity", "2:24-33"),
        (MAIN + "void f(int x) { x = 1, 2; }", "wrong-arity", "2:17-26"),
        (MAIN + "void f(int x) { f(); }", "wrong-arity", "2:17-20"),
        (MAIN + "void f(int x) { f(1, x); }", "wrong-arity", "2:17-24"),
        (MAIN + "void f(int x) { x = f(1); }", "wrong-arity", "2:21-25"),
        (MAIN + "int, int f(int x) { x = f(1); return 1, 2; }", "wrong-arity", "2:25-29"),
        (MAIN + "void f() { return 1; }", "wrong-arity", "2:12-21"),
        (MAIN + "int f() { return; }", "wrong-arity", "2:11-18"),
        (MAIN + "int, int f() { return 1; }", "wrong-arity", "2:16-25"),
        # calls in expressions, initial values
        (MAIN + "int f() { int x; x = f() + 1; return x; }", "nested-call", "2:22-25"),
        (MAIN + "int f() { return f(); }", "nested-call", "2:18-21"),
        (MAIN + "bool f() { if (f()) ; return true; }", "nested-call", "2:16-19"),
        (MAIN + "int x = 1; int y = x;", "not-constant", "2:20-21"),
        (MAIN + "int x = 1 + *;", "not-constant", "2:13-14"),
        (MAIN + "int x = f(); int f() { return 1; }", "not-constant", "2:9-12"),
        (MAIN + "int x = 1 / (2 - 2);", "division-by-zero", "2:9-20"),
    ],
)
def test_error(text: str, code: str, position: str) -> None:
    errors = errors_of(text)
    assert located(errors) == [(code, position)]
    assert errors[0].message.endswith(".")
    assert errors[0].hint
    assert errors[0].severity is Severity.ERROR


def test_messages_tell_what_to_do_next() -> None:
    (nested,) = errors_of("int f() { int x = 1 + f(); return x; } void main() {}")
    assert nested.message == "A call cannot be part of an expression."
    assert nested.hint == "Call first, then use the result: `r = f(...);`."
    (arity,) = errors_of("void f(int a, int b) {} void main() { f(1); }")
    assert arity.message == "`f` takes 2 arguments, but this call passes 1."


def test_all_errors_are_reported_in_source_order() -> None:
    errors = errors_of("void main() { x = 1; y = true + 1; goto L; x = 2; }")
    assert [code for code, _ in located(errors)] == [
        "undeclared-variable",
        "undeclared-variable",
        "type-mismatch",
        "unknown-label",
    ]


def test_at_most_twenty_errors_are_shown() -> None:
    errors = errors_of("void main() {" + "".join(f"goto L{i};" for i in range(25)) + "}")
    assert len(errors) == 21
    assert errors[-1].code == "more-errors"
    assert errors[-1].message == "There are 5 more errors, not shown."


def test_blocks_side_by_side_may_use_one_name() -> None:
    program = load("void main() { { int i = 1; } { bool i = true; } }")
    assert [v.name for v in program.procedures["main"].variables] == ["main.i", "main.i$2"]
    assert list(program.source_names.values()) == ["i", "i"]


class TestReadBeforeWrite:
    @pytest.mark.parametrize(
        ("text", "positions"),
        [
            ("void main() { int x; assert(x == x + 1); }", ["1:29-30"]),
            ("void main() { int x; if (*) x = 1; assert(x == 1); }", ["1:43-44"]),
            ("void main() { int x; if (*) x = 1; else x = 2; assert(x == 1); }", []),
            ("void main() { int x; while (*) x = 1; assert(x == 1); }", ["1:46-47"]),
            ("void main() { int x; while (true) { x = 1; break; } assert(x == 1); }", []),
            ("void main() { int x; x = x + 1; assert(x > 0); }", ["1:26-27"]),
            ("void main() { int x; x = f(); assert(x > 0); } int f() { return 1; }", []),
            ("void main() { int x = *; assert(x > 0); }", []),
            ("void main(int x) { assert(x > 0); }", []),
            ("void main() { while (*) { int x; assert(x > 0); x = 1; } }", ["1:41-42"]),
            ("void main() { goto L; int x = 1; L: assert(x > 0); }", ["1:44-45"]),
            ("void main() { int x; if (false) { assert(x > 0); } }", []),
            # globals, across procedures
            ("int g; void main() { assert(g > 0); }", ["1:29-30"]),
            ("int g = 1; void main() { assert(g > 0); }", []),
            ("int g = *; void main() { assert(g > 0); }", []),
            ("int g; void main() { set(); assert(g > 0); } void set() { g = 1; }", []),
            ("int g; void main() { set(); assert(g > 0); } void set() { if (*) g = 1; }", ["1:36-37"]),
            ("int g; void main() { use(); g = 1; use(); } void use() { assert(g > 0); }", ["1:65-66"]),
            ("int g; void main() { g = 1; use(); } void use() { assert(g > 0); }", []),
            ("int g; void main() { r(3); assert(g > 0); } void r(int n) { if (*) r(1); else g = n; }", []),
            ("int g; void main() {} void never() { assert(g > 0); }", []),
        ],
    )
    def test_is_a_warning_at_the_first_read(self, text: str, positions: list[str]) -> None:
        assert warnings_of(text) == [("read-before-write", position) for position in positions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f() { } void main() { }", [("missing-return", "1:11-12")]),
        ("int f(bool b) { if (b) return 1; } void main() { }", [("missing-return", "1:34-35")]),
        ("int f() { while (true) { return 1; } } void main() { }", []),
        ("void main() { return; assert(true); }", [("unreachable-assertion", "1:23-36")]),
        ("void main() { return; ERROR: ; }", [("unreachable-label", "1:23-29")]),
    ],
)
def test_other_warnings(text: str, expected: list[tuple[str, str]]) -> None:
    assert warnings_of(text) == expected
