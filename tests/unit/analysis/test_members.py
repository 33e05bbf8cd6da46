"""The few values of a variable, and pointers by their offsets, as `certus ranges` reports them."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.frontend.c.load import load_c
from certus.report.ranges import VariableRange, range_text
from certus.run.ranges import numeric_report, without_memory

DECLARED = "extern int any(void); extern void *malloc(unsigned long);\n"


def reported(directory: Path, text: str, bound: int | None = None) -> dict[str, VariableRange]:
    path = directory / "t.c"
    path.write_text(DECLARED + text)
    lowered, offsets = without_memory(load_c(path).program)
    return {each.name: each for each in numeric_report(lowered, bound, Budget(20), offsets).variables}


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("s = any() ? -1073741823 : 259;", (-1073741823, 259)),
        (
            "s = 5; while (any()) { if (s == 5) s = 700; else if (s == 700) s = 90; else s = 5; }",
            (5, 90, 700),
        ),
        ("s = any() ? 3 : 70000; s = s * 3 + 1;", (3, 10, 70000, 210001)),
        ("s = any() ? 3 : 70000; s = s % 100 * 1000; if (s != 0) s = 0;", (0, 3, 3000, 70000)),
        ("unsigned u = any() ? -1 : -1000; s = u;", (-1000, -1)),
    ],
)
def test_few_values_are_listed(tmp_path: Path, body: str, values: tuple[int, ...]) -> None:
    rows = reported(tmp_path, f"int main(void) {{ int s; {body} return s; }}")["s"]
    assert rows.values == values
    assert rows.numbered == 32 - (len(values) - 1).bit_length()


def test_a_set_is_not_shown_where_the_range_is_as_good(tmp_path: Path) -> None:
    assert reported(tmp_path, "int main(void) { int s = any() ? 0 : 1; return s; }")["s"].values is None


def test_many_values_have_a_range_only(tmp_path: Path) -> None:
    rows = reported(tmp_path, "int main(void) { int i = 0; while (i < 9000) i += 300; return i; }")["i"]
    assert (rows.values, rows.low, rows.high) == (None, 0, 9299)


def test_what_wraps_alike_keeps_its_range(tmp_path: Path) -> None:
    rows = reported(
        tmp_path,
        """int main(void) { int x = any(); if (x < -9 || x > -2) return 0; unsigned u = x; int y = u;
        return y; }""",
    )
    assert (rows["u"].low, rows["u"].high) == (2**32 - 9, 2**32 - 2)
    assert (rows["y"].low, rows["y"].high) == (-9, -2)


POINTERS = [
    ("int t[20]; int main(void) { int *p = t; while (p < t + 10) p++; return *p; }", "p", "t + [0, 43]"),
    (
        """int a[100], b[50]; int sum(int *p) { int *q; for (q = p; q < p + 10; q++) *q = 1; return *q; }
        int main(void) { return sum(a) + sum(b); }""",
        "q",
        "a/b + [0, 43]",
    ),
    (
        """int a[9], b[9]; int main(void) { int *p = any() ? a : b; int *q = any() ? a + 2 : b + 2;
        if (p == q) q++; else p++; return *p + *q; }""",
        "q",
        "a/b + [8, 12]",
    ),
    (
        """struct n { int v; struct n *next; }; int main(void) { struct n x, y, *p; x.next = &y; y.next = 0;
        for (p = &x; p; p = p->next) p->v = 1; return 0; }""",
        "p",
        "null or x/y + [0, 0]",
    ),
    (
        """int main(void) { int *p; int *q = 0; while (any()) { p = malloc(40); q = p + any() % 3; *q = 1; }
        return 0; }""",
        "q",
        None,
    ),
]


@pytest.mark.parametrize(("text", "name", "shown"), POINTERS, ids=range(len(POINTERS)))
def test_pointers_have_offsets(tmp_path: Path, text: str, name: str, shown: str | None) -> None:
    text_ = range_text(reported(tmp_path, text)[name])
    if shown is None:
        assert text_.startswith("null or ")
    else:
        assert text_ == shown


def test_elements_have_one_range_and_fields_one_each(tmp_path: Path) -> None:
    rows = reported(
        tmp_path,
        """struct s { int tag; int v; } r[10]; int t[50];
        int main(void) { int i; for (i = 0; i < 10; i++) { r[i].tag = i % 3; r[i].v = 7; t[i] = 100 + i; }
        return r[any() & 7].tag + t[any() & 7] + r[1].v; }""",
    )
    assert {name: (rows[name].low, rows[name].high) for name in ("r[]+0", "r[]+4", "t[]")} == {
        "r[]+0": (0, 2),
        "r[]+4": (0, 7),
        "t[]": (0, 109),
    }


def test_an_address_that_numbers_depend_on_stays_open(tmp_path: Path) -> None:
    """The overlay of objects would fix the number, and with it the branch."""
    rows = reported(
        tmp_path,
        """int a[9], b[9]; int main(void) { int *p = any() ? a : b, x = 0; if ((long)p % 64 == 0) x = 1;
        p++; return *p + x; }""",
    )
    assert (rows["x"].low, rows["x"].high) == (0, 1)


def test_inputs_are_told_apart_however_far_they_are_passed_on(tmp_path: Path) -> None:
    rows = reported(
        tmp_path,
        """int g; int get(int k) { int r = any(); return k ? r : 0; } int main(void) {
        int a = get(1), b = a, c = b + 1, d = a > 0 ? a : 5, e = 0; int *p = &g; *p = a;
        while (any()) e += a; return b + c + d + e + g; }""",
    )
    inputs = {name: rows[name].input for name in ("r", "a", "b", "c", "d", "e", "g")}
    assert inputs == {"r": True, "a": True, "b": True, "c": False, "d": False, "e": False, "g": True}


def test_bounded_ranges_have_few_values_too(tmp_path: Path) -> None:
    text = "int main(void) { int i = 7; while (1) i += 5000; }"
    assert reported(tmp_path, text, bound=3)["i"].values == (7, 5007, 10007, 15007)
