"""Find gcc, which gives a second opinion on what a C program does.

gcc gets the text that Clang has preprocessed, so that both compile the same program: macros such as
`__clang__` and the headers of the C library have one meaning. It is never required.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.system.clang import OFFSETOF, OLD_C
from certus.system.tools import find_tool

# Types that headers define for Clang, and that gcc has as keywords.
_RENAMED: Final = ("_Float32", "_Float64", "_Float128", "_Float32x", "_Float64x")
_PRINTING: Final = ("printf", "fprintf", "vprintf", "vfprintf", "fputs")  # not to become calls of others
TRAP: Final = "-fsanitize-undefined-trap-on-error"  # checks end the program; all versions of gcc know it
FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-m64", "-pipe", "-fno-pic", "-fno-pie", "-fno-stack-protector"),
    *OLD_C,
    "-Werror=attributes",  # one that gcc does not know may mean anything
    *("-fsanitize=unreachable", TRAP),  # what cannot be reached ends an execution, as with Clang
    *(f"-D{name}=certus{name}" for name in _RENAMED),
    *(f"-fno-builtin-{name}" for name in _PRINTING),
)
# Flags of Clang that must not change the text for gcc, which knows `offsetof`.
NOT_PREPROCESSED: Final = (OFFSETOF,)
# Other compilers are installed under the name gcc, too.
IS_GCC: Final = (
    "#if !defined __GNUC__ || defined __clang__ || defined __INTEL_COMPILER\n#error not gcc\n#endif\n"
)


@dataclass(frozen=True, slots=True)
class Gcc:
    """How to call gcc."""

    command: tuple[str, ...]


def find_gcc() -> Gcc | None:
    """Return how to call the `gcc` on PATH, with the assembler that is there; None if either is missing."""
    compiler, assembler = find_tool("gcc"), find_tool("as")
    if compiler is None or assembler is None:
        return None
    return Gcc((str(compiler), f"-B{assembler.parent}"))
