"""Expressions put into programs: where they are evaluated, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.core.errors import InputError, Unsupported
from certus.core.evidence import Trace
from certus.core.program import Program
from certus.core.vocabulary import Property
from certus.core.witness import Place, probe_number
from certus.frontend.c.load import load_probed
from certus.frontend.c.source.probes import EditedText, Insertion, Probe, check_expression, conjuncts
from certus.frontend.graph import LoadedProgram
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import ReplayInputs
from certus.interpreter.interpreter import Ending, run

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
  FOREVER { x++; if (x > 25) return x; }
}
"""


def load(directory: Path, *probes: Probe, property: str = "unreach-call") -> tuple[LoadedProgram, Program]:
    file = directory / "p.c"
    file.write_text(SOURCE)
    return load_probed(file, probes, property=Property(property), model="LP64", budget=Budget())


def probe(line: int, column: int | None, expression: str, number: int = 0, *, loop: bool = False) -> Probe:
    return Probe(number, Place("p.c", line, column), expression, loop)


def fails(directory: Path, *probes: Probe) -> int | None:
    """The number of the first probe that fails in the program's run."""
    _, program = load(directory, *probes)
    trace = Trace("", {}, {})
    end = run(compile_program(program), ReplayInputs(program, trace), budget=Budget(10))
    assert end.ending in (Ending.ERROR, Ending.EXIT)
    return probe_number(program.error_at(end.location).kind) if end.ending is Ending.ERROR else None


@pytest.mark.parametrize(
    ("line", "column", "loop", "holds", "wrong"),
    [
        (6, 3, True, "i <= 3 && x <= 3", "i < 3"),
        (7, 5, False, "i < 3", "i < 2"),
        (8, 3, True, "x >= 4 && x <= 9", "x > 4"),
        (9, 3, True, "x >= 9 && x <= 11", "x <= 10"),
        (9, 38, False, "x == 9 || x == 10", "x == 9"),
        (10, 1, False, "x == 11 && g == 3", "x == 20"),
        (10, None, False, "b[1] == 5 && *b == 4", "b[1] == 4"),
    ],
)
def test_where_they_are_evaluated(
    line: int, column: int | None, loop: bool, holds: str, wrong: str, tmp_path: Path
) -> None:
    good = probe(line, column, holds, 0, loop=loop)
    assert fails(tmp_path, good) is None
    assert fails(tmp_path, good, probe(line, column, wrong, 7, loop=loop)) == 7


def test_places_are_those_of_the_program_itself(tmp_path: Path) -> None:
    loaded, probed = load(tmp_path, probe(7, 5, "x >= 0"), probe(6, 3, "i >= 0", 1, loop=True))
    assert starts(loaded.program) == starts(probed)
    assert loaded.program.source == probed.source == SOURCE


def test_places_outside_of_what_can_be_called(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="Line 2 is in no function"):
        load(tmp_path, probe(2, None, "1"))
    for line in (1, 99):
        with pytest.raises(InputError, match=f"No statement starts in line {line}"):
            load(tmp_path, probe(line, None, "1"))


def starts(program: Program) -> set[tuple[int, int, str]]:
    """Where the steps of the program stand that are not a probe's."""
    found = [e for e in program.edge.values() if probe_number(e.text) is None and e.span is not None]
    return {(e.span.line, e.span.column, e.text) for e in found if e.span is not None}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (probe(12, None, "1"), "No statement starts in line"),
        (probe(7, 6, "1"), "No statement starts in line 7, column 6"),
        (probe(7, None, "1", loop=True), "No loop starts in line"),
        (probe(11, None, "1", loop=True), "use of a macro"),
        (probe(7, 5, "x ="), "Clang refuses"),
        (probe(7, 5, "missing > 0"), "undeclared identifier 'missing'"),
        (probe(5, 3, "x > 0"), "undeclared identifier 'x'"),
        (probe(7, 5, "x = 5"), "side effect"),
        (probe(7, 5, "x++"), "side effect"),
        (probe(7, 5, "main() == 0"), "side effect"),
        (probe(7, 5, "x != 5 || (__builtin_unreachable(), 1)"), "side effect"),
        (probe(7, 5, "(__builtin_unreachable(), 1)"), "side effect"),
        (probe(7, 5, "(__certus_probe(0, 1), 1)"), "no expression may call"),
    ],
)
def test_what_is_refused(wrong: Probe, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, probe(10, None, "g == 3", 5), wrong)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1); x = 5; ((1", "do not match"),
        ("1) && (1", "do not match"),
        (") || (", "do not match"),
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
        ("x > 0", ["x > 0"]),
        ("x > 0 && (y == 1 || z) && a[1 && 2]", ["x > 0", "(y == 1 || z)", "a[1 && 2]"]),
        ("x && y || z", ["x && y || z"]),
        ("x && y ? 1 : z && 2", ["x && y ? 1 : z && 2"]),
        ("x == '?' && y", ["x == '?'", "y"]),
        ("x &&", ["x &&"]),
    ],
)
def test_conjuncts(expression: str, parts: list[str]) -> None:
    assert conjuncts(expression) == parts


def test_texts_in_expressions_are_no_parentheses() -> None:
    check_expression(probe(7, 5, """*")" == ')' && ";"[0]"""))


def test_nothing_in_an_expression_is_an_error_by_itself(tmp_path: Path) -> None:
    _, program = load(tmp_path, probe(7, 5, "x + 2147483647 != 1 / g"), property="no-overflow")
    inside = [site for site in program.errors if site.span is not None and site.span.line == 7]
    assert [site.kind for site in inside] == ["witness-0", "overflow"]


def test_edited_text_knows_where_things_were() -> None:
    edited = EditedText(b"abcdef", [Insertion(4, b"yy"), Insertion(1, b"xxx"), Insertion(4, b"z")])
    assert edited.data == b"axxxbcdyyzef"
    assert [edited.locate(at)[0] for at in range(13)] == [0, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 5, 6]
