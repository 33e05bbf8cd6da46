"""The table of library functions: models and signatures have the types of the headers, and a function that
only has the name of one is not taken for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.vocabulary import ASSERTING, ASSUMING
from certus.frontend.c import library
from certus.frontend.c.compile import compile_file
from certus.frontend.c.ir.module import Module
from certus.frontend.c.library.models import STANDARD
from certus.frontend.c.model import effects, reads
from certus.frontend.c.model.c_types import kind, may_be
from certus.frontend.c.model.effects import EXTENTS
from certus.frontend.c.model.library import FUNCTIONS, Model
from certus.system.tools import TARGETS, find_clang

FOLDER = Path(library.__file__).parent / "c"
FILES = sorted(path.name for path in FOLDER.glob("*.c"))
_FUNCTION = re.compile(r"^(?:define|declare) (.*?)@([\w.]+)\((.*?)\)", re.MULTILINE)
_TYPE = re.compile(
    r"(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|\bptr\b|\bvoid\b|\bi\d+\b|\bfloat\b|\bdouble\b|\bx86_fp80\b|\.\.\.)(?:.*?byval\([^)]*\))?"
)
# names that glibc's headers do not declare, or only by another name
UNDECLARED = [
    "__bzero",
    "__divdc3",
    "__divsc3",
    "__divxc3",
    "__fpclassifyd",
    "__isinfd",
    "__isnand",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__muldc3",
    "__mulsc3",
    "__mulxc3",
    "__signbitd",
    "__stpcpy",
    "__strdup",
    "__strtok_r",
    "__strtol_internal",
    "__strtoul_internal",
    "atexit",
]
HEADERS = """
arpa/inet complex ctype dirent dlfcn err errno error fcntl fenv grp inttypes langinfo libgen libintl locale
malloc math netdb net/if
poll pthread pwd sched signal stdio stdlib string strings sys/file sys/mman sys/resource sys/select sys/socket
sys/stat sys/statfs sys/statvfs sys/time sys/times sys/utsname sys/wait syslog time unistd utime wchar
"""
# of the kernel, of old C libraries, or known by another name
NOT_DECLARED = """
__signbitd __isnand __isinfd __fpclassifyd
__alloca __assert_fail __bzero __isoc23_fscanf __isoc23_scanf __isoc23_sscanf __isoc23_strtol __isoc23_strtoll
__isoc23_strtoul __isoc23_strtoull __isoc99_fscanf __isoc99_scanf __isoc99_sscanf __kmalloc __secure_getenv
__strdup __strtol_internal __strtoul_internal _IO_getc _IO_putc basename bsd_signal cfree ctermid_r errc gets
kfree kmalloc kzalloc printk verrc vmalloc vzalloc
"""


def compiled(text: str, directory: Path, model: str, name: str = "text.c") -> dict[str, str]:
    """The IR types of the functions that a text defines or uses, without attributes."""
    clang, path = find_clang(), directory / name
    path.write_text(text)
    flags = ("-x", "c", "-std=gnu17", "-S", "-emit-llvm", "-O1", "-fno-builtin", "-w", "-o", "-")
    own = ("-Xclang", "-disable-llvm-passes", f"-I{FOLDER}")
    command = [*clang.command, f"--target={TARGETS[model]}", *flags, *own, *clang.include_flags, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        name: f"{_TYPE.findall(result)[0]}({', '.join(kind.split(' ')[0] for kind in _TYPE.findall(given))})"
        for result, name, given in _FUNCTION.findall(done.stdout)
    }


def test_functions_of_the_library_without_meaning_are_none_of_those() -> None:
    assert not STANDARD & set(FUNCTIONS)


def test_signatures_agree_with_the_headers(tmp_path: Path) -> None:
    left_out = (*NOT_DECLARED.split(), *ASSUMING, *ASSERTING)
    signatures = {
        name: function.signature
        for name, function in FUNCTIONS.items()
        if function.signature and function.name == name and not function.passed and name not in left_out
    }
    path = tmp_path / "all.c"
    includes = "".join(f"#include <{header}.h>\n" for header in HEADERS.split())
    undone = "".join(f"#undef {name}\n" for name in signatures)
    uses = "".join(f"__typeof__({name}) *of_{name} = {name};\n" for name in signatures)
    path.write_text(f"#define _GNU_SOURCE\n{includes}{undone}{uses}")
    module = Module(compile_file(path, "unreach-call", "LP64").text)
    debug, wrong = module.debug, []
    for name, signature in signatures.items():
        number = module.globals[f"of_{name}"].debug
        assert number is not None
        function = debug.plain(debug.target(debug.variable(number).type))
        assert function is not None
        result, *parameters = debug.elements(function.reference("types"))
        if signature.endswith("...)"):
            assert parameters.pop() is None
        if not may_be(signature, kind(debug, result), "".join(kind(debug, each) for each in parameters)):
            wrong.append(name)
    assert wrong == []


def test_the_vocabulary_of_verifiers_has_a_meaning() -> None:
    assert [name for name in (*ASSUMING, *ASSERTING) if FUNCTIONS.get(name) is None] == []


@pytest.mark.parametrize("model", sorted(TARGETS))
def test_models_have_the_types_of_the_headers(tmp_path: Path, model: str) -> None:
    defined: dict[str, str] = {}
    for file in FILES:
        defined |= compiled((FOLDER / file).read_text(), tmp_path, model)
    names = [
        name
        for name, function in FUNCTIONS.items()
        if isinstance(function.meaning, Model) and not function.passed and name not in UNDECLARED
    ]
    includes = "".join(f"#include <{header}.h>\n" for header in HEADERS.split())
    uses = "".join(f"(void)&{name};\n" for name in names)
    undone = "".join(f"#undef {name}\n" for name in names)
    text = f"#define _GNU_SOURCE\n{includes}{undone}void *volatile at;\nvoid f(void) {{\n"
    text += uses.replace("(void)", "at = (void *)") + "}\n"
    declared = compiled(text, tmp_path, model)
    for name in names:
        meaning = FUNCTIONS[name].meaning
        assert isinstance(meaning, Model)
        for symbol in (meaning.symbol, meaning.general):
            for suffix in ("1", "2", "4", "8") if meaning.elements else ("",):
                if symbol:
                    assert defined.get(symbol + suffix) == declared[name], name


@pytest.mark.parametrize("model", sorted(TARGETS))
def test_extents_are_those_of_the_headers(tmp_path: Path, model: str) -> None:
    includes = "".join(f"#include <{header}.h>\n" for header in HEADERS.split())
    lines = [
        f'_Static_assert(sizeof({type_}) == {sizes[model == "LP64"]}, "{type_}");'
        for type_, sizes in EXTENTS.items()
    ]
    compiled(f"#define _GNU_SOURCE\n{includes}" + "\n".join(lines), tmp_path, model)


def test_every_target_has_an_extent() -> None:
    named = re.findall(r'target\(\w+, "([\w [\]]+)\??"\)', Path(effects.__file__).read_text())
    read = {what.removesuffix("?") for _, what in reads.OBJECTS.values()}
    assert set(named) | read == set(EXTENTS)


def test_look_up() -> None:
    chk = FUNCTIONS.get("__snprintf_chk")
    assert chk is not None
    assert (chk.name, chk.arguments(list("012345"))) == ("snprintf", list("0145"))
    assert chk.meaning is FUNCTIONS["snprintf"].meaning
    assert FUNCTIONS.get("__builtin_no_such_thing") is None
    assert FUNCTIONS.get("mine") is None


@pytest.mark.parametrize(
    ("name", "result", "parameters", "expected"),
    [
        ("remove", "i", "p", True),
        ("remove", "v", "*", True),
        ("remove", "i", "o", True),  # a pointer to something
        ("remove", "i", None, True),  # no prototype
        ("remove", "v", "r", False),  # void remove(struct node *)
        ("remove", "i", "i", False),
        ("remove", "i", "", False),
        ("remove", "p", "p", False),
        ("open", "i", "pii", True),
        ("isdigit", "h", "i", False),
        ("isdigit", "i", "h", True),
        ("htons", "h", "h", True),
        ("malloc", "i", None, True),  # an int stands for the pointer
        ("malloc", "i", "i", False),
        ("mine", "i", "", True),
    ],
)
def test_what_may_be_the_function_of_the_library(
    name: str, result: str, parameters: str | None, expected: bool
) -> None:
    function = FUNCTIONS.get(name)
    assert may_be("" if function is None else function.signature, result, parameters) is expected


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


@pytest.mark.parametrize("declared", ["int iswdigit(unsigned);", "unsigned towlower(unsigned);", ""])
def test_functions_of_the_library_without_meaning_refute_nothing(declared: str, tmp_path: Path) -> None:
    """Their names are reserved, so that a declaration by hand is that of the library, too."""
    name = "towlower" if "towlower" in declared else "iswdigit"
    path = tmp_path / "program.c"
    path.write_text(
        f"extern void reach_error(void); {declared}\n"
        f"int main(void) {{ if (!{name}('7')) reach_error(); return 0; }}\n"
    )
    assert verify(path, Settings(engine="bmc", timeout=60)).answer == "UNKNOWN"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("strlen(x, x)", "HOLDS"),
        ("poll()", "HOLDS"),
        ("free(); scanf(); read()", "UNKNOWN"),
        ("errx()", "HOLDS"),
        ("quick_exit(); x = 1", "UNKNOWN"),  # by its declaration
    ],
)
def test_calls_that_fit_no_library_function(call: str, expected: str, tmp_path: Path) -> None:
    """A call without all arguments is refused, unless the function ends the program. A function that is
    declared otherwise is the user's own; if that of the library ends the program, it is refused."""
    path = tmp_path / "program.c"
    path.write_text(
        "extern void reach_error(void); int strlen(); int poll(); void errx(); void quick_exit(void);\n"
        f"int main(void) {{ int x = 0; {call}; if (x) reach_error(); return 0; }}\n"
    )
    assert verify(path, Settings(engine="bmc", timeout=60)).answer == expected
