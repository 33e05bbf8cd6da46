"""What library functions take and give, roughly: so that a function of the user's own that only has the name
of one is not taken for it.

A signature is the kind of the result and, in parentheses, those of the parameters. Kinds are letters: `v`
nothing, `i` an integer, `h` one that is less than an `int`, `f` a floating-point number, `s` a record, `p` a
pointer to a number or a pointer, `r` one to a record, `F` one to a function, `*` a `void *`, `a` a `va_list`,
`u` a pointer to a socket address or glibc's union of these. The lowering tells the kinds of a declaration
from its debug types; `o` is a pointer of which no more is known.

This check is for the name. A function with a model in C must, besides, have the same IR type as the model.
"""

from __future__ import annotations

from typing import Final

_TABLE: Final = """
F(iF) bsd_signal signal
v(i) __VERIFIER_assume verifier_assume assume assume_abort_if_not assume_cycle_if_not __CPROVER_assume
v(i) __ESBMC_assume klee_assume __llbmc_assume __LLBMC_assume __VERIFIER_assert verifier_assert sassert
v(i) klee_assert
v(i...) __CPROVER_assert __ESBMC_assert __llbmc_assert __LLBMC_assert
*(**i) memcpy memmove mempcpy
*(**ii) memccpy
*(**iiF) bsearch
*(*i) rawmemchr realloc
*(*i*i) memmem
*(*ii) memchr memrchr memset
*(i) __alloca alloca malloc valloc vmalloc vzalloc
*(ii) __kmalloc aligned_alloc calloc kmalloc kzalloc memalign
*(pi) dlopen
h(i) htons ntohs
i() clearenv clock fcloseall fegetround getchar getchar_unlocked getdtablesize getegid geteuid
i() getgid gethostid getpagesize getpgrp getpid getppid getuid lrand48 pause rand random
i() sched_yield setsid ttyslot
i(*) timer_delete
i(**i) bcmp memcmp
i(*i) munmap
i(*iir) fread fread_unlocked fwrite fwrite_unlocked
i(*r) timer_gettime
i(F) atexit
i(i) abs alarm btowc close dup fchdir fdatasync feclearexcept feraiseexcept fesetround
i(i) fetestexcept ffs ffsl ffsll fsync getpgid getsid htonl imaxabs isalnum isalpha
i(i) isascii isatty isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
i(i) isxdigit labs llabs nice ntohl putchar putchar_unlocked raise setegid seteuid setgid
i(i) setlogmask setuid sleep sysconf toascii tolower toupper umask usleep wctob
i(i*i) read write
i(i*ii) pread pwrite recv send
i(i*iiui) sendto
i(i*iiup) recvfrom
i(ii) dup2 fchmod flock fpathconf ftruncate kill killpg listen setpgid shutdown ualarm
i(iii) fchown lockf lseek lseek64 socket
i(iii*i) setsockopt
i(ip...) dprintf
i(ipa) vdprintf
i(ipi) confstr ttyname_r unlinkat waitpid
i(ipi...) openat
i(ipip) renameat
i(ir) _IO_putc clock_getres clock_gettime fputc fputc_unlocked fstat fstat64 fstatfs futimes
i(ir) getitimer getrlimit getrusage putc putc_unlocked putw ungetc
i(iri) sendmsg
i(irr) sigprocmask
i(irrrr) select
i(iui) bind connect
i(iup) accept getpeername getsockname
i(p) atoi atol atoll chdir if_nametoindex inet_addr mkstemp pipe puts rand_r remove rmdir
i(p) strlen system time unlink unsetenv wait wcslen
i(p...) __isoc23_scanf __isoc99_scanf printf printk scanf wprintf
i(pa) vprintf
i(pi) access chmod creat getdomainname gethostname mblen mkdir mkfifo mkostemp pathconf pipe2
i(pi) strnlen truncate wcsnlen wctomb
i(pi...) open
i(pii) chown lchown posix_memalign
i(pip...) snprintf
i(pipa) vsnprintf
i(pipr) strftime
i(pir) wait3
i(pp) execv execvp link rename strcasecmp strcmp strcoll strcspn strspn strverscmp symlink
i(pp) wcscmp wcscoll
i(pp...) __isoc23_sscanf __isoc99_sscanf asprintf execl execle execlp sprintf sscanf
i(ppa) vasprintf vsprintf
i(ppi) __isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull mbstowcs mbtowc
i(ppi) readlink setenv strncasecmp strncmp strtoimax strtol strtoll strtoq strtoul strtoull
i(ppi) strtoumax strtouq strxfrm wcsncmp wcstombs wmemcmp
i(ppii) __strtol_internal __strtoul_internal
i(ppir) __getdelim getdelim
i(ppp) execve
i(ppr) getline
i(pr) fputs fputs_unlocked lstat lstat64 stat stat64 statfs statvfs utime utimes
i(r) _IO_getc closedir fclose feof feof_unlocked ferror ferror_unlocked fflush fflush_unlocked
i(r) fgetc fgetc_unlocked fileno fileno_unlocked ftell ftello ftrylockfile getc getc_unlocked
i(r) mktime pclose sigemptyset sigfillset timegm times uname
i(r*) gettimeofday
i(ri) sigaddset sigdelset
i(rii) fseek fseeko poll
i(rp...) __isoc23_fscanf __isoc99_fscanf fprintf fscanf fwprintf
i(rpa) vfprintf
i(rpii) setvbuf
i(rr) fgetpos fsetpos nanosleep settimeofday
p() __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location dlerror getlogin
p(i) nl_langinfo strerror strsignal ttyname
p(ip) setlocale
p(ipi) strerror_r
p(p) __secure_getenv __strdup basename ctermid ctermid_r ctime dirname getenv gets gettext
p(p) getwd mkdtemp mktemp secure_getenv strdup tmpnam tmpnam_r
p(pi) getcwd index rindex strchr strchrnul strndup strrchr wcschr wcsrchr
p(pii) wmemchr wmemset
p(pir) fgets fgets_unlocked
p(pp) __stpcpy ctime_r realpath stpcpy strcasestr strcat strcpy strpbrk strsep strstr strtok
p(pp) tempnam wcscat wcscpy wcsstr
p(ppi) stpncpy strncat strncpy wcsncat wcsncpy wmemcpy wmemmove
p(ppp) __strtok_r strtok_r
p(r) asctime
p(rp) asctime_r
p(s) inet_ntoa
r() localeconv tmpfile tmpfile64
r(i) getgrgid getpwuid
r(ip) fdopen
r(p) getgrnam gethostbyname getpwnam gmtime localtime opendir
r(pp) fopen fopen64 getservbyname popen
r(ppr) freopen freopen64
r(pr) gmtime_r localtime_r
r(r) readdir readdir64
s(ii) div imaxdiv ldiv lldiv
v() abort closelog sync
v(*) cfree free kfree
v(**i) bcopy
v(*i) __bzero bzero
v(*iiF) qsort
v(i) _Exit _exit exit quick_exit srand srand48 srandom
v(iip...) errc error
v(iipa) verrc
v(iipip...) error_at_line
v(ip...) err errx syslog
v(ipa) verr verrx
v(p) perror
v(pii) openlog
v(ppip) __assert_fail
v(r) clearerr clearerr_unlocked flockfile funlockfile rewind rewinddir setlinebuf
v(rp) setbuf
v(rpi) setbuffer
"""


def _signatures() -> dict[str, str]:
    lines = (line.split() for line in _TABLE.split("\n") if line)
    return {name: signature for signature, *names in lines for name in names}


SIGNATURES: Final = _signatures()
_ALIKE: Final = {  # as what else a kind may be declared or passed
    "*": "*pro",
    "p": "p*o",
    "r": "r*o",
    "F": "F*o",
    "a": "apr*so",
    "u": "urs*o",
    "i": "ih",
    "h": "ih",
}


def may_be(name: str, result: str, parameters: str | None) -> bool:
    """Whether a function whose result and parameters are of these kinds, by its declaration, may be that of
    the library. `parameters` is None where it was declared without any, as in `int f();`."""
    signature = SIGNATURES.get(name)
    if signature is None:
        return True
    wanted, taken = signature[0], signature[2:-1].removesuffix("...")
    if result not in ("vih" if wanted == "h" else "vi" if wanted in "vi" else _ALIKE.get(wanted, wanted)):
        return False
    if parameters is None:
        return True
    if len(parameters) < len(taken) or (len(parameters) > len(taken) and not signature.endswith("...)")):
        return False
    return all(given in _ALIKE.get(each, each) for each, given in zip(taken, parameters, strict=False))
