"""Warnings of the front end for LLVM IR: those of Clang, and of orders of evaluation that C leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.frontend.c.load import load_c


def told(path: Path, body: str) -> list[tuple[str, int]]:
    """Codes and lines, counted in the body, of the warnings about a program."""
    path.write_text(f"int main(void) {{ int i = 0, x = 0, a[3] = {{0}};\n{body}\nreturn x; }}\n")
    return [(w.code, w.span.line - 1) for w in load_c(path).warnings if w.span is not None]


def test_warnings_of_clang_are_passed_on_where_they_stand(tmp_path: Path) -> None:
    body = "i = i++ + 1;\nx = a[5];\nx = 1 / 0;"
    found = told(tmp_path / "p.c", body)
    assert found == [("clang-unsequenced", 1), ("clang-array-bounds", 2), ("clang-division-by-zero", 3)]


def test_functions_that_are_not_part_of_the_program_are_not_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text("int f(int i) { return i++ + i++; }\nint main(void) { return 0; }\n")
    assert load_c(path).warnings == ()


def test_assertions_that_clang_folds_are_asked_nevertheless(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text("#include <assert.h>\nint main(void) { assert(sizeof(int) == 4); return 0; }\n")
    assert load_c(path).program.has_checks
    assert not load_c(path, arguments=("-DNDEBUG",)).program.has_checks


def several(directory: Path, first: str, second: str) -> tuple[Path, Path]:
    paths = directory / "first.c", directory / "second.c"
    for path, text in zip(paths, (first, second), strict=True):
        path.write_text(text)
    return paths


def test_warnings_about_several_files_name_the_file(tmp_path: Path) -> None:
    first = "int f(int);\n\nint main(void) { return f(0); }\n"
    second = (
        "static int g;\nint next(void) { return ++g; }\n"
        "int unused(int i) { return i++ + i++; }\n"
        "int f(int i) { i = i++ + 1; return i; }\n"
    )
    paths = several(tmp_path, first, second)
    found = [(w.code, w.span.file, w.span.line) for w in load_c(paths).warnings if w.span is not None]
    assert found == [("clang-unsequenced", str(paths[1]), 4)]


@pytest.mark.parametrize("other", ["static int g;", "extern int g;"])
def test_orders_that_matter_are_found_in_all_files(other: str, tmp_path: Path) -> None:
    first = f"{other}\nint f(void);\nint main(void) {{ g = 1; return f() && g; }}\n"
    second = "int g;\nint next(void) { return ++g; }\n\nint f(void) { return g + next(); }\n"
    paths = several(tmp_path, first, second)
    found = [(w.code, w.span.file, w.span.line) for w in load_c(paths).warnings if w.span is not None]
    assert found == [("evaluation-order", str(paths[1]), 4)]


def test_assertions_that_clang_folds_are_asked_in_their_file(tmp_path: Path) -> None:
    asserts = "#include <assert.h>\nint f(void) { assert(sizeof(int) == 4); return 0; }\n"
    paths = several(tmp_path, "int f(void);\nint main(void) { return f(); }\n", asserts)
    assert load_c(paths).program.decided == ("f",)
    paths[1].write_text(f"#define NDEBUG\n{asserts}")
    assert load_c(paths).program.decided == ()
