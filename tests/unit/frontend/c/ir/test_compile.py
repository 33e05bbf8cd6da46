"""Compiling a C file to LLVM IR: flags, line markers, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.errors import InputError, Unsupported
from certus.frontend.c.compile import compile_file, without_markers
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Module


def test_markers_are_blanked_and_lines_kept() -> None:
    text = b'int a;\n# 5 "x.h" 1 3\nint b;\n#line 7\n'
    assert without_markers(text) == b"int a;\n\nint b;\n\n"


@pytest.mark.parametrize(
    "text", [b"int a;\n#define X 1\n", b"# 5\nint a = __LINE__;\n", b"#define A \\\n# 5\n"]
)
def test_what_is_no_marker_stays(text: bytes) -> None:
    assert without_markers(text) == text


@pytest.mark.parametrize("text", [b"__builtin_LINE()", b'HERE\n#include "here.h"', b"#define L __LI##NE__"])
def test_markers_stay_where_a_program_may_observe_lines(text: bytes) -> None:
    marked = b"# 5\n" + text
    assert without_markers(marked) == marked
    assert without_markers(b"# 5\nHERE", ["-DHERE=__LINE__"]) == b"# 5\nHERE"


def test_debug_information_has_the_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.i"
    path.write_text('# 100 "other.c"\nint f(int x)\n{\n  return x;\n}\n')
    compiled = compile_file(path, property="unreach-call", model="ILP32")
    assert compiled.blanked
    module = Module(compiled.text)
    (block,) = module.blocks(module.functions["f"])
    place = module.debug.place(block.last.location)
    assert place is not None
    assert place.line == 4
    assert module.debug.file(place.scope) == compiled.main
    assert module.layout.pointer_bits == 32


def test_checks_of_a_property(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("int f(int x) { return x / (x + 1); }\n")

    def handlers(property: str) -> list[str]:
        module = Module(compile_file(path, property=property, model="LP64").text)
        return [name for name in module.functions if name.startswith("__ubsan")]

    assert handlers("unreach-call") == []
    assert handlers("no-overflow") == [
        "__ubsan_handle_add_overflow_abort",
        "__ubsan_handle_divrem_overflow_abort",
    ]
    assert handlers("no-div-zero") == ["__ubsan_handle_divrem_overflow_abort"]


def test_a_program_that_depends_on_checks_is_refused(tmp_path: Path) -> None:
    path, header = tmp_path / "a.c", tmp_path / "a.h"
    path.write_text('#include "a.h"\nint f(int x) { return CHECKED ? 0 : x + 1; }\n')
    for asks in (
        "__has_feature(undefined_behavior_sanitizer)",
        "__has_feature(/**/undefined_\\\nbehavior_sanitizer)",
        "JOIN(__has_, extension)(undefined_behavior_sanitizer)",
    ):
        header.write_text(
            f"#define JOIN(a, b) a##b\n#if {asks}\n#define CHECKED 1\n#else\n#define CHECKED 0\n#endif\n"
        )
        assert compile_file(path, property="unreach-call", model="LP64").text
        with pytest.raises(Unsupported, match="adds checks"):
            compile_file(path, property="no-overflow", model="LP64")
    header.write_text("#define CHECKED __has_feature(address_sanitizer)\n")
    assert compile_file(path, property="no-overflow", model="LP64").text


def test_signed_operations_are_marked_and_library_calls_are_calls(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text('unsigned long strlen(const char *);\nint f(int x) { return x + strlen("a"); }\n')
    module = Module(compile_file(path, property="unreach-call", model="LP64").text)
    (block,) = module.blocks(module.functions["f"])
    assert any(isinstance(each, ir.Call) for each in block.instructions)


def test_messages_of_clang(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("int f( { }\n")
    with pytest.raises(InputError) as caught:
        compile_file(path, property="unreach-call", model="LP64")
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.file, span.line) == (str(path), 1)


def test_another_text_is_compiled_beside_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("int x;\n")
    (tmp_path / "b.h").write_text("int y;\n")
    compiled = compile_file(path, "unreach-call", "LP64", data=b'#include "b.h"\n')
    assert "y" in Module(compiled.text).globals
