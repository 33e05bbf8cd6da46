"""Models of library functions in C (`c/*.c`), and tables of the names of the C library.

`compile.py` compiles the models. `model/c_types.py` explains the signatures;
`model/library.py` says what the functions without a model mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from certus.frontend.c.ir.types import word_set

# Files of models after which `errno` may have any value, as after all functions without a model.
SETTING_ERRNO: Final = ("math.c", None)
CHECKED_FILE: Final = "arithmetic.c"  # the only file that is compiled with the checks of the property
MODELS: Final = (  # file, signatures and names; `model/library.py` lowers those without a file
    ("", "*(**i) memcpy mempcpy memmove v(**i) bcopy *(*ii) memset v(*i) bzero"),
    ("memory.c", "*(**ii) memccpy *(*ii) memchr memrchr i(**i) memcmp *(*i) rawmemchr *(*i*i) memmem"),
    ("string.c", "i(p) strlen i(pi) strnlen p(pp) stpcpy strcpy strcat strpbrk strstr strcasestr strsep"),
    ("string.c", "p(pp) strtok p(ppi) stpncpy strncpy strncat p(pi) strndup strchr strchrnul strrchr"),
    ("string.c", "p(p) strdup i(pp) strcmp strcasecmp strspn strcspn i(ppi) strncmp strncasecmp"),
    ("string.c", "p(ppp) strtok_r"),
    ("ctype.c", "i(i) isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct"),
    ("ctype.c", "i(i) isspace isupper isxdigit toascii tolower toupper"),
    ("ctype.c", "p() __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc"),
    ("stdlib.c", "p() __errno_location i(ppi) strtol strtoll strtoul strtoull"),
    ("stdlib.c", "i(ppi) __isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull"),
    ("stdlib.c", "i(p) atoi atol atoll i(ppii) __strtol_internal __strtoul_internal"),
    ("stdlib.c", "v(*iiF) qsort *(**iiF) bsearch"),
    (CHECKED_FILE, "i(i) abs labs llabs ffs ffsl ffsll htonl h(i) htons"),
    (CHECKED_FILE, "s(ii) div ldiv lldiv"),
    ("wchar.c", "i(p) wcslen i(pi) wcsnlen p(ppi) wmemcpy wmemmove wcsncpy wcsncat p(pii) wmemset wmemchr"),
    ("wchar.c", "i(ppi) wmemcmp wcsncmp p(pp) wcscpy wcscat wcsstr wcspbrk i(pp) wcscmp"),
    ("wchar.c", "i(pp) wcsspn wcscspn p(pi) wcschr wcsrchr"),
    ("world.c", "i(F) atexit f(ii) difftime"),
    ("math.c", "f(fp) frexp frexpf modf modff f(fi) ldexp ldexpf scalbn scalbnf scalbln scalblnf"),
    ("math.c", "f(ff) nextafter nextafterf f(f) logb logbf i(f) ilogb ilogbf"),
    ("classes.c", "i(f) isnan isnanf isnanl isinf isinff isinfl finite finitef finitel __signbit __signbitf"),
    ("classes.c", "i(f) __signbitl __fpclassify __fpclassifyf __fpclassifyl"),
    ("complex.c", "f(f) creal crealf creall cimag cimagf cimagl conj conjf conjl cproj cprojf cprojl"),
    ("complex.c", "f(f) cabs cabsf cabsl carg cargf cargl"),
    ("complex.c", "__muldc3 __mulsc3 __mulxc3 __divdc3 __divsc3 __divxc3"),
)
OTHER_NAMES: Final = (  # other names of functions in MODELS: model, name
    *("bzero __bzero", "stpcpy __stpcpy", "strdup __strdup", "strtok_r __strtok_r", "memcmp bcmp"),
    *("strchr index", "strrchr rindex", "strcmp strcoll", "wcscmp wcscoll", "strtoll strtoq"),
    *("strtoull strtouq", "strtoll strtoimax", "strtoull strtoumax", "llabs imaxabs", "lldiv imaxdiv"),
    *("htonl ntohl", "htons ntohs"),
    *("isnan __isnan", "isnanf __isnanf", "isnanl __isnanl", "isnan __isnand"),
    *("isinf __isinf", "isinff __isinff", "isinfl __isinfl", "isinf __isinfd"),
    *("finite __finite", "finitef __finitef", "finitel __finitel"),
    *("__signbit __signbitd", "__fpclassify __fpclassifyd"),
)
# Functions with models that depend on the locale, and prefixes of those that also store the end of a number.
OF_LOCALE: Final = """strcoll wcscoll strcasecmp strncasecmp strcasestr atoi atol atoll tolower toupper
isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit
__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc"""
NUMBERS_OF_LOCALE: Final = ("strto", "__isoc23_strto", "__strto")

# The arguments of checked variants (`__memcpy_chk`) that belong to the plain function; "...": all later ones.
CHECKED_VARIANTS: Final = (
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
# Functions of the C library without a meaning here: they are defined, whatever the program declares.
STANDARD: Final = word_set(
    "getw ioctl fcntl fcntl64 wcstoimax wcstoumax vfscanf vscanf "
    "vsscanf timespec_get mbrtoc16 c16rtomb mbrtoc32 c32rtomb fwscanf swprintf swscanf vfwprintf "
    "vfwscanf vswprintf vswscanf vwprintf vwscanf wscanf fgetwc fgetws fputwc fputws fwide getwc "
    "getwchar putwc putwchar ungetwc wcstod wcstof wcstold wcstol wcstoll wcstoul wcstoull wcsxfrm "
    "wcstok wcsftime mbsinit mbrlen mbrtowc wcrtomb mbsrtowcs wcsrtombs iswalnum iswalpha iswblank "
    "iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit iswctype wctype "
    "towlower towupper towctrans wctrans swab strlcpy strlcat wcsdup wcpcpy wcpncpy wcscasecmp "
    "wcsncasecmp"
)
STREAMS: Final = ("stdin", "stdout", "stderr")  # variables that point to three different objects
# Variables of the C library whose values follow its rules.
VARIABLES: Final = word_set(
    "errno h_errno optind optarg opterr optopt suboptarg environ __environ timezone __timezone daylight "
    "__daylight tzname __tzname signgam __signgam getdate_err error_message_count"
)
# Parts of the paths of system headers; functions declared there are defined in the C library.
SYSTEM_HEADERS: Final = ("/usr/include/", "/libc/include/", "/lib/include/")


def signed_names(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a text like `i(p) puts atoi i() rand`, each with the signature before it."""
    signature = ""
    for word in text.split():
        if "(" in word:
            signature = word
        else:
            yield word, signature


FILES: Final = {name: file for file, text in MODELS for name, _ in signed_names(text)}
FILES.update({other: FILES[name] for name, other in map(str.split, OTHER_NAMES)})

# functions and variables that only the lowering and other models mention
INTERNAL: Final = (
    (re.compile(r"__certus_(?:copy|move|fill|unknown|perhaps|input)\d"), "memory.c"),
    (re.compile(r"__certus_(?:qsort|bsearch)\w*|__certus_errno"), "stdlib.c"),
    (re.compile(r"__certus_(?:arguments|run_registered|line)"), "world.c"),
    (re.compile("__certus_move_object"), "memory.c"),
    (re.compile("__certus_format"), "string.c"),
)
