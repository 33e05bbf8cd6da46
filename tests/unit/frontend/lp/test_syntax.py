"""Grammar, syntax errors, printing and numerals of the small language."""

from __future__ import annotations

from importlib.resources import files

import pytest
from tests.unit.frontend.lp.texts import errors_of, located

from certus.frontend.lp import ast, parse, print_lp
from certus.frontend.lp.ast import numeral, read_numeral
from certus.frontend.lp.parser import parse_tree_of_expression
from certus.frontend.lp.printer import expression_text
from certus.frontend.lp.tabulate import tabulate
from certus.frontend.source import Source

X, Y, Z = ast.Name("x"), ast.Name("y"), ast.Name("z")


def tree(text: str) -> ast.Expression:
    return parse_tree_of_expression(Source(text, "t.lp"))


def body(text: str) -> tuple[ast.Statement, ...]:
    (unit,) = parse(Source(f"void main() {{ {text} }}", "t.lp")).units
    assert isinstance(unit, ast.ProcedureDefinition)
    return unit.body


def binary(operator: str, left: ast.Expression, right: ast.Expression) -> ast.Binary:
    return ast.Binary(operator, left, right)


def test_the_table_belongs_to_the_grammar() -> None:
    here = files("certus.frontend.lp")
    assert tabulate((here / "grammar.lark").read_text("utf-8")) == (here / "table.json").read_text("utf-8")


class TestExpressions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("x + y * z", binary("+", X, binary("*", Y, Z))),
            ("x * y + z", binary("+", binary("*", X, Y), Z)),
            ("x - y - z", binary("-", binary("-", X, Y), Z)),
            ("x / y % z", binary("%", binary("/", X, Y), Z)),
            ("x < y == z", binary("==", binary("<", X, Y), Z)),
            ("x || y && z", binary("||", X, binary("&&", Y, Z))),
            ("!x && y", binary("&&", ast.Unary("!", X), Y)),
            ("-x * y", binary("*", ast.Unary("-", X), Y)),
            ("- -x", ast.Unary("-", ast.Unary("-", X))),
            ("(x + y) * z", binary("*", binary("+", X, Y), Z)),
            ("((x))", X),
            ("* * *", binary("*", ast.Nondet(), ast.Nondet())),
            ("unknown", ast.Nondet()),
            ("x + *", binary("+", X, ast.Nondet())),
            ("x ? y : z", ast.Conditional(X, Y, Z)),
            ("x ? y : y ? z : x", ast.Conditional(X, Y, ast.Conditional(Y, Z, X))),
            ("x ? y ? z : x : y", ast.Conditional(X, ast.Conditional(Y, Z, X), Y)),
            ("x || y ? z : x", ast.Conditional(binary("||", X, Y), Z, X)),
            ("true", ast.Truth(value=True)),
            ("f(x, 1)", ast.Invocation("f", (X, ast.Number(1)))),
            ("12345678901234567890", ast.Number(12345678901234567890)),
            ("x/**/+// rest\n y", binary("+", X, Y)),
        ],
    )
    def test_shape(self, text: str, expected: ast.Expression) -> None:
        assert tree(text) == expected

    def test_nodes_know_their_text(self) -> None:
        text = "x + (y * z)"
        root = tree(text)
        assert isinstance(root, ast.Binary)
        assert text[root.start : root.end] == text
        assert text[root.right.start : root.right.end] == "(y * z)"

    @pytest.mark.parametrize(
        "text",
        [
            "x - (y - z)",
            "(x ? y : z) ? x : y",
            "x ? y : z ? x : y",
            "!(x && y)",
            "-(-x)",
            "x - -y",
            "x == y == z",
            "x == (y == z)",
            "* + 1",
        ],
    )
    def test_printed_with_the_parentheses_it_needs(self, text: str) -> None:
        printed = expression_text(tree(text))
        assert printed == text
        assert tree(printed) == tree(text)


class TestStatements:
    def test_bodies_need_no_braces(self) -> None:
        assert body("if (x) y = z; else { y = x; }") == body("if (x) { y = z; } else y = x;")

    def test_else_belongs_to_the_nearest_if(self) -> None:
        (outer,) = body("if (x) if (y) ; else z = 1;")
        assert isinstance(outer, ast.If)
        (inner,) = outer.then
        assert isinstance(inner, ast.If)
        assert inner.otherwise
        assert not outer.otherwise

    def test_a_label_belongs_to_the_statement_after_it(self) -> None:
        (statement, after) = body("if (x) L: y = 1; z = 1;")
        assert statement == ast.If(X, (ast.Label("L"), ast.Assignment((Y,), (ast.Number(1),))))
        assert isinstance(after, ast.Assignment)

    def test_labels_may_stand_at_the_end_of_a_block(self) -> None:
        assert body("x = 1; L: M:")[1:] == (ast.Label("L"), ast.Label("M"))

    def test_heads_of_procedures(self) -> None:
        units = parse(
            Source("main() {} void f(void) {} int g(int a, bool b) {} int, bool h() {}", "t.lp")
        ).units
        heads = [(u.results, u.name, u.parameters) for u in units if isinstance(u, ast.ProcedureDefinition)]
        assert heads == [
            ((), "main", ()),
            ((), "f", ()),
            (("int",), "g", (ast.Parameter("int", "a"), ast.Parameter("bool", "b"))),
            (("int", "bool"), "h", ()),
        ]

    def test_a_program_printed_and_parsed(self) -> None:
        text = (
            "int x = 5, y;\n\nint, bool f(int a) {\n    L:\n    while (a > 0) {\n        a, y = y, *;\n"
            "        break;\n    }\n    if (a == 1) {\n        return a, true;\n    } else if (*) {\n"
            "        goto L;\n    } else {\n        ;\n    }\n}\n\nvoid main() {\n    bool b;\n"
            "    x, b = f(3);\n    f(x);\n    assert(b);\n    assume(!b);\n}\n"
        )
        assert print_lp(parse(Source(text, "t.lp"))) == text


class TestSyntaxErrors:
    @pytest.mark.parametrize(
        ("text", "position", "message"),
        [
            ("void main() { x = ; }", "1:19-20", "Expected an expression, but found `;`."),
            ("void main() { x = 3 }", "1:21-22", "Expected `,`, `;` or an operator, but found `}`."),
            ("void main() { x = 5 5; }", "1:21-22", "Expected `,`, `;` or an operator, but found `5`."),
            ("void main() {\n  if x > 1 ;\n}", "2:6-7", "Expected `(`, but found `x`."),
            ("void main() { assert(x; }", "1:23-24", "Expected `)`, but found `;`."),
            ("void main() { ", "1:15-15", "Expected `}` or a statement, but the file ends."),
            ("int x", "1:6-6", "Expected `=`, `,`, `(` or `;`, but the file ends."),
            (
                "void main() {} }",
                "1:16-17",
                "Expected the end of the file, a name, `void` or a type, but found `}`.",
            ),
            ("int 5;", "1:5-6", "Expected `,` or a name, but found `5`."),
            ("void main() { x = 1 @ 2; }", "1:21-22", "The character `@` has no meaning here."),
            ("void main() { \x01 }", "1:15-16", "The character `U+0001` has no meaning here."),
            ("void main() { /* open\n }", "1:15-17", "This comment is never closed."),
        ],
    )
    def test_message(self, text: str, position: str, message: str) -> None:
        errors = errors_of(text)
        assert located(errors) == [("syntax-error", position)]
        assert errors[0].message == message

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("void main() { if (x = 1) ; }", "Write `==` to compare."),
            ("int while;", "`while` is a keyword and cannot be a name: choose another name."),
            ("void main() { /*", "Add `*/`."),
        ],
    )
    def test_hint(self, text: str, hint: str) -> None:
        assert errors_of(text)[0].hint == hint


class TestNumerals:
    @pytest.mark.parametrize("digits", [1, 3999, 4000, 4001, 8001, 25_000])
    def test_of_any_length(self, digits: int) -> None:
        text = ("9" + "0123456789" * (digits // 10 + 1))[:digits]
        value = read_numeral(text)
        assert numeral(value) == text
        assert value % 10**9 == int(text[-9:])
        assert 10 ** (digits - 1) <= value < 10**digits

    def test_zeros(self) -> None:
        assert numeral(0) == "0"
        assert read_numeral("0" * 9000 + "12") == 12
        assert numeral(10**8000) == "1" + "0" * 8000
