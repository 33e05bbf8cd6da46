"""What each function of the C library means: the one table, by name.

A function is a model in C (`c/*.c`, exact), something that the lowering does itself (allocation, inputs,
the end of the program), or known by its effects alone. What is not here is a function that nobody defines.
Functions that Clang makes instructions of (`__builtin_clz`, atomic operations, `va_start`) never appear.

Every function without a model in C may set `errno`.
"""

from __future__ import annotations

from typing import Final

from certus.core.vocabulary import ASSERTING, ASSUMING
from certus.frontend.c.library.meanings import (
    Allocate,
    Assert,
    Assume,
    Block,
    Bytes,
    Character,
    Effects,
    EndPointer,
    Exit,
    Function,
    InputMemory,
    Line,
    LineBuffer,
    Meaning,
    Model,
    Natural,
    NewObject,
    NewResult,
    Print,
    Reallocate,
    Refused,
    Release,
    Renewed,
    SameArgument,
    Scan,
    Seed,
    Shared,
    SharedOrInto,
    Signal,
    Some,
    Stop,
    Target,
    Time,
)

# sizes in bytes of what `Target` names: ILP32, LP64
EXTENTS: Final[dict[str, tuple[int, int]]] = {
    "int": (4, 4),
    "size_t": (4, 8),
    "fd_set": (128, 128),
    "fpos_t": (12, 16),
    "sigset_t": (128, 128),
    "struct itimerspec": (16, 32),
    "struct itimerval": (16, 32),
    "struct rlimit": (8, 16),
    "struct rusage": (72, 144),
    "struct stat": (88, 144),
    "struct stat64": (96, 144),
    "struct statfs": (64, 120),
    "struct statvfs": (72, 112),
    "struct timespec": (8, 16),
    "struct timeval": (8, 16),
    "struct timezone": (8, 8),
    "struct tm": (44, 56),
    "struct tms": (16, 32),
    "struct utsname": (390, 390),
}

_ANY: Final = Effects()
_NUMBER_OF_LOCALE: Final = Effects((EndPointer(1, 0),))
_CHECKED: Final = "arithmetic.c"  # the only file that is compiled with the checks of the property

# file, functions that are their own models; those of _LOCALE depend on the locale
_MODELS: Final = (
    ("memory.c", "memcpy mempcpy memmove bcopy memccpy memset bzero memcmp memchr memrchr rawmemchr memmem"),
    ("string.c", "strlen strnlen stpcpy strcpy stpncpy strncpy strcat strncat strndup strdup strcmp strncmp"),
    ("string.c", "strcasecmp strncasecmp strchr strchrnul strrchr strspn strcspn strpbrk strstr strcasestr"),
    ("string.c", "strsep strtok_r strtok"),
    ("ctype.c", "isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace"),
    ("ctype.c", "isupper isxdigit toascii tolower toupper"),
    ("ctype.c", "__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc"),
    ("stdlib.c", "__errno_location strtol strtoll strtoul strtoull strtoimax strtoumax atoi atol atoll"),
    ("stdlib.c", "__isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull"),
    ("stdlib.c", "__strtol_internal __strtoul_internal"),
    (_CHECKED, "abs labs llabs imaxabs div ldiv lldiv imaxdiv ffs ffsl ffsll htonl htons ntohl ntohs"),
    ("wchar.c", "wcslen wcsnlen wmemcpy wmemmove wmemset wmemcmp wmemchr wcscpy wcsncpy wcscat wcsncat"),
    ("wchar.c", "wcscmp wcsncmp wcschr wcsrchr wcsstr"),
    ("world.c", "atexit"),
)
_OTHER_NAMES: Final = {  # of functions in _MODELS
    "__bzero": "bzero",
    "__stpcpy": "stpcpy",
    "__strdup": "strdup",
    "__strtok_r": "strtok_r",
    "bcmp": "memcmp",
    "index": "strchr",
    "rindex": "strrchr",
    "strcoll": "strcmp",
    "strtoq": "strtoll",
    "strtouq": "strtoull",
    "wcscoll": "wcscmp",
}
_LOCALE: Final = (
    "strcoll wcscoll strcasecmp strncasecmp strcasestr atoi atol atoll",
    "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit",
    "tolower toupper",
)

_MEANINGS: Final[tuple[tuple[Meaning, str], ...]] = (
    # the end of the execution
    (Stop(), "abort _exit _Exit __assert_fail __assert_rtn __assert __assert_perror_fail"),
    (Stop(), "reach_error __VERIFIER_error __VERIFIER_silent_exit"),
    (Exit(), "exit err errx verr verrx errc verrc"),
    (Exit(registered=False), "quick_exit"),
    (Exit(status=0), "error error_at_line"),
    (Assume(), " ".join(ASSUMING)),
    (Assert(), " ".join(ASSERTING)),
    # memory
    (Allocate((0,)), "malloc"),
    (Allocate((0,), align=4096), "valloc"),
    (Allocate((0, 1), zero=True), "calloc"),
    (Allocate((1,), alignment=0), "aligned_alloc memalign"),
    (Allocate((2,), alignment=1, words=True, into=0), "posix_memalign"),
    (Allocate((0,), fails=True), "kmalloc __kmalloc"),
    (Allocate((0,), fails=True, zero=True), "kzalloc"),
    (Allocate((0,), fails=True, align=4096), "vmalloc"),
    (Allocate((0,), fails=True, align=4096, zero=True), "vzalloc"),
    (Allocate((0,), stack=True), "alloca __alloca"),
    (Reallocate(), "realloc"),
    (Release(), "free cfree kfree"),
    (Model("stdlib.c", "__certus_qsort", callback=3, unquiet="__certus_qsort_any", elements=True), "qsort"),
    (Model("stdlib.c", "bsearch", callback=4, unquiet="__certus_bsearch_any"), "bsearch"),
    # inputs
    (Natural(), "rand random lrand48"),
    (Seed(), "srand srandom srand48"),
    (Character(), "getchar getc fgetc getchar_unlocked getc_unlocked fgetc_unlocked _IO_getc"),
    (Time(), "time"),
    (Block(to=1, count=2), "read recv pread"),
    (Block(to=0, count=2, size=1), "fread fread_unlocked"),
    (Line(), "fgets fgets_unlocked"),
    (InputMemory(), "__VERIFIER_nondet_memory"),
    (Scan(0, outside=True), "scanf __isoc99_scanf __isoc23_scanf"),
    (Scan(1, outside=True), "fscanf __isoc99_fscanf __isoc23_fscanf"),
    (Scan(1, outside=False), "sscanf __isoc99_sscanf __isoc23_sscanf"),
    # output
    (Print(0), "printf wprintf printk"),
    (Print(1), "fprintf dprintf fwprintf syslog"),
    (Print(None), "vprintf vfprintf vdprintf"),
    (Print(1, buffer=0), "sprintf"),
    (Print(2, buffer=0, limit=1), "snprintf"),
    (Print(None, buffer=0), "vsprintf"),
    (Print(None, buffer=0, limit=1), "vsnprintf"),
    # no effect on the program's memory
    (_ANY, "puts fputs putchar fputc putc putchar_unlocked perror fflush fclose setlinebuf rewind ungetc"),
    (_ANY, "feof ferror clearerr fseek ftell fileno fseeko ftello fsetpos feof_unlocked ferror_unlocked"),
    (_ANY, "clearerr_unlocked fileno_unlocked fflush_unlocked fputc_unlocked putc_unlocked fputs_unlocked"),
    (_ANY, "fwrite_unlocked _IO_putc putw flockfile funlockfile ftrylockfile pclose fcloseall"),
    (_ANY, "sleep usleep sched_yield openlog closelog setlogmask nice sync"),
    (_ANY, "remove unlink rename link symlink unlinkat renameat truncate ftruncate lockf flock"),
    (_ANY, "close isatty write pwrite fwrite open openat creat lseek lseek64 chdir fchdir"),
    (_ANY, "getpid getuid geteuid getgid getegid getppid getpgrp getpgid getsid clock system"),
    (_ANY, "setuid setgid seteuid setegid setsid setpgid __VERIFIER_atomic_begin __VERIFIER_atomic_end"),
    (_ANY, "fsync fdatasync umask access chmod fchmod chown fchown lchown mkdir rmdir mkfifo"),
    (_ANY, "strverscmp mblen btowc wctob closedir rewinddir execv execve execvp execl execlp execle"),
    (_ANY, "sysconf pathconf fpathconf getpagesize getdtablesize ttyslot gethostid munmap"),
    (_ANY, "socket bind listen connect send sendto sendmsg setsockopt shutdown dup dup2 timer_delete"),
    (_ANY, "fesetround fegetround feraiseexcept feclearexcept fetestexcept"),
    (_ANY, "if_nametoindex inet_addr utime utimes futimes settimeofday"),
    (Effects(no_pointer=1), "setvbuf setbuf setbuffer"),
    (Effects(returns=False), "raise kill killpg pause alarm ualarm"),
    (Signal(), "signal bsd_signal"),
    # other effects
    (Effects((Bytes(0, 2),)), "strxfrm"),
    (Effects((Some(0),), SameArgument(0), input_null=True), "gets getwd"),
    (Effects((LineBuffer(0), Target(1, "size_t"))), "getline getdelim __getdelim"),
    (Effects((NewObject(0),)), "asprintf vasprintf"),
    (
        Effects((), NewResult(), input_null=True),
        "fopen tmpfile popen opendir tempnam fopen64 tmpfile64 dlopen",
    ),
    (Effects((), NewResult()), "fdopen"),
    (Effects((), SameArgument(2), input_null=True), "freopen freopen64"),
    (Effects((Renewed("getenv"),), Shared("getenv")), "getenv secure_getenv __secure_getenv"),
    (Effects((Renewed("getenv"),)), "setenv unsetenv clearenv"),
    (Effects((Renewed("readdir"),), Shared("readdir"), input_null=True), "readdir readdir64"),
    (Effects((Renewed("localtime"),), Shared("localtime")), "localtime gmtime"),
    (Effects((Renewed("asctime"),), Shared("asctime")), "asctime ctime"),
    (Effects((Renewed("getpwnam"),), Shared("getpwnam"), input_null=True), "getpwnam getpwuid"),
    (Effects((Renewed("getgrnam"),), Shared("getgrnam"), input_null=True), "getgrnam getgrgid"),
    (Effects((Renewed("setlocale"),), Shared("setlocale")), "setlocale localeconv nl_langinfo"),
    (Effects((Renewed("getlogin"),), Shared("getlogin"), input_null=True), "getlogin"),
    *(
        (Effects((Renewed(name),), Shared(name)), name)
        for name in (
            "ttyname",
            "strerror",
            "strsignal",
            "gethostbyname",
            "getservbyname",
            "inet_ntoa",
            "dlerror",
        )
    ),
    (Effects((Some(0), Renewed("basename")), SharedOrInto("basename", 0)), "dirname basename"),
    (Effects((Some(0), Renewed("ctermid")), SharedOrInto("ctermid", 0)), "ctermid"),
    (Effects((Some(0), Renewed("tmpnam")), SharedOrInto("tmpnam", 0)), "tmpnam"),
    (Effects((Renewed("gettext"),), SharedOrInto("gettext", 0)), "gettext"),
    (Effects((Target(1, "struct tm"),), SameArgument(1)), "localtime_r gmtime_r"),
    (Effects((Target(0, "struct tm"),)), "mktime timegm"),
    (Effects((Target(0, "struct tms"),)), "times"),
    (Effects((Target(0, "struct utsname"),)), "uname"),
    (Effects((Target(0, "int"),)), "wait rand_r mbtowc"),
    (Effects((Target(1, "int"),)), "waitpid"),
    (Effects((Target(0, "int"), Target(2, "struct rusage"))), "wait3"),
    (Effects((Target(0, "sigset_t"),)), "sigemptyset sigfillset sigaddset sigdelset"),
    (Effects((Target(2, "sigset_t"),)), "sigprocmask"),
    (Effects((Target(0, "struct timeval"), Target(1, "struct timezone"))), "gettimeofday"),
    (Effects((Target(1, "struct timespec"),)), "clock_gettime clock_getres nanosleep"),
    (Effects((Target(1, "struct rusage"),)), "getrusage"),
    (Effects((Target(1, "struct rlimit"),)), "getrlimit"),
    (Effects((Target(1, "struct stat"),)), "stat lstat fstat"),
    (Effects((Target(1, "struct stat64"),)), "stat64 lstat64 fstat64"),
    (Effects((Target(1, "struct statfs"),)), "statfs fstatfs"),
    (Effects((Target(1, "struct statvfs"),)), "statvfs"),
    (Effects((Target(1, "fpos_t"),)), "fgetpos"),
    (Effects((Target(1, "struct itimerval"),)), "getitimer"),
    (Effects((Target(1, "struct itimerspec"),)), "timer_gettime"),
    (Effects((Some(1), Target(2, "int"))), "accept getsockname getpeername"),
    (Effects((Bytes(1, 2), Some(4), Target(5, "int"))), "recvfrom"),
    (
        Effects((*(Target(n, "fd_set") for n in (1, 2, 3)), Target(4, "struct timeval"))),
        "select",
    ),
    (Effects((Bytes(0, 1),)), "strftime gethostname getdomainname"),
    (Effects((Bytes(0, 1),), SameArgument(0), input_null=True), "getcwd"),
    (Effects((Bytes(1, 2),)), "readlink ttyname_r confstr"),
    (Effects((Bytes(1, 2),), SharedOrInto("strerror_r", 1)), "strerror_r"),
    (Effects((Some(0),), SameArgument(0)), "tmpnam_r mktemp mkdtemp ctermid_r"),
    (Effects((Some(0),)), "mkstemp mkostemp wctomb mbstowcs wcstombs pipe pipe2 poll"),
    (Effects((Some(1),), SameArgument(1)), "asctime_r ctime_r"),
    (Effects((Some(1),), SameArgument(1), input_null=True), "realpath"),
    # refused: threads, jumps, and functions that call back, or write later through a pointer they get now
    (Refused("unsupported-threads"), "pthread_create pthread_join pthread_exit pthread_cond_wait"),
    (Refused("unsupported-threads"), "thrd_create thrd_join fork vfork"),
    (Refused("unsupported-setjmp"), "setjmp _setjmp sigsetjmp __sigsetjmp longjmp siglongjmp _longjmp"),
    (Refused("unsupported-library-function"), "sigaction on_exit at_quick_exit sbrk brk putenv getopt"),
    (Refused("unsupported-library-function"), "getopt_long getopt_long_only pthread_once call_once"),
    (Refused("unsupported-library-function"), "pthread_atfork qsort_r lfind lsearch ftw nftw scandir"),
    (Refused("unsupported-library-function"), "tsearch tfind tdelete twalk sigset timer_create fmemopen"),
    (Refused("unsupported-library-function"), "open_memstream open_wmemstream initstate setstate readv"),
    (Refused("unsupported-library-function"), "preadv dlsym"),
)

# the arguments of checked variants that are those of the plain function; "..." if more follow
_CHECKED_VARIANTS: Final = (
    ("0 1 2", "memcpy memmove mempcpy memset strncpy stpncpy strncat read recv pread readlink"),
    ("0 1", "strcpy stpcpy strcat getcwd gethostname realpath"),
    ("0", "gets"),
    ("1 ...", "printf vprintf wprintf"),
    ("0 2 ...", "fprintf vfprintf dprintf vdprintf fwprintf syslog asprintf vasprintf"),
    ("0 3 ...", "sprintf vsprintf"),
    ("0 1 4 ...", "snprintf vsnprintf"),
    ("0 2 3", "fgets fgets_unlocked"),
    ("0 2 3 4", "fread fread_unlocked"),
)


def _functions() -> dict[str, Function]:
    found: dict[str, Function] = {}
    of_locale = {name: _ANY for names in _LOCALE for name in names.split()}
    for file, names in _MODELS:
        for name in names.split():
            parsed = name.startswith(("strto", "__isoc23_strto", "__strto")) and file == "stdlib.c"
            locale = _NUMBER_OF_LOCALE if parsed else of_locale.get(name)
            found[name] = Function(name, Model(file, name, locale))
    for name, other in _OTHER_NAMES.items():
        model = found[other].meaning
        assert isinstance(model, Model)
        found[name] = Function(name, Model(model.file, other, of_locale.get(name, model.of_locale)))
    for meaning, names in _MEANINGS:
        for name in names.split():
            found[name] = Function(name, meaning)
    for arguments, names in _CHECKED_VARIANTS:
        passed = tuple(int(number) for number in arguments.split() if number != "...")
        for name in names.split():
            variadic = arguments.endswith("...")
            found[f"__{name}_chk"] = Function(name, found[name].meaning, passed, variadic)
    return found


FUNCTIONS: Final = _functions()
CHECKED_FILE: Final = _CHECKED

# functions of the C library that have no meaning here: they are defined, whatever the program declares
STANDARD: Final = frozenset(
    name
    for names in (
        "strtod strtof strtold atof difftime getw ioctl fcntl fcntl64",
        "sqrt pow floor ceil fabs sin cos tan exp log log10 fmod round trunc",
    )
    for name in names.split()
)
# variables of the C library that point to three different objects
STREAMS: Final = ("stdin", "stdout", "stderr")
# mentioned by a program, these make what it reads from files or pipes depend on what it wrote
WRITTEN_BACK: Final = ("ungetc", "tmpfile", "tmpfile64", "fmemopen", "pipe", "pipe2", "socketpair")
# parts of the paths of system headers: what they declare has a definition somewhere
SYSTEM_HEADERS: Final = ("/usr/include/", "/libc/include/", "/lib/include/")


def lookup(name: str) -> Function | None:
    """The function of the library that has this name in IR. Clang makes `strlen` of `__builtin_strlen`; a
    name that still begins with `__builtin_` is a builtin that it does not have."""
    return FUNCTIONS.get(name)


def is_input(meaning: Meaning) -> bool:
    """Whether the result really may be any value of its type, or of the range that the meaning says."""
    return isinstance(meaning, Natural | Character | Time)


def ends(meaning: Meaning) -> bool:
    """Whether no call returns."""
    return isinstance(meaning, Stop) or (isinstance(meaning, Exit) and meaning.status is None)
