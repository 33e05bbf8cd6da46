"""What is said of the types of library functions agrees with the headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.vocabulary import ASSERTING, ASSUMING
from certus.frontend.c.library import LIBRARY, known
from certus.frontend.c.reader import read_unit
from certus.frontend.c.signatures import SIGNATURES, may_be
from certus.frontend.c.types import INT_TYPE, LP64, UNSIGNED_CHAR, FunctionType, PointerType, VoidType

HEADERS = """
arpa/inet ctype dirent dlfcn err errno error fcntl fenv grp inttypes langinfo libgen libintl locale malloc
netdb net/if
poll pthread pwd sched signal stdio stdlib string strings sys/file sys/mman sys/resource sys/select sys/socket
sys/stat sys/statfs sys/statvfs sys/time sys/times sys/utsname sys/wait syslog time unistd utime wchar
"""
# of the kernel, of old C libraries, or known by another name
NOT_DECLARED = """
__alloca __assert_fail __bzero __isoc23_fscanf __isoc23_scanf __isoc23_sscanf __isoc23_strtol __isoc23_strtoll
__isoc23_strtoul __isoc23_strtoull __isoc99_fscanf __isoc99_scanf __isoc99_sscanf __kmalloc __secure_getenv
__strdup __strtol_internal __strtoul_internal _IO_getc _IO_putc basename bsd_signal cfree ctermid_r errc gets
kfree kmalloc kzalloc printk verrc vmalloc vzalloc
"""


def test_signatures_agree_with_the_headers(tmp_path: Path) -> None:
    names = [name for name in SIGNATURES if name not in (*NOT_DECLARED.split(), *ASSUMING, *ASSERTING)]
    path = tmp_path / "all.c"
    includes = "".join(f"#include <{header}.h>\n" for header in HEADERS.split())
    uses = "".join(f"(void)&{name};\n" for name in names)
    path.write_text(f"#define _GNU_SOURCE\n{includes}int main(void) {{\n{uses}return 0; }}\n")
    functions = read_unit(path, model=LP64).functions
    assert [name for name in names if not may_be(name, functions[name].type)] == []


def test_every_function_with_a_signature_has_a_model() -> None:
    assert [name for name in SIGNATURES if known(name) not in LIBRARY] == []


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("remove", FunctionType(INT_TYPE, (PointerType(INT_TYPE),)), True),
        ("remove", FunctionType(VoidType(), (PointerType(VoidType()),)), True),
        ("remove", FunctionType(INT_TYPE, None), True),  # no prototype
        ("remove", FunctionType(INT_TYPE, (INT_TYPE,)), False),
        ("remove", FunctionType(INT_TYPE, ()), False),
        ("remove", FunctionType(PointerType(INT_TYPE), (PointerType(INT_TYPE),)), False),
        ("open", FunctionType(INT_TYPE, (PointerType(INT_TYPE), INT_TYPE, INT_TYPE)), True),
        ("isdigit", FunctionType(UNSIGNED_CHAR, (INT_TYPE,)), False),
        ("mine", FunctionType(INT_TYPE, ()), True),
    ],
)
def test_what_may_be_the_function_of_the_library(name: str, type_: FunctionType, expected: bool) -> None:
    assert may_be(name, type_) is expected


@pytest.mark.parametrize(
    ("declared", "call"),
    [
        ("void remove(struct node *);", "remove(&n)"),
        ("int send(struct node *);", "send(&n)"),
        ("void link(struct node *, struct node *);", "link(&n, &n)"),
        ("void write(int *, int);", "write(&n.value, 5)"),
        ("int read(int *);", "read(&n.value)"),
        ("int index(int *, int);", "n.value = index(&n.value, 1)"),  # Clang knows another
        ("int time(void);", "n.value = time()"),
        ("int div(int, int);", "n.value = div(4, 2)"),
    ],
)
def test_functions_that_only_have_the_name(declared: str, call: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(
        f"struct node {{ int value; }}; extern void reach_error(void); {declared}\n"
        f"int main(void) {{ struct node n = {{0}}; {call}; if (n.value == 7) reach_error(); return 0; }}\n"
    )
    assert verify(path, Settings(engine="bmc", timeout=60)).answer == "VIOLATED"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("strlen(x, x)", "HOLDS"),
        ("poll()", "HOLDS"),
        ("errx()", "UNKNOWN"),
        ("quick_exit(); x = 1", "UNKNOWN"),  # by its declaration
    ],
)
def test_calls_that_fit_no_library_function(call: str, expected: str, tmp_path: Path) -> None:
    """They are of functions of the user's; but those that may end the program are refused."""
    path = tmp_path / "program.c"
    path.write_text(
        "extern void reach_error(void); int strlen(); int poll(); void errx(); void quick_exit(void);\n"
        f"int main(void) {{ int x = 0; {call}; if (x) reach_error(); return 0; }}\n"
    )
    assert verify(path, Settings(engine="bmc", timeout=60)).answer == expected


def test_effects_speak_of_pointers_and_counts() -> None:
    checked = 0
    for name, entry in LIBRARY.items():
        kinds = SIGNATURES.get(name, "v()")[2:-1]
        for word in entry.detail.split() if entry.model == "effects" and kinds else ():
            _, *positions = word.split(":")
            for expected, position in zip(("pr*u", "i"), map(int, positions), strict=False):
                assert kinds[position] in expected, (name, word)
                checked += 1
    assert checked > 100
