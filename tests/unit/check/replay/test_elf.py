"""The symbols of object files."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.check.replay.build import NotAnObject, symbols
from certus.system.tools import TARGETS, find_clang, run_tool

TEXT = """
extern int there;
int f(void), data;
static int g(void) { return f(); }
int h(void) { return g() + there; }
"""


@pytest.mark.parametrize("target", TARGETS.values())
def test_functions_and_what_is_undefined(target: str, tmp_path: Path) -> None:
    source, output = tmp_path / "x.c", tmp_path / "x.o"
    source.write_text(TEXT)
    tool, *command = find_clang().command
    done = run_tool(Path(tool), [*command, f"--target={target}", "-c", str(source), "-o", str(output)])
    assert done.code == 0
    table = symbols(output.read_bytes())
    assert sorted(table.functions) == ["g", "h"]
    assert sorted(n for n in table.undefined if not n.startswith("_")) == ["f", "there"]


@pytest.mark.parametrize(
    "data", [b"", b"no ELF", b"\x7fELF", b"\x7fELF\x02" + bytes(100), b"\x7fELF\x09" + bytes(100)]
)
def test_other_files_are_refused(data: bytes) -> None:
    if data[4:5] == b"\x02":
        assert symbols(data).functions == ()  # well-formed, without sections
    else:
        with pytest.raises(NotAnObject):
            symbols(data)
