"""The checks of several kinds in one program: their error sites, and the program with only some of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.core.errors import InputError, Unsupported
from certus.core.program import Program
from certus.core.vocabulary import (
    KINDS,
    Property,
    check_supported,
    default_kinds,
    error_kinds,
    kind_of_error,
    operation_of,
    property_of_kinds,
)
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs
from certus.interpreter.interpreter import Ending, run

ALL = ("assert", "overflow", "division", "shift", "float-cast", "float-divide")
OPERATIONS = {
    "int f(int a, int b) { return a / b; }": ["division-by-zero", "overflow"],
    "int f(int a, int b) { return a % b; }": ["division-by-zero", "overflow"],
    "unsigned f(unsigned a, unsigned b) { return a / b; }": ["division-by-zero"],
    "int f(int a, int b) { return a / -1; }": ["overflow"],
    "int f(int a, int b) { return a / 0; }": ["division-by-zero"],
    "int f(int a, int b) { return 5 / 0; }": ["division-by-zero"],
    "int f(int a, int b) { return (-2147483647 - 1) / -1; }": ["overflow"],
    "int f(int a, int b) { return a / 3; }": [],
    "int f(int a, int b) { return a + b; }": ["overflow"],
    "double f(double a, int b) { return a / b; }": ["float-division-by-zero"],
    "double f(double a, int b) { return a / 0.0; }": ["float-division-by-zero"],
    "double f(double a, int b) { return 1 / -0.0; }": ["float-division-by-zero"],
    "double f(double a, int b) { return a / 2 * b; }": [],
    "double f(long double a, int b) { return b / a; }": ["float-division-by-zero"],
    "int f(double a, int b) { return b + (int)a; }": ["float-cast-overflow", "overflow"],
    "_Bool f(float a, int b) { return a; }": [],
    "int f(int a, int b) { return 3e9; }": ["float-cast-overflow"],
    "extern int fesetround(int); int f(double a, int b) { return b / a; }": [
        "float-division-by-zero",
        "float-cast-overflow",
    ],
    "int f(int a, int b) { return -a; }": ["overflow"],
    "int f(int a, int b) { return a << b; }": ["shift"],
    "int f(int a, int b) { return a >> b; }": ["shift"],
    "unsigned f(unsigned a, int b) { return a << b; }": ["shift"],
    "unsigned f(unsigned a, int b) { return a + b; }": [],
    "int f(int a, int b) { return a >> 31; }": [],
    "#include <stdlib.h>\nint f(int a, int b) { return abs(a); }": ["overflow"],
    "#include <stdlib.h>\nint f(int a, int b) { return div(a, b).quot; }": ["division-by-zero", "overflow"]
    * 2,
    "extern void reach_error(void); int f(int a, int b) { if (a == b) reach_error(); }": ["reach-error"],
}


def loaded(directory: Path, text: str, kinds: tuple[str, ...] = ALL) -> Program:
    path = directory / "p.c"
    path.write_text(text)
    return load_c(path, property=property_of_kinds(kinds)).program


@pytest.mark.parametrize("text", OPERATIONS)
def test_the_kinds_of_error_sites(text: str, tmp_path: Path) -> None:
    main = "\nextern int __VERIFIER_nondet_int(void);\nint main(void) {\n"
    call = "f(__VERIFIER_nondet_int(), __VERIFIER_nondet_int()); }\n"
    program = loaded(tmp_path, f"{text}{main}{call}")
    assert [site.kind for site in program.errors] == OPERATIONS[text]


def test_other_kinds_are_not_checked(tmp_path: Path) -> None:
    text = (
        "extern int __VERIFIER_nondet_int(void); int main(void) { return 7 / __VERIFIER_nondet_int() + 1; }"
    )
    assert [site.kind for site in loaded(tmp_path, text, ("overflow",)).errors] == ["overflow"]
    assert [site.kind for site in loaded(tmp_path, text, ("division",)).errors] == ["division-by-zero"]
    assert loaded(tmp_path, text, ("assert", "shift")).errors == ()


@pytest.mark.parametrize("text", OPERATIONS)
def test_the_checks_are_the_same_beside_those_of_memory(tmp_path: Path, text: str) -> None:
    main = text + "\nint main(int argc, char **argv) { return f(argc, argc); }"
    kinds = [site.kind for site in loaded(tmp_path, main).errors]
    together = [site.kind for site in loaded(tmp_path, main, (*ALL, "memory")).errors]
    assert [kind for kind in together if kind in kinds] == kinds


@pytest.mark.parametrize(("use", "kind"), [("return v[i];", "invalid-read"), ("v[i] = 1;", "invalid-write")])
def test_an_element_that_a_vector_does_not_have_is_an_invalid_access(
    use: str, kind: str, tmp_path: Path
) -> None:
    vector = "typedef int V __attribute__((vector_size(16)));\n"
    program = loaded(tmp_path, f"{vector}int main(void) {{ V v = {{1}}; int i = 4; {use} }}", ("memory",))
    end = run(compile_program(program), NoInputs(), budget=Budget())
    assert end.ending is Ending.ERROR
    assert program.error_at(end.location).kind == kind


def test_a_constant_divisor_needs_no_check(tmp_path: Path) -> None:
    text = "extern int __VERIFIER_nondet_int(void); int main(void) { return __VERIFIER_nondet_int() / 7; }"
    assert loaded(tmp_path, text, ("division",)).errors == ()


def test_quotients_of_narrow_numbers_never_overflow(tmp_path: Path) -> None:
    text = "int main(int a, char **v) { signed char b = a, c = a >> 8; return c ? b % c | b / c : 0; }"
    assert loaded(tmp_path, text, ("overflow",)).errors == ()


def test_checks_of_floats_are_not_usual() -> None:
    assert "float-cast" not in default_kinds()
    assert "float-divide" not in default_kinds()
    assert property_of_kinds(["float-divide", "assert"]).kinds == ("assert", "float-divide")


def test_an_execution_ends_at_a_site_that_is_no_error(tmp_path: Path) -> None:
    text = """extern void reach_error(void);
    int main(void) { int zero = 0; int x = 5 / zero; if (x == 5) return 0; reach_error(); }"""
    program = loaded(tmp_path, text)
    ends = {}
    for kinds in (ALL, ("division",), ("assert",)):
        only = program.only(error_kinds(kinds))
        assert only.location.keys() == program.location.keys()
        ends[kinds] = run(compile_program(only), NoInputs(), budget=Budget(10)).ending
    assert ends == {ALL: Ending.ERROR, ("division",): Ending.ERROR, ("assert",): Ending.BLOCKED}


def test_every_kind_of_error_belongs_to_one_kind_of_checks() -> None:
    errors = [error for kind in KINDS.values() for error in kind.errors]
    assert len(set(errors)) == len(errors)
    assert all(error in KINDS[kind_of_error(error, KINDS)].errors for error in errors)


def test_the_operation_of_a_claim() -> None:
    assert operation_of("overflow", "a + b does not overflow") == "a + b"
    assert operation_of("division-by-zero", "the divisor of a / b is not 0") == "a / b"
    assert operation_of("assertion", "x == 3") == "x == 3"


def test_kinds_that_do_not_exist() -> None:
    for names in ((), ("everything",), ("",)):
        with pytest.raises(InputError):
            property_of_kinds(names)
    assert property_of_kinds(("shift", "assert")).kinds == ("assert", "shift")
    with pytest.raises(Unsupported):
        check_supported(Property("termination"))


_VECTOR = "typedef int v __attribute__((vector_size(16)));"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("division", f"{_VECTOR} int f(int a, int b) {{ v x = {{a}}, y = {{b}}; return (x / y)[0]; }}"),
        ("overflow", f"{_VECTOR} int f(int a, int b) {{ v x = {{a}}, y = {{b}}; return (x + y)[0]; }}"),
        ("shift", f"{_VECTOR} int f(int a, int b) {{ v x = {{a}}, y = {{b}}; return (x << y)[0]; }}"),
        ("division", "int f(int a, int b) { _Complex int x = a, y = b; return __real__ (x / y); }"),
        ("overflow", "int f(int a, int b) { _Complex int x = a, y = b; return __real__ (x + y); }"),
        ("float-divide", "int f(int a, int b) { _Complex double x = a; x /= (double)b; return x == 0; }"),
    ],
)
def test_operations_that_clang_does_not_check_are_refused(kind: str, text: str, tmp_path: Path) -> None:
    main = "\nint main(int argc, char **argv) { return f(argc, argc); }"
    with pytest.raises(Unsupported) as raised:
        loaded(tmp_path, text + main, (kind,))
    assert raised.value.diagnostic.code == "unsupported-vector"


@pytest.mark.parametrize(
    ("kind", "initialiser"),
    [
        ("overflow", "int a[] = {1, 2147483647 + 1}"),
        ("overflow", "struct { int x, y; } a = {.y = -(-2147483647 - 1)}"),
        ("overflow", "DECLARED"),
        ("shift", "int a[] = {1, 1 << 31}"),
        ("shift", "int a[] = {1, -1 << 2}"),
        ("shift", "int a[] = {1, 1 >> 32}"),
        ("overflow", "int a[] = {-1 / (-1 - (-1 / 3)), (-2147483647 - 1) / -1}"),
        ("overflow", "int a[100] = {(-2147483647 - 1) % -1}"),
        ("overflow", "struct { int x; double y; } a = {1 ? 2147483647 + 1 : 0}"),
        ("overflow", "long a = __builtin_expect(!((-2147483647 - 1) / -1), 0)"),
        (
            "overflow",
            "struct S { int a[9]; }; long a = __builtin_offsetof(struct S, a[(-2147483647 - 1) % -1])",
        ),
        ("overflow", "enum { LAST = 2147483647 }; int a[] = {LAST + 1}"),
        ("overflow", "int a[] = {(signed char)0x1ff + 2147483647 + 2}"),
        (
            "overflow",
            '_Pragma("clang diagnostic ignored \\"-Winteger-overflow\\"") int a[] = {2147483647 + 1}',
        ),
        ("float-divide", "double a[] = {1.0 / 0.0}"),
        ("float-cast", "int a[] = {(int)1e20}"),
        ("float-cast", "int a[] = {(int)(float)2147483647}"),
    ],
)
def test_constants_that_clang_does_not_check_are_refused(kind: str, initialiser: str, tmp_path: Path) -> None:
    text = "#define DECLARED int a[] = {1, 2147483647 + 1}\n"
    with pytest.raises(Unsupported) as raised:
        loaded(tmp_path, f"{text}int main(void) {{ {initialiser}; return sizeof a; }}", (kind,))
    assert raised.value.diagnostic.code == "unsupported-constant"


def test_constants_without_an_error(tmp_path: Path) -> None:
    text = """
        enum kind { FIRST, NEXT = 7, LAST };
        struct record { int a[10]; unsigned b : 3; };
        int g[2] = {1, 2147483647 + 1};
        int main(void) {
            static int s[] = {2147483647 + 1};
            int a[] = {1, 1 << 30, -5 * 4, -2147483647 - 1, 2147483647 - 1, 7 / -1, -7 % 3, 'a' + 1, (1, 2)};
            int b[] = {FIRST + 1, 1 << LAST, (int)1e9, 1 ? 3 : 4, 5 ?: 6, !5 - 1, ~5, "abc"[1], a[0] / a[1]};
            long c[] = {sizeof(int) * 2, 1u << 31, 4294967295u + 1, (long)2147483647 + 1};
            double d[] = {1.0 / 3, -1e30 * 1e30};
            struct record r = {.a = {[3] = 2 + 3}, .b = 7};
            return __builtin_expect(!!(a[0] + 1), 3 - 1);
        }"""
    loaded(tmp_path, text, ("overflow", "shift", "float-cast", "float-divide"))


def test_functions_without_checks_are_refused(tmp_path: Path) -> None:
    text = (
        "#undef no_sanitize\n"
        '__attribute__((no_sanitize("undefined"))) int f(int a) { return a + 1; }\n'
        "int main(int argc, char **argv) { return f(argc); }"
    )
    with pytest.raises(Unsupported) as raised:
        loaded(tmp_path, text, ("overflow",))
    assert raised.value.diagnostic.code == "unsupported-attribute"
