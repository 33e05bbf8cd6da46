"""Compile C files, and models of library functions, to LLVM IR with Clang, in the form that is read.

The flags matter more than anything else here:

- `-O1` with all passes disabled: the code is as without optimisation, but copies of records say which members
  they have (`!tbaa.struct`). `-U__OPTIMIZE__` and `-D__NO_INLINE__` keep the C library's headers as they are.
- No `-fwrapv`: then `nsw` marks the operations that are signed in C. It is only a hint; everything wraps.
- `-fno-builtin`: calls of library functions stay calls, and Certus defines their meaning.
- Lifetime markers only for memory properties: they lead `break`, `continue` and `return` through common
  blocks (`model/cleanups.py`).
- The checks of a property are those of Clang's sanitizers: a call of a handler is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import CertusError, InputError, Unsupported
from certus.core.vocabulary import kinds_of
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import TypeTable
from certus.frontend.c.library.models import CHECKED_FILE, FILES, INTERNAL
from certus.frontend.c.source.statements import MARKER
from certus.system.tools import TRAPPING, ClangMissing, ClangResult, ToolFailed, find_clang, run_clang

if TYPE_CHECKING:
    from certus.frontend.c.unchecked import Unchecked

_FLAGS: Final = (
    *("-O1", "-U__OPTIMIZE__", "-D__NO_INLINE__=1", "-g", "-gno-key-instructions", "-fno-caret-diagnostics"),
    *("-Xclang", "-disable-llvm-passes"),
    *("-fno-builtin", "-fno-discard-value-names", "-ffp-contract=off"),
)
_NO_MARKERS: Final = ("-Xclang", "-disable-lifetime-markers")
# Warnings of Clang that matter for what a program means; others are not passed on.
WARNINGS: Final = (
    *("unsequenced", "division-by-zero", "shift-count-overflow", "shift-count-negative"),
    *("integer-overflow", "array-bounds", "uninitialized", "null-dereference"),
)
_OVERFLOW: Final = "(?:add|sub|mul|negate|divrem)_overflow"


class Sanitizer(NamedTuple):
    """How Clang checks a property, or a kind of checks: the sanitizers, the kind of error, and the handlers
    that report it, as a regular expression. The handler of shifts serves base and exponent, but Clang checks
    only what the property asks for."""

    flags: str
    kind: str
    handlers: str


SANITIZERS: Final = {
    "no-overflow": Sanitizer(
        "signed-integer-overflow,shift-base", "overflow", f"{_OVERFLOW}|shift_out_of_bounds"
    ),
    "no-div-zero": Sanitizer(
        "integer-divide-by-zero", "division-by-zero", "division_by_zero|divrem_overflow"
    ),
    "array-bounds": Sanitizer("array-bounds", "array-bounds", "out_of_bounds"),
    "overflow": Sanitizer("signed-integer-overflow", "overflow", _OVERFLOW),
    "division": Sanitizer("integer-divide-by-zero", "division-by-zero", "division_by_zero"),
    "shift": Sanitizer("shift", "shift", "shift_out_of_bounds"),
    **dict.fromkeys(
        ("float-cast-overflow", "float-cast"),
        Sanitizer("float-cast-overflow", "float-cast-overflow", "float_cast_overflow"),
    ),
    **dict.fromkeys(
        ("float-divide-by-zero", "float-divide"),
        Sanitizer("float-divide-by-zero", "float-division-by-zero", "float_division_by_zero"),
    ),
}
# Only a program with one of these may have what Clang does not check: objects of several parts, builtin
# functions or attributes, perhaps in a header or in a name that is put together.
_OBJECTS: Final = re.compile(r"= alloca (?!i\d+,|ptr,|float,|double,)")
_HIDING: Final = re.compile(rb"builtin|sanitize|include|##|\\\r?\n")
_MAY_BE_UNCHECKED: Final = re.compile("-(?:InitListExpr|OffsetOfExpr|NoSanitizeAttr) 0x|'__builtin_")
_SPLICE: Final = re.compile(rb"(?:\\|\?\?/)\r?\n")
# A program may put any word together by these operators.
_PASTED: Final = rb"##|%:%:|\?\?="
# How a program may ask for checks of the compiler, which it has only here.
_ASKS: Final = re.compile(rb"__has_(?:feature|extension)|" + _PASTED)
# How it may give functions other names for the linker.
_RENAMES: Final = re.compile(rb"asm|redefine_extname|weakref|overloadable|" + _PASTED)
_RENAMED: Final = re.compile(r'DISubprogram\(name: "([^"]*)", linkageName: "(?:\\01)?([^"]*)"')
_HEADER: Final = re.compile(r"^\.+ (/.*)$", re.MULTILINE)  # that Clang includes, with -H
_MARKER: Final = re.compile(MARKER.pattern.encode(), re.MULTILINE)
# How a program may observe lines: by itself, or by a macro that it gets from elsewhere or puts together.
_USES_LINES: Final = re.compile(
    rb"\b__(?:builtin_)?(?:LINE|FILE|FILE_NAME|BASE_FILE|INCLUDE_LEVEL)(?:__)?\b"
    rb"|(?:#|%:)[ \t]*(?:include|import|define)"
)
_ERROR: Final = re.compile(
    r"^(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)
_WARNING: Final = re.compile(
    r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): warning: (?P<text>.*) \[-W(?P<name>[\w-]+)\]$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ClangWarning:
    """A warning of Clang at a position in the file that it read; columns are in bytes."""

    name: str
    text: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """The IR of a file, and the path under which Clang read it. `blanked`: line markers were blanked out, so
    that lines are those of the file itself. `unchecked`: the first place that Clang does not check.
    `renamed`: functions with another name for the linker, and that name, perhaps not those of headers of the
    system."""

    text: str
    main: str
    blanked: bool
    warnings: tuple[ClangWarning, ...] = ()
    unchecked: Unchecked | None = None
    renamed: tuple[tuple[str, str], ...] = ()


def compile_file(
    path: Path,
    property: str,
    model: str,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    *,
    data: bytes | None = None,
    names: Collection[str] = (),
) -> Compiled:
    """Compile a file, or `data` as if the file contained it, with the checks of a property (or of kinds of
    checks, separated by commas) and for a data model. If a function in `names` has another name for the
    linker, the result says so. Raises `InputError` with Clang's own messages, `Unsupported` for a program
    that depends on the checks, and `BudgetExceeded`."""
    budget = budget or Budget()
    contents = path.read_bytes()
    data = contents if data is None else data
    text = without_markers(data, arguments)
    asked = [each for each in property.split(",") if each in SANITIZERS]
    checks = _check_flags(asked)
    flags = [*_FLAGS, *(f"-W{name}" for name in WARNINGS)]
    flags += () if kinds_of(property) else _NO_MARKERS
    changed = None if text == contents else text

    def run(*output: str) -> ClangResult:
        seconds = budget.remaining()
        return run_clang(
            path, model=model, flags=(*flags, *output), arguments=arguments, seconds=seconds, data=changed
        )

    try:
        result = run(*checks, "-S", "-emit-llvm", "-H")
        if not result.ok:
            raise _refused(result.messages.replace(result.file, str(path)), path)
        given = (data, *map(os.fsencode, arguments))
        texts = [_SPLICE.sub(b"", each) for each in (*given, *_own_headers(result.messages))]
        if checks and any(map(_ASKS.search, texts)):
            plain, checked = run("-E"), run("-E", *checks)
            if plain.text.replace(plain.file, "") != checked.text.replace(checked.file, ""):
                message = f"{path} asks whether the compiler adds checks, which is not modelled."
                raise Unsupported(Diagnostic("unsupported-builtin", message))
        absent = re.compile(
            rb"\b(?:%s)\b" % "|".join(n for n in names if f"@{n}(" not in result.text).encode()
        )
        renames = bool(names) and all(any(map(each.search, texts)) for each in (_RENAMES, absent))
        hides = any(map(_HIDING.search, given)) or _OBJECTS.search(result.text)
        wanted = renames or (asked and hides)
        tree = run(*checks, "-w", "-fsyntax-only", "-Xclang", "-ast-dump").text if wanted else ""
    except ClangMissing as error:
        hint = "Install the package `ziglang`."
        raise InputError([Diagnostic("no-clang", str(error), hint=hint)]) from error
    except ToolFailed as error:
        budget.check()
        raise InputError([Diagnostic("clang-failed", str(error))]) from error
    budget.check()
    warnings = tuple(
        ClangWarning(match["name"], match["text"], match["file"], int(match["line"]), int(match["column"]))
        for match in _WARNING.finditer(result.messages)
        if match["name"] in WARNINGS
    )
    first, renamed = None, _RENAMED.findall(result.text)
    if renames:
        from certus.frontend.c.unchecked import renamed_functions

        renamed += renamed_functions(tree)
    if asked and _MAY_BE_UNCHECKED.search(tree):
        from certus.frontend.c.unchecked import unchecked

        first = next(unchecked(tree, asked, long=32 if model == "ILP32" else 64), None)
    return Compiled(result.text, result.file, text is not data, warnings, first, tuple(renamed))


def _own_headers(messages: str) -> Iterator[bytes]:
    """Yield the contents of the headers that Clang has included, but not of those that come with it."""
    system = tuple(flag for flag in find_clang().include_flags if flag.startswith("/"))
    for header in dict.fromkeys(_HEADER.findall(messages)):
        if not (system and header.startswith(system)):
            try:
                yield Path(header).read_bytes()
            except OSError:  # its name is no text: it may contain anything
                yield b"##"


# Only an array without a length, or of length 0, at the end of a structure may be longer than its type says.
_CHECKED: Final = ("-fno-sanitize-recover=all", "-fstrict-flex-arrays=2")


def _check_flags(asked: Iterable[str]) -> list[str]:
    """Return the flags that make Clang check a property, or kinds of checks."""
    sanitizers = ",".join(SANITIZERS[each].flags for each in asked)
    trapping = (TRAPPING,) if "signed-integer-overflow" in sanitizers else ()
    return [f"-fsanitize={sanitizers}", *_CHECKED, *trapping] if sanitizers else []


def without_markers(data: bytes, arguments: Sequence[str] = ()) -> bytes:
    """Return the text with blank lines for line markers (`# 12 "f.c"`), so that debug information has the
    lines of the file. They stay if the program, or a macro among the arguments of Clang, can observe lines
    (`__LINE__`); without markers the same object is returned."""
    if b"#" not in data or not _MARKER.search(data):
        return data
    if any(_USES_LINES.search(text) for text in (data, *map(os.fsencode, arguments))):
        return data
    return _MARKER.sub(_blank, data)


def _blank(marker: re.Match[bytes]) -> bytes:
    """Blank out a line marker, unless its line continues the one before."""
    start = marker.start()
    before = marker.string[max(start - 3, 0) : start].rstrip(b"\r\n")
    return marker[0] if before.endswith(b"\\") else b""


def _refused(messages: str, path: Path) -> CertusError:
    """Return one diagnostic for each error that Clang reports, in its own words. What GNU C allows and Clang
    does not is a limitation of Certus, not a mistake of the user."""
    errors: list[Diagnostic] = []
    for match in _ERROR.finditer(messages):
        span = None
        if (name := match["file"]) is not None:
            line, column = int(match["line"]), int(match["column"])
            span = Span(name, line, column, line, column + 1, name, line)
        if "variable length array in structure" in match["text"]:
            message = "A variable-length array in a structure is not modelled."
            return Unsupported(Diagnostic("unsupported-vla-in-struct", message, span=span))
        hint = "Name the directory of the header with -I DIR." if "file not found" in match["text"] else None
        errors.append(Diagnostic("clang-error", match["text"], span=span, hint=hint))
    said = messages.strip() or f"Clang refused {path} without saying why."
    return InputError(errors or [Diagnostic("clang-error", said)])


class LibraryModels:
    """The models for one data model and one property, each compiled when it is first needed. Their types are
    those of the program's module."""

    def __init__(self, types: TypeTable, *, model: str, property: str) -> None:
        self._types = types
        self._model = model
        self._property = property
        self._modules: dict[str, Module] = {}

    def defining(self, name: str) -> Module | None:
        """Return the module that defines a function or variable of the models."""
        file = FILES.get(name) or next((file for names, file in INTERNAL if names.fullmatch(name)), None)
        if file is None:
            return None
        module = self._modules.get(file)
        if module is None:
            property = self._property if file == CHECKED_FILE else ""
            module = self._modules[file] = Module(_compiled_model(file, self._model, property), self._types)
        defined = name in module.functions and module.functions[name].defined
        return module if defined or name in module.globals else None


@cache
def _compiled_model(file: str, model: str, property: str) -> str:
    path = Path(str(files("certus.frontend.c.library").joinpath("c", file)))
    return compile_file(path, property=property, model=model).text
