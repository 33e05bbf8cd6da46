"""The examples of Zaks et al. 2006, made exact, and what machine integers, arrays and calls add to them."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder
from tests.unit.analysis.ranges_of import Analysed, c_program, lp_program

from certus.analysis.ranges.result import analyse, needed_bits
from certus.core import build
from certus.core.accounting import Budget
from certus.core.intervals import Interval
from certus.core.program import Assume
from certus.core.terms import Expr, machine

INT_RANGE = (-(2**31), 2**31 - 1)
UNSIGNED = (0, 2**32 - 1)
XY = """extern unsigned any(void); extern unsigned isqrt(unsigned);
int main(void) {{ unsigned x = any(), y = any();
  if (x < 10 || x > 20 || y < 50 || y > 100) return 0;
  while (x <= y + 1) {body};
  return x + y; }}"""


def test_a_condition_bounds_the_variable_that_needs_it() -> None:
    analysed = Analysed(c_program(XY.format(body="y--")))
    assert analysed.heads() == [{"x": (10, 20), "y": (8, 100)}]
    assert analysed.before("return x + y") == {"x": (10, 20), "y": (8, 18)}


def test_what_is_not_linear_leaves_the_other_variable_bounded() -> None:
    analysed = Analysed(c_program(XY.format(body="y = isqrt(y)")))
    assert analysed.heads() == [{"x": (10, 20), "y": UNSIGNED}]


def test_conditions_relax_flow() -> None:
    analysed = Analysed(
        c_program("""extern int any(void);
            int main(void) { int v = any(); if (v < 0 || v > 100) return 0;
            if (v >= 20) return v; return 1; }""")
    )
    assert analysed.before("return v") == {"v": (20, 100)}


def test_counting_without_end_wraps() -> None:
    endless = "int main(void) { int i = 0; while (1) i++; }"
    assert Analysed(c_program(endless)).heads() == [{"i": INT_RANGE}]


def test_a_guarded_count_stops_where_widening_does_not() -> None:
    analysed = Analysed(c_program("int main(void) { int i = 0; while (1) if (i < 100) i++; }"))
    assert analysed.heads() == [{"i": (0, 100)}]


@pytest.mark.parametrize("conditions", [(build.TRUE, build.TRUE), (build.TRUE, build.FALSE)])
def test_branches_that_bound_nothing_stay_apart(conditions: tuple[Expr, Expr]) -> None:
    """What one of them assigns is not seen by the other, dead or not, in whatever order they stand."""
    for order in (1, -1):
        b = ProgramBuilder()
        x, y = (b.var(name, initial=0) for name in "xy")
        for name, condition in list(zip(("one", "other"), conditions, strict=True))[::order]:
            b.edge("main", "entry", name, Assume(condition))
        b.edge("main", "one", "end", b.assign((y, build.add(x, build.integer(-5)))))
        b.edge("main", "other", "further", b.assign((x, 7)))
        b.edge("main", "further", "end", b.assign((y, build.add(x, build.integer(2)))))
        b.skip("main", "end", "exit")
        seen = analyse(b.build(), budget=Budget(60)).quantity_range(y)
        assert seen is not None
        assert seen.low == -5


def test_dead_branches_are_excluded() -> None:
    analysed = Analysed(
        c_program("""extern int any(void);
            int main(void) { int i = 0, j = 1; while (i < 10) { if (i > 20) j = 1000; i++; }
            return i + j; }""")
    )
    assert analysed.heads() == [{"i": (0, 10), "j": (1, 1)}]


def test_a_branch_may_be_dead_only_for_the_precise_ranges() -> None:
    """Widening alone gives i all non-negative values, and with it the assignment."""
    analysed = Analysed(
        c_program("""extern int any(void); int main(void) { int i = 0, j = 1;
            while (any()) { if (i < 100) i++; if (i > 100) j = 1000; } return j; }""")
    )
    assert analysed.heads() == [{"i": (0, 100), "j": (1, 1)}]


@pytest.mark.parametrize(
    ("body", "range_"),
    [
        ("while (i != 10) { i = i + 1; }", (0, 10)),
        ("while (i != 10) { i = i + 2; }", (0, None)),
        ("while (i < 10) { i = i + 3; }", (0, 12)),
        ("while (i > 0 - 7) { i = i - 2; }", (-8, 0)),
        ("while (i <= 3 * n) { i = i + 1; }", (0, 22)),
        ("while (2 * i < n) { i = i + 1; }", (0, 4)),
        ("while (*) { i = i + 1; }", (0, None)),
        ("while (*) { if (i < n && i < 5) { i = i + 1; } }", (0, 5)),
        ("while (*) { if (i == 0 || i == 3) { i = i + 1; } }", (0, 1)),
    ],
)
def test_loops_over_unbounded_integers(body: str, range_: tuple[int, int | None]) -> None:
    analysed = Analysed(lp_program(f"void main() {{ int i; int n; i = 0; n = 7; {body} assert(i != 99); }}"))
    assert analysed.heads()[0]["i"] == range_


def test_a_condition_on_a_sum_that_may_wrap_says_nothing_of_its_variables() -> None:
    analysed = Analysed(
        c_program("""extern unsigned any(void);
            int main(void) { unsigned x = any(), y = any(); if (y > 9) return 0;
            if (x + 1 <= y) return x; return 0; }""")
    )
    assert analysed.before("return x") == {"x": UNSIGNED}


def test_wrapping_in_between_does_not_matter() -> None:
    analysed = Analysed(
        c_program("""extern unsigned any(void); int main(void) { unsigned x = any(); if (x > 9) return 0;
            unsigned y = x - 100 + 200; return y; }""")
    )
    assert analysed.before("return y") == {"y": (100, 109)}


def test_two_inputs_are_not_one() -> None:
    analysed = Analysed(
        c_program("""extern int any(void); int t[3]; int main(void) {
            int a = any(), b = any(), c = t[0] - t[1], d = a - b; return c + d; }""")
    )
    assert analysed.before("return c + d") == {"c": (0, 0), "d": INT_RANGE}


def test_parameters_are_joined_over_calls_and_results_come_back() -> None:
    analysed = Analysed(
        c_program("""int f(int n) { if (n <= 0) return 0; return f(n - 1) + 1; }
            int inc(int k) { return k + 1; }
            int main(void) { int a = inc(1), b = inc(5); return a + b + f(3); }""")
    )
    assert analysed.of("k") == (1, 5)
    assert analysed.of("a") == analysed.of("b") == (2, 6)
    assert analysed.of("n") == (0, 3)


def test_elements_of_an_array_have_one_range_and_fields_one_each() -> None:
    analysed = Analysed(
        c_program("""struct s { int a; unsigned char b; }; int t[200];
            int main(void) { struct s v; int i, x; v.a = 5; v.b = 7;
            for (i = 0; i < 200; i++) t[i] = i % 7; x = t[3] + v.a + v.b; return x; }""")
    )
    assert analysed.before("return x")["x"] == (12, 18)


def test_elements_that_are_read_as_signed_have_a_signed_range() -> None:
    analysed = Analysed(
        c_program("""extern int any(void); int t[200]; short s[3]; int small[3]; unsigned u[200];
            int main(void) { int i, x, y, z; for (i = 0; i < 200; i++) { t[i] = i % 7 - 1; u[i] = i % 7 - 1; }
            s[any() & 1] = -3; small[any() & 1] = t[5] - 1; x = t[any() & 127];
            y = s[any() & 1]; z = small[1]; return x + y + z + (u[any() & 127] < 5u); }""")
    )
    assert (analysed.of("x"), analysed.of("y"), analysed.of("z")) == ((-1, 5), (-3, 0), (-2, 4))
    views = analysed.ranges.essa.translation.views
    kept = {x.name: (sort.name, analysed.ranges.quantity_range(x)) for x, sort in views.items()}
    assert kept["mem$0$0"] == ("i32", Interval(-1, 5))
    assert "mem$3$0" not in kept  # is compared as it is


def test_conditions_on_what_was_read_are_conditions_on_the_cell() -> None:
    analysed = Analysed(
        c_program("""extern int any(void); int t[3]; int main(void) { int *p = t; *p = -5;
            while (any()) { if (*p < 9) *p = *p + 1; if (*p == -1) t[1] = *p; if (*p > 50) t[2] = 1; }
            return t[1] + t[2]; }""")
    )
    (head,) = [at for at in analysed.program.procedures["main"].locations if at.loop]
    at_head = {str(term): (i.low, i.high) for term, i in analysed.ranges.at(head).items()}
    assert at_head == {"(i32)mem$0$0": (-5, 9), "(i32)mem$0$4": (-1, 0), "mem$0$8": (0, 0)}


def test_what_was_read_before_a_write_says_nothing_of_the_cell() -> None:
    analysed = Analysed(
        c_program("""extern int any(void); int t[3]; int main(void) { int *p = t, x, y; *p = any(); x = *p;
            *p = any(); if (x < 9) y = *p; else y = x; return y; }""")
    )
    assert analysed.of("y") == INT_RANGE


@pytest.mark.parametrize(
    ("value", "range_"),
    [
        ("x < 10 ? x : 10", (INT_RANGE[0], 10)),
        ("x > 0 ? x : 5", (1, INT_RANGE[1])),
        ("x < 0 ? 0 : x > 9 ? 9 : x", (0, 9)),
        ("x > 3 && x < 8 ? x : 4", (4, 7)),
        ("x < 0 ? -(x + 1) : x", (0, INT_RANGE[1])),
        ("(unsigned char)(x < 0 || x > 99 ? 7 : x)", (0, 99)),
        ("y < 10 ? x : 10", INT_RANGE),
    ],
)
def test_a_choice_is_as_good_as_a_branch(value: str, range_: tuple[int, int]) -> None:
    text = f"extern int any(void); int main(void) {{ int x = any(), y = any(), z = {value}; return z; }}"
    assert Analysed(c_program(text)).of("z") == range_


def test_a_pointer_ranges_over_its_array() -> None:
    analysed = Analysed(
        c_program("int t[200]; int main(void) { int *p = t; while (p < t + 10) p++; return *p; }")
    )
    low, high = analysed.heads()[0]["p"]
    assert low is not None
    assert high is not None
    assert high - low == 4 * 10 + 3  # a multiple of 4 lies in it, but bounds know nothing of that


def test_what_is_not_linear_is_listed_with_what_is_known_of_it() -> None:
    analysed = Analysed(
        c_program("""extern int any(void); int main(void) { int x = any(); int y = x * x; int z = x & 15;
            return y + z; }""")
    )
    listed = {str(term): (i.low, i.high) for _, term, i in analysed.ranges.opaque()}
    assert sorted(listed.values()) == [INT_RANGE, (0, 15)]


def test_irreducible_loops_are_cut_at_all_entries() -> None:
    b = ProgramBuilder()
    x, s = b.var("x", machine(32, signed=True), 0), b.var("s", machine(32, signed=True))
    one, ten = build.constant(1, x.sort), build.constant(10, x.sort)
    b.branch("main", "entry", build.lt(s, ten), "a", "b")
    b.branch("main", "a", build.lt(x, ten), "a1", "exit")
    b.edge("main", "a1", "b", b.assign((x, build.add(x, one))))
    b.edge("main", "b", "a", b.assign((x, x)))
    analysed = Analysed(b.build())
    assert analysed.at(b.at("main", "a"))["x"] == (0, 10)


@pytest.mark.parametrize(
    ("low", "high", "bits"),
    [
        (0, 0, 0),
        (5, 5, 0),
        (0, 1, 1),
        (0, 255, 8),
        (0, 256, 9),
        (-1, 0, 1),
        (-1, 1, 2),
        (-128, 127, 8),
        (-5, -3, 4),
    ],
)
def test_needed_bits(low: int, high: int, bits: int) -> None:
    assert needed_bits(Interval(low, high)) == bits


def test_needed_bits_without_a_range() -> None:
    assert needed_bits(None) == 0
    assert needed_bits(Interval(0, None)) is None


def test_main_may_call_itself() -> None:
    analysed = Analysed(
        lp_program("int g = 0; void main() { int x = 0; if (g < 3) { g = g + 1; main(); x = 5; } g = g; }")
    )
    assert analysed.at(analysed.program.procedures["main"].exit) == {"g": (3, 3)}
