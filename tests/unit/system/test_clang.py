"""Finding Clang, and compiling with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from certus.system.tools import ClangMissing, ClangResult, absolute_paths, find_clang, run_clang


def compiled(path: Path, model: str = "LP64", arguments: Sequence[str] = ()) -> ClangResult:
    return run_clang(path, model=model, flags=("-w", "-S", "-emit-llvm"), arguments=arguments)


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
    result = compiled(file, model)
    assert result.ok, result.messages
    assert "define" in result.text


def test_errors_are_clangs_own(tmp_path: Path) -> None:
    file = tmp_path / "wrong.c"
    file.write_text("int main(void) { return x }\n")
    result = compiled(file)
    assert not result.ok
    assert not result.text
    assert "error: use of undeclared identifier 'x'" in result.messages


def test_flags_of_the_user_pass_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mine.h").write_text("#define GIVEN 1\n")
    file = tmp_path / "flags.c"
    file.write_text('#include "mine.h"\n_Static_assert(GIVEN + OTHER == 3, "");\n')
    monkeypatch.chdir(tmp_path)
    assert compiled(Path("flags.c"), arguments=["-Iinclude", "-D", "OTHER=2"]).ok
    assert not compiled(Path("flags.c"), arguments=["-Iinclude", "-DOTHER=1"]).ok


def test_directories_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["-I", "a", "-Ib", "-DX=1", "-std=c99"]
    assert absolute_paths(flags) == ["-I", f"{tmp_path}/a", f"-I{tmp_path}/b", "-DX=1", "-std=c99"]


def test_what_clang_frowns_at_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "odd.c"
    file.write_text("int main(void) { int a = 3, b = 2; return a < b < 1; }\n")
    assert compiled(file).ok


def test_the_date_is_always_the_same(tmp_path: Path) -> None:
    file = tmp_path / "date.c"
    file.write_text("const char *compiled = __DATE__ __TIME__; int main(void) { return 0; }\n")
    assert "Jan  1 197000:00:00" in compiled(file).text
