"""Memory errors found by the compiled program: one program with many cases, compiled and run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from certus.check.replay.compiled import compiled_replay
from certus.check.replay.harness import ExitCode, Supply
from certus.check.replay.line_table import Line, LineTable
from certus.check.replay.sanitized import MEMORY_KINDS, MemoryObject, MemoryRun, SanitizedProgram
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program, SourceText
from certus.core.vocabulary import (
    ALLOCATION_FAILS,
    FREE,
    LEAK,
    MEMORY_SAFETY,
    NOT_FREED,
    READ,
    WRITE,
    Property,
)
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import ReplayInputs
from certus.interpreter.interpreter import run

MODELS: Final = ("ILP32", "LP64")

DECLARATIONS: Final = """
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern int __VERIFIER_nondet_int(void);
int four = 4, table[4], other[4];
const int fixed[2] = {1, 2};
int *kept;
void *anything;
char unaligned[32];
char *global_text = "text";
struct list { struct list *next; int value; };
struct list *lists;
struct record { int numbers[20]; };
struct __attribute__((packed)) narrow { char first; unsigned bits : 30; };
static int *local_address(void) { int x = four; return &x; }
static int element(int *a, int i) { return a[i]; }
static int of_local(int i) { int z = i; return element(&z, 0); }
static int *from_alloca(void) { int *p = __builtin_alloca(16); p[0] = four; kept = p; return p; }
static int deep(int n) { int a[50]; a[n % 50] = n; return n ? deep(n - 1) + a[n % 50] : 0; }
static int sum(int n, ...) {
    int total = 0;
    va_list arguments;
    va_start(arguments, n);
    for (int i = 0; i < n; i++) total += va_arg(arguments, int);
    va_end(arguments);
    return total;
}
static struct record filled(int n) { struct record r; memset(&r, n, sizeof r); return r; }
static int first_of(struct record r, int i) { return r.numbers[i]; }
static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void release_kept(void) { free(kept); }
"""

# By name: the kind of the error, None if there is none, and the body of a function.
CASES: Final[dict[str, tuple[str | None, str]]] = {
    # accesses to the heap
    "heap, one byte after": (WRITE, "char *p = malloc(37); p[37] = 1; free(p);"),
    "heap, before the start": (READ, "int *p = malloc(8); int r = p[-1]; free(p); return r;"),
    "heap, far after": (READ, "int *p = malloc(8), *q = malloc(8); return p[1000] + *q;"),
    "heap, wide access at the end": (WRITE, "char *p = malloc(6); *(int *)(p + 4) = 1; free(p);"),
    "use after free": (READ, "int *p = malloc(4); *p = 1; free(p); return *p;"),
    "write after free": (WRITE, "int *p = malloc(4); free(p); malloc(4); *p = 1;"),
    "the old pointer after realloc": (
        WRITE,
        "int *p = malloc(4), *q = realloc(p, 4); *q = 1; *p = 2; free(q);",
    ),
    "an empty object read": (READ, "char *p = malloc(0); char c = *p; free(p); return c;"),
    "a node of a list after free": (
        READ,
        """struct list *a = malloc(sizeof *a), *b = malloc(sizeof *b);
           a->next = b; b->next = 0; free(b); return a->next->value;""",
    ),
    # accesses to other objects
    "static, after the end": (WRITE, "table[four] = 1;"),
    "static, through a pointer": (READ, "int *p = table + 3; return p[four - 3];"),
    "local, after the end": (READ, "int a[3] = {1, 2, 3}; return element(a, 3);"),
    "local, into another object": (
        WRITE,
        "int a[4], b[4]; kept = b; for (int i = 0; i < 40; i++) a[8 + i / 20] = i; return b[0];",
    ),
    "static, into another object": (WRITE, "for (int i = 16; i < 100; i++) table[i] = 1;"),
    "array of variable length, after the end": (READ, "int a[four]; a[0] = 1; return a[four];"),
    "array of variable length, ended": (
        READ,
        "int *p = 0; for (int i = 0; i < 2; i++) { int a[four * 5]; a[i] = i; p = a; } return p[4];",
    ),
    "alloca, before the start": (WRITE, "char *p = __builtin_alloca(four); p[four - 5] = 1;"),
    "alloca, after return": (READ, "return *from_alloca();"),
    "use after return": (READ, "return *local_address();"),
    "use after scope": (READ, "int *q; { int z = 5; q = &z; } return *q;"),
    "use after scope in a loop": (
        READ,
        "int *q = 0, r = 0; for (int i = 0; i < 2; i++) { int z = i; if (q) r = *q; q = &z; } return r + *q;",
    ),
    "use after scope by goto": (
        READ,
        """int *q = 0, n = 0;
           again: if (q) return *q;
           { int z = n; q = &z; n++; goto again; }""",
    ),
    "a large local array": (WRITE, "char a[200000]; a[0] = 1; a[50000 * four] = 2;"),
    "null": (READ, "int *q = 0; return *q;"),
    "null with an offset": (WRITE, "struct list *l = 0; l->value = 1;"),
    "an arbitrary address": (READ, "return *(char *)123456;"),
    "a string literal written": (WRITE, "char *s = global_text; s[1] = 'i';"),
    "a constant written": (WRITE, "*(int *)&fixed[1] = 3;"),
    "a call of null": (READ, "int (*f)(void) = 0; return f();"),
    "an argument after the end": (READ, "return first_of(filled(1), 5 * four);"),
    # addresses that overflow
    "an index that overflows": (
        WRITE,
        "int *p = malloc(16); size_t i = (size_t)1 << (8 * sizeof i - 2); p[i] = 1; free(p);",
    ),
    "an index that overflows, local": (
        READ,
        "int a[4] = {1}; size_t i = (size_t)1 << (8 * sizeof i - 2); return a[i];",
    ),
    "an address that overflows, unused": (
        None,
        """int *p = malloc(16), *q = p + ((size_t)1 << (8 * sizeof(size_t) - 2));
           kept = 0; p[0] = q == p; free(p);""",
    ),
    "a negative unsigned offset": (
        None,
        "int *p = table + 2; size_t one = 1; p[one - 2] = 1; p[-(one + 1)] = 2;",
    ),
    # library functions
    "memset, one byte more": (WRITE, "struct record x; void *p = &x; memset(p, 0, 81);"),
    "memcpy from outside": (READ, "char a[8], b[4] = {0}; void *p = b; memcpy(a, p, four + 1);"),
    "memcmp beyond the end": (
        READ,
        'char *p = malloc(3); memset(p, 1, 3); return memcmp(p, "abcd", 4);',
    ),
    "memmove to freed memory": (WRITE, "char *p = malloc(3); free(p); memmove(p, table, 3);"),
    "strcpy overflows": (WRITE, 'char a[4]; char *p = a; strcpy(p, "four");'),
    "strcat overflows": (WRITE, 'char a[8] = "four"; char *p = a; strcat(p, "four");'),
    "strlen of an unterminated buffer": (READ, "char a[3] = {1, 2, 3}; return strlen(a);"),
    "strlen without use of the result": (READ, "char a[3] = {1, 2, 3}; strlen(a);"),
    "memchr that finds nothing": (READ, "char a[3] = {1, 2, 3}; memchr(a, 9, 8);"),
    "memchr that stops inside": (None, "char a[3] = {1, 2, 3}; memchr(a, 2, 8);"),
    "strdup of freed memory": (READ, "char *p = calloc(1, 9); free(p); free(strdup(p));"),
    "printf of an unterminated buffer": (
        READ,
        'char *p = malloc(2); p[0] = p[1] = 65; printf("%d %5.1f %s", 1, 2.0, p); free(p);',
    ),
    "printf stores a count": (WRITE, 'int *p = malloc(3); printf("ab%n", p); free(p);'),
    "puts of freed memory": (READ, "char *p = calloc(1, 9); free(p); puts(p);"),
    "sprintf overflows": (WRITE, 'char a[4]; char *p = a; sprintf(p, "%d:%d", four, 100);'),
    "qsort beyond the end": (READ, "int a[3] = {3, 2, 1}; qsort(a, four, sizeof *a, less);"),
    "posix_memalign to a freed pointer": (
        WRITE,
        "void **p = malloc(sizeof *p); free(p); posix_memalign(p, 16, 4);",
    ),
    # free
    "free twice": (FREE, "int *p = malloc(4); free(p); free(p);"),
    "free of the middle": (FREE, "char *p = malloc(40); free(p + 16);"),
    "free of a local object": (FREE, "int a[2]; kept = a; free(kept);"),
    "free of a static object": (FREE, "kept = table; free(kept);"),
    "free of a string literal": (FREE, "free(global_text);"),
    "free of alloca": (FREE, "char *p = __builtin_alloca(four); free(p);"),
    "realloc of freed": (FREE, "int *p = malloc(4); free(p); p = realloc(p, 8);"),
    "realloc of the middle": (FREE, "int *p = malloc(8); p = realloc(p + 1, 8);"),
    # leaks
    "lost": (LEAK, "int *q = malloc(4); q = 0; return q != 0;"),
    "a local pointer when main returns": (LEAK, "int *q = malloc(4); *q = 1; return *q;"),
    "a cycle": (
        LEAK,
        """struct list *a = malloc(sizeof *a), *b = malloc(sizeof *b);
           a->next = b; b->next = a; a = b = 0; return 0;""",
    ),
    "one byte of the pointer overwritten": (
        LEAK,
        "kept = malloc(4); ((unsigned char *)&kept)[2] ^= 0xff; return 0;",
    ),
    "lost through a freed object": (
        LEAK,
        "lists = malloc(sizeof *lists); lists->next = malloc(4); free(lists);",
    ),
    "exit with a lost object": (LEAK, "kept = malloc(4); kept = table; exit(0);"),
    "strdup is not freed": (LEAK, 'char *s = strdup("a"); return s[0];'),
    "a static pointer": (NOT_FREED, "kept = malloc(4); return 0;"),
    "a static pointer just past the end": (NOT_FREED, "kept = malloc(4); kept++; return 0;"),
    "a static pointer into the middle": (NOT_FREED, "anything = (char *)malloc(4) + 2; return 0;"),
    "a static pointer without alignment": (
        NOT_FREED,
        "void *p = malloc(4); memcpy(unaligned + 3, &p, sizeof p); return 0;",
    ),
    "a static list": (
        NOT_FREED,
        "for (int i = 0; i < 9; i++) { struct list *l = malloc(sizeof *l); l->next = lists; lists = l; }",
    ),
    "exit with a local pointer": (NOT_FREED, "int *p = malloc(4); *p = 1; if (*p) exit(0); free(p);"),
    "exit with a pointer in a local array": (
        NOT_FREED,
        "void *p[3]; for (int i = 0; i < 3; i++) p[i] = malloc(4); anything = &p; exit(four);",
    ),
    "abort with a lost object": (LEAK, "kept = malloc(4); kept = 0; abort();"),
    # no error
    "valid accesses": (
        None,
        """int a[3], *p = malloc(12), v[four]; for (int i = 0; i < 3; i++) { a[i] = i; p[i] = i; v[i] = i; }
           int r = a[2] + p[2] + v[1]; free(p); return r;""",
    ),
    "malloc(0) may be freed": (None, "free(malloc(0)); free(0); free(realloc(0, 5));"),
    "copies of no bytes": (None, "char *p = malloc(1); free(p); memcpy(p, p, 0); memset(0, 1, four - 4);"),
    "a bit-field at the end of an object": (
        None,
        "struct narrow *p = malloc(5); p->first = 1; p->bits = 12345; int r = p->bits; free(p); return r;",
    ),
    "beyond a member, inside the object": (
        None,
        "struct { int a[2], b[2]; } s = {{1, 2}, {3, 4}}; int *p = s.a; return p[3 * four / 4];",
    ),
    "addresses only": (None, "int *end = &table[4]; return &((struct list *)0)->value != 0 && end > table;"),
    "a loop that reuses its scope": (
        None,
        "int n = 0; for (int i = 0; i < 9; i++) { int z = i, *q = &z; n += *q; }",
    ),
    "many calls with local objects": (
        None,
        "int n = 0; for (int i = 0; i < 300000; i++) n += of_local(i); return n;",
    ),
    "deep recursion": (None, "return deep(60000) & 7;"),
    "many objects": (
        None,
        """for (int i = 0; i < 20000; i++) {
               struct list *l = calloc(1, sizeof *l); l->next = lists; lists = l;
           }
           while (lists) { struct list *l = lists; lists = l->next; free(l); }""",
    ),
    "variadic functions": (None, "return sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) - 45;"),
    "variadic functions after alloca": (
        None,
        "from_alloca(); return sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) - 45;",
    ),
    "a record where an array of variable length was": (
        None,
        """from_alloca(); struct record r = filled(four), s = r;
           memset(&r, 0, sizeof r); return first_of(s, 3);""",
    ),
    "records by value": (None, "struct record r = filled(3), s = r; return first_of(s, four);"),
    "strings": (
        None,
        """char a[8], *s = strdup("a,b"); strcpy(a, s); strcat(a, "cdef"); int n = strlen(strtok(s, ","));
           n += snprintf(a, 4, "%s%05d|%-4x|%c", "ab", four, 255, 'c');
           n += strcmp(a, "ab0") == 0 && atoi("12") == 12 && strtol("-0x1f", 0, 16) == -31;
           free(s); if (n != 16) abort();""",
    ),
    "qsort and bsearch": (
        None,
        """int a[4] = {3, 1, 4, 2}, key = 3; qsort(a, 4, sizeof *a, less);
           return *(int *)bsearch(&key, a, 4, sizeof *a, less) != 3 || a[0] != 1;""",
    ),
    "aligned objects": (
        None,
        """char *p = aligned_alloc(64, 64); p[63] = 1; free(p); void *q;
           if (posix_memalign(&q, 4096, 10)) abort(); if ((size_t)q % 4096) abort(); free(q);""",
    ),
    "freed by a handler at the end": (None, "kept = malloc(4); atexit(release_kept); return 0;"),
    "a pointer as bytes and back": (
        None,
        """void *p = malloc(4), *q; char a[sizeof p];
           memcpy(a, &p, sizeof p); memcpy(&q, a, sizeof q); free(q);""",
    ),
    "a copy that overlaps": (None, "char a[9]; for (int i = 0; i < 9; i++) a[i] = i; memmove(a, a + 2, 7);"),
    "an array of no elements": (None, "int a[four - 4]; return sizeof a != 0;"),
}
NUMBERS: Final = {name: number for number, name in enumerate(CASES)}


def _text() -> str:
    functions, calls = "", ""
    for number, (_, body) in enumerate(CASES.values()):
        line = " ".join(body.split())
        functions += f'# {100 + number} "cases.c"\nstatic int case_{number}(void) {{ {line} return 0; }}\n'
        calls += f"case {number}: case_{number}(); break;\n"
    main = f"int main(void) {{ switch (__VERIFIER_nondet_int()) {{\n{calls}}} return 0; }}"
    return f'# 1 "cases.c"\n{DECLARATIONS}{functions}{main}'


def program_of(directory: Path, text: str, *, model: str, others: tuple[str, ...] = ()) -> Program:
    """A program of these texts. The front end reads another one: the build needs only the texts."""
    path = directory / "p.c"
    path.write_text("int main(void) { return 0; }")
    program = load_c(path, property=Property("unreach-call"), model=model).program
    more = tuple(SourceText(str(directory / f"other{i}.c"), each, "") for i, each in enumerate(others))
    return replace(program, source=text, others=more)


def run_of(directory: Path, text: str, *, model: str = "LP64", others: tuple[str, ...] = ()) -> MemoryRun:
    built = SanitizedProgram(program_of(directory, text, model=model, others=others), directory=directory)
    return built.run(Supply(), seconds=20)


class Cases:
    """All cases as one program for a data model; each case runs once."""

    def __init__(self, directory: Path, model: str) -> None:
        self._built = SanitizedProgram(program_of(directory, _text(), model=model), directory=directory)
        self._runs: dict[str, MemoryRun] = {}

    def run(self, name: str) -> MemoryRun:
        if name not in self._runs:
            supply = Supply({"__VERIFIER_nondet_int": [NUMBERS[name]]})
            self._runs[name] = self._built.run(supply, seconds=20)
        return self._runs[name]


@pytest.fixture(scope="module", params=MODELS)
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    return Cases(tmp_path_factory.mktemp("sanitized"), request.param)


@pytest.mark.parametrize("name", CASES)
def test_the_kind_of_each_error(name: str, cases: Cases) -> None:
    kind = CASES[name][0]
    run = cases.run(name)
    assert (None if run.fault is None else run.fault.kind) == kind, run
    if run.access is not None:
        assert run.access.line == Line("cases.c", _line_of(name)), run
    if kind is None:
        assert run.code == ExitCode.RETURNED, run
    assert not run.missing


def _line_of(name: str) -> int:
    """The line of the error: of the case, or of the function above that makes the access."""
    helpers = {
        "element(": "static int element",
        "first_of(": "static int first_of",
        "less)": "static int less",
    }
    for text, start in helpers.items():
        if text in CASES[name][1]:
            return next(n for n, line in enumerate(DECLARATIONS.splitlines(), 1) if line.startswith(start))
    return 100 + NUMBERS[name]


OBJECTS: Final[dict[str, MemoryObject]] = {
    "heap, one byte after": MemoryObject("heap", 37, 37, False),
    "heap, before the start": MemoryObject("heap", 8, -4, False),
    "heap, wide access at the end": MemoryObject("heap", 6, 4, False),
    "use after free": MemoryObject("heap", 4, 0, True),
    "static, after the end": MemoryObject("static", 16, 16, False, "table"),
    "local, after the end": MemoryObject("local", 12, 12, False, "a"),
    "array of variable length, after the end": MemoryObject("local", 16, 16, False),
    "alloca, before the start": MemoryObject("local", 4, -1, False),
    "use after return": MemoryObject("local", 4, 0, True, "x"),
    "use after scope": MemoryObject("local", 4, 0, True, "z"),
    "memset, one byte more": MemoryObject("local", 80, 0, False, "x"),
    "a constant written": MemoryObject("static", 8, 4, False, "fixed"),
    "free of the middle": MemoryObject("heap", 40, 16, False),
    "free of a local object": MemoryObject("local", 8, 0, False, "a"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_the_object_of_an_error(name: str, cases: Cases) -> None:
    run = cases.run(name)
    expected, place = OBJECTS[name], Line("cases.c", 100 + NUMBERS[name])
    if expected.storage == "heap":
        expected = replace(expected, allocated=place, freed=place if expected.ended else None)
    assert run.access is not None
    assert run.access.object == expected


def test_sentences(cases: Cases) -> None:
    def sentence(name: str) -> str:
        run = cases.run(name)
        return str(run.fault)

    at = 100 + NUMBERS["use after free"]
    assert sentence("use after free") == (
        f"invalid read of 4 bytes at line {at} at offset 0 of a heap object of 4 bytes,"
        f" allocated at line {at}, freed at line {at}"
    )
    at = 100 + NUMBERS["static, after the end"]
    assert (
        sentence("static, after the end")
        == f"invalid write of 4 bytes at line {at} at offset 16 of `table` of 16 bytes"
    )
    at = 100 + NUMBERS["lost"]
    assert sentence("lost") == f"no pointer leads to a heap object of 4 bytes, allocated at line {at}"
    at = 100 + NUMBERS["free of the middle"]
    assert sentence("free of the middle") == (
        f"invalid free at line {at} at offset 16 of a heap object of 40 bytes, allocated at line {at}"
    )


# ------------------------------------------------------------------------------- what a run says about a kind


def test_objects_that_only_the_stack_may_hold_decide_nothing(cases: Cases) -> None:
    run = cases.run("exit with a local pointer")
    assert (run.live, run.lost, run.held) == (1, 0, 1)
    assert not run.violates(LEAK)
    assert "the stack of the compiled program" in (run.why_not(LEAK) or "")
    assert run.violates(NOT_FREED)


def test_a_run_without_an_error_contradicts_every_kind(cases: Cases) -> None:
    run = cases.run("valid accesses")
    for kind in MEMORY_KINDS:
        assert not run.violates(kind)
        assert run.why_not(kind) is None


def test_reads_and_writes_confirm_each_other_and_nothing_else(cases: Cases) -> None:
    run = cases.run("use after free")
    assert [kind for kind in MEMORY_KINDS if run.violates(kind)] == [READ, WRITE]
    assert run.why_not(LEAK) is None


def test_frames_that_are_used_again_may_hide_an_error(cases: Cases) -> None:
    run = cases.run("many calls with local objects")
    assert "used again" in (run.why_not(READ) or "")
    assert run.why_not(FREE) is None


@pytest.mark.parametrize("model", MODELS)
def test_an_array_of_variable_length_in_the_place_of_an_earlier_one_may_hide_an_error(
    tmp_path: Path, model: str
) -> None:
    text = """int main(void) { int *p = 0;
        for (int i = 1; i < 3; i++) { int a[i]; a[0] = i; if (p) return *p; p = a; } return 0; }"""
    run = run_of(tmp_path, text, model=model)
    assert run.violates(READ) or "used again" in (run.why_not(READ) or "")


def test_a_program_without_arguments_has_no_name(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main(int argc, char **argv) { return argv[argc][0]; }", model="LP64")
    run = SanitizedProgram(program, directory=tmp_path).run(Supply(argc=0), seconds=20)
    assert run.violates(READ)


@pytest.mark.parametrize("model", MODELS)
def test_memory_before_the_first_static_object_may_hide_an_error(tmp_path: Path, model: str) -> None:
    text = """int main(void) { static unsigned char a[9]; unsigned char *p = a; int i = -1; return p[i]; }"""
    run = run_of(tmp_path, text, model=model)
    assert run.violates(READ) or "before a static object" in (run.why_not(READ) or "")


# --------------------------------------------------------------------------------------- other programs


@pytest.mark.parametrize("model", MODELS)
def test_several_files(tmp_path: Path, model: str) -> None:
    first = (
        "extern int shared[3]; int put(int, int); int main(void) { put(2, 1); return put(shared[2] + 2, 1); }"
    )
    second = "int shared[3], after[3];\nint put(int i, int v) {\n int *p = shared;\n p[i] = v; return 0; }"
    run = run_of(tmp_path, first, model=model, others=(second,))
    assert run.access is not None
    assert run.access.kind == WRITE
    assert run.access.line == Line(str(tmp_path / "other0.c"), 4)
    assert run.access.object == MemoryObject("static", 12, 12, False, "shared")


def test_functions_of_the_program_replace_those_of_the_library(tmp_path: Path) -> None:
    text = """typedef __SIZE_TYPE__ size_t;
        static char arena[64]; static size_t used;
        void *malloc(size_t n) { used += n; return arena + used - n; }
        void free(void *p) { }
        void *memcpy(void *to, const void *from, size_t n) { return to; }
        int main(void) {
            char *p = malloc(4), *q = malloc(4);
            memcpy(p, q, 1000);
            p[5] = 1;
            free(p); free(p);
            return 0;
        }"""
    run = run_of(tmp_path, text)
    assert (run.code, run.fault) == (ExitCode.RETURNED, None)


@pytest.mark.parametrize("model", MODELS)
def test_an_object_of_an_earlier_round_may_be_missed(tmp_path: Path, model: str) -> None:
    text = """int main(void) { int *p = 0;
        for (int i = 0; i < 2; i++) { int a[10]; if (i == 0) p = a; else p[0] = 1; } return 0; }"""
    run = run_of(tmp_path, text, model=model)
    assert run.fault is None
    assert "in each round" in (run.why_not(WRITE) or "")


def test_alloca_as_a_function(tmp_path: Path) -> None:
    text = """extern void *alloca(unsigned long); extern void free(void *);
        int main(void) { char *p = alloca(4); p[3] = 1; free(p); return 0; }"""
    run = run_of(tmp_path, text, model="ILP32")
    assert run.access is not None
    assert run.access.kind == FREE
    assert run.access.object == MemoryObject("local", 4, 0, False, allocated=run.access.line)


def test_alloca_as_a_function_that_has_returned(tmp_path: Path) -> None:
    text = """extern void *alloca(unsigned long);
        int *numbers(void) { int *p = alloca(40); for (int i = 0; i < 10; i++) p[i] = i; return p; }
        int main(void) { int *p = numbers(); return p[1]; }"""
    run = run_of(tmp_path, text, model="ILP32")
    assert run.access is not None
    assert run.access.kind == READ
    assert run.access.object is not None
    assert run.access.object.ended


def test_an_array_larger_than_the_stack_is_inconclusive(tmp_path: Path) -> None:
    text = "int main(void) { unsigned n = 400000000; int a[n]; a[0] = 5; return a[0]; }"
    run = run_of(tmp_path, text, model="ILP32")
    assert run.fault is None
    assert "out of stack" in (run.why_not(WRITE) or "")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("length", ["int n = -28", "unsigned long n = -1ul"])
def test_an_array_whose_size_is_impossible(tmp_path: Path, length: str, model: str) -> None:
    run = run_of(tmp_path, f"int main(void) {{ {length};\nint a[n]; return n == 0; }}", model=model)
    assert run.violates(WRITE)
    assert run.access is not None
    assert "of negative size" in str(run.access)
    assert run.access.line is not None
    assert run.access.line.line == 2


@pytest.mark.parametrize("model", MODELS)
def test_arguments_of_the_program(tmp_path: Path, model: str) -> None:
    text = "int main(int argc, char **argv) { char *s = argv[1]; return argc == 2 && s[0] == 65 ? s[2] : 0; }"
    program = program_of(tmp_path, text, model=model)
    supply = Supply({"$argv length": [1, 1], "$argv byte": [66, 65]}, argc=2)
    run = SanitizedProgram(program, directory=tmp_path).run(supply, seconds=20)
    assert run.access is not None
    assert run.access.object == MemoryObject("static", 2, 2, False, "certus_argument_1")


@pytest.mark.parametrize("model", MODELS)
def test_nothing_follows_the_arguments(tmp_path: Path, model: str) -> None:
    text = "int main(int argc, char **argv) { return argv[argc] ? 1 : argv[argc + 1] != 0; }"
    for argc in (0, 1):
        supply = Supply({"$argv length": [1], "$argv byte": [66]} if argc else {}, argc=argc)
        program = program_of(tmp_path, text, model=model)
        run = SanitizedProgram(program, directory=tmp_path).run(supply, seconds=20)
        assert run.access is not None
        assert run.access.kind == READ


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("text", "failing", "kind"),
    [
        ("char *p = malloc(4); p[0] = 1; free(p);", [1], WRITE),
        ("char *p = malloc(4); p[0] = 1; free(p);", [0], None),
        ("char *p = malloc(4); free(realloc(p, 8));", [0, 1], LEAK),  # the old object stays
        ("char *p = malloc(4); if (realloc(p, 8)) return 0; p[3] = 1; free(p);", [0, 1], None),
        ("char *p = malloc(4); free(p); realloc(p, 8);", [0, 1], FREE),
        ("char *p = calloc(2, 2); *strdup(p) = 1;", [0, 1], WRITE),
        ("void *p = 0; return posix_memalign(&p, 16, 4) ? *(char *)p : 0;", [1], READ),
        ("char *p = aligned_alloc(32, 32); free(p);", [1], None),
    ],
)
def test_allocations_that_fail(
    tmp_path: Path, text: str, failing: list[int], kind: str | None, model: str
) -> None:
    header = "#include <stdlib.h>\n#include <string.h>\n"
    program = program_of(tmp_path, f"{header}int main(void) {{ {text} return 0; }}", model=model)
    supply = Supply({ALLOCATION_FAILS: failing})
    run = SanitizedProgram(program, directory=tmp_path).run(supply, seconds=20)
    assert (run.fault.kind if run.fault else None) == kind


def test_undefined_functions_make_a_run_inconclusive(tmp_path: Path) -> None:
    run = run_of(tmp_path, "void elsewhere(char *); int main(void) { char c; elsewhere(&c); return 0; }")
    assert run.missing == ("elsewhere",)
    assert "not defined: elsewhere" in (run.why_not(READ) or "")


def test_too_much_memory_makes_a_run_inconclusive(tmp_path: Path) -> None:
    text = "#include <stdlib.h>\nint main(void) { char *p = malloc((size_t)-1 / 2); return p[5]; }"
    run = run_of(tmp_path, text, model="ILP32")
    assert run.fault is None
    assert "out of memory" in (run.why_not(READ) or "")


def test_a_trap_says_nothing_about_lost_objects(tmp_path: Path) -> None:
    text = "#include <stdlib.h>\nint main(void) { char *p = malloc(1); p = 0; __builtin_trap(); }"
    run = run_of(tmp_path, text)
    assert not run.violates(LEAK)
    assert "ended by a trap" in (run.why_not(LEAK) or "")
    assert run.why_not(READ) is None


def test_an_endless_run_is_inconclusive(tmp_path: Path) -> None:
    built = SanitizedProgram(
        program_of(tmp_path, "int main(void) { for (;;); }", model="LP64"), directory=tmp_path
    )
    run = built.run(Supply(), seconds=0.3)
    assert run.code is None
    assert "did not finish" in (run.why_not(LEAK) or "")


def test_system_calls_are_refused(tmp_path: Path) -> None:
    text = """int main(void) { int *p = __builtin_alloca(4); long r; p[0] = 1;
        __asm__ volatile("syscall" : "=a"(r) : "a"(39L) : "rcx", "r11", "memory"); return 0; }"""
    assert run_of(tmp_path, text).ending == "it was ended by SIGSYS"


# ---------------------------------------------------------------------------------------------------- replays


def memory_trace(directory: Path, index: int, *, kind: str, model: str) -> tuple[Program, Trace]:
    """A program that writes at an index which is its input, and the trace with this input to the write: the
    error site there gets the kind."""
    path = directory / "p.c"
    path.write_text("""extern int __VERIFIER_nondet_int(void);
        void reach_error(void) { }
        int main(void) {
            int a[3], *p = a, i = __VERIFIER_nondet_int(); reach_error(); p[i] = 1; return 0; }""")
    program = load_c(path, property=Property("unreach-call"), model=model).program
    (site,) = program.errors
    (source,) = (e.key for p in program.procedures.values() for e in p.edges if isinstance(e.op, Havoc))
    program = replace(program, errors=(replace(site, kind=kind),))
    return program, Trace(error=site.location.name, inputs={source: ((index,),)})


@pytest.mark.parametrize("model", MODELS)
def test_a_trace_to_a_memory_error_is_replayed(tmp_path: Path, model: str) -> None:
    program, trace = memory_trace(tmp_path, 3, kind=WRITE, model=model)
    keep = tmp_path / "harness.c"
    result = compiled_replay(program, trace, budget=Budget(60), keep=keep)
    assert result.confirmed, result
    assert result.memory is not None
    assert result.memory.object == MemoryObject("local", 12, 12, False, "a")
    assert result.supply.values == {"__VERIFIER_nondet_int": [3]}
    assert result.compilers.agreed == ("clang",)
    assert "invalid-write" in keep.read_text()


@pytest.mark.parametrize("model", MODELS)
def test_the_contents_of_new_objects_lead_to_a_memory_error(tmp_path: Path, model: str) -> None:
    path = tmp_path / "p.c"
    path.write_text("""#include <stdlib.h>
        int main(void) {
            unsigned char table[4] = {0}, *at = calloc(1, 1), *index = malloc(8);
            return table[*at] + table[index[7]];
        }""")
    program = load_c(path, property=Property(MEMORY_SAFETY), model=model).program
    (index,) = (n for n, e in program.edge.items() if isinstance(e.op, Alloc) and "malloc" in e.text)
    compiled = compile_program(program)
    inputs = ReplayInputs(program, Trace("", inputs={index: ((*range(7), 9),)}))
    end = run(compiled, inputs, budget=Budget(60))
    trace = Trace(end.location.name, inputs={index: ((*range(7), 9),)})
    result = compiled_replay(program, trace, budget=Budget(60))
    assert result.confirmed, result
    assert result.memory is not None
    assert result.memory.object == MemoryObject("local", 4, 9, False, "table")


def test_a_trace_without_the_error_is_contradicted(tmp_path: Path) -> None:
    program, trace = memory_trace(tmp_path, 2, kind=WRITE, model="LP64")
    result = compiled_replay(program, trace, budget=Budget(60))
    assert result.disagrees
    assert result.ending == "main returned"


def test_another_memory_error_is_no_confirmation(tmp_path: Path) -> None:
    program, trace = memory_trace(tmp_path, 3, kind=LEAK, model="LP64")
    result = compiled_replay(program, trace, budget=Budget(60))
    assert result.disagrees
    assert result.memory is not None
    assert result.memory.kind == WRITE


def test_a_file_without_line_tables_has_no_lines() -> None:
    assert LineTable(b"no executable").line(1) is None
