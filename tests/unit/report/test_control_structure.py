"""Control flow as nested statements: what is printed means the same as the graph."""

from __future__ import annotations

import pytest

from certus.core.accounting import Budget, Statistics
from certus.core.boolean import ScopedPredicates
from certus.frontend.lp.load import load_lp
from certus.frontend.predicates import parse_predicates
from certus.passes.boolean import abstract_program
from certus.report.boolean_program import render_boolean
from certus.report.control_structure import structured


def kinds(body: str) -> list[str]:
    program = load_lp(f"void main() {{ int x = *; bool b = *; {body} }}", "t.lp").program
    procedure = program.procedures["main"]
    return [line.kind for line in structured(procedure, lambda edge: False) if line.kind != "step"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = 1;", []),
        ("if (b) { x = 1; } else { x = 2; } x = 3;", ["if", "else", "end"]),
        ("if (b) { x = 1; } x = 3;", ["if", "else", "end"]),
        ("assert(b); x = 1; assert(b); x = 2;", ["if", "else", "stop", "end"] * 2),
        ("while (b) { x = x + 1; } x = 0;", ["while", "end"]),
        ("while (b) { while (x > 0) { x = 1; } } x = 0;", ["while", "while", "end", "end"]),
        ("if (b) { return; } " + "x = 1; " * 15, ["if", "return", "else", "end"]),
        (
            "while (b) { if (x > 1) { break; } x = 1; } x = 2;",
            ["while", "if", "goto", "else", "end", "end", "label"],
        ),
        ("L: x = x + 1; if (b) { goto L; } x = 2;", ["label", "if", "goto", "else", "end"]),
        ("assume(false); x = 1;", []),
    ],
)
def test_shapes(body: str, expected: list[str]) -> None:
    assert kinds(body) == expected


def test_a_long_program_is_not_nested() -> None:
    text = "void main() { bool b = *; " + "assert(b); " * 3000 + "}"
    procedure = load_lp(text, "long.lp").program.procedures["main"]
    lines = structured(procedure, lambda edge: False)
    assert max(line.depth for line in lines) == 2


def test_a_jump_into_a_loop_is_kept() -> None:
    text = "int x; void main() { if (*) { goto L; } while (x < 5) { x = 1; L: x = 2; } assert(x > 2); }"
    program = load_lp(text, "jump.lp").program
    given = parse_predicates("global: x < 5, x > 2", program)
    printed = render_boolean(abstract_program(program, given, budget=Budget(60), statistics=Statistics()))
    again = load_lp(printed, "printed.lp").program
    assert len(again.errors) == 1
    assert printed.count("x_lt_5, x_gt_2 = true, false;") == 2  # nothing is copied


def test_an_abstraction_without_predicates_has_only_control() -> None:
    program = load_lp("void main() { int x = 0; while (x < 3) { x = x + 1; } }", "t.lp").program
    made = abstract_program(program, ScopedPredicates(), budget=Budget(60), statistics=Statistics())
    assert [line.split("//")[0].strip() for line in render_boolean(made).splitlines()[2:]] == [
        "void main() {",
        ";",
        "while (unknown) {",
        "assume(true);",
        ";",
        "}",
        "assume(true);",
        "}",
    ]
