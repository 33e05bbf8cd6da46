"""Clang: found, called, and its trees of any depth read."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.system.clang import ClangMissing, absolute_paths, find_clang, run_clang
from certus.system.jsonlines import NotATree, load_lines


def test_the_wheel_has_a_clang_and_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CERTUS_CLANG", raising=False)
    clang = find_clang()
    assert clang.command[-1] == "clang"
    assert "-nostdinc" in clang.include_flags


def test_the_environment_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTUS_CLANG", "sh")
    assert find_clang().command[0].endswith("sh") or find_clang().include_flags == ()
    monkeypatch.setenv("CERTUS_CLANG", "certus-no-such-clang")
    with pytest.raises(ClangMissing, match="certus-no-such-clang"):
        find_clang()


@pytest.mark.parametrize("model", ["ILP32", "LP64"])
def test_headers_work_for_both_data_models(tmp_path: Path, model: str) -> None:
    file = tmp_path / "headers.c"
    names = (
        "stdio",
        "stdlib",
        "string",
        "assert",
        "stdint",
        "stddef",
        "limits",
        "stdbool",
        "pthread",
        "math",
    )
    file.write_text("".join(f"#include <{name}.h>\n" for name in names) + "int main(void) { return 0; }\n")
    result = run_clang(file, model=model)
    assert result.ok, result.messages
    assert result.tree is not None
    assert str(file) in result.files


def test_errors_are_clangs_own(tmp_path: Path) -> None:
    file = tmp_path / "wrong.c"
    file.write_text("int main(void) { return x }\n")
    result = run_clang(file, model="LP64")
    assert not result.ok
    assert result.tree is None
    assert "error: use of undeclared identifier 'x'" in result.messages


def test_flags_of_the_user_pass_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mine.h").write_text("#define GIVEN 1\n")
    file = tmp_path / "flags.c"
    file.write_text('#include "mine.h"\n_Static_assert(GIVEN + OTHER == 3, "");\n')
    monkeypatch.chdir(tmp_path)
    assert run_clang(Path("flags.c"), model="LP64", arguments=["-Iinclude", "-D", "OTHER=2"]).ok
    assert not run_clang(Path("flags.c"), model="LP64", arguments=["-Iinclude", "-DOTHER=1"]).ok


def test_directories_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["-I", "a", "-Ib", "-DX=1", "-std=c99"]
    assert absolute_paths(given) == ["-I", f"{tmp_path}/a", f"-I{tmp_path}/b", "-DX=1", "-std=c99"]


def test_trees_deeper_than_the_parser_allows() -> None:
    depth = 3000
    text = "{\n" + '"a": [\n{\n' * depth + '"b": "x: {",\n"c": 1.5\n' + "}\n],\n" * (depth - 1) + "}\n]\n}\n"
    text = text.replace("],\n}", "]\n}")
    tree = load_lines(text.encode())
    for _ in range(depth):
        tree = tree["a"][0]
    assert tree == {"b": "x: {", "c": 1.5}


@pytest.mark.parametrize("text", [b"", b"[\n1\n]", b'{\n"a": [\n' * 2000, b'{"a": }'])
def test_what_is_no_tree(text: bytes) -> None:
    with pytest.raises(NotATree):
        load_lines(text)


@pytest.mark.parametrize("text", [b'{\n"a": 1\n}', b'{\n"a": [\n' * 2000])
def test_a_tree_is_not_read_after_the_time(text: bytes) -> None:
    with pytest.raises(BudgetExceeded):
        load_lines(text, Budget(0.0))


def test_what_clang_frowns_at_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "odd.c"
    file.write_text("int main(void) { int a = 3, b = 2; return a < b < 1; }\n")
    assert run_clang(file, model="LP64").ok
