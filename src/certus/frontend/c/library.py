"""The one table of library functions and builtins: what each does, by the name of a model.

`lower/models.py` says what the models mean. A function with a body in the program is not looked up here,
except the few in `OVERRIDING`, whose meaning is fixed by convention.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """`model` names the meaning; `detail` tells functions of one model apart."""

    name: str
    model: str
    detail: str = ""


# model, detail if it is not the function's own name, functions
_TABLE: Final = (
    # the end of the execution
    ("stop", "abort exit _exit _Exit quick_exit trap unreachable __assert_fail __assert_rtn __assert"),
    ("stop", "reach_error __VERIFIER_error __VERIFIER_silent_exit"),
    ("assume", "__VERIFIER_assume"),
    ("assert", "assert"),
    # no effect on the program's memory; the result is any value
    ("inert", "printf fprintf vprintf vfprintf puts fputs putchar fputc putc putchar_unlocked perror"),
    ("inert", "dprintf wprintf fflush fclose setvbuf setbuf rewind feof ferror clearerr fseek ftell fileno"),
    (
        "inert",
        "printk srand srandom sleep usleep nanosleep sched_yield syslog openlog closelog remove unlink",
    ),
    ("inert", "unlink close isatty write fwrite open openat creat lseek chdir ungetc"),
    ("inert", "getpid getuid geteuid getgid getegid getppid clock system raise kill alarm atoi atol atoll"),
    ("inert", "__VERIFIER_atomic_begin __VERIFIER_atomic_end va_start va_end va_copy prefetch"),
    ("inert", "fsync umask access chmod fchmod mkdir rmdir isascii strcoll"),
    ("natural", "rand random"),
    ("character_input", "getchar getc fgetc"),
    ("clock", "time"),
    # memory
    ("allocate", "malloc valloc"),
    ("allocate_zero", "calloc"),
    ("allocate_or_fail", "kmalloc __kmalloc kzalloc vmalloc vzalloc"),
    ("reallocate", "realloc"),
    ("release", "free cfree kfree"),
    ("allocate_stack", "alloca __alloca alloca_with_align"),
    ("fill", "memset bzero"),
    ("copy", "memcpy memmove mempcpy bcopy"),
    ("compare", "memcmp strcmp strncmp bcmp"),
    ("length", "strlen strnlen"),
    ("copy_string", "strcpy stpcpy strncpy strcat strncat"),
    ("find", "strchr index strrchr rindex memchr"),
    ("span", "strspn strcspn"),
    ("duplicate", "strdup strndup __strdup"),
    # input
    ("scan", "scanf fscanf sscanf __isoc99_scanf __isoc99_fscanf __isoc99_sscanf"),
    ("scan", "__isoc23_scanf __isoc23_fscanf __isoc23_sscanf"),
    ("input", "read recv fgets fread __VERIFIER_nondet_memory"),
    ("print_string", "sprintf snprintf vsprintf vsnprintf"),
    # characters and numbers
    ("character", "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper"),
    ("character", "isxdigit toupper tolower toascii"),
    ("absolute", "abs labs llabs imaxabs"),
    ("same", "expect expect_with_probability assume_aligned"),
    ("bits", "clz clzl clzll ctz ctzl ctzll popcount popcountl popcountll parity parityl parityll"),
    ("bits", "ffs ffsl ffsll bswap16 bswap32 bswap64"),
    ("checked", "add_overflow sub_overflow mul_overflow"),
    ("checked", "sadd_overflow saddl_overflow saddll_overflow ssub_overflow ssubl_overflow ssubll_overflow"),
    ("checked", "smul_overflow smull_overflow smulll_overflow uadd_overflow uaddl_overflow uaddll_overflow"),
    ("checked", "usub_overflow usubl_overflow usubll_overflow umul_overflow umull_overflow umulll_overflow"),
    ("constant_p", "constant_p"),
    ("object_size", "object_size dynamic_object_size"),
    # refused
    ("refuse", "unsupported-threads", "pthread_create pthread_join pthread_exit pthread_cond_wait"),
    ("refuse", "unsupported-threads", "thrd_create thrd_join fork vfork"),
    ("refuse", "unsupported-setjmp", "setjmp _setjmp sigsetjmp __sigsetjmp longjmp siglongjmp _longjmp"),
    ("refuse", "unsupported-library-function", "qsort bsearch signal atexit sigaction getline"),
    ("refuse", "unsupported-library-function", "strtok strtok_r"),
)

_BUILTIN_ONLY: Final = frozenset(
    name
    for model, *_, names in _TABLE
    if model in ("same", "bits", "checked", "constant_p", "object_size")
    for name in names.split()
    if not name.startswith("ffs")
) | {"trap", "unreachable", "prefetch", "va_start", "va_end", "va_copy", "alloca_with_align"}

OVERRIDING: Final = frozenset(
    ("__VERIFIER_assume", "__VERIFIER_atomic_begin", "__VERIFIER_atomic_end", "__assert_fail")
)


# functions of the library that really may return any value of their type (in the range their model assumes)
GENUINE_INPUTS: Final = frozenset(("rand", "random", "time", "getchar", "getc", "fgetc"))
# functions of the C library that have no model here: they are defined, whatever the program declares
STANDARD: Final = frozenset(
    name
    for names in (
        "strstr strpbrk strtok strtok_r strcasecmp strncasecmp strxfrm strsignal strsep memmem memrchr",
        "strtol strtoll strtoul strtoull strtod strtof strtold strtoimax strtoumax atof div ldiv lldiv",
        "fopen fdopen freopen fgetpos fsetpos tmpfile tmpnam rename getdelim getline putw getw gets",
        "localtime gmtime mktime strftime asctime ctime difftime clock_gettime gettimeofday",
        "setlocale localeconv getenv setenv unsetenv putenv getcwd stat fstat lstat opendir readdir",
        "mbtowc wctomb mbstowcs wcstombs mblen wcslen wcscmp wcscpy wcscat wmemcpy btowc wctob",
        "socket bind listen accept connect send recvfrom sendto select poll pipe dup dup2 fcntl ioctl mmap",
        "sqrt pow floor ceil fabs sin cos tan exp log log10 fmod round trunc",
    )
    for name in names.split()
)
# parts of the paths of system headers: what they declare has a definition somewhere
SYSTEM_HEADERS: Final = ("/usr/include/", "/libc/include/", "/lib/include/")


def _entries() -> Iterator[Entry]:
    for model, *detail, names in _TABLE:
        for name in names.split():
            yield Entry(name, model, detail[0] if detail else name)


LIBRARY: Final[dict[str, Entry]] = {entry.name: entry for entry in _entries()}


def known(name: str) -> str | None:
    """The entry for a function: `__builtin_f` and `__builtin___f_chk` are as `f`."""
    if name in LIBRARY and name not in _BUILTIN_ONLY:
        return name
    if name.startswith("__builtin_"):
        plain = name.removeprefix("__builtin_")
        if plain.startswith("__") and plain.endswith("_chk"):
            plain = plain[2:].removesuffix("_chk")
        if plain in LIBRARY and not plain.startswith("__VERIFIER"):
            return plain
    return None
