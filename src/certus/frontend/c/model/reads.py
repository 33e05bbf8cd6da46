"""What functions of the C library without a model in C read through their arguments, if accesses are checked.

The table names the arguments that are strings, handles such as streams (at least a byte is read) and objects
of a known type. A function may read any number of bytes through an argument that neither the table nor its
effects mention: no proof can bound it, and no counterexample depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certus.core import build
from certus.core.terms import Expr
from certus.frontend.c.ir.types import PointerType
from certus.frontend.c.model import nondeterminism, printed
from certus.frontend.c.model.effects import EXTENTS
from certus.frontend.c.model.nondeterminism import LibraryCall
from certus.frontend.c.model.terms import NULL
from certus.frontend.c.model.validity import check

# What is read, the number of the argument, functions. A question mark: the argument may be null.
READS_BY_KIND: Final = (
    ("string", 0, "puts fputs fputs_unlocked remove unlink chdir rmdir if_nametoindex inet_addr atof strtod"),
    (
        "string",
        0,
        "strtof strtold getenv secure_getenv __secure_getenv setenv unsetenv truncate creat access",
    ),
    ("string", 0, "chmod mkdir mkfifo pathconf chown lchown open opendir stat lstat stat64 lstat64 statfs"),
    ("string", 0, "statvfs getpwnam getgrnam gethostbyname sscanf __isoc99_sscanf __isoc23_sscanf utime"),
    ("string", 0, "utimes basename dirname gettext mktemp mkdtemp mkstemp mkostemp realpath readlink execv"),
    ("string", 0, "execvp execve execl execlp execle fopen fopen64 popen rename link symlink strverscmp"),
    (
        "string",
        1,
        "fopen fopen64 popen rename link symlink setenv strverscmp fdopen freopen freopen64 openat",
    ),
    ("string", 1, "unlinkat renameat strxfrm vasprintf getservbyname"),
    ("string", 2, "strftime"),
    ("string", 3, "renameat"),
    ("string?", 0, "perror system openlog dlopen freopen freopen64 tempnam getservbyname"),
    ("string?", 1, "setlocale tempnam"),
    ("handle", 0, "fclose feof ferror ftell fileno ftello feof_unlocked ferror_unlocked fileno_unlocked"),
    ("handle", 0, "ftrylockfile pclose closedir setlinebuf rewind clearerr clearerr_unlocked flockfile"),
    ("handle", 0, "funlockfile rewinddir fseek fseeko fsetpos fgetpos setvbuf setbuf setbuffer readdir"),
    ("handle", 0, "readdir64 getc fgetc getc_unlocked fgetc_unlocked _IO_getc fscanf __isoc99_fscanf"),
    ("handle", 0, "__isoc23_fscanf fprintf fwprintf vfprintf"),
    ("handle", 1, "fputs fputs_unlocked fputc putc ungetc fputc_unlocked putc_unlocked _IO_putc putw"),
    ("handle", 2, "freopen freopen64 getline fgets fgets_unlocked"),
    ("handle", 3, "fwrite fwrite_unlocked fread fread_unlocked getdelim __getdelim"),
    ("handle?", 0, "fflush fflush_unlocked"),
    ("time_t", 0, "localtime gmtime ctime localtime_r gmtime_r ctime_r"),
    ("struct tm", 0, "asctime asctime_r"),
    ("struct tm", 3, "strftime"),
    ("struct timespec", 0, "nanosleep"),
    ("fpos_t", 1, "fsetpos"),
    ("sigset_t?", 1, "sigprocmask"),
)
_READS: Final[dict[str, list[tuple[int, str]]]] = {}
for _what, _number, _names in READS_BY_KIND:
    for _name in _names.split():
        _READS.setdefault(_name, []).append((_number, _what))
# Arguments that point to as many bytes as the product of other arguments says.
_RANGES: Final[dict[str, tuple[tuple[int, tuple[int, ...]], ...]]] = {
    **dict.fromkeys(("fwrite", "fwrite_unlocked"), ((0, (1, 2)),)),
    **dict.fromkeys(("write", "pwrite", "send", "bind", "connect"), ((1, (2,)),)),
    **{"sendto": ((1, (2,)), (4, (5,))), "setsockopt": ((3, (4,)),)},
}
# Formats of functions that print, other than the `printf` family; they may be null.
_FORMATS: Final = {"asprintf": 1, "err": 1, "errx": 1, "errc": 2, "error": 2, "error_at_line": 4}


def check_reads(call: LibraryCall) -> None:
    """Check what the tables say about a call."""
    for number, what in _READS.get(call.name, ()):
        if number >= len(call.arguments):
            continue
        reader = _reader(call, what.removesuffix("?"))
        if what.endswith("?"):
            call.when_not_null(number, reader)
        else:
            reader(call.address(number))
    for number, factors in _RANGES.get(call.name, ()):
        size: Expr = build.integer(1)
        for factor in factors:
            size = build.mul(size, call.integer(factor))
        check(call.body, call.address(number), size, "read")
    if call.name in _FORMATS:
        call.when_not_null(_FORMATS[call.name], lambda _: _check_format(call))


def _check_format(call: LibraryCall) -> None:
    printed.check_strings(call, _FORMATS[call.name])


def _reader(call: LibraryCall, what: str) -> Callable[[Expr], None]:
    """Return the function that checks what is read at an address."""
    body = call.body
    if what == "string":
        return lambda address: printed.check_string(body, address)
    size = 1 if what == "handle" else EXTENTS[what][body.layout.word == 8]
    return lambda address: check(body, address, size, "read")


def check_others(call: LibraryCall) -> None:
    """Let a function read any number of bytes through the pointers that nothing has looked at so far, unless
    they are null constants."""
    for number, operand in enumerate(call.arguments):
        if isinstance(operand.type, PointerType) and number not in call.described:
            address = call.address(number)
            if address is not NULL:
                nondeterminism.read_unknown(call.body, address, f"what `{call.name}` reads")
