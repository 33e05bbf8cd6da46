"""Functions and variables that are not what their names say: weak ones, and several names of one symbol."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

CALLED = "int main(void) { if (f(1) != 7) reach_error(); return 0; }"
ADDRESSED = "int main(void) { if (!f) reach_error(); return 0; }"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param(
            "extern int f(int) __attribute__((weak));" + ADDRESSED, "VIOLATED", id="a weak function"
        ),
        pytest.param(
            "extern int v __attribute__((weak)); int main(void) { if (!&v) reach_error(); return 0; }",
            "VIOLATED",
            id="a weak variable",
        ),
        pytest.param(
            'int g(int x) { return 7; } int f(int) __asm__("g");' + CALLED, "HOLDS", id="another function"
        ),
        pytest.param(
            'int v __asm__("w") = 3; extern int w; int main(void) { if (w != 3) reach_error(); return 0; }',
            "HOLDS",
            id="another variable",
        ),
        pytest.param(
            'int g(int x) { return 7; } extern int f(int) __attribute__((alias("g")));' + CALLED,
            "HOLDS",
            id="an alias",
        ),
        pytest.param(
            'static int f(int) __attribute__((weakref("g")));' + ADDRESSED, "VIOLATED", id="a weak reference"
        ),
        pytest.param(
            "extern inline __attribute__((gnu_inline)) int f(int x) { return 7; } int f(int x) { return 8; }"
            + CALLED,
            "VIOLATED",
            id="two definitions",
        ),
        pytest.param(
            "int __attribute__((overloadable)) f(int x) { return 7; }"
            "int __attribute__((overloadable)) f(long x) { return 8; }" + CALLED,
            "HOLDS",
            id="overloading",
        ),
    ],
)
def test_what_is_something_else_than_its_name_says(tmp_path: Path, text: str, answer: str) -> None:
    program = tmp_path / "program.c"
    program.write_text("extern void reach_error(void);\n" + text)
    assert verify(program, Settings(engine="bmc")).answer == answer


@pytest.mark.parametrize(
    "text",
    [
        'void f(void) { x = 1; } void (*p)(void) __attribute__((section(".init_array"), used)) = f;',
        '__attribute__((section(".init"), used)) static void f(void) { x = 1; }',
    ],
)
def test_functions_that_run_by_their_section_are_refused(tmp_path: Path, text: str) -> None:
    program = tmp_path / "program.c"
    main = "int main(void) { if (x == 1) reach_error(); return 0; }"
    program.write_text(f"extern void reach_error(void); int x;\n{text}\n{main}\n")
    found = verify(program, Settings(engine="bmc", execute=False))
    assert found.answer == "UNKNOWN"
    assert found.verdict.reason.code == "unsupported-attribute"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "#include <stdlib.h>\n#pragma weak getenv\nvoid *p = getenv;",
        "unsigned long strlen(const char *) __attribute__((weak)); void *p = strlen;",
        "int pthread_key_delete(unsigned) __attribute__((weak)); void *p = pthread_key_delete;",
        "extern char **environ __attribute__((weak)); void *p = &environ;",
        "int __VERIFIER_nondet_int(void) __attribute__((weak)); void *p = __VERIFIER_nondet_int;",
        '#include <stdlib.h>\nstatic void *f(size_t) __attribute__((weakref("malloc"))); void *p = f;',
    ],
)
def test_weak_declarations_of_what_libraries_define_are_refused(tmp_path: Path, text: str) -> None:
    program = tmp_path / "program.c"
    program.write_text(f"{text}\nvoid reach_error(void); int main(void) {{ if (!p) reach_error(); }}\n")
    found = verify(program, Settings(engine="bmc", execute=False))
    assert found.answer == "UNKNOWN"
    assert found.verdict.reason.code == "unsupported-weak"  # type: ignore[union-attr]


@pytest.mark.parametrize(("property", "answer"), [("unreach-call", "HOLDS"), ("valid-deref", "VIOLATED")])
def test_a_call_of_a_weak_function_that_nothing_defines(tmp_path: Path, property: str, answer: str) -> None:
    program = tmp_path / "program.c"
    program.write_text(
        "void reach_error(void); int f(void) __attribute__((weak));\n"
        "int main(void) { if (f()) reach_error(); return 0; }\n"
    )
    settings = Settings(engine="bmc", property_name=property, execute=False)
    assert verify(program, settings).answer == answer


OTHER = 'void reach_error(void) __asm__("other");'
ADDRESS = "int main(void) { void (*p)(void) = reach_error; p(); return 0; }"


@pytest.mark.parametrize(
    "text",
    [
        OTHER + "int main(void) { reach_error(); return 0; }",
        OTHER + ADDRESS,
        OTHER + "void reach_error2(void) {}" + ADDRESS,
        "#define JOIN(a, b) a##b\n" + OTHER.replace("__asm__", "JOIN(as, m)") + ADDRESS,
        "#pragma redefine_extname reach_error other\nvoid reach_error(void);" + ADDRESS,
        'void other(void) {} static void reach_error(void) __attribute__((weakref("other")));' + ADDRESS,
        "__attribute__((overloadable)) void reach_error(void) {}" + ADDRESS,
        'void other(void) __asm__("reach_error"); int main(void) { other(); return 0; }',
        'void reach_error(void); void assume(int) __asm__("other"); int main(void) { assume(0); return 0; }',
        'void reach_error(void); int f(void) __asm__("main"); int f(void) { return 0; }'
        'int main(void) __asm__("other"); int main(void) { reach_error(); return 0; }',
    ],
)
@pytest.mark.parametrize("place", ["p.c", "p.h"])
def test_functions_with_a_meaning_and_another_name_are_refused(tmp_path: Path, text: str, place: str) -> None:
    program = tmp_path / "p.c"
    program.write_text('#include "p.h"\n')
    (tmp_path / place).write_text(text)
    found = verify(program, Settings(engine="bmc", execute=False))
    assert found.answer == "UNKNOWN"
    assert found.verdict.reason.code == "unsupported-name"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("__attribute__((weak)) int f(int x) { return 7; }" + CALLED, "HOLDS"),
        ('int f(int x) __asm__("other"); int f(int x) { return 7; }' + CALLED, "HOLDS"),
        ("extern int f(int);" + CALLED, "VIOLATED"),
        ("extern int f(int) __attribute__((const));" + CALLED, "UNKNOWN"),  # it may be that it is always 7
        (
            "extern int *f(void) __attribute__((returns_nonnull));" + ADDRESSED.replace("!f", "!f()"),
            "UNKNOWN",
        ),
    ],
)
def test_what_attributes_say_of_functions(tmp_path: Path, text: str, answer: str) -> None:
    program = tmp_path / "program.c"
    program.write_text("extern void reach_error(void);\n" + text)
    assert verify(program, Settings(engine="bmc", execute=False)).answer == answer
