"""Floating point in C: what must hold, what must stay open, and what is undefined; on both data models."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.unit.frontend.c.model.test_model import Given, ending, ops

from certus import Settings, verify
from certus.core import float_text, floats
from certus.core.accounting import Budget
from certus.core.evidence import Safe, Unknown, Unsafe
from certus.core.floats import F32, F64
from certus.core.program import NAN_BITS, Havoc, Program
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run
from certus.report.text import render_text

MODELS = ("LP64", "ILP32")
DECLARATIONS = """
extern float __VERIFIER_nondet_float(void);
extern double __VERIFIER_nondet_double(void);
extern long double __VERIFIER_nondet_longdouble(void);
extern void reach_error(void);
#define CHECK(c) if (!(c)) reach_error()
"""


def loaded(directory: Path, text: str, model: str = "LP64") -> Program:
    path = directory / "program.c"
    path.write_text(DECLARATIONS + text, encoding="utf-8")
    return load_c(path, model=model).program


def answer(directory: Path, text: str, engine: str, model: str = "LP64") -> type:
    path = directory / "program.c"
    path.write_text(DECLARATIONS + text, encoding="utf-8")
    settings = Settings(engine=engine, timeout=40, data_model=model)
    return type(verify(path, settings=settings).verdict)


PROGRAMS = {
    "literals": """
        int main(void) { float f = 0.1f; double d = 0.1; CHECK(f != d && d ==
        0x1.999999999999ap-4);CHECK(3e38f < __builtin_inff() && 1e-320 > 0 && 0x1p-149f > 0 && -1.5e10 <
        0); }
    """,
    "literals rounded once": """
        int main(void) { CHECK(1.00000017881393432617187499f == 0x1.000002p0f); /* through double:
        0x1.000004p0f */ CHECK((float)1.00000017881393432617187499 == 0x1.000004p0f); }
    """,
    "builtins that round": """
        int fesetround(int); int main(void) { double two = 2, root = __builtin_sqrt(two); fesetround(0x400);
        CHECK(root == 0x1.6a09e667f3bcdp+0 && __builtin_elementwise_sqrt(two) == 0x1.6a09e667f3bccp+0 &&
        __builtin_elementwise_rint(-root) == -2 && __builtin_fma(root, 1, -root) == 0); }
    """,
    "rounding by a name that is put together": """
        int fesetround(int);
        #define JOIN(a, b) a##b
        int main(void) { JOIN(feset, round)(0x800); CHECK(1.0 / 3.0 == 0x1.5555555555556p-2); }
    """,
    "zeros": """
        int main(void) { double p = 0.0, n = -0.0; CHECK(p == n && !(n < p) && 1 / n < 0 && p + n == 0 &&
        1 / (p + n) > 0 && 1 / (n + n) < 0 && 1 / (n * 1) < 0 && 1 / (0 * -p) < 0 && __builtin_sqrt(n)
        == 0 && 1 / __builtin_sqrt(n) < 0); union { double d; unsigned long long b; } u = {n}, v = {p};
        CHECK(u.d == v.d && u.b != v.b); }
    """,
    "half precision": """
        int main(void) { _Float16 h = 0.1f16; CHECK(h != 0.1f && (float)h == 0x1.998p-4f && h + h ==
        0.2f16); }
    """,
    "conditions": """
        int main(void) { double z = -0.0; int n = 0; if (z) n = 1; if (!z) n += 2; if (0.5) n +=
        4;CHECK(n == 6 && (z ? 1 : 2) == 2 && (_Bool)0.1 == 1); float f = 3; while (f) f--; CHECK(f ==
        0); }
    """,
    "static variables": """
        double g = 1.5; static float h; float a[4] = {1, [2] = 0.5f}; struct { char c; double d; }s =
        {1, 2.5}; int main(void) { g *= 2; h += 1; CHECK(g == 3 && h == 1 && a[2] == 0.5f && a[3] ==
        0);CHECK(s.d + s.c == 3.5); }
    """,
    "pointers and copies": """
        void put(double *p) { *p = *p * 2; } int main(void) { double x = 1.5, a[9]; put(&x);for (int i =
        0; i < 9; i++) a[i] = i / 2.0; __builtin_memcpy(a, a + 3, sizeof(double)); put(a);CHECK(x == 3
        && a[0] == 3 && a[8] == 4); long double l = 2.5L, *q = &l, m = *q; *q += m; CHECK(l == 5); }
    """,
    "records by value": """
        struct a { float x; }; struct b { double x; int y; }; struct c { float x, y, z; };struct d { int
        x; float y; }; struct a f(struct a v) { v.x *= 2; return v; }struct b g(struct b v) { v.x *=
        v.y; return v; } struct c h(struct c v) { v.z = v.x + v.y; return v; }struct d k(struct d v) {
        v.y += v.x; return v; } int main(void) { struct a a = {1.5f}; struct b b = {2.5, 3};struct c c =
        {1, 2}; struct d d = {2, 0.5f}; CHECK(f(a).x == 3 && g(b).x == 7.5 && h(c).z == 3);CHECK(k(d).y
        == 2.5f); }
    """,
    "functions by pointer": """
        double twice(double x) { return 2 * x; } float half(float x) { return x / 2; }int main(void) {
        double (*p)(double) = twice; float (*q)(float) = half; CHECK(p(1.25) == 2.5 && q(3) == 1.5f);}
    """,
    "conversions": """
        int main(void) { unsigned long long u = 18446744073709551615u; long long s = -3; CHECK(u * 1.0
        == 0x1p64 && s * 0.5f == -1.5f && (float)0xffffff81u == 0x1p32f); CHECK((unsigned)4294967295.9
        == 4294967295u && (long long)-9223372036854775808.0 == -9223372036854775807LL - 1 &&
        (_Bool)__builtin_nan("")); }
    """,
    "unions": """
        union u { float f; unsigned n; unsigned char b[4]; }; int main(void) { union u u; u.f =
        -2.0f;CHECK(u.n == 0xc0000000u && u.b[3] == 0xc0); u.n ^= 1u << 31; CHECK(u.f == 2); }
    """,
    "selections": """
        int main(void) { double a = 1, b = 2; double m = a < b ? a : b; CHECK(m == 1);CHECK((a < b && a
        + b > 2.5) || a * b < 0); switch ((int)(b * 2)) { case 4: break; default: reach_error(); } }
    """,
    "vectors": """
        typedef float v4 __attribute__((vector_size(16))); int main(void) { v4 a = {1, 2, 3, 4}, b = a *
        a;b -= a; CHECK(b[0] == 0 && b[3] == 12 && (a < b)[3] == -1); }
    """,
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_check_themselves(name: str, model: str, tmp_path: Path) -> None:
    assert ending(loaded(tmp_path, PROGRAMS[name], model)) is Ending.EXIT


EXCESS = """
    int main(void) { volatile double large = 0x1p53, small = 0x1.8p-1074, one = 1;
    CHECK(large + 1.0 - large == 0 && small / 2 * 2 != small / 1 + 0x1p-1074);
    volatile float f = 0x1.000002p0f, g = 16777216; float h = f * f;
    CHECK(f * f == h && g + 1 - g == 0 && f * f - h == 0 && (double)f * f != h);
    volatile float tenth = 0.1f; CHECK(tenth * 10 == 1 && tenth * 3 != 0.3 && one / 3 * 3 == 1);
    CHECK(__FLT_EVAL_METHOD__ == 0); }
"""


@pytest.mark.parametrize("model", MODELS)
def test_no_result_has_excess_precision(model: str, tmp_path: Path) -> None:
    """Also on i386 floats and doubles are computed by SSE2: the compiled program agrees."""
    assert challenged(tmp_path, EXCESS, model)


@pytest.mark.parametrize(("model", "bits"), [("LP64", 0x7FA00000), ("ILP32", 0x7FE00000)])
def test_results_on_i386_are_quiet(model: str, bits: int, tmp_path: Path) -> None:
    """They are returned in st(0), which makes a signalling NaN quiet."""
    text = f"""union u {{ float f; unsigned b; }}; float same(float x) {{ return x; }}
        int main(void) {{ union u u, v; u.b = 0x7fa00000; v.f = same(u.f); CHECK(v.b == {bits}u); }}"""
    assert challenged(tmp_path, text, model)


def challenged(directory: Path, text: str, model: str) -> bool:
    """Return whether the only execution satisfies all checks, and the compiled program agrees."""
    path = directory / "program.c"
    path.write_text(DECLARATIONS + text)
    outcome = verify(path, settings=Settings(engine="execution", timeout=60, data_model=model))
    assert isinstance(outcome.verdict, Safe)
    return outcome.challenge is not None and outcome.challenge.compared == 1


@pytest.mark.parametrize(("model", "verdict"), [("LP64", Unsafe), ("ILP32", Safe)])
def test_inputs_on_i386_are_quiet(model: str, verdict: type, tmp_path: Path) -> None:
    text = """int main(void) { CHECK(!__builtin_issignaling(__VERIFIER_nondet_float()));
        CHECK(!__builtin_isnan(1.0f)); }"""
    assert answer(tmp_path, text, "bmc", model) is verdict


@pytest.mark.parametrize("sign", [0, 1])
def test_the_smaller_one_of_two_zeros_is_either(sign: int, tmp_path: Path) -> None:
    text = f"double fmin(double, double); int main(void) {{ volatile double p = 0.0, n = -0.0; \
        double m = fmin(p, n); CHECK(m == 0 && (__builtin_signbit(m) != 0) == {sign}); }}"
    assert answer(tmp_path, text, "bmc") is Unknown


def test_the_smaller_one_of_two_numbers_is_known(tmp_path: Path) -> None:
    """A counterexample does not depend on open results for other arguments."""
    text = """double fmin(double, double); int main(void) { double x = __VERIFIER_nondet_double();
        if (x == 1.5) CHECK(fmin(x, 5) != 1.5); }"""
    assert answer(tmp_path, text, "bmc") is Unsafe


@pytest.mark.parametrize(
    "result",
    [
        "fmin(1, x)",
        "fmax(x, 1)",
        "fmin(x, -x)",
        'fmax(__builtin_nan(""), -__builtin_nan(""))',
        "frexp(x, &n)",
        "modf(x, &d)",
        "__builtin_canonicalize(d / d)",
    ],
)
def test_results_for_nans_are_open(result: str, tmp_path: Path) -> None:
    """Libraries differ in the bits of the result, and in whether `fmin` of a signalling NaN is NaN."""
    text = f"""double fmin(double, double), fmax(double, double), frexp(double, int *),
        modf(double, double *);
        int main(void) {{ union {{ unsigned long long bits; double number; }} u = {{0x7ff4000000000000}}, r;
        double x = u.number, d = 0; int n; r.number = {result}; CHECK(r.bits == 0x7ff8000000000000); }}"""
    done = run(compile_program(loaded(tmp_path, text)), Given([]), step_limit=1000, budget=Budget())
    assert done.ending is Ending.UNMODELLED


@pytest.mark.parametrize(
    "program",
    [
        """double pow(double, double); int main(void) { double y = __VERIFIER_nondet_double();
            if (y == -3) CHECK(pow(-0.0, y) >= 0); }""",
        """int fesetround(int); float expf(float); int main(void) { volatile float tiny = -1e-40f;
            fesetround(0x800); CHECK(expf(tiny) <= 1); }""",
    ],
    ids=["a power of negative zero", "rounded upwards"],
)
def test_bounds_of_functions_exclude_no_result(program: str, tmp_path: Path) -> None:
    """The C library violates both checks."""
    assert answer(tmp_path, program, "bmc") is Unknown


def test_bounds_of_functions(tmp_path: Path) -> None:
    program = """double pow(double, double), sin(double);
        int main(void) { double x = __VERIFIER_nondet_double();
        CHECK((x != x || pow(x, 0) == 1) && !(sin(x) > 1));
        if (x > 0) CHECK(pow(x, 0.5) >= 0); }"""
    assert answer(tmp_path, program, "bmc") is Safe


# --------------------------------------------------------------------------------- the bits of a NaN

SIGN = """int main(void) { volatile double zero = 0; double nan = zero / zero;
    union { double number; unsigned long long bits; } both = {nan};"""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("type_", ["float", "double", "long double"])
def test_quotients_of_complex_numbers_have_any_value(type_: str, model: str, tmp_path: Path) -> None:
    text = f"""int main(void) {{ {type_} _Complex z = __VERIFIER_nondet_float(), q = z / (z + 1);
        return __real__ q != 1.5 || __imag__ q != 2.5; }}"""
    edges = [edge for each in loaded(tmp_path, text, model).procedures.values() for edge in each.edges]
    unknown = [edge.op.approximates for edge in edges if isinstance(edge.op, Havoc)]
    assert len([why for why in unknown if re.fullmatch("what `__div[dsx]c3` does", why)]) == 2


@pytest.mark.parametrize(
    "condition", ["both.bits >> 63 == 0", "both.bits >> 63 == 1", "both.bits << 13 == 0"]
)
@pytest.mark.parametrize("engine", ["execution", "bmc"])
def test_nothing_follows_from_the_sign_of_a_nan(engine: str, condition: str, tmp_path: Path) -> None:
    """Processors and compilers choose sign and payload differently: neither answer would be right."""
    assert answer(tmp_path, f"{SIGN} CHECK({condition}); }}", engine) is Unknown


@pytest.mark.parametrize("engine", ["execution", "bmc"])
def test_what_every_nan_has_in_common(engine: str, tmp_path: Path) -> None:
    text = f"{SIGN} CHECK((both.bits >> 51 & 0xfff) == 0xfff && nan != nan); }}"
    assert answer(tmp_path, text, engine) is Safe


def test_a_folded_nan_has_no_sign_either(tmp_path: Path) -> None:
    text = "int main(void) { double nan = 0.0 / 0.0; CHECK(!__builtin_signbit(nan)); }"
    assert answer(tmp_path, text, "execution") is Unknown


def test_bits_that_nothing_reads_cost_nothing(tmp_path: Path) -> None:
    """Comparisons and arithmetic do not depend on them, also through variables and calls."""
    text = """static double g; double f(double x) { double y = x * x; g = y - 1; return y / g; }
        int main(void) { double x = f(__VERIFIER_nondet_double()); return x > 1 && (float)x < 2; }"""
    program = loaded(tmp_path, text)
    found = [op for name in program.procedures for op in ops(program, Havoc, name) if isinstance(op, Havoc)]
    assert not any(op.approximates == NAN_BITS for op in found)


@pytest.mark.parametrize(
    "use",
    [
        "double a[2]; a[1] = q; return *(int *)a;",
        "union { double d; long long n; } u; u.d = q; return u.n < 0;",
        "return __builtin_signbit(q);",
        "return __builtin_copysign(1.0, q) < 0;",
        "extern int outside(double); return outside(q);",
        "extern int many(int, ...); return many(1, q);",
        "double *r = &q; return *(int *)r;",
        "g = q; return *(int *)&g;",
        "return *(float *)&q == 1;",
        "return sign(q);",
    ],
)
def test_bits_that_may_be_read_are_open(use: str, tmp_path: Path) -> None:
    text = f"""double g; static int sign(double x) {{ return __builtin_signbit(x); }}
        int main(void) {{ double p = __VERIFIER_nondet_double(), q = p / p; {use} }}"""
    found = [op for op in ops(loaded(tmp_path, text), Havoc) if isinstance(op, Havoc)]
    assert [op.approximates for op in found].count(NAN_BITS) == 1


# ---------------------------------------------------------------------------------- undefined behaviour


@pytest.mark.parametrize("value", [2147483648.0, -2147483649.0, float("inf"), float("nan"), 1e300])
def test_a_number_that_an_integer_cannot_hold_is_undefined(value: float, tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { int n = (int)__VERIFIER_nondet_double(); CHECK(n != 7); }")
    bits = F64.nan if value != value else F64.infinity if value == float("inf") else None  # noqa: PLR0124
    if bits is None:
        bits = floats.from_fraction(F64, floats.NEAREST, Fraction(value))
    done = run(compile_program(program), Given([bits]), step_limit=100, budget=Budget())
    assert done.ending is Ending.UNDEFINED
    assert ending(program, [floats.from_fraction(F64, 0, Fraction(-2147483648))]) is Ending.EXIT
    assert ending(program, [floats.from_fraction(F64, 0, Fraction(15, 2))]) is Ending.ERROR


def test_an_undefined_conversion_proves_nothing(tmp_path: Path) -> None:
    text = "int main(void) { int n = (int)__VERIFIER_nondet_float(); CHECK(n == n && n <= 2147483520); }"
    assert answer(tmp_path, text, "bmc") is not Safe


# ----------------------------------------------------------------------------------------------- replay


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("type_", "condition"),
    [
        ("float", "x * x == 2.25f && x < 0"),
        ("double", "x + 1 == x && x < 1e17 && x > 0"),
        ("longdouble", "x == 0.1L"),
        ("float", "x != x"),
        ("double", "1 / x < 0 && x == 0"),
    ],
)
def test_counterexamples_run_on_both_data_models(
    type_: str, condition: str, model: str, tmp_path: Path
) -> None:
    words = "long double" if type_ == "longdouble" else type_
    text = f"int main(void) {{ {words} x = __VERIFIER_nondet_{type_}(); CHECK(!({condition})); }}"
    assert answer(tmp_path, text, "bmc", model) is Unsafe


def test_engines_without_floating_point_say_so(tmp_path: Path) -> None:
    text = "int main(void) { double x = __VERIFIER_nondet_double(); CHECK(x + 1 != 2 || x == 1); }"
    path = tmp_path / "program.c"
    path.write_text(DECLARATIONS + text)
    for engine in ("linear", "clp", "spacer"):
        verdict = verify(path, settings=Settings(engine=engine, timeout=20)).verdict
        assert isinstance(verdict, Unknown)
        assert verdict.reason.code == "engine-without-floats"


def test_values_are_shown_as_numbers(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { float x = __VERIFIER_nondet_float(); CHECK(x != 0.1f); }")
    assert set(program.formats.values()) == {"f32"}
    assert float_text.shown(F32, 0x3DCCCCCD) == "0.1f (0x1.99999ap-4)"


def test_values_on_the_way_are_shown_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(
        DECLARATIONS + "int main(void) { double x = __VERIFIER_nondet_double(); return (int)(-x * 0.5); }"
    )
    outcome = verify(path, settings=Settings(property_name="float-cast-overflow", timeout=40))
    assert isinstance(outcome.verdict, Unsafe)
    shown = [line for line in render_text(outcome).splitlines() if "-x * 0.5" in line and " = " in line]
    assert shown
    assert not any(re.search(r"= \d{16,}", line) for line in shown), shown
