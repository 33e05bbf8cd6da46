"""Programs whose error a library function causes by what is easily forgotten: no proof may exclude it. The
answer is UNKNOWN where the model leaves a value open on which the counterexample depends."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

PROGRAMS = {
    "count of another size": (
        "unreach-call",
        '#include <stdio.h>\nint main(void) { long x = -1; printf("a%ln", &x); if (x == 1) reach_error(); }',
    ),
    "count in too small an object": (
        "valid-deref",
        '#include <stdio.h>\nint main(void) { int x; printf("%lln", (long long *)&x); }',
    ),
    "count by an argument with a number": (
        "unreach-call",
        '#include <stdio.h>\nint main(void) { int x = -1; printf("a%1$n", &x); if (x == 1) reach_error(); }',
    ),
    "count in allocated text": (
        "unreach-call",
        "#define _GNU_SOURCE\n#include <stdio.h>\nint main(void) { int x = -1; char *s;\n"
        'asprintf(&s, "a%n", &x); if (x == 1) reach_error(); }',
    ),
    "count in a va_list": (
        "unreach-call",
        "#include <stdarg.h>\n#include <stdio.h>\nstatic void print(const char *f, ...) { va_list a;\n"
        'va_start(a, f); vprintf(f, a); va_end(a); }\nint main(void) { int x = -1; print("a%n", &x);\n'
        "if (x == 1) reach_error(); }",
    ),
    "count by a format that changes": (
        "unreach-call",
        "#include <stdio.h>\nstatic char f[] = \"ab\";\nint main(void) { int x = -1; f[0] = '%';\n"
        "f[1] = 'n'; printf(f, &x); if (x == 0) reach_error(); }",
    ),
    "scan by a format that changes": (
        "unreach-call",
        "#include <stdio.h>\nstatic char f[] = \"%hhd\";\nint main(void) { int x = 0; f[1] = 'd';\n"
        "f[2] = 0; if (scanf(f, &x) == 1 && x == 1000) reach_error(); }",
    ),
    "scan by a format without an end": (
        "valid-deref",
        "#include <stdio.h>\nint main(void) { char f[1] = {'a'}; scanf(f); }",
    ),
    "text of an argument with a number": (
        "valid-deref",
        '#include <stdio.h>\nint main(void) { char b[5]; sprintf(b, "%1$d", -100000); }',
    ),
    "text behind a message": (
        "valid-deref",
        "#include <stdio.h>\nint main(void) { char b[2] = {'a', 'b'}; printf(\"%m %s\", b); }",
    ),
    "address printed and read": (
        "unreach-call",
        "#include <stdio.h>\nint main(void) { int x = 1; char b[40]; void *p;\n"
        'sprintf(b, "%p", (void *)&x); sscanf(b, "%p", &p); *(int *)p = 5; if (x == 5) reach_error(); }',
    ),
    "address printed by a va_list": (
        "unreach-call",
        "#include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic char b[40];\n"
        "static void print(const char *f, ...) { va_list a; va_start(a, f); vsprintf(b, f, a); va_end(a); }\n"
        'int main(void) { int x = 1; print("%p", (void *)&x); *(int *)strtoul(b, 0, 16) = 5;\n'
        "if (x == 5) reach_error(); }",
    ),
    "address in a file": (
        "unreach-call",
        "#include <stdio.h>\nint main(void) { int x = 1, *p = &x, *q; FILE *f = tmpfile();\n"
        "if (!f) return 0; fwrite(&p, sizeof p, 1, f); rewind(f);\n"
        "if (fread(&q, sizeof q, 1, f) == 1) *q = 5; if (x == 5) reach_error(); }",
    ),
    "address of a thread": (
        "unreach-call",
        "#include <pthread.h>\nint main(void) { int x = 1, *p; pthread_key_t k; pthread_key_create(&k, 0);\n"
        "pthread_setspecific(k, &x); p = pthread_getspecific(k); if (p) *p = 5; if (x == 5) reach_error(); }",
    ),
    "text that scanf allocates": (
        "unreach-call",
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { char *p = 0;\n"
        'if (scanf("%ms", &p) == 1) { *p = 1; free(p); reach_error(); } }',
    ),
    "time that ctime changes": (
        "unreach-call",
        "#include <time.h>\nint main(void) { time_t t = 1000000000, u = 0; struct tm *p = localtime(&t);\n"
        "if (!p) return 0; int y = p->tm_year; ctime(&u); if (p->tm_year != y) reach_error(); }",
    ),
    "entry that changes": (
        "unreach-call",
        "#include <pwd.h>\nint main(void) { struct passwd *p = getpwent(); if (!p) return 0;\n"
        "unsigned u = p->pw_uid; getpwent(); if (p->pw_uid != u) reach_error(); }",
    ),
    "text of a function without a model that changes": (
        "unreach-call",
        "#include <stdlib.h>\nint main(void) { char *p = l64a(1), c = *p; l64a(2);\n"
        "if (*p != c) reach_error(); }",
    ),
    "address through assembly": (
        "unreach-call",
        "int main(void) { int x = 1, *p = &x, *q;\n"
        '__asm__("mov %1, %0" : "=r"(q) : "r"(p)); *q = 5; if (x == 5) reach_error(); }',
    ),
    "address in memory that assembly reads": (
        "unreach-call",
        "int main(void) { int x = 1, *p = &x; unsigned long n;\n"
        '__asm__("mov %1, %0" : "=r"(n) : "m"(p)); *(int *)n = 5; if (x == 5) reach_error(); }',
    ),
    "power of a negative zero": (
        "unreach-call",
        "#include <math.h>\ndouble zero = -0.0;\nint main(void) { if (pow(zero, -1) < 0) reach_error(); }",
    ),
    "power with a signalling NaN": (
        "unreach-call",
        "#include <math.h>\n#include <string.h>\nint main(void) {\n"
        "unsigned long long bits = 0x7ff0000000000001; double x; memcpy(&x, &bits, 8);\n"
        "if (isnan(pow(1, x))) reach_error(); }",
    ),
    "memory of a function of newer libraries": (
        "valid-memcleanup",
        "#define _GNU_SOURCE\n#include <stdlib.h>\nint main(void) { reallocarray(0, 4, 4); }",
    ),
    "error number of a function without a model": (
        "unreach-call",
        "#include <errno.h>\n#include <wchar.h>\nint main(void) { errno = 0;\n"
        'wcstol(L"99999999999999999999", 0, 10); if (errno == ERANGE) reach_error(); }',
    ),
    "sign of the gamma function": (
        "unreach-call",
        "#include <math.h>\nextern int signgam;\nint main(void) { signgam = 5; lgamma(-0.5);\n"
        "if (signgam != 5) reach_error(); }",
    ),
    "environment that grows": (
        "unreach-call",
        "#include <stdlib.h>\nextern char **environ;\nint main(void) { char **before = environ;\n"
        'setenv("A", "b", 1); if (environ != before) reach_error(); }',
    ),
    "time zone that is read": (
        "unreach-call",
        "#define _GNU_SOURCE\n#include <time.h>\nint main(void) { char *before = tzname[0];\n"
        "tzset(); if (tzname[0] != before) reach_error(); }",
    ),
    "time zone by its other name": (
        "unreach-call",
        "#include <time.h>\nint main(void) { long before = __timezone;\n"
        "tzset(); if (__timezone != before) reach_error(); }",
    ),
    "time zone that has two names": (
        "unreach-call",
        "#include <time.h>\nint main(void) { timezone = 5; __timezone = 6;\n"
        "if (timezone != 5) reach_error(); }",
    ),
    "text behind the start of an array on the heap": (
        "unreach-call",
        "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { char *b = calloc(10, 1);\n"
        'sprintf(b + 1, "%d", 100); if (b[2] != 0) reach_error(); }',
    ),
    "numbers behind the start of an array on the heap": (
        "unreach-call",
        "#include <stdlib.h>\n#include <unistd.h>\nint main(void) { int *f = calloc(4, sizeof(int));\n"
        "pipe(f + 1); if (f[2] != 0) reach_error(); }",
    ),
    "text of a member of unknown length": (
        "unreach-call",
        "#include <stdio.h>\n#include <stdlib.h>\nstruct s { int n; char text[1]; };\n"
        'int main(void) { struct s *p = calloc(1, 40); scanf("%s", p->text);\n'
        "if (p->text[1] != 0) reach_error(); }",
    ),
    "elements that a function without a body writes": (
        "unreach-call",
        "void f(int *p);\nint main(void) { int a[10] = {0}; unsigned i = __VERIFIER_nondet_uint();\n"
        "f(&a[i & 7]); if (a[9] != 0) reach_error(); }",
    ),
    "pointer in a record that a function without a body gets": (
        "unreach-call",
        "struct s { int *p; long more[3]; };\nvoid f(struct s s);\n"
        "int main(void) { int x = 0; struct s s = {&x}; f(s); if (x != 0) reach_error(); }",
    ),
    "no text to divide": (
        "valid-deref",
        '#include <string.h>\nint main(void) { strtok(0, ","); }',
    ),
    "message longer than the buffer": (
        "unreach-call",
        "#include <sys/socket.h>\nint main(void) { char b[10];\n"
        "if (recv(3, b, 10, MSG_TRUNC) > 10) reach_error(); }",
    ),
    "allocated path": (
        "valid-memtrack",
        '#include <stdlib.h>\nint main(void) { char *p = realpath("/", 0); p = 0; }',
    ),
    "end in a function without a body": (
        "valid-memcleanup",
        "#include <stdlib.h>\nextern void die(void) __attribute__((noreturn));\n"
        "int main(void) { char *p = malloc(1); die(); }",
    ),
    "end by a trap": (
        "valid-memcleanup",
        "#include <stdlib.h>\nint main(void) { char *p = malloc(1); __builtin_trap(); }",
    ),
    "function that runs at the end": (
        "unreach-call",
        "extern int __cxa_atexit(void (*)(void *), void *, void *);\n"
        "static void f(void *p) { reach_error(); }\n"
        "int main(void) { return __cxa_atexit(f, 0, 0); }",
    ),
    "record that is not filled": (
        "no-uninitialised-read",
        '#include <sys/stat.h>\nint main(void) { struct stat s; stat("none", &s); return s.st_size != 0; }',
    ),
    "text shorter than the buffer": (
        "no-uninitialised-read",
        '#include <stdio.h>\nint main(void) { char b[9]; snprintf(b, 9, "%d", 1); return b[5]; }',
    ),
    "nothing written by a function without a body": (
        "no-uninitialised-read",
        "void f(int *p);\nint main(void) { int x; f(&x); return x; }",
    ),
    "index outside of the last member": (
        "array-bounds",
        "struct s { int n, a[2]; };\nint main(void) { struct s x; int i = 2; x.a[i] = 1; return 0; }",
    ),
    "write to a constant variable without memory": (
        "valid-deref",
        "const int c = 3;\nint main(void) { *(int *)&c = 4; return 0; }",
    ),
    "end by a signal": (
        "valid-memcleanup",
        "#include <signal.h>\n#include <stdlib.h>\n"
        "int main(void) { char *p = malloc(4); raise(SIGABRT); free(p); }",
    ),
    "another name of the error function": (
        "unreach-call",
        'void __VERIFIER_error(void) {}\nvoid bad(void) __attribute__((alias("__VERIFIER_error")));\n'
        "int main(void) { bad(); }",
    ),
    "write to a constant variable that is defined elsewhere": (
        "valid-deref",
        "extern int *const p;\nint main(void) { int x; *(int **)&p = &x; return 0; }",
    ),
    "string that `printf` does not get": (
        "valid-deref",
        '#include <stdio.h>\nint main(void) { printf("%s"); }',
    ),
    "target that `scanf` does not get": (
        "valid-deref",
        '#include <stdio.h>\nint main(void) { scanf("%d"); }',
    ),
    "format that is input": (
        "valid-deref",
        "#include <stdio.h>\nint main(void) { char s[9]; if (fgets(s, 9, stdin)) printf(s); }",
    ),
    "character that is in no table": (
        "valid-deref",
        "#include <ctype.h>\nint main(void) { return isalpha(256); }",
    ),
    "element of a volatile array of another file": (
        "valid-deref",
        "extern volatile int a[4];\nint main(void) { int i = 4; return a[i]; }",
    ),
    "null to which the library writes": (
        "valid-deref",
        "#include <time.h>\nint main(void) { mktime(0); }",
    ),
    "null to which the library writes at most some bytes": (
        "valid-deref",
        "#include <unistd.h>\nint main(void) { gethostname(0, 9); }",
    ),
    "null that `qsort` calls": (
        "valid-deref",
        "#include <stdlib.h>\nint main(void) { int a[2]; qsort(a, 2, 4, 0); }",
    ),
    "operand of assembly": (
        "valid-deref",
        'int main(void) { int a[2], i = 2; __asm__("movl $1, %0" : "=m"(a[i])); }',
    ),
    "register of a device": (
        "unreach-call",
        "#define DEVICE (*(volatile unsigned *)0x40021000)\n"
        "int main(void) { unsigned a = DEVICE, b = DEVICE; if (a != b) reach_error(); }",
    ),
}


@pytest.mark.parametrize(("property", "text"), PROGRAMS.values(), ids=list(PROGRAMS))
def test_the_error_is_not_excluded(property: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(f"extern void reach_error(void);\n{text}\n")
    settings = Settings(engine="bmc", bound=200, property_name=property, timeout=60, execute=False)
    assert verify(path, settings).answer in ("VIOLATED", "UNKNOWN")


REFUTED_WRONGLY = {
    "count of one byte": (
        "valid-deref",
        '#include <stdio.h>\nint main(void) { signed char c; printf("%s%hhn", "a", &c); }',
    ),
    "no conversion": (
        "unreach-call",
        '#include <stdio.h>\nint main(void) { int x = 5; scanf("%%d", &x); if (x != 5) reach_error(); }',
    ),
    "text of the library after `realloc`": (
        "unreach-call",
        "#define _GNU_SOURCE\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) { char *p;\n"
        'asprintf(&p, "a"); p[0] = 5; p = realloc(p, 2); if (p[0] != 5) reach_error(); }',
    ),
    "operand that assembly only writes": (
        "no-uninitialised-read",
        'int main(void) { int a[2] = {1, 2}, *p = a, x;\n__asm__("movl $1, %0" : "=m"(x)); return p[1]; }',
    ),
    "end of the format": (
        "unreach-call",
        '#include <stdio.h>\nint main(void) { int x, y = 5; scanf("%d\\0%d", &x, &y);\n'
        "if (y != 5) reach_error(); }",
    ),
}


@pytest.mark.parametrize(("property", "text"), REFUTED_WRONGLY.values(), ids=list(REFUTED_WRONGLY))
def test_what_cannot_happen_is_no_counterexample(property: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(f"extern void reach_error(void);\n{text}\n")
    answer = verify(path, Settings(engine="bmc", property_name=property, timeout=60, execute=False)).answer
    assert answer in ("HOLDS", "UNKNOWN")


def test_allocated_text_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(
        "#define _GNU_SOURCE\n#include <stdio.h>\n"
        'int main(void) { char *p = 0; asprintf(&p, "x"); p[0] = 1; return 0; }\n'
    )
    settings = Settings(
        engine="bmc", property_name="valid-deref", timeout=60, execute=False, malloc_may_fail=True
    )
    assert verify(path, settings).answer == "UNKNOWN"
