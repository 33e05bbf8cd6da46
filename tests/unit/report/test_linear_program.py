"""Linear Programs as text: what stays as it is, and what becomes an arbitrary value."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.frontend.c.load import load_c
from certus.frontend.lp.load import load_lp
from certus.passes.linear_program import linear_program
from certus.report.linear_program import render_linear

TEXT = """int g = 3;
bool b = false;
real r = 0.5;
int twice(int n) { int m; m = n * n; if (m > g) { m = m - 1; } else { b = !b; } return m; }
void main() {
    int x = *; int q;
    assume(x >= 0 - 5 && x <= 5);
    while (x > 0) { x = x - 2; g = g + x / 2; q = x % 3; }
    x = twice(x);
    r = r / 2;
    if (r < 0.5) { x = x * g; }
    assert(x * x >= 0 || b);
}
"""


def lines_of(text: str) -> list[str]:
    """Return the lines of the Linear Program of a text in the small language, without comments."""
    printed = render_linear(linear_program(load_lp(text, "text.lp").program))
    return [code for line in printed.splitlines() if (code := line.partition("//")[0].strip())]


@pytest.mark.parametrize(
    "line",
    [
        "int g = 3;",
        "bool b = false;",
        "if (g < m) {",
        "b = !b;",
        "assume(x >= -5 && x <= 5);",
        "while (x > 0) {",
        "g = g + x / 2;",
        "q = x % 3;",
        "x = twice(x);",
    ],
)
def test_what_is_linear_stays(line: str) -> None:
    assert line in lines_of(TEXT)


def test_a_product_is_an_arbitrary_value() -> None:
    lines = lines_of(TEXT)
    assert "n * n" not in " ".join(lines)
    assert lines[lines.index("m = any1;") - 1] == "any1 = *;"


def test_a_claim_that_is_not_linear() -> None:
    lines = lines_of(TEXT)
    claim = lines.index("assume(!(any1_2 >= 0 || b));")
    assert lines[claim + 1] == "assert(false);"


def test_a_condition_that_is_not_linear_is_a_nondeterministic_branch(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text("extern double d(void);\nint main(void) { if (d() < 0.5) return 1; return 0; }\n")
    printed = render_linear(linear_program(load_c(path).program)).splitlines()
    lines = [line.partition("//")[0].strip() for line in printed]
    assert lines[lines.index("assume(some1);") - 2 :][:2] == ["if (*) {", "some1 = *;"]


def test_real_numbers_stay() -> None:
    lines = lines_of(TEXT)
    assert "real r = (1.0 / 2);" in lines
    assert "r = (1.0 / 2) * r;" in lines
    assert "if (r < (1.0 / 2)) {" in lines


def test_integers_among_reals_are_converted_by_the_language() -> None:
    text = "void main() { int i = *; real x = i - 0.25; x = x * x; assert(x > i + 1 || x / 3 <= 1); }"
    lines = lines_of(text)
    assert "x = (-1.0 / 4) + (i);" in lines
    assert lines[lines.index("x = real1;") - 1] == "real1 = *;"
    again = linear_program(load_lp("\n".join(lines), "again.lp").program)
    assert not any(step.abstracted for step in again.procedures["main"].steps.values())


def test_nothing_of_a_linear_program_is_abstracted() -> None:
    text = "\n".join(lines_of(TEXT))
    procedures = linear_program(load_lp(text, "again.lp").program).procedures.values()
    assert not any(step.abstracted for procedure in procedures for step in procedure.steps.values())


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("unsigned char c = n;", "c = n % 256 < 0 ? n % 256 + 256 : n % 256;"),
        ("unsigned c = n;", "c = n < 0 ? n + 4294967296 : n;"),
        ("unsigned c = (unsigned)n >> 3;", "(n < 0 ? n + 4294967296 : n)"),
        ("int c = n & 12;", "n % 16"),
        ("int c = n / 4;", "c = n / 4;"),
        ("long c = n * (long)n;", "c = any1;"),
    ],
)
def test_machine_integers_are_integers(tmp_path: Path, statement: str, line: str) -> None:
    declared = "extern int __VERIFIER_nondet_int(void);\n"
    path = tmp_path / "program.c"
    path.write_text(
        f"{declared}int main(void) {{ int n = __VERIFIER_nondet_int(); {statement} return c != 0; }}\n"
    )
    printed = render_linear(linear_program(load_c(path).program))
    assert line in " ".join(printed.split()), printed
