"""Linking several files: each rule agrees with the result of a real linker on the compiled files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.core.errors import InputError, Unsupported
from certus.core.evidence import Trace
from certus.core.program import Program
from certus.frontend.c.compile import compile_file
from certus.frontend.c.ir.link import Clash, link
from certus.frontend.c.ir.module import Module
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import Ending, run
from certus.system.tools import LANGUAGE, TARGETS, find_clang, run_tool

MAIN = """
int value(void);
void reach_error(void);
int main(void) { int found = value(); if (found != EXPECTED) reach_error(); return found; }
"""
START = """
typedef void function(void);
extern function *__init_array_start[], *__init_array_end[];
int main(void);
void reach_error(void) { }
void _start(void) {
  __asm__ volatile ("and $-16, %rsp");
  for (function **each = __init_array_start; each != __init_array_end; each++) (*each)();
  long status = main();
  __asm__ volatile ("syscall" : : "a"(60L), "D"(status));
}
"""
FITTING = {
    "one definition": ("int f(void); int value(void) { return f(); }", "int f(void) { return 3; }"),
    "initialisers that give a variable a type of its own": (
        "struct s { int a; char c; }; union u { char c; double d; }; "
        "extern struct s t[2]; extern union u v[]; extern struct s w; "
        "int value(void) { return t[1].a * 10 + t[0].c + v[1].c + w.c; }",
        "struct s { int a; char c; }; union u { char c; double d; }; "
        "struct s t[2] = {{1, 2}, {3, 4}}; union u v[] = {{.d = 1}, {.c = 5}}; struct s w = {1, 6};",
    ),
    "internal functions of one name": (
        "int g(void); static int f(void) { return 1; } int value(void) { return 10 * f() + g(); }",
        "static int f(void) { return 2; } int g(void) { return f(); }",
    ),
    "internal variables of one name": (
        "int g(void); static int n = 1; int value(void) { n++; return 10 * n + g(); }",
        "static int n = 5; int g(void) { return n; }",
    ),
    "static variables in functions of one name": (
        "int g(void); static int f(void) { static int n; return ++n; } "
        "int value(void) { f(); return f() + g(); }",
        "static int f(void) { static int n = 10; return ++n; } int g(void) { return f(); }",
    ),
    "an internal name that is external elsewhere": (
        "int g(void); static int f(void) { return 1; } int value(void) { return 10 * f() + g(); }",
        "int f(void) { return 2; } int g(void) { return f(); }",
    ),
    "an external name that is internal later": (
        "int g(void); int f(void) { return 1; } int value(void) { return 10 * f() + g(); }",
        "static int f(void) { return 2; } int g(void) { return f(); }",
    ),
    "literals": (
        'char g(void); static char *s = "ab"; int value(void) { return s[0] + g() - 150; }',
        'static char *s = "xy"; char g(void) { return s[1]; }',
    ),
    "pointers to internal functions": (
        "int (*h(void))(void); static int f(void) { return 1; } int value(void) { return h()() * 10 + f(); }",
        "static int f(void) { return 4; } static int (*p)(void) = f; int (*h(void))(void) { return p; }",
    ),
    "a variable": ("extern int n; int value(void) { return n; }", "int n = 7;"),
    "a variable without a value": ("extern int n; int value(void) { return n; }", "int n;"),
    "an array without a length": (
        "extern int a[]; int value(void) { return a[2]; }",
        "int a[3] = {1, 2, 3};",
    ),
    "weak after strong": (
        "int f(void) { return 1; } int value(void) { return f(); }",
        "__attribute__((weak)) int f(void) { return 2; }",
    ),
    "strong after weak": (
        "__attribute__((weak)) int f(void) { return 1; } int value(void) { return f(); }",
        "int f(void) { return 2; }",
    ),
    "two weak ones": (
        "int f(void); __attribute__((weak)) int n = 1; int value(void) { return 10 * f() + n; }",
        "__attribute__((weak)) int n = 5; __attribute__((weak)) int f(void) { return n; }",
    ),
    "two weak functions": (
        "__attribute__((weak)) int f(void) { return 1; } int value(void) { return f(); }",
        "__attribute__((weak)) int f(void) { return 2; }",
    ),
    "common ones": (
        "__attribute__((common)) int n; int f(void); int value(void) { n = 4; return f(); }",
        "__attribute__((common)) int n; int f(void) { return n; }",
    ),
    "a definition and a common one": (
        "__attribute__((common)) int n; int value(void) { return n; }",
        "int n = 9;",
    ),
    "a weak one and a common one": (
        "__attribute__((weak)) int n = 4; int value(void) { return n; }",
        "__attribute__((common)) int n;",
    ),
    "an alias": (
        "int other(void); int value(void) { return other(); }",
        'static int f(void) { return 6; } int other(void) __attribute__((alias("f")));',
    ),
    "a weak alias that is replaced": (
        'static int f(void) { return 6; } int g(void) __attribute__((weak, alias("f"))); '
        "int value(void) { return g(); }",
        "int g(void) { return 8; }",
    ),
    "an alias of a definition that is replaced": (
        "int f(void) { return 1; } int own(void); int value(void) { return 10 * f() + own(); }",
        '__attribute__((weak)) int f(void) { return 2; } int own(void) __attribute__((alias("f")));',
    ),
    "a weak reference that is defined": (
        "__attribute__((weak)) int f(void); int value(void) { return f ? f() : 9; }",
        "int f(void) { return 2; }",
    ),
    "a weak reference that is not": (
        "__attribute__((weak)) int f(void); int value(void) { return f ? f() : 9; }",
        "int unused;",
    ),
    "constructors in the order of the files": (
        "int n = 1; __attribute__((constructor)) static void a(void) { n = n * 3; } "
        "int value(void) { return n; }",
        "extern int n; __attribute__((constructor)) static void b(void) { n = n + 5; }",
    ),
    "constructors by priority": (
        "int n = 1; __attribute__((constructor(200))) static void a(void) { n *= 3; } "
        "int value(void) { return n; }",
        "extern int n; __attribute__((constructor(101))) static void a(void) { n += 5; }",
    ),
    "an external inline function": (
        "inline int f(void) { return 4; } extern int f(void); int value(void) { return f(); }",
        "int f(void); int g(void) { return f(); }",
    ),
    "structures of one name that differ": (
        "struct S { int a, b; }; long g(void); "
        "int value(void) { struct S s = {1, 2}; return s.b * 10 + g(); }",
        "struct S { char c; long d; }; static struct S t = {1, 5}; "
        "long g(void) { struct S *p = &t; return p->d; }",
    ),
    "a structure in a structure that differs": (
        "struct I { int a; }; struct S { struct I i; int z; }; int g(void);"
        "int value(void) { struct S s = {{1}, 2}; struct S *p = &s; return p->z + g(); }",
        "struct I { char a[9]; }; struct S { struct I i; int z; };"
        "static struct S t = {{{1}}, 6}; int g(void) { struct S *p = &t; return 10 * p->z; }",
    ),
    "functions without prototypes": (
        "int f(); int value(void) { return f(4); }",
        "int f(int x) { return x + 1; }",
    ),
    "names that are quoted": (
        'int g(void); static int f(void) __asm__("a b"); static int f(void) { return 1; }'
        "int value(void) { return f() * 10 + g(); }",
        'static int f(void) __asm__("a b"); static int f(void) { return 2; } int g(void) { return f(); }',
    ),
}
TWICE = {
    "functions": ("int f(void) { return 1; } int value(void) { return f(); }", "int f(void) { return 2; }"),
    "variables": ("int n = 1; int value(void) { return n; }", "int n = 2;"),
    "variables without a value": ("int n; int value(void) { return n; }", "\n  int n;"),
    "a function and an alias": (
        "int f(void) { return 1; } int value(void) { return f(); }",
        'static int g(void) { return 2; }\nint f(void) __attribute__((alias("g")));',
    ),
    "main": ("int value(void) { return 1; }", "int main(void) { return 1; }"),
}
OTHERWISE = {
    "a result": ("long f(void); int value(void) { return f(); }", "int f(void) { return 1; }"),
    "parameters": ("int f(int); int value(void) { return f(1); }", "int f(int x, int y) { return x + y; }"),
    "a parameter": ("int f(int); int value(void) { return f(1); }", "int f(long x) { return x; }"),
    "a variable": ("extern long n; int value(void) { return n; }", "int n = 1;"),
    "an array as a pointer": ("extern int *a; int value(void) { return a[1]; }", "int a[2] = {1, 2};"),
    "the length of an array": ("extern int a[9]; int value(void) { return a[8]; }", "int a[2] = {1, 2};"),
    "a structure": (
        "extern struct { int a, b; } s; int value(void) { return s.b; }",
        "struct { char a; short b; } s = {1, 2};",
    ),
    "a variable as a function": ("int f(void); int value(void) { return f(); }", "int f = 1;"),
    "declarations alone": (
        "extern long n; int value(void) { return n + g(); }",
        "extern int n; int g(void) { return n; }",
    ),
    "a thread's variable": ("extern int n; int value(void) { return n; }", "__thread int n = 1;"),
}


def files(directory: Path, texts: Sequence[str], expected: int = 0) -> list[Path]:
    paths = [directory / f"{name}.c" for name in "abc"[: len(texts) + 1]]
    for path, text in zip(paths, [*texts, MAIN.replace("EXPECTED", str(expected))], strict=True):
        path.write_text(text + "\n")
    return paths


def linked_by_tools(directory: Path, paths: Sequence[Path]) -> Path | None:
    """The executable that the linker makes; None if it refuses."""
    tool, *command = find_clang().command
    start, objects = directory / "start.c", []
    start.write_text(START)
    for path in (*paths, start):
        made = path.with_suffix(".o")
        target = f"--target={TARGETS['LP64']}"
        done = run_tool(Path(tool), (*command, target, *LANGUAGE, "-w", "-c", str(path), "-o", str(made)))
        assert done.code == 0, done.errors
        objects.append(str(made))
    executable = directory / "program"
    done = run_tool(Path(tool), ("ld.lld", "-static", "-o", str(executable), *objects))
    return executable if done.code == 0 else None


def reaches_error(program: Program) -> bool:
    done = run(compile_program(program), TraceInputs(program, Trace("?")), budget=Budget(10))
    assert done.ending in (Ending.ERROR, Ending.EXIT), done
    return done.ending is Ending.ERROR


@pytest.mark.parametrize("name", FITTING)
def test_symbols_mean_what_the_linker_says(tmp_path: Path, name: str) -> None:
    executable = linked_by_tools(tmp_path, files(tmp_path, FITTING[name]))
    assert executable is not None
    value = subprocess.run([executable], check=False).returncode
    assert 0 <= value < 200
    assert not reaches_error(load_c(files(tmp_path, FITTING[name], value)).program)
    assert reaches_error(load_c(files(tmp_path, FITTING[name], value + 1)).program)


@pytest.mark.parametrize("name", TWICE)
def test_two_definitions_are_an_error_at_both_places(tmp_path: Path, name: str) -> None:
    paths = files(tmp_path, TWICE[name])
    assert linked_by_tools(tmp_path, paths) is None
    with pytest.raises(InputError) as caught:
        load_c(paths)
    first, second = caught.value.diagnostics
    assert (first.code, second.code) == ("defined-twice", "defined-twice")
    assert first.span is not None
    assert second.span is not None
    assert first.span.file != second.span.file
    assert str(second.span) in first.message
    assert str(first.span) in second.message


@pytest.mark.parametrize("name", OTHERWISE)
def test_types_that_differ_are_refused_although_linkers_do_not_look(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unsupported) as caught:
        load_c(files(tmp_path, OTHERWISE[name]))
    assert caught.value.diagnostic.code == "declared-otherwise"
    assert caught.value.diagnostic.span is not None
    assert str(tmp_path) in caught.value.diagnostic.span.file


def test_variables_of_threads_stay_apart(tmp_path: Path) -> None:
    texts = (
        "static __thread int n = 1; int g(void); int value(void) { return n * 10 + g(); }",
        "static __thread int n = 2; int g(void) { return n; }",
    )
    assert not reaches_error(load_c(files(tmp_path, texts, 12)).program)
    assert reaches_error(load_c(files(tmp_path, texts, 11)).program)


def test_inline_functions_of_one_header_are_one(tmp_path: Path) -> None:
    (tmp_path / "f.h").write_text("inline int f(void) { return 4; }\n")
    texts = (
        '#include "f.h"\nint g(void); int value(void) { return 10 * f() + g(); }',
        '#include "f.h"\nint g(void) { return f(); }',
    )
    assert not reaches_error(load_c(files(tmp_path, texts, 44)).program)
    external = (texts[0], texts[1] + "\nextern inline int f(void);")
    assert not reaches_error(load_c(files(tmp_path, external, 44)).program)


@pytest.mark.parametrize("second", ["inline int f(void) { return 5; }", "int f(void) { return 5; }"])
def test_inline_functions_that_differ_are_refused(tmp_path: Path, second: str) -> None:
    texts = (
        "inline int f(void) { return 4; }\nint g(void); int value(void) { return f() + g(); }",
        f"\n\n{second}\nint g(void) {{ return f(); }}",
    )
    with pytest.raises(Unsupported) as caught:
        load_c(files(tmp_path, texts))
    assert caught.value.diagnostic.code == "inline-otherwise"


INLINE = {  # a header, what the first file and what the second file says before it
    "a macro": ("inline int f(void) { return N; }", "#define N 4", "#define N 5"),
    "a literal": ("inline int f(void) { return *N; }", '#define N "a"', '#define N "b"'),
    "a structure": (
        "inline int f(struct S *s) { return s->x; }",
        "struct S { int x, y; };",
        "struct S { int y, x; };",
    ),
    "the size of a structure": (
        "inline long f(struct S *s) { return (long)(s + 1); }",
        "struct S { int x; };",
        "struct S { long x; };",
    ),
    "a literal in a table": (
        "inline int f(void) { static const char *const t[] = {N}; return **t; }",
        '#define N "a"',
        '#define N "b"',
    ),
}


@pytest.mark.parametrize(("header", "one", "other"), INLINE.values(), ids=INLINE)
def test_an_inline_function_may_mean_something_else_in_each_file(
    tmp_path: Path, header: str, one: str, other: str
) -> None:
    (tmp_path / "f.h").write_text(header + "\n")
    use = '#include "f.h"\nvoid *kept = f; int value(void) { return 0; }'
    with pytest.raises(Unsupported) as caught:
        load_c(files(tmp_path, (f"{one}\n{use}", f'{other}\n#include "f.h"\nextern __typeof(f) f;')))
    assert caught.value.diagnostic.code == "inline-otherwise"


def test_the_names_of_literals_do_not_matter_in_inline_functions(tmp_path: Path) -> None:
    (tmp_path / "f.h").write_text(
        'inline int f(void) { static const char *t[] = {"a"}; return **t + *"b"; }\n'
    )
    texts = (
        '#include "f.h"\nint g(void); int value(void) { return f() + g(); }',
        '#include <stddef.h>\nconst char *s(void) { return "c"; }\n#include "f.h"\n'
        "extern int f(void); int g(void) { return *s(); }",
    )
    assert not reaches_error(load_c(files(tmp_path, texts, 97 + 98 + 99)).program)


def test_error_functions_keep_their_meaning(tmp_path: Path) -> None:
    own = "static void reach_error(void) { }\n"
    texts = (
        own + "int g(int); int value(void) { return g(1); }",
        own + "int g(int x) { if (x) reach_error(); return 0; }",
    )
    program = load_c(files(tmp_path, texts)).program
    (site,) = [each for each in program.errors if each.location.procedure == "g"]
    assert (site.kind, site.function) == ("reach-error", "reach_error")
    assert reaches_error(program)


def test_places_are_those_of_each_file(tmp_path: Path) -> None:
    texts = (
        "int f(int);\nint value(void) { return f(3); }",
        "\n\nstatic int twice(int x) { return 2 * x; }\nint f(int x) {\n  int y = twice(x);\n  return y;\n}",
    )
    a, b, c = paths = files(tmp_path, texts)
    program = load_c(paths).program
    spans = {procedure.name: procedure.span for procedure in program.procedures.values()}
    found = {name: (span.file, span.line) for name, span in spans.items() if span is not None}
    assert found == {"value": (str(a), 2), "f": (str(b), 4), "twice": (str(b), 3), "main": (str(c), 4)}
    steps = [(e.text, e.span.line) for e in program.procedures["f"].edges if e.span is not None]
    assert steps == [("int y = twice(x)", 5), ("return y", 6)]
    assert program.texts == {str(path): path.read_text() for path in paths}


def test_the_same_text_for_one_file_and_no_symbols_lost(tmp_path: Path) -> None:
    paths = files(tmp_path, FITTING["internal functions of one name"])
    texts = [compile_file(path, property="unreach-call", model="LP64").text for path in paths]
    linked = link(texts, [Module(text) for text in texts])
    module = Module(linked.text)
    assert [n for n, f in module.functions.items() if f.defined] == ["value", "f", "g", "f$2", "main"]
    assert linked.bases[0] == 0
    assert list(linked.bases) == sorted(set(linked.bases))
    assert module.debug.file(module.functions["f$2"].debug) == str(paths[1])


def test_a_clash_names_both_files(tmp_path: Path) -> None:
    paths = files(tmp_path, TWICE["functions"])
    texts = [compile_file(path, property="unreach-call", model="LP64").text for path in paths]
    with pytest.raises(Clash) as caught:
        link(texts, [Module(text) for text in texts])
    assert (caught.value.name, caught.value.first.unit, caught.value.second.unit) == ("f", 0, 1)
