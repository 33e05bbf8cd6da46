"""The table of library functions: nothing is lost, models exist and have the types of the headers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.unit.frontend.c.test_signatures import HEADERS

from certus.frontend.c import library, signatures
from certus.frontend.c.library.meanings import Effects, Exit, Model, Print, Stop, Target
from certus.frontend.c.library.signatures import SIGNATURES, may_be
from certus.frontend.c.library.table import EXTENTS, FUNCTIONS, STANDARD, ends, lookup
from certus.system.clang import TARGETS, find_clang

FOLDER = Path(library.__file__).parent / "c"
FILES = sorted(path.name for path in FOLDER.glob("*.c"))
_FUNCTION = re.compile(r"^(?:define|declare) (.*?)@([\w.]+)\((.*?)\)", re.MULTILINE)
_TYPE = re.compile(r"(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|\bptr\b|\bvoid\b|\bi\d+\b|\.\.\.)(?:.*?byval\([^)]*\))?")
# names that glibc's headers do not declare, or only by another name
UNDECLARED = [
    "__bzero",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__stpcpy",
    "__strdup",
    "__strtok_r",
    "__strtol_internal",
    "__strtoul_internal",
    "atexit",
]


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


def test_nothing_is_lost() -> None:
    """What is left of the older table became instructions by Clang, or intrinsics."""
    by_clang = ("atomic", "same", "bits", "rotate", "checked", "checked_p", "constant_p", "object_size")
    missing = [
        name
        for name, entry in library.LIBRARY.items()
        if name not in FUNCTIONS
        and entry.model not in (*by_clang, "arguments_start", "arguments_copy")
        and entry.detail != "unsupported-float"
        and not re.search("atomic_|__sync_|^assume$|^va_end$|^prefetch$|^trap$|^unreachable$", name)
    ]
    assert missing == ["alloca_with_align"]


def test_functions_of_the_library_without_meaning_are_none_of_those() -> None:
    assert STANDARD == library.STANDARD
    assert not STANDARD & set(FUNCTIONS)


def test_signatures() -> None:
    assert {name: SIGNATURES.get(name) for name in signatures.SIGNATURES} == signatures.SIGNATURES
    assert [name for name in SIGNATURES if name not in FUNCTIONS] == []


@pytest.mark.parametrize("model", sorted(TARGETS))
def test_models_have_the_types_of_the_headers(tmp_path: Path, model: str) -> None:
    defined: dict[str, dict[str, str]] = {}
    for file in FILES:
        defined[file] = compiled((FOLDER / file).read_text(), tmp_path, model)
    names = [
        name
        for name, function in FUNCTIONS.items()
        if isinstance(function.meaning, Model) and function.passed is None and name not in UNDECLARED
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
        for symbol in (meaning.symbol, meaning.unquiet):
            for suffix in ("1", "2", "4", "8") if meaning.elements else ("",):
                if symbol:
                    assert defined[meaning.file].get(symbol + suffix) == declared[name], name


@pytest.mark.parametrize("model", sorted(TARGETS))
def test_extents_are_those_of_the_headers(tmp_path: Path, model: str) -> None:
    includes = "".join(f"#include <{header}.h>\n" for header in HEADERS.split())
    lines = [
        f'_Static_assert(sizeof({type_}) == {sizes[model == "LP64"]}, "{type_}");'
        for type_, sizes in EXTENTS.items()
    ]
    compiled(f"#define _GNU_SOURCE\n{includes}" + "\n".join(lines), tmp_path, model)


def test_every_target_has_an_extent() -> None:
    targets = [
        write.type
        for function in FUNCTIONS.values()
        if isinstance(function.meaning, Effects)
        for write in function.meaning.writes
        if isinstance(write, Target)
    ]
    assert sorted(set(targets)) == sorted(EXTENTS)


def test_look_up() -> None:
    chk = lookup("__snprintf_chk")
    assert chk is not None
    assert (chk.name, chk.passed, chk.variadic) == ("snprintf", (0, 1, 4), True)
    assert chk.meaning == Print(2, buffer=0, limit=1)
    assert lookup("__builtin_no_such_thing") is None
    assert lookup("mine") is None


def test_what_ends_the_execution() -> None:
    assert [ends(meaning) for meaning in (Stop(), Exit(), Exit(status=0))] == [True, True, False]


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
        ("malloc", "i", None, False),
        ("mine", "i", "", True),
    ],
)
def test_what_may_be_the_function_of_the_library(
    name: str, result: str, parameters: str | None, expected: bool
) -> None:
    assert may_be(name, result, parameters) is expected
