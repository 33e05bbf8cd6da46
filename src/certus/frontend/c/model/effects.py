"""Library functions that are modelled only by their effects: what they write, and where their results point.

Functions for writes emit steps, functions for results return pointers. Arguments of calls are numbered from
0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from certus.core import build
from certus.core.program import Load
from certus.core.terms import INT, Expr, machine
from certus.frontend.c.ir.types import PointerType
from certus.frontend.c.model import nondeterminism
from certus.frontend.c.model.cells import cells_at, words
from certus.frontend.c.model.checks import check, end, is_checked
from certus.frontend.c.model.formats import counts
from certus.frontend.c.model.nondeterminism import LibraryCall, Meaning, maybe, with_options
from certus.frontend.c.model.terms import NULL, Unmodelled

Result = Callable[[LibraryCall], Expr]

# Sizes in bytes of types that functions read or write: ILP32, LP64.
EXTENTS: Final[dict[str, tuple[int, int]]] = {
    **{"int": (4, 4), "size_t": (4, 8), "time_t": (4, 8), "fd_set": (128, 128), "fpos_t": (12, 16)},
    **{"int[2]": (8, 8), "char[26]": (26, 26)},
    **{"sigset_t": (128, 128), "struct itimerspec": (16, 32), "struct itimerval": (16, 32)},
    **{"struct rlimit": (8, 16), "struct rusage": (72, 144), "struct stat": (88, 144)},
    **{"struct stat64": (96, 144), "struct statfs": (64, 120), "struct statvfs": (72, 112)},
    **{"struct timespec": (8, 16), "struct timeval": (8, 16), "struct timezone": (8, 8)},
    **{"struct tm": (44, 56), "struct tms": (16, 32), "struct utsname": (390, 390)},
}


@with_options
def effects(
    call: LibraryCall,
    *writes: Meaning,
    result: Result | None = None,
    input_null: bool = False,
    returns: bool = True,
    no_pointer: int | None = None,
) -> None:
    """Write and return values that are not computed. `result` returns the result if it is not null; without
    it, the result is any value. With `input_null`, the environment decides whether the result is null, so
    that this is an input. `returns` is false for functions that may never return: counterexamples end there.
    `no_pointer` is an argument that must be a null constant, or the call is refused: the library would keep
    the pointer and write there later."""
    if no_pointer is not None and call.pointer(no_pointer) is not NULL:
        what = f"a buffer that the program gives to `{call.name}`"
        raise Unmodelled("unsupported-library-function", what)
    for write in writes:
        write(call)
    if is_checked(call.body, "read"):
        from certus.frontend.c.model.reads import check_others  # few programs need it

        check_others(call)
    if not returns:
        call.body.bar_counterexamples(f"what happens after `{call.name}`")
        call.body.when(maybe(call.body), partial(end, call.body))
    if result is None or not isinstance(call.instruction.result, PointerType):
        call.define_anything()
    elif call.instruction.name is not None:
        failed = maybe(call.body, "" if input_null else call.result)
        call.define(call.body.choose(failed, lambda: NULL, lambda: result(call)))


# ---------------------------------------------------------------------------------------- writes


def _through(call: LibraryCall, argument: int, write: Callable[[Expr], None], *, null: bool) -> None:
    """Write where an argument points to. It may be null only with `null`, and then nothing is written."""
    if null:
        call.when_not_null(argument, write)
    else:
        write(call.address(argument))


@with_options
def some(call: LibraryCall, argument: int, *, most: int | None = None, null: bool | None = None) -> None:
    """Write an unknown number of bytes where an argument points to; at most as many as the argument `most`
    says. Unless `null` says otherwise, the argument may be null if there is no `most`."""

    def write(address: Expr) -> None:
        count = None if most is None else call.integer(most)
        nondeterminism.write_part(call.body, call.arguments[argument], address, call.written, count)

    _through(call, argument, write, null=most is None if null is None else null)


@with_options
def target(call: LibraryCall, argument: int, type_: str) -> None:
    """Write an object of a type whose size is in `EXTENTS`; if `?` follows, the argument may be null."""

    def write(address: Expr) -> None:
        body, size = call.body, EXTENTS[type_.removesuffix("?")][call.body.layout.word == 8]
        check(body, address, size, "write")
        cells = cells_at(body.layout, body.roots.of(call.arguments[argument]), size)
        cells = cells if cells is not None else list(words(0, size))
        nondeterminism.write_object(body, address, size, cells, call.written)

    _through(call, argument, write, null=type_.endswith("?"))


def _store_new(call: LibraryCall, address: Expr) -> None:
    nondeterminism.store_pointer(call.body, address, allocated(call))


@with_options
def new_object(call: LibraryCall, argument: int) -> None:
    """Write a pointer to a new object, which the program may free. If allocations may fail, it may also be
    null, or stay as it is."""
    body = call.body

    def fail(address: Expr) -> None:
        null = maybe(body, call.written)
        body.when(null, lambda: nondeterminism.store_pointer(body, address, NULL))

    def write(address: Expr) -> None:
        failed = maybe(body, call.written) if body.unit.rules.malloc_may_fail else build.FALSE
        body.when(failed, lambda: fail(address), lambda: _store_new(call, address))

    call.when_not_null(argument, write)


@with_options
def line_buffer(call: LibraryCall, argument: int) -> None:
    """Write a pointer to a new object, or some bytes to the buffer that the pointer already leads to."""
    body = call.body

    def write(address: Expr) -> None:
        def keep() -> None:
            pointer = body.fresh(body.unit.pointer_sort)
            check(body, address, body.layout.word, "read")
            body.emit(Load(pointer, address))
            nondeterminism.write_checked(body, build.to_int(pointer), None, call.written)

        body.when(maybe(body, call.written), lambda: _store_new(call, address), keep)

    call.when_not_null(argument, write)


def end_pointer(call: LibraryCall) -> None:
    """Write a pointer into the string that argument 0 points to where argument 1 points to."""
    call.when_not_null(
        1, lambda at: nondeterminism.store_pointer(call.body, at, _inside(call, call.address(0)))
    )


@with_options
def renewed(call: LibraryCall, name: str) -> None:
    """Change the contents of the object that all calls share (`anywhere`), if it exists already."""
    body, before = call.body, call.body.unit.library.variable(f"{name}$result", INT)
    body.when(build.ne(before, NULL), lambda: nondeterminism.write_some(body, before, call.written))


# --------------------------------------------------------------------------------------- results


def _inside(call: LibraryCall, string: Expr) -> Expr:
    """Return a pointer into a string, or to its end."""
    distance = call.body.havoc(machine(32, signed=False), approximates=call.result)
    return build.add(string, build.to_int(distance))


def new_result(call: LibraryCall) -> Expr:
    """Return a new object of the library."""
    return nondeterminism.library_object(call.body)


def allocated(call: LibraryCall) -> Expr:
    """Return a new object that the program has to free."""
    return nondeterminism.library_object(call.body, "heap")


@with_options
def same(call: LibraryCall, argument: int, otherwise: Result = new_result) -> Expr:
    """Return an argument, or a new object if the argument is null."""
    base = call.address(argument)
    return call.body.choose(build.ne(base, NULL), lambda: base, lambda: otherwise(call))


@with_options
def anywhere(call: LibraryCall, name: str) -> Expr:
    """Return a pointer to any position in the object that all calls of functions with this name share. It is
    unknown whether the results of two calls are the same object, so they point anywhere into one."""
    kept = call.body.unit.library.variable(f"{name}$result", INT)

    def first() -> Expr:
        call.body.registers.assign(kept, new_result(call))
        return kept

    return call.body.choose(build.eq(kept, NULL), first, lambda: _inside(call, kept))


@with_options
def anywhere_or_into(call: LibraryCall, name: str, argument: int) -> Expr:
    """Return such a pointer, or a pointer into the string that an argument points to."""
    string, own = call.address(argument), maybe(call.body, call.result)
    return call.body.choose(own, lambda: anywhere(name)(call), lambda: _inside(call, string))


def shared(name: str, *, input_null: bool = False) -> Meaning:
    """Return the meaning of a function whose result is an object that its calls share."""
    return effects(renewed(name), result=anywhere(name), input_null=input_null)


# ------------------------------------------------------------------------------------------ the table

ANY: Final = effects()
EFFECTS: Final[tuple[tuple[Meaning, str], ...]] = (
    # no effect on the program's memory
    (ANY, "__VERIFIER_atomic_begin __VERIFIER_atomic_end"),
    (ANY, "i(S) puts remove unlink chdir rmdir if_nametoindex inet_addr i(S?) system i(SH) fputs"),
    (ANY, "i(SH) fputs_unlocked i(Sr) utime utimes v(S?) perror i(i) putchar putchar_unlocked sleep usleep"),
    (ANY, "i(i) setlogmask nice close isatty fchdir getpgid getsid setuid setgid seteuid setegid fsync"),
    (ANY, "i(i) fdatasync umask btowc wctob sysconf dup feraiseexcept feclearexcept fetestexcept"),
    (ANY, "i(iH) fputc putc ungetc fputc_unlocked putc_unlocked _IO_putc putw i(ir) futimes i(H?) fflush"),
    (ANY, "i(H?) fflush_unlocked i(H) fclose feof ferror ftell fileno ftello feof_unlocked ferror_unlocked"),
    (ANY, "i(H) fileno_unlocked ftrylockfile pclose closedir v(H) setlinebuf rewind clearerr"),
    (ANY, "v(H) clearerr_unlocked flockfile funlockfile rewinddir i(Hii) fseek fseeko i(Hr) fsetpos"),
    (ANY, "i(rr) settimeofday i(*iiH) fwrite_unlocked fwrite i() fcloseall sched_yield getpid getuid"),
    (ANY, "i() geteuid getgid getegid getppid getpgrp clock setsid getpagesize getdtablesize ttyslot"),
    (ANY, "i() gethostid v(S?ii) openlog v() closelog sync i(SS) rename link symlink strverscmp i(Sp) execv"),
    (ANY, "i(Sp) execvp i(iSi) unlinkat i(iSiS) renameat i(Si) truncate creat access chmod mkdir mkfifo"),
    (ANY, "i(Si) pathconf i(pi) mblen i(*i) munmap i(*) timer_delete i(ii) ftruncate flock setpgid fchmod"),
    (ANY, "i(ii) fpathconf listen shutdown dup2 i(iii) lockf lseek lseek64 fchown socket i(i*i) write"),
    (ANY, "i(i*ii) pwrite send i(Si...) open i(iSi...) openat i(Sii) chown lchown i(Spp) execve"),
    (ANY, "i(Sp...) execl execlp execle i(iui) bind connect i(i*iiui) sendto i(iri) sendmsg"),
    (ANY, "i(iii*i) setsockopt f(S) atof"),
    (effects(no_pointer=1), "i(Hpii) setvbuf v(Hp) setbuf v(Hpi) setbuffer"),
    (effects(returns=False), "i(i) raise alarm i(ii) kill killpg ualarm i() pause"),
    # other effects
    (effects(result=new_result, input_null=True), "r(SS) fopen popen fopen64 r() tmpfile tmpfile64"),
    (effects(result=new_result, input_null=True), "r(S) opendir *(S?i) dlopen"),
    (effects(result=allocated, input_null=True), "p(S?S?) tempnam"),
    (effects(result=new_result), "r(iS) fdopen"),
    (effects(result=same(2), input_null=True), "r(S?SH) freopen freopen64"),
    (shared("getenv"), "p(S) getenv secure_getenv __secure_getenv"),
    (effects(renewed("getenv")), "i(SSi) setenv i(S) unsetenv i() clearenv"),
    (shared("readdir", input_null=True), "r(H) readdir readdir64"),
    (shared("localtime"), "r(p) localtime gmtime"),
    (shared("asctime"), "p(r) asctime"),
    (effects(renewed("asctime"), renewed("localtime"), result=anywhere("asctime")), "p(p) ctime"),
    (shared("getpwnam", input_null=True), "r(S) getpwnam r(i) getpwuid r() getpwent"),
    (shared("getgrnam", input_null=True), "r(S) getgrnam r(i) getgrgid r() getgrent"),
    (shared("setlocale"), "p(iS?) setlocale r() localeconv p(i) nl_langinfo"),
    (shared("getlogin", input_null=True), "p() getlogin"),
    (shared("ttyname"), "p(i) ttyname"),
    (shared("strerror"), "p(i) strerror"),
    (shared("strsignal"), "p(i) strsignal"),
    (shared("gethostbyname"), "r(S) gethostbyname r(Si) gethostbyname2 r(*ii) gethostbyaddr r() gethostent"),
    (shared("getservbyname"), "r(S?S) getservbyname r(iS?) getservbyport r() getservent"),
    (shared("inet_ntoa"), "p(s) inet_ntoa"),
    (shared("dlerror"), "p() dlerror"),
    (effects(some(0), renewed("basename"), result=anywhere_or_into("basename", 0)), "p(S) dirname basename"),
    (effects(some(0), renewed("ctermid"), result=anywhere_or_into("ctermid", 0)), "p(p) ctermid"),
    (effects(some(0), renewed("tmpnam"), result=anywhere_or_into("tmpnam", 0)), "p(p) tmpnam"),
    (effects(renewed("gettext"), result=anywhere_or_into("gettext", 0)), "p(S) gettext"),
    (effects(target(1, "struct tm"), result=same(1)), "r(pr) localtime_r gmtime_r"),
    (effects(target(0, "struct tm")), "i(r) mktime timegm"),
    (effects(target(0, "struct tms?")), "i(r) times"),
    (effects(target(0, "struct utsname")), "i(r) uname"),
    (effects(target(0, "int")), "i(p) rand_r"),
    (effects(target(0, "int?")), "i(p) wait i(ppi) mbtowc"),
    (effects(target(1, "int?")), "i(ipi) waitpid"),
    (effects(target(0, "int?"), target(2, "struct rusage?")), "i(pir) wait3"),
    (effects(target(0, "int[2]")), "i(p) pipe i(pi) pipe2"),
    (effects(target(0, "sigset_t")), "i(r) sigemptyset sigfillset i(ri) sigaddset sigdelset"),
    (effects(target(2, "sigset_t?")), "i(irr) sigprocmask"),
    (effects(target(0, "struct timeval?"), target(1, "struct timezone?")), "i(r*) gettimeofday"),
    (effects(target(1, "struct timespec")), "i(ir) clock_gettime"),
    (effects(target(1, "struct timespec?")), "i(ir) clock_getres i(rr) nanosleep"),
    (effects(target(1, "struct rusage")), "i(ir) getrusage"),
    (effects(target(1, "struct rlimit")), "i(ir) getrlimit"),
    (effects(target(1, "struct stat")), "i(Sr) stat lstat i(ir) fstat"),
    (effects(target(1, "struct stat64")), "i(Sr) stat64 lstat64 i(ir) fstat64"),
    (effects(target(1, "struct statfs")), "i(Sr) statfs i(ir) fstatfs"),
    (effects(target(1, "struct statvfs")), "i(Sr) statvfs"),
    (effects(target(1, "fpos_t")), "i(Hr) fgetpos"),
    (effects(target(1, "struct itimerval")), "i(ir) getitimer"),
    (effects(target(1, "struct itimerspec")), "i(*r) timer_gettime"),
    (effects(*(target(n, "fd_set?") for n in (1, 2, 3)), target(4, "struct timeval?")), "i(irrrr) select"),
    (effects(some(1), target(2, "int?")), "i(iup) accept"),
    (effects(some(1), target(2, "int")), "i(iup) getsockname getpeername"),
    (effects(some(1, most=2), some(4), target(5, "int?")), "i(i*iiup) recvfrom"),
    (effects(line_buffer(0), target(1, "size_t")), "i(ppH) getline i(ppiH) getdelim __getdelim"),
    (effects(counts(0)), "v(p...) warn warnx"),
    (effects(new_object(0), counts(1)), "i(pp...) asprintf"),
    (effects(new_object(0), counts(None)), "i(pSa) vasprintf"),
    (effects(some(0, most=2)), "i(pSi) strxfrm"),
    (effects(some(0, most=1)), "i(piSr) strftime i(pi) gethostname getdomainname"),
    (effects(some(0, most=1, null=True), result=same(0, allocated), input_null=True), "p(pi) getcwd"),
    (effects(some(1, most=2)), "i(Spi) readlink i(ipi) ttyname_r confstr"),
    (effects(some(1, most=2), result=anywhere_or_into("strerror_r", 1)), "p(ipi) strerror_r"),
    (effects(some(0, null=False), result=same(0), input_null=True), "p(p) gets getwd"),
    (effects(some(0), result=same(0)), "p(p) tmpnam_r ctermid_r p(S) mktemp mkdtemp"),
    (effects(some(0)), "i(S) mkstemp i(Si) mkostemp i(pi) wctomb i(ppi) mbstowcs wcstombs"),
    (effects(target(1, "char[26]"), result=same(1)), "p(rp) asctime_r p(pp) ctime_r"),
    (effects(some(1), result=same(1, allocated), input_null=True), "p(Sp) realpath"),
    (effects(some(0)), "i(rii) poll"),
    (effects(end_pointer), "f(Sp) strtod strtof strtold"),
)
