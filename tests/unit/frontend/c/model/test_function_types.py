"""Calls of functions as functions of another type: compatible ones work, machines call others that pass alike
(which no counterexample gets past), and all others are undefined or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.model.test_model import ending, loaded, ops

from certus.core.errors import Unsupported
from certus.core.program import Call, Havoc, Program
from certus.interpreter.interpreter import Ending
from certus.system.tools import TARGETS

OTHER = "as a function of another type"

# Calls that C defines (without a prototype, with the right number of promoted arguments), and types that
# differ only in what the IR does not show: what pointers point to, and where variable arguments begin.
DEFINED = {
    "no prototype": "int add(int a, int b) { return a + b; } int (*p)() = add;"
    "int main(void) { CHECK(p(3, 4) == 7); }",
    "an old definition": "int add(c, s) char c; short s; { return c + s; } int (*p)() = add;"
    "int main(void) { char c = 'a'; CHECK(p(c, 3) == 100); }",
    "a pointer of another type": "struct S { int a; }; void set(struct S *s) { s->a = 5; }"
    "int main(void) { struct S s = {1}; void (*p)(void *) = (void (*)(void *))set; p(&s); CHECK(s.a == 5); }",
    "library functions": "#include <stdlib.h>\n"
    "int g = -3; int (*f)(int) = abs; div_t (*divide)(int, int) = div;"
    "int main(void) { div_t d = divide(7, 2); CHECK(d.quot == 3 && d.rem == 1); CHECK(f(g) + g == 0); }",
    "a record of another name": "struct S { long a[5]; }; long last(struct S s) { return s.a[4]; }"
    "int main(void) { struct S s = {{1, 2, 3, 4, 5}}; long (*p)() = last; CHECK(p(s) == 5); }",
    "variable arguments behind another parameter": "#include <stdarg.h>\n"
    "int sum(int n, int m, ...) { va_list a; va_start(a, m); int s = m;"
    "while (n--) s += va_arg(a, int); va_end(a); return s; }"
    "int main(void) { int (*p)(int, ...) = (int (*)(int, ...))sum; CHECK(p(2, 10, 3, 4) == 17); }",
}
# Calls that C leaves undefined and machines make.
ALIKE = {
    "a result that is not used": "int n; int put(int x) { n = x; return 0; }"
    "int main(void) { void (*p)(int) = (void (*)(int))put; p(4); CHECK(n == 4); }",
    "by name": "int n; int put(int x) { n = x; return 0; }"
    "int main(void) { ((void (*)(int))put)(4); CHECK(n == 4); }",
    "a longer result": "long long big(void) { return 0x100000007ll; }"
    "int main(void) { int (*p)(void) = (int (*)(void))big; CHECK(p() == 7); }",
    "an integer for a pointer": "#include <stdint.h>\nintptr_t same(intptr_t n) { return n; } int x = 3;"
    "int main(void) { int *(*p)(int *) = (int *(*)(int *))same; CHECK(*p(&x) == 3); }",
    "a pointer for an integer": "#include <stdint.h>\nint x[2] = {1, 2}; int *next(int *p) { return p + 1; }"
    "int main(void) { intptr_t (*p)(intptr_t) = (intptr_t (*)(intptr_t))next;"
    "CHECK(*(int *)p((intptr_t)x) == 2); }",
    "more arguments": "int one(int x) { return x; }int main(void) { int (*p)() = one; CHECK(p(5, 6) == 5); }",
    "fewer arguments": "int one(int x, int y) { return x; }"
    "int main(void) { int (*p)() = one; CHECK(p(5) == 5); }",
    "wide arguments at their places": "int two(long long a, int b) { return a + b; }"
    "int main(void) { void (*p)(long long, int) = (void (*)(long long, int))two; p(1, 2);"
    "int (*q)(long long, unsigned, int) = (int (*)(long long, unsigned, int))two; CHECK(q(5, 6, 7) == 11); }",
    "no variable arguments": "#include <stdarg.h>\n"
    "int sum(int n, ...) { va_list a; va_start(a, n); int s = 0;"
    "while (n--) s += va_arg(a, int); va_end(a); return s; }"
    "int main(void) { void (*p)(int, int, int) = (void (*)(int, int, int))sum; p(2, 3, 4);"
    "int (*q)(int, int, int) = (int (*)(int, int, int))sum; CHECK(q(2, 3, 4) == 7); }",
    "an error": "int main(void) { int (*p)(void) = (int (*)(void))reach_error;"
    "if (__VERIFIER_nondet_int()) p(); }",
    "the library": "#include <stdlib.h>\n"
    "int main(void) { unsigned (*p)(int, int) = (unsigned (*)(int, int))abs;"
    "void (*q)(int) = (void (*)(int))abs; "
    "q(3); CHECK(p(-4, 1) == 4); }",
}
# Calls that machines do not make.
OTHERWISE = {
    "a record for a pointer": "struct S { long a[5]; }; void set(struct S *s) { s->a[0] = 5; }"
    "int main(void) { struct S s = {{1}}; void (*p)(struct S) = (void (*)(struct S))set;"
    "p(s); reach_error(); }",
    "a record of another size": "struct S { long a[5]; }; struct T { long a[6]; }; void f(struct S s) { }"
    "int main(void) { struct T t = {{1}}; void (*p)(struct T) = (void (*)(struct T))f;"
    "p(t); reach_error(); }",
    "the place of a result": "struct S { long a[5]; }; void f(struct S *s) { }"
    "int main(void) { struct S (*p)(void) = (struct S (*)(void))f; p(); reach_error(); }",
    "slots that move": "int f(long long a, int b) { return b; } __int128_or_int n;"
    "int main(void) { int (*p)(__int128_or_int, int) = (int (*)(__int128_or_int, int))f;"
    "p(1, 2); reach_error(); }",
}


def approximations(program: Program) -> list[str]:
    ops_ = [e.op for p in program.procedures.values() for e in p.edges]
    return [op.approximates for op in ops_ if isinstance(op, Havoc) and op.approximates]


@pytest.mark.parametrize("model", TARGETS)
@pytest.mark.parametrize("name", DEFINED)
def test_compatible_types_are_the_same(name: str, model: str, tmp_path: Path) -> None:
    program = loaded(tmp_path, DEFINED[name], model=model).program
    assert ending(program) is Ending.EXIT
    assert not any(OTHER in what for what in approximations(program))


@pytest.mark.parametrize("model", TARGETS)
@pytest.mark.parametrize("name", ALIKE)
def test_machines_call_functions_of_another_type(name: str, model: str, tmp_path: Path) -> None:
    program = loaded(tmp_path, ALIKE[name], model=model).program
    assert ending(program) is Ending.EXIT
    assert any(OTHER in what for what in approximations(program))


@pytest.mark.parametrize("model", TARGETS)
@pytest.mark.parametrize("name", OTHERWISE)
def test_what_a_machine_passes_otherwise_is_refused(name: str, model: str, tmp_path: Path) -> None:
    text = OTHERWISE[name].replace("__int128_or_int", "__int128" if model == "LP64" else "int")
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, text, model=model)
    assert caught.value.diagnostic.code == "unsupported-call"


@pytest.mark.parametrize("model", TARGETS)
def test_it_is_undefined_if_the_call_can_mean_another_function(model: str, tmp_path: Path) -> None:
    text = (
        "struct S { long a[5]; }; void set(struct S *s) { } void get(struct S s) { }"
        "int main(void) { struct S s = {{1}}; void (*p)(struct S) = (void (*)(struct S))set;"
        "p(s); reach_error(); p = get; }"
    )
    assert ending(loaded(tmp_path, text, model=model).program) is Ending.UNDEFINED


def test_a_record_for_a_pointer_is_refused_in_a_call_by_name(tmp_path: Path) -> None:
    text = (
        "struct S { long a[5]; }; void set(struct S *s) { }"
        "int main(void) { struct S s; ((void (*)(struct S))set)(s); }"
    )
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, text)
    assert caught.value.diagnostic.code == "unsupported-call"


def test_bits_that_are_not_passed_are_arbitrary(tmp_path: Path) -> None:
    text = (
        "int f(long x) { return x == 1; } int main(void) "
        "{ int (*p)(int) = (int (*)(int))f; if (!p(1)) reach_error(); }"
    )
    program = loaded(tmp_path, text).program
    assert ending(program, [0, 1]) is Ending.EXIT
    assert ending(program, [0, 2]) is Ending.ERROR


def test_functions_that_fit_a_call_are_meant_by_no_other(tmp_path: Path) -> None:
    text = (
        "int f(int x) { return x; } void g(void) { }"
        "int main(void) { int (*p)(int) = f; void (*q)(void) = g; q(); return p(1); }"
    )
    program = loaded(tmp_path, text).program
    assert [op.procedure for op in ops(program, Call) if isinstance(op, Call)] == ["g", "f"]
    assert not approximations(program)


@pytest.mark.parametrize("model", TARGETS)
def test_a_library_function_that_calls_back_is_called_through_a_pointer(model: str, tmp_path: Path) -> None:
    text = (
        "#include <stdlib.h>\nint less(const void *a, const void *b) { return *(int *)a - *(int *)b; }"
        "void (*sort)(void *, size_t, size_t, int (*)(const void *, const void *)) = qsort;"
        "int main(void) { int a[2] = {2, 1}; sort(a, 2, sizeof *a, less); }"
    )
    assert ending(loaded(tmp_path, text, model=model).program) is Ending.EXIT
