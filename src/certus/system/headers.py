"""Which headers of the user's a C file includes, as Clang finds them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from certus.system.clang import TARGETS, absolute_paths, find_clang
from certus.system.tools import ToolFailed, run_tool

_NAME: Final = re.compile(r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?=\S))+")  # in the list of a makefile's rule
_ESCAPED: Final = re.compile(r"\\([ #])|\$(\$)")


def own_headers(path: Path, *, model: str, arguments: Sequence[str] = ()) -> list[Path]:
    """The files that `path` includes, directly or not, except those of the system. `arguments` are the user's
    flags. Raises `ToolFailed`, and `ClangMissing` if there is no Clang."""
    clang = find_clang()
    file = os.path.abspath(path)
    tool, *command = clang.command
    target = f"--target={TARGETS[model]}"
    flags = (target, "-x", "c", "-std=gnu17", "-w", *absolute_paths(arguments), *clang.include_flags)
    result = run_tool(Path(tool), (*command, *flags, "-MM", "-MT", "file", file))
    if result.code != 0:
        raise ToolFailed(f"Clang does not tell the headers of {path}")
    rule = result.output.decode(errors="surrogateescape").replace("\\\n", " ")
    names = (_ESCAPED.sub(r"\1\2", name) for name in _NAME.findall(rule.removeprefix("file:")))
    return [Path(name) for name in dict.fromkeys(map(os.path.abspath, names)) if name != file]
