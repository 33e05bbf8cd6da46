"""Memory errors found by the compiled program: one program with many functions, really compiled, really run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from certus.check.replay.compiled import compiled_replay
from certus.check.replay.harness import ExitCode, Supply
from certus.check.replay.line_table import Line, LineTable
from certus.check.replay.sanitized import (
    INVALID_FREE,
    INVALID_READ,
    INVALID_WRITE,
    MEMORY_LEAK,
    NOT_FREED,
    MemoryObject,
    MemoryRun,
    SanitizedProgram,
)
from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.program import Program, SourceText
from certus.frontend.c.load import load_c
from certus.frontend.tasks.properties import Property

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
static struct record filled(int n) { struct record r; for (int i = 0; i < 20; i++) r.numbers[i] = n; return r; }
static int first_of(struct record r, int i) { return r.numbers[i]; }
static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void release_kept(void) { free(kept); }
"""

# By name: the kind of the error, None if there is none, and the body of a function.
CASES: Final[dict[str, tuple[str | None, str]]] = {
    # accesses to the heap
    "heap, one byte after": (INVALID_WRITE, "char *p = malloc(37); p[37] = 1; free(p);"),
    "heap, before the start": (INVALID_READ, "int *p = malloc(8); int r = p[-1]; free(p); return r;"),
    "heap, far after": (INVALID_READ, "int *p = malloc(8), *q = malloc(8); return p[1000] + *q;"),
    "heap, wide access at the end": (INVALID_WRITE, "char *p = malloc(6); *(int *)(p + 4) = 1; free(p);"),
    "use after free": (INVALID_READ, "int *p = malloc(4); *p = 1; free(p); return *p;"),
    "write after free": (INVALID_WRITE, "int *p = malloc(4); free(p); malloc(4); *p = 1;"),
    "the old pointer after realloc": (
        INVALID_WRITE,
        "int *p = malloc(4), *q = realloc(p, 4); *q = 1; *p = 2; free(q);",
    ),
    "an empty object read": (INVALID_READ, "char *p = malloc(0); char c = *p; free(p); return c;"),
    "a node of a list after free": (
        INVALID_READ,
        """struct list *a = malloc(sizeof *a), *b = malloc(sizeof *b);
           a->next = b; b->next = 0; free(b); return a->next->value;""",
    ),
    # accesses to other objects
    "static, after the end": (INVALID_WRITE, "table[four] = 1;"),
    "static, through a pointer": (INVALID_READ, "int *p = table + 3; return p[four - 3];"),
    "local, after the end": (INVALID_READ, "int a[3] = {1, 2, 3}; return element(a, 3);"),
    "local, into another object": (
        INVALID_WRITE,
        "int a[4], b[4]; kept = b; for (int i = 0; i < 40; i++) a[8 + i / 20] = i; return b[0];",
    ),
    "static, into another object": (INVALID_WRITE, "for (int i = 16; i < 100; i++) table[i] = 1;"),
    "array of variable length, after the end": (INVALID_READ, "int a[four]; a[0] = 1; return a[four];"),
    "array of variable length, ended": (
        INVALID_READ,
        "int *p = 0; for (int i = 0; i < 2; i++) { int a[four * 5]; a[i] = i; p = a; } return p[19];",
    ),
    "alloca, before the start": (INVALID_WRITE, "char *p = __builtin_alloca(four); p[four - 5] = 1;"),
    "alloca, after return": (INVALID_READ, "return *from_alloca();"),
    "use after return": (INVALID_READ, "return *local_address();"),
    "use after scope": (INVALID_READ, "int *q; { int z = 5; q = &z; } return *q;"),
    "use after scope in a loop": (
        INVALID_READ,
        "int *q = 0, r = 0; for (int i = 0; i < 2; i++) { int z = i; if (q) r = *q; q = &z; } return r + *q;",
    ),
    "use after scope by goto": (
        INVALID_READ,
        """int *q = 0, n = 0;
           again: if (q) return *q;
           { int z = n; q = &z; n++; goto again; }""",
    ),
    "a large local array": (INVALID_WRITE, "char a[200000]; a[0] = 1; a[50000 * four] = 2;"),
    "null": (INVALID_READ, "int *q = 0; return *q;"),
    "null with an offset": (INVALID_WRITE, "struct list *l = 0; l->value = 1;"),
    "an arbitrary address": (INVALID_READ, "return *(char *)123456;"),
    "a string literal written": (INVALID_WRITE, "char *s = global_text; s[1] = 'i';"),
    "a constant written": (INVALID_WRITE, "*(int *)&fixed[1] = 3;"),
    "a call of null": (INVALID_READ, "int (*f)(void) = 0; return f();"),
    "an argument after the end": (INVALID_READ, "return first_of(filled(1), 5 * four);"),
    # addresses that overflow
    "an index that overflows": (
        INVALID_WRITE,
        "int *p = malloc(16); size_t i = (size_t)1 << (8 * sizeof i - 2); p[i] = 1; free(p);",
    ),
    "an index that overflows, local": (
        INVALID_READ,
        "int a[4] = {1}; size_t i = (size_t)1 << (8 * sizeof i - 2); return a[i];",
    ),
    "an address that overflows, unused": (
        None,
        "int *p = malloc(16), *q = p + ((size_t)1 << (8 * sizeof(size_t) - 2)); four++; p[0] = q == p; free(p);",
    ),
    "a negative unsigned offset": (None, "int *p = table + 2; size_t one = 1; p[one - 2] = 1; p[-(one + 1)] = 2;"),
    # library functions
    "memset, one byte more": (INVALID_WRITE, "struct record x; void *p = &x; memset(p, 0, 81);"),
    "memcpy from outside": (INVALID_READ, "char a[8], b[4] = {0}; void *p = b; memcpy(a, p, four + 1);"),
    "memcmp beyond the end": (INVALID_READ, 'char *p = malloc(3); memset(p, 1, 3); return memcmp(p, "abcd", 4);'),
    "memmove to freed memory": (INVALID_WRITE, "char *p = malloc(3); free(p); memmove(p, table, 3);"),
    "strcpy overflows": (INVALID_WRITE, 'char a[4]; char *p = a; strcpy(p, "four");'),
    "strcat overflows": (INVALID_WRITE, 'char a[8] = "four"; char *p = a; strcat(p, "four");'),
    "strlen of an unterminated buffer": (INVALID_READ, "char a[3] = {1, 2, 3}; return strlen(a);"),
    "strdup of freed memory": (INVALID_READ, "char *p = calloc(1, 9); free(p); free(strdup(p));"),
    "printf of an unterminated buffer": (
        INVALID_READ,
        'char *p = malloc(2); p[0] = p[1] = 65; printf("%d %5.1f %s", 1, 2.0, p); free(p);',
    ),
    "printf stores a count": (INVALID_WRITE, 'int *p = malloc(3); printf("ab%n", p); free(p);'),
    "puts of freed memory": (INVALID_READ, "char *p = calloc(1, 9); free(p); puts(p);"),
    "sprintf overflows": (INVALID_WRITE, 'char a[4]; char *p = a; sprintf(p, "%d:%d", four, 100);'),
    "qsort beyond the end": (INVALID_READ, "int a[3] = {3, 2, 1}; qsort(a, four, sizeof *a, less);"),
    "posix_memalign to a freed pointer": (
        INVALID_WRITE,
        "void **p = malloc(sizeof *p); free(p); posix_memalign(p, 16, 4);",
    ),
    # free
    "free twice": (INVALID_FREE, "int *p = malloc(4); free(p); free(p);"),
    "free of the middle": (INVALID_FREE, "char *p = malloc(40); free(p + 16);"),
    "free of a local object": (INVALID_FREE, "int a[2]; kept = a; free(kept);"),
    "free of a static object": (INVALID_FREE, "kept = table; free(kept);"),
    "free of a string literal": (INVALID_FREE, "free(global_text);"),
    "free of alloca": (INVALID_FREE, "char *p = __builtin_alloca(four); free(p);"),
    "realloc of freed": (INVALID_FREE, "int *p = malloc(4); free(p); p = realloc(p, 8);"),
    "realloc of the middle": (INVALID_FREE, "int *p = malloc(8); p = realloc(p + 1, 8);"),
    # leaks
    "lost": (MEMORY_LEAK, "int *q = malloc(4); q = 0; return q != 0;"),
    "a local pointer when main returns": (MEMORY_LEAK, "int *q = malloc(4); *q = 1; return *q;"),
    "a cycle": (
        MEMORY_LEAK,
        """struct list *a = malloc(sizeof *a), *b = malloc(sizeof *b);
           a->next = b; b->next = a; a = b = 0; return 0;""",
    ),
    "one byte of the pointer overwritten": (
        MEMORY_LEAK,
        "kept = malloc(4); ((unsigned char *)&kept)[2] ^= 0xff; return 0;",
    ),
    "lost through a freed object": (
        MEMORY_LEAK,
        "lists = malloc(sizeof *lists); lists->next = malloc(4); free(lists);",
    ),
    "exit with a lost object": (MEMORY_LEAK, "kept = malloc(4); kept = table; exit(0);"),
    "strdup is not freed": (MEMORY_LEAK, 'char *s = strdup("a"); return s[0];'),
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
    "abort with a lost object": (NOT_FREED, "kept = malloc(4); kept = 0; abort();"),
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
    "a loop that reuses its scope": (None, "int n = 0; for (int i = 0; i < 9; i++) { int z = i, *q = &z; n += *q; }"),
    "many calls with local objects": (
        None,
        "int n = 0; for (int i = 0; i < 300000; i++) { int z = i; n += element(&z, 0); } return n;",
    ),
    "deep recursion": (None, "return deep(60000) & 7;"),
    "many objects": (
        None,
        """for (int i = 0; i < 20000; i++) { struct list *l = calloc(1, sizeof *l); l->next = lists; lists = l; }
           while (lists) { struct list *l = lists; lists = l->next; free(l); }""",
    ),
    "variadic functions": (None, "return sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) - 45;"),
    "variadic functions after alloca": (None, "from_alloca(); return sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) - 45;"),
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
        "void *p = malloc(4), *q; char a[sizeof p]; memcpy(a, &p, sizeof p); memcpy(&q, a, sizeof q); free(q);",
    ),
    "a copy that overlaps": (None, "char a[9]; for (int i = 0; i < 9; i++) a[i] = i; memmove(a, a + 2, 7);"),
    "an array of no elements": (None, "int a[four - 4]; return sizeof a != 0;"),
}
NUMBERS: Final = {name: number for number, name in enumerate(CASES)}


def _text() -> str:
    functions = "".join(
        f'# {100 + number} "cases.c"\nstatic int case_{number}(void) {{ {" ".join(body.split())} return 0; }}\n'
        for number, (_, body) in enumerate(CASES.values())
    )
    calls = "".join(f"case {number}: case_{number}(); break;\n" for number in range(len(CASES)))
    return f"{DECLARATIONS}{functions}int main(void) {{ switch (__VERIFIER_nondet_int()) {{\n{calls}}} return 0; }}"


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


@pytest.fixture(scope="module", params=MODELS)
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SanitizedProgram]:
    directory = tmp_path_factory.mktemp("sanitized")
    yield SanitizedProgram(program_of(directory, _text(), model=request.param), directory=directory)


@pytest.mark.parametrize("name", CASES)
def test_the_kind_of_each_error(name: str, cases: SanitizedProgram) -> None:
    kind, number = CASES[name][0], NUMBERS[name]
    run = cases.run(Supply({"__VERIFIER_nondet_int": [number]}), seconds=20)
    assert (None if run.fault is None else run.fault.kind) == kind, run
    if run.access is not None:
        assert run.access.line is not None
        assert run.access.line.line == 100 + number or "local_address" in CASES[name][1] or run.access.object
    if kind is None:
        assert run.code == ExitCode.RETURNED, run
    assert not run.missing
