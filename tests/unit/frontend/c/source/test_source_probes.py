"""Expressions put into the text of programs: where they stand, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from certus.core.errors import InputError, Unsupported
from certus.core.witness import Place
from certus.frontend.c.source.probes import DECLARATION, Probe, ProbedText, check_expression, conjuncts
from certus.frontend.c.source.statements import Statements
from certus.system.tools import find_tool

SOURCE = """\
#define FOREVER while (1)
void reach_error(void);
int g = 3;
int main(void) {
  int x = 0, b[2] = {4, 5};
  for (int i = 0; i < 3; i++)
    x = x + i;
  do x++; while (x < 9);
  for (;;) { if (x > 10) break; else x++; }
L: x = 20;
  FOREVER { x++; if (x > 25) return 0; }
}
"""
RUNTIME = """
int main(void);
void __certus_probe(int number, _Bool holds) { if (!holds) __builtin_exit(100 + number); }
"""


def probe(line: int, column: int | None, expression: str, number: int = 0, *, loop: bool = False) -> Probe:
    return Probe(number, Place("p.c", line, column), expression, loop)


def probed(*probes: Probe, source: str = SOURCE) -> ProbedText:
    return ProbedText(Statements("p.c", source), source.encode(), probes)


def fails(directory: Path, *probes: Probe) -> int | None:
    """The number of the first probe that fails in the program's run."""
    (directory / "p.c").write_bytes(probed(*probes).data)
    (directory / "runtime.c").write_text(RUNTIME)
    compiler = find_tool("gcc")
    assert compiler is not None
    made = directory / "program"
    command = [
        str(compiler),
        "-w",
        "-O0",
        str(directory / "p.c"),
        str(directory / "runtime.c"),
        "-o",
        str(made),
    ]
    subprocess.run(command, check=True)
    code = subprocess.run([str(made)], check=False).returncode
    return code - 100 if code >= 100 else None


def test_a_probe_behind_a_body_without_braces_is_not_in_the_body() -> None:
    source = "void f(int x, int y) { if (x) x = 1;y = 2; }\n"
    columns = source.index("y = 2") + 1, source.index("x = 1") + 1
    text = probed(probe(1, columns[0], "y"), probe(1, columns[1], "x", 1), source=source).data
    assert b"if (x) { __certus_probe(1, (x)); x = 1; }__certus_probe(0, (y)); y = 2;" in text


@pytest.mark.parametrize(
    ("line", "column", "loop", "holds", "wrong"),
    [
        (6, 3, True, "i <= 3 && x <= 3", "i < 3"),
        (6, None, False, "x == 0", "x > 0"),
        (7, 5, False, "i < 3", "i < 2"),
        (8, 3, True, "x >= 4 && x <= 9", "x > 4"),
        (9, 3, True, "x >= 9 && x <= 11", "x <= 10"),
        (9, 38, False, "x == 9 || x == 10", "x == 9"),
        (10, 1, False, "x == 11 && g == 3", "x == 20"),
        (10, 4, False, "x == 11 && g == 3", "x == 20"),
        (10, None, False, "b[1] == 5 && *b == 4", "b[1] == 4"),
        (11, 13, False, "x >= 20", "x < 25"),
    ],
)
def test_where_they_are_evaluated(
    line: int, column: int | None, loop: bool, holds: str, wrong: str, tmp_path: Path
) -> None:
    good = probe(line, column, holds, 0, loop=loop)
    assert fails(tmp_path, good, probe(line, column, wrong, 7, loop=loop)) == 7
    assert fails(tmp_path, good) is None


def test_the_text() -> None:
    source = "int f(int x) {\n if (x) x++;\n while (x) ;\n for (;;) x++;\n do ; while (x); }"
    found = probed(
        *(probe(line, None, f"x > {line}", line, loop=True) for line in (3, 4, 4, 5)),
        probe(2, 9, "1"),
        probe(3, 12, "2"),
        source=source,
    )
    assert found.data.decode() == DECLARATION + (
        "int f(int x) {\n if (x) { __certus_probe(0, (1)); x++; }\n"
        " while (__certus_probe(3, (x > 3)), x) { __certus_probe(0, (2)); ; }\n"
        " for (; __certus_probe(4, (x > 4)), __certus_probe(4, (x > 4)), 1;) x++;\n"
        " do ; while (__certus_probe(5, (x > 5)), x); }"
    )


def test_places_are_those_of_the_program_itself() -> None:
    text = probed(probe(7, 5, "x >= 0"), probe(6, 3, "i >= 0", 1, loop=True))
    lines = text.data.decode().split("\n")
    for number, line in enumerate(SOURCE.split("\n"), 1):
        for column, character in enumerate(line, 1):
            if character.isalnum() and number not in (6, 7):
                assert text.place(number + 1, column) == (number, column)
    assert text.place(8, lines[7].index("x = x") + 1) == (7, 5)
    assert text.place(8, 8) == (7, 5)
    assert text.place(7, lines[6].index("i < 3") + 1) == (6, 19)


def test_other_characters_and_a_byte_order_mark() -> None:
    source = 'int f(int x) { char *s = "\u00e4\u20ac"; x = 1; }'
    data = b"\xef\xbb\xbf" + source.encode()
    text = ProbedText(Statements("p.c", source), data, [probe(1, 32, "x")])
    assert text.data.startswith(b"\xef\xbb\xbfvoid")
    assert text.data.decode().endswith('"; __certus_probe(0, (x)); x = 1; }')


def test_places_outside_of_functions() -> None:
    with pytest.raises(Unsupported, match="Line 2 is in no function"):
        probed(probe(2, None, "1"))
    for line in (1, 99):
        with pytest.raises(InputError, match=f"No statement starts in line {line}"):
            probed(probe(line, None, "1"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (probe(12, None, "1"), "No statement starts in line"),
        (probe(7, 6, "1"), "No statement starts in line 7, column 6"),
        (probe(7, None, "1", loop=True), "No loop starts in line"),
        (probe(11, None, "1", loop=True), "use of a macro"),
    ],
)
def test_what_is_refused(wrong: Probe, message: str) -> None:
    with pytest.raises(InputError) as refused:
        probed(probe(10, None, "g == 3", 5), wrong)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1); x = 5; ((1", "do not match"),
        ("(x[1)]", "do not match"),
        ("x > 0; x", "cannot be part"),
        ("x /* */ > 0", "cannot be part"),
        (r"\old(x) == 0", "cannot be part"),
        ("({ x; })", "cannot be part"),
        ("<% x", "cannot be part"),
        ("  ", "empty"),
    ],
)
def test_what_would_not_stay_inside_its_parentheses(expression: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_expression(probe(7, 5, expression))


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("x > 0 && (y == 1 || z) && a[1 && 2]", ["x > 0", "(y == 1 || z)", "a[1 && 2]"]),
        ("x && y || z", ["x && y || z"]),
        ("x == '?' && y", ["x == '?'", "y"]),
        ("x &&", ["x &&"]),
    ],
)
def test_conjuncts(expression: str, parts: list[str]) -> None:
    assert conjuncts(expression) == parts
