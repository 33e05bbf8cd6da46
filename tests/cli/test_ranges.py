"""`certus ranges`: tables, JSON and bad usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Certus

FOO = """void foo(int N) {
  int i = 0;
  while (i <= N) i++;
}
int main(void) { foo(3); return 0; }
"""
GUARDED = """int main(void) {
  unsigned char i = 0;
  while (1) if (i < 100) i++;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "foo.c"
    path.write_text(FOO)
    return path


def test_a_table_of_variables(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "guarded.c"
    path.write_text(GUARDED)
    done = certus("ranges", str(path))
    assert done.returncode == 0, done.stderr
    assert "main: i   u8    [0, 100]  8              7" in done.stdout
    assert "bits saved" in done.stdout


def test_the_share_of_bits_that_are_no_inputs(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "codes.c"
    path.write_text(
        "extern int any(void);\n"
        "int main(void) { int n = any(); int s = n ? -1073741823 : 0; unsigned char i = 3; return s + i; }\n"
    )
    data = json.loads(certus("ranges", path, "--json").stdout)
    others = data["declared"] - data["inputs"]
    assert data["inputs"] >= 32
    lines = certus("ranges", path).stdout.splitlines()
    inputs = f"bits of inputs, which may have any value: {data['inputs']}; "
    assert f"{inputs}saved of the others: {100 * data['saved'] / others:.0f} %" in lines
    numbered = f"{100 * data['numbered'] / data['declared']:.0f} %"
    rest = f"of those that are no inputs: {100 * data['numbered'] / others:.0f} %"
    assert f"bits saved if few values are numbered: {data['numbered']} ({numbered}; {rest})" in lines


def test_symbolic_bounds_of_a_function(certus: Certus, file: Path) -> None:
    done = certus("ranges", str(file), "--function", "foo", "--assume", "0 <= N && N < 2147483647")
    assert done.returncode == 0, done.stderr
    assert "loop in line 3  i         [0, N + 1]" in done.stdout
    assert "exit            i         [N + 1, N + 1]" in done.stdout


@pytest.mark.parametrize("rest", ["", "int main(void) { return 0; }", "int bar(void) { return foo(1); }"])
def test_a_function_that_nobody_calls(rest: str, certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "foo.c"
    path.write_text(f"static int foo(int N) {{ int i = 0; while (i <= N) i++; return i; }}\n{rest}\n")
    done = certus("ranges", str(path), "--function", "foo", "--assume", "0 <= N && N < 2147483647")
    assert done.returncode == 0, done.stderr
    assert "exit            (returned)  [N + 1, N + 1]" in done.stdout


def test_what_a_function_returns_and_cases_that_say_something(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "least.c"
    path.write_text(
        "int least(int n, unsigned u) { return n < 9 ? n : 9; } int main(void) { return least(3, 0); }"
    )
    done = certus("ranges", str(path), "--function", "least", "--assume", "n >= 0")
    (row,) = [line for line in done.stdout.splitlines() if "(returned)" in line]
    assert row.split("  ")[0] == "0 <= n <= 2147483647"
    assert row.endswith("[0, 9]")


def test_bounded_ranges(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "endless.c"
    path.write_text("int main(void) { int i = 0; while (1) i++; }")
    done = certus("ranges", str(path), "--bound", "12")
    assert "executions that enter each loop head at most 12 times" in done.stdout
    assert "[0, 12]" in done.stdout


@pytest.mark.parametrize("option", ["ranges.solver=milp", "ranges.calls=unique"])
def test_the_paper_s_ways_to_solve(certus: Certus, file: Path, option: str) -> None:
    done = certus("ranges", str(file), "--set", option)
    assert done.returncode == 0, done.stderr
    assert "foo: i" in done.stdout or "main: i" in done.stdout
    assert "[0, 4]" in done.stdout


def test_long_lists_are_cut_and_operations_listed_once(certus: Certus, tmp_path: Path) -> None:
    objects = ", ".join(f"an_object_with_a_rather_long_name_{n}[9]" for n in range(5))
    chosen = "".join(f" if (n == {n}) p = an_object_with_a_rather_long_name_{n};" for n in range(5))
    path = tmp_path / "many.c"
    path.write_text(
        f"""extern int any(void); int {objects}; int main(void) {{
        int n = any(), *p = an_object_with_a_rather_long_name_0, t[5] = {{0}};{chosen}
        t[n & 3] = n % 7 - 2; return *p + t[n & 3]; }}"""
    )
    lines = certus("ranges", str(path)).stdout.splitlines()
    (p,) = [line for line in lines if line.startswith("main: p")]
    assert "an_object_wit...ther_long_name_0/an_object_wit" in p
    assert "/2 more + [0, 0]" in p
    assert [line for line in lines if "n % 7" in line] == ["  line 3: n % 7 is [-6, 6]"]
    assert any(line.startswith("t[]") and "[-8, 4]" in line for line in lines)
    assert max(map(len, lines)) < 250


def test_json_says_the_same(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "guarded.c"
    path.write_text(GUARDED)
    done = certus("ranges", str(path), "--json")
    found = json.loads(done.stdout)
    assert (found["format"], found["command"]) == (2, "ranges")
    (i,) = [each for each in found["variables"] if each["name"] == "i"]
    assert (i["low"], i["high"], i["declared"], i["needed"]) == (0, 100, 8, 7)
    assert found["saved"] <= found["declared"]


FILTER = """extern double any(void); int main(void) {
    float f = 0; double s = 0, r = any(), q = r - r;
    for (int i = 0; i < 10; i++) { double e = any(); if (e > 0.5 && e < 2) { s = s / 2 + e; f = -s; } }
    return q == r && f < s; }"""


def test_ranges_of_floating_point(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "filter.c"
    path.write_text(FILTER)
    lines = [line.split("  ") for line in certus("ranges", str(path)).stdout.splitlines()]
    shown = {name: [text.strip() for text in rest if text] for name, *rest in lines if rest}
    assert shown["main: s"][:2] == ["f64", "[0.0, 5.5]"]
    assert shown["main: f"][:2] == ["f32", "[-5.5f, 0.0f]"]
    assert shown["main: r"][:2] == ["f64", "[-inf, inf] or nan"]
    found = json.loads(certus("ranges", str(path), "--json").stdout)
    (s,) = [each for each in found["variables"] if each["name"] == "s"]
    assert (s["low"], s["high"], s["nan"]) == (0, 0x4016000000000000, False)


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (["--function", "fo"], ["foo.c defines no function `fo`", "Functions: foo, main"]),
        (["--assume", "N > 0"], ["--assume says what holds at the entry of a function"]),
        (["--function", "foo", "--assume", "0 <= M"], ["--assume:1:6", "There is no variable `M` here."]),
        (["--function", "foo", "--assume", "0 <="], ["--assume:1:"]),
        (["--function", "foo", "--bound", "3"], ["--bound is for whole programs"]),
    ],
)
def test_bad_usage(certus: Certus, file: Path, arguments: list[str], sentences: list[str]) -> None:
    done = certus("ranges", str(file), *arguments)
    assert done.returncode == 2
    for sentence in sentences:
        assert sentence in done.stderr
