"""The one table of library functions and builtins: what each does, by the name of a model.

`lower/models.py` says what the models mean. A function with a body in the program is not looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.vocabulary import ASSERTING, ASSUMING


@dataclass(frozen=True, slots=True)
class Entry:
    """`model` names the meaning; `detail` tells functions of one model apart."""

    name: str
    model: str
    detail: str = ""


_ATOMIC_OPERATIONS: Final = ("add", "sub", "and", "or", "xor", "nand")

# model, detail if it is not the function's own name, functions
_TABLE: Final = (
    # the end of the execution
    ("stop", "abort _exit _Exit trap unreachable __assert_fail __assert_rtn __assert"),
    ("stop", "reach_error __VERIFIER_error __VERIFIER_silent_exit __assert_perror_fail"),
    ("exit", "exit quick_exit err errx verr verrx errc verrc"),
    ("fail", "error error_at_line"),
    ("at_exit", "atexit"),
    ("assume", " ".join(ASSUMING)),
    ("assert", " ".join(ASSERTING)),
    # no effect on the program's memory; the result is any value
    ("output", "printf fprintf dprintf wprintf fwprintf syslog printk"),
    ("inert", "vprintf vfprintf puts fputs putchar fputc putc putchar_unlocked perror"),
    ("inert", "vdprintf fflush fclose setlinebuf rewind"),
    ("buffer", "setvbuf setbuf setbuffer"),
    ("inert", "feof ferror clearerr fseek ftell fileno fseeko ftello fsetpos feof_unlocked ferror_unlocked"),
    (
        "inert",
        "clearerr_unlocked fileno_unlocked fflush_unlocked fputc_unlocked putc_unlocked fputs_unlocked",
    ),
    ("inert", "fwrite_unlocked _IO_putc putw flockfile funlockfile ftrylockfile pclose fcloseall"),
    ("inert", "sleep usleep sched_yield openlog closelog setlogmask"),
    ("inert", "remove unlink rename link symlink unlinkat renameat truncate ftruncate lockf flock"),
    ("inert", "close isatty write pwrite fwrite open openat creat lseek lseek64 chdir fchdir ungetc"),
    ("inert", "getpid getuid geteuid getgid getegid getppid getpgrp getpgid getsid clock system"),
    ("inert", "atoi atol atoll setuid setgid seteuid setegid setsid setpgid nice sync"),
    ("inert", "__VERIFIER_atomic_begin __VERIFIER_atomic_end prefetch"),
    ("inert", "fsync fdatasync umask access chmod fchmod chown fchown lchown mkdir rmdir mkfifo isascii"),
    ("inert", "strcoll strcasecmp strncasecmp strverscmp wcslen wcscmp wcsncmp wcscoll mblen btowc wctob"),
    ("inert", "closedir rewinddir execv execve execvp execl execlp execle"),
    ("inert", "sysconf pathconf fpathconf getpagesize getdtablesize ttyslot gethostid munmap"),
    (
        "inert",
        "socket bind listen connect send sendto sendmsg setsockopt shutdown dup dup2 timer_delete",
    ),
    ("inert", "fesetround fegetround feraiseexcept feclearexcept fetestexcept"),
    ("inert", "htonl htons ntohl ntohs if_nametoindex inet_addr utime utimes futimes settimeofday"),
    ("inert", "__atomic_thread_fence __atomic_signal_fence __sync_synchronize atomic_thread_fence"),
    ("inert", "atomic_signal_fence __c11_atomic_thread_fence __c11_atomic_signal_fence"),
    ("interrupt", "raise kill killpg pause alarm ualarm"),
    ("natural", "rand random lrand48"),
    ("seed", "srand srandom srand48"),
    ("character_input", "getchar getc fgetc getchar_unlocked getc_unlocked fgetc_unlocked _IO_getc"),
    ("clock", "time"),
    ("error_number", "__errno_location"),
    # memory
    ("allocate", "malloc valloc"),
    ("allocate_zero", "calloc"),
    ("allocate_aligned", "aligned_alloc memalign"),
    ("allocate_into", "posix_memalign"),
    ("allocate_or_fail", "kmalloc __kmalloc kzalloc vmalloc vzalloc"),
    ("reallocate", "realloc"),
    ("release", "free cfree kfree"),
    ("allocate_stack", "alloca __alloca alloca_with_align"),
    ("fill", "memset bzero __bzero"),
    ("copy", "memcpy memmove mempcpy bcopy"),
    ("compare", "memcmp strcmp strncmp bcmp"),
    ("length", "strlen strnlen"),
    ("copy_string", "strcpy stpcpy __stpcpy strncpy strcat strncat"),
    ("find", "strchr index strrchr rindex memchr"),
    ("span", "strspn strcspn"),
    ("search", "strstr strpbrk strchrnul"),
    ("token", "strtok strtok_r __strtok_r strsep"),
    ("duplicate", "strdup strndup __strdup"),
    # input
    ("scan", "scanf fscanf sscanf __isoc99_scanf __isoc99_fscanf __isoc99_sscanf"),
    ("scan", "__isoc23_scanf __isoc23_fscanf __isoc23_sscanf"),
    ("input", "read recv fgets fread __VERIFIER_nondet_memory fgets_unlocked fread_unlocked pread"),
    ("print_string", "sprintf snprintf vsprintf vsnprintf"),
    # other effects: what is written and what comes back, as `lower/effects.py` reads it
    ("effects", "end:1", "strtol strtoll strtoul strtoull strtoimax strtoumax strtoq strtouq"),
    ("effects", "end:1", "__isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull"),
    ("effects", "end:1", "__strtol_internal __strtoul_internal"),
    ("effects", "into:0", "strcasestr memmem memrchr rawmemchr wcschr wcsstr"),
    ("effects", "bytes:0:2", "strxfrm"),
    ("effects", "string:0 same:0", "gets"),
    ("effects", "string:0 same:0", "wcscpy wcscat wcsncpy wcsncat wmemcpy wmemmove wmemset"),
    ("effects", "line:0 count", "getline getdelim __getdelim"),
    ("effects", "object:0", "asprintf vasprintf"),
    ("effects", "new", "fopen fdopen tmpfile popen opendir tempnam fopen64 tmpfile64"),
    ("effects", "same:2", "freopen freopen64"),
    ("effects", "new", "dlopen"),
    ("effects", "renews static", "getenv secure_getenv __secure_getenv readdir readdir64 localtime gmtime"),
    ("effects", "renews static", "getpwnam getpwuid getgrgid getgrnam getlogin ttyname setlocale"),
    ("effects", "renews static", "localeconv strerror strsignal asctime ctime nl_langinfo gethostbyname"),
    ("effects", "renews static", "getservbyname inet_ntoa dlerror"),
    ("effects", "string:0 renews around:0", "dirname basename ctermid tmpnam"),
    ("effects", "renews around:0", "gettext"),
    ("effects", "renews", "setenv unsetenv clearenv"),
    ("effects", "target:1 same:1", "localtime_r gmtime_r"),
    ("effects", "target:0", "mktime timegm times uname wait sigemptyset sigfillset sigaddset sigdelset"),
    ("effects", "target:0 target:1", "gettimeofday"),
    ("effects", "target:1", "clock_gettime clock_getres getrusage getrlimit stat lstat fstat stat64 lstat64"),
    ("effects", "target:1", "fstat64 fgetpos getitimer waitpid nanosleep statfs fstatfs statvfs"),
    ("effects", "target:2", "sigprocmask"),
    ("effects", "target:1", "timer_gettime"),
    ("effects", "target:0", "rand_r"),
    ("effects", "target:0 target:2", "wait3"),
    ("effects", "string:1 target:2", "accept getsockname getpeername"),
    ("effects", "bytes:0:1", "strftime gethostname getdomainname"),
    ("effects", "bytes:0:1 same:0", "getcwd"),
    ("effects", "bytes:1:2", "readlink ttyname_r confstr"),
    ("effects", "bytes:1:2 around:1", "strerror_r"),
    ("effects", "bytes:1:2 string:4 target:5", "recvfrom"),
    ("effects", "string:0 same:0", "tmpnam_r mktemp mkdtemp ctermid_r getwd"),
    ("effects", "string:0", "mkstemp mkostemp wctomb mbstowcs wcstombs pipe pipe2 poll"),
    ("effects", "string:1 same:1", "asctime_r ctime_r realpath"),
    ("effects", "target:0", "mbtowc"),
    ("effects", "target:1 target:2 target:3 target:4", "select"),
    ("sort", "qsort"),
    ("search_sorted", "bsearch"),
    # characters and numbers
    ("character", "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper"),
    ("character", "isxdigit toupper tolower toascii"),
    ("character_table", "__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc"),
    ("absolute", "abs labs llabs imaxabs"),
    ("divide", "div ldiv lldiv imaxdiv"),
    ("same", "expect expect_with_probability assume_aligned launder"),
    ("bits", "clz clzl clzll clzs ctz ctzl ctzll ctzs popcount popcountl popcountll parity parityl parityll"),
    ("bits", "ffs ffsl ffsll bswap16 bswap32 bswap64 clrsb clrsbl clrsbll clzg ctzg popcountg"),
    ("bits", "bitreverse8 bitreverse16 bitreverse32 bitreverse64"),
    ("rotate", "rotateleft8 rotateleft16 rotateleft32 rotateleft64"),
    ("rotate", "rotateright8 rotateright16 rotateright32 rotateright64"),
    ("checked", "add_overflow sub_overflow mul_overflow"),
    ("checked", "sadd_overflow saddl_overflow saddll_overflow ssub_overflow ssubl_overflow ssubll_overflow"),
    ("checked", "smul_overflow smull_overflow smulll_overflow uadd_overflow uaddl_overflow uaddll_overflow"),
    ("checked", "usub_overflow usubl_overflow usubll_overflow umul_overflow umull_overflow umulll_overflow"),
    ("constant_p", "constant_p"),
    ("object_size", "object_size dynamic_object_size"),
    # atomic operations: without threads, plain ones
    ("atomic", "load", "__atomic_load_n __c11_atomic_load nontemporal_load"),
    ("atomic", "store-to", "nontemporal_store"),
    ("atomic", "load-into", "__atomic_load"),
    ("atomic", "store", "__atomic_store_n __c11_atomic_store __c11_atomic_init"),
    ("atomic", "store-from", "__atomic_store"),
    ("atomic", "exchange", "__atomic_exchange_n __c11_atomic_exchange __sync_lock_test_and_set __sync_swap"),
    ("atomic", "exchange-from", "__atomic_exchange"),
    ("atomic", "compare", "__atomic_compare_exchange_n __c11_atomic_compare_exchange_strong"),
    ("atomic", "compare", "__c11_atomic_compare_exchange_weak"),
    ("atomic", "compare-from", "__atomic_compare_exchange"),
    ("atomic", "swap-if", "__sync_bool_compare_and_swap"),
    ("atomic", "swapped-if", "__sync_val_compare_and_swap"),
    ("atomic", "set", "__atomic_test_and_set"),
    ("atomic", "clear", "__atomic_clear __sync_lock_release"),
    *(
        ("atomic", f"old:{op}", f"__atomic_fetch_{op} __c11_atomic_fetch_{op} __sync_fetch_and_{op}")
        for op in _ATOMIC_OPERATIONS
    ),
    *(("atomic", f"new:{op}", f"__atomic_{op}_fetch __sync_{op}_and_fetch") for op in _ATOMIC_OPERATIONS),
    # arguments of variadic functions
    ("arguments_start", "va_start c23_va_start"),
    ("arguments_copy", "va_copy"),
    ("inert", "va_end"),
    # refused
    ("refuse", "unsupported-threads", "pthread_create pthread_join pthread_exit pthread_cond_wait"),
    ("refuse", "unsupported-threads", "thrd_create thrd_join fork vfork"),
    ("refuse", "unsupported-setjmp", "setjmp _setjmp sigsetjmp __sigsetjmp longjmp siglongjmp _longjmp"),
    ("signal", "signal bsd_signal"),
    ("refuse", "unsupported-library-function", "sigaction on_exit at_quick_exit sbrk brk putenv getopt"),
    ("refuse", "unsupported-library-function", "getopt_long getopt_long_only"),
    # they call back, or write later what they are given now
    ("refuse", "unsupported-library-function", "pthread_once call_once pthread_atfork qsort_r lfind lsearch"),
    ("refuse", "unsupported-library-function", "ftw nftw scandir tsearch tfind tdelete twalk sigset"),
    ("refuse", "unsupported-library-function", "timer_create fmemopen open_memstream open_wmemstream"),
    ("refuse", "unsupported-library-function", "initstate setstate readv preadv dlsym"),
    ("refuse", "unsupported-float", "isnan isinf isinf_sign isfinite isnormal fpclassify signbit signbitf"),
    ("refuse", "unsupported-float", "isgreater isgreaterequal isless islessequal islessgreater isunordered"),
    ("refuse", "unsupported-float", "huge_val huge_valf huge_vall inf inff infl nan nanf nanl flt_rounds"),
    ("refuse", "unsupported-float", "signbitl fabs fabsf fabsl copysign copysignf copysignl"),
)

_BUILTIN_ONLY: Final = (
    frozenset(
        name
        for model, *detail, names in _TABLE
        if model in ("same", "bits", "rotate", "checked", "constant_p", "object_size")
        or model.startswith("arguments_")
        or detail == ["unsupported-float"]
        for name in names.split()
        if not name.startswith("ffs")
    )
    | {"trap", "unreachable", "prefetch", "va_end", "alloca_with_align", "nontemporal_load"}
    | {"nontemporal_store"}
)


# functions of the library that really may return any value of their type (in the range their model assumes)
GENUINE_INPUTS: Final = frozenset(
    name
    for model, *_, names in _TABLE
    if model in ("natural", "character_input", "clock")
    for name in names.split()
)
# functions that end the program
ENDING: Final = frozenset(
    name for model, *_, names in _TABLE if model in ("stop", "exit") for name in names.split()
)
# functions that may end it as `exit` does
EXITING: Final = frozenset(
    name for model, *_, names in _TABLE if model in ("exit", "fail") for name in names.split()
) - {"quick_exit"}
# functions whose result may be null or not, whatever their arguments and earlier results: the environment
# decides, each time anew
FAILING: Final = frozenset(
    name
    for names in (
        "fopen fopen64 freopen freopen64 tmpfile tmpfile64 popen opendir readdir readdir64 dlopen tempnam",
        "getpwnam getpwuid getgrgid getgrnam getlogin gets getcwd getwd realpath",
    )
    for name in names.split()
)
# functions of the C library that have no model here: they are defined, whatever the program declares
STANDARD: Final = frozenset(
    name
    for names in (
        "strtod strtof strtold atof difftime getw ioctl fcntl fcntl64",
        "sqrt pow floor ceil fabs sin cos tan exp log log10 fmod round trunc",
    )
    for name in names.split()
)
# variables of the C library that point to three different objects
STREAMS: Final = frozenset(("stdin", "stdout", "stderr"))
# parts of the paths of system headers: what they declare has a definition somewhere
SYSTEM_HEADERS: Final = ("/usr/include/", "/libc/include/", "/lib/include/")


# `__builtin_assume` is one of Clang's own
_WORDS_OF_VERIFIERS: Final = frozenset((*ASSUMING, *ASSERTING)) - {"assume"}


def _entries() -> Iterator[Entry]:
    for model, *detail, names in _TABLE:
        for name in names.split():
            yield Entry(name, model, detail[0] if detail else name)


LIBRARY: Final[dict[str, Entry]] = {entry.name: entry for entry in _entries()}


def known(name: str) -> str | None:
    """The entry for a function: `__builtin_f`, `__builtin___f_chk` are as `f`, `__sync_f_4` as `__sync_f`."""
    if name.startswith("__sync_"):
        name = name.rstrip("0123456789").removesuffix("_")
    if name in LIBRARY and name not in _BUILTIN_ONLY:
        return name
    if name.startswith("__builtin_"):
        plain = name.removeprefix("__builtin_")
        if plain.startswith("__") and plain.endswith("_chk"):
            plain = plain[2:].removesuffix("_chk")
        if plain in LIBRARY and plain not in _WORDS_OF_VERIFIERS:
            return plain
    return None
