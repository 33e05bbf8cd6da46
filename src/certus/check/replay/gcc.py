"""Find gcc, a second compiler for C programs. It is never required.

gcc compiles the text that Clang has preprocessed, so that both compile the same program: macros such as
`__clang__` and the headers of the C library have the same meaning.
"""

from __future__ import annotations

from typing import Final

from certus.system.clang import OLD_C
from certus.system.tools import find_tool

# Types that headers define for Clang, and that gcc has as keywords.
_RENAMED: Final = ("_Float32", "_Float64", "_Float128", "_Float32x", "_Float64x")
_PRINTING: Final = ("printf", "fprintf", "vprintf", "vfprintf", "fputs")  # must stay calls of these
TRAP: Final = "-fsanitize-undefined-trap-on-error"  # checks end the program, in all versions of gcc
FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-m64", "-pipe", "-fno-pic", "-fno-pie", "-fno-stack-protector"),
    *OLD_C,
    "-Werror=attributes",  # the effect of an unknown attribute is unknown
    *("-fsanitize=unreachable", TRAP),  # unreachable code ends an execution, as with Clang
    *(f"-D{name}=certus{name}" for name in _RENAMED),
    *(f"-fno-builtin-{name}" for name in _PRINTING),
)
# On some systems another compiler is installed under the name gcc.
IS_GCC: Final = (
    "#if !defined __GNUC__ || defined __clang__ || defined __INTEL_COMPILER\n#error not gcc\n#endif\n"
)


def find_gcc() -> tuple[str, ...] | None:
    """Return the command for the `gcc` and the assembler on PATH; None if either is missing."""
    compiler, assembler = find_tool("gcc"), find_tool("as")
    if compiler is None or assembler is None:
        return None
    return str(compiler), f"-B{assembler.parent}"
