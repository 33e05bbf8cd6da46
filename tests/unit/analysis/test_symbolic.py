"""Bounds in the parameters of a procedure (Zaks et al. 2006, Fig. 2), made exact for machine integers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.unit.analysis.ranges_of import c_program, lp_program

from certus.analysis.ranges.symbolic import Affine, Case, SymbolicRange, symbolic_ranges
from certus.core import build
from certus.core.program import Program
from certus.core.terms import Expr

FOO = "void foo(int N) { int i = 0; while (i <= N) { i++; } } int main(void) { foo(3); return 0; }"
MOST = 2**31 - 1


def named(program: Program, name: str) -> Expr:
    return next(x for x, ranges in program.source_names.items() if ranges == name)


def text(bound: Affine | None) -> str:
    if bound is None:
        return "none"
    return " + ".join([*(f"{c} {x.name.rpartition('.')[2]}" for c, x in bound.terms), str(bound.constant)])


def shown(range_: SymbolicRange) -> tuple[str, str]:
    return text(range_.low), text(range_.high)


def places(case: Case, program: Program, name: str) -> list[tuple[str, str]]:
    """The bounds of a variable at the loops, then at the exit."""
    return [shown(ranges[named(program, name)]) for ranges in case.at.values()]


def within(range_: SymbolicRange, parameters: dict[Expr, int], value: int) -> bool:
    def at(bound: Affine) -> int | Fraction:
        return bound.constant + sum(c * parameters[x] for c, x in bound.terms)

    low = range_.low is None or at(range_.low) <= value
    return low and (range_.high is None or value <= at(range_.high))


def test_the_paper_s_example_under_its_assumption() -> None:
    program = c_program(FOO)
    n = named(program, "N")
    assumed = build.and_(build.le(build.constant(0, n.sort), n), build.lt(n, build.constant(MOST, n.sort)))
    (case,) = symbolic_ranges(program, "foo", assumed)
    assert places(case, program, "i") == [("0", "1 N + 1"), ("1 N + 1", "1 N + 1")]


@pytest.mark.parametrize(("value", "counted"), [(-5, [0]), (MOST, [0, 1, MOST, -(2**31), -1]), (7, [0, 8])])
def test_without_the_assumption_all_parameters_lie_inside_the_answer(value: int, counted: list[int]) -> None:
    program = c_program(FOO)
    n, i = named(program, "N"), named(program, "i")
    cases = symbolic_ranges(program, "foo")
    assert len(cases) == 2
    (case,) = [c for c in cases if within(_constant_range(c, n), {}, value)]
    head = next(iter(case.at.values()))
    assert all(within(head[i], {n: value}, each) for each in counted)


def _constant_range(case: Case, x: Expr) -> SymbolicRange:
    range_ = case.parameters[x]
    assert range_.low is not None
    assert range_.high is not None
    return SymbolicRange(Affine(range_.low), Affine(range_.high))


def test_several_parameters_over_unbounded_integers() -> None:
    program = lp_program(
        """void f(int a, int b) { int i; int s; i = a; s = 0;
           while (i < a + 2 * b) { i = i + 1; s = i; } assert(s != 1); }
           void main() { f(1, 2); }"""
    )
    a, b = named(program, "a"), named(program, "b")
    assumed = build.and_(build.le(build.integer(0), a), build.le(build.integer(1), b))
    (case,) = symbolic_ranges(program, "f", assumed)
    head = next(iter(case.at.values()))[named(program, "i")]
    assert text(head.low) == "1 a + 0"
    assert within(head, {a: 3, b: 4}, 11)
    assert not within(head, {a: 3, b: 4}, 12)


def test_an_assumption_that_nothing_satisfies_leaves_no_case() -> None:
    program = c_program(FOO)
    n = named(program, "N")
    five, four = build.constant(5, n.sort), build.constant(4, n.sort)
    assert symbolic_ranges(program, "foo", build.and_(build.lt(five, n), build.lt(n, four))) == []


def test_coefficients_are_rational() -> None:
    program = lp_program(
        """void f(int n) { int i; i = 1; while (i + i <= n) { i = i + 1; } assert(i >= 1); }
           void main() { f(7); }"""
    )
    n, i = named(program, "n"), named(program, "i")
    (case,) = symbolic_ranges(program, "f", build.le(build.integer(0), n))
    for ranges in case.at.values():
        assert ranges[i].high == Affine(Fraction(1), ((Fraction(1, 2), n),))


def test_a_rational_bound_may_lie_between_two_integers() -> None:
    """`3 * i <= 2 * n` has the real bound 2 n / 3, and a third more than an integer is no next integer."""
    program = lp_program(
        """void f(int n) { int i; i = 0; while (3 * i <= 2 * n) { i = i + 1; } assert(i >= 0); }
           void main() { f(7); }"""
    )
    n, i = named(program, "n"), named(program, "i")
    (case,) = symbolic_ranges(program, "f", build.le(build.integer(0), n))
    head = next(iter(case.at.values()))[i]
    for value in range(30):
        assert all(within(head, {n: value}, each) for each in range(2 * value // 3 + 2))
        assert not within(head, {n: value}, 2 * value // 3 + 2)


def test_numbers_beyond_the_encoding_fall_back_to_numeric_bounds() -> None:
    program = c_program(
        """void foo(int N) { int i = 0; while (i < 1000000) { i++; } } int main(void) { foo(3); return 0; }"""
    )
    for case in symbolic_ranges(program, "foo"):
        assert places(case, program, "i") == [("0", "1000000"), ("1000000", "1000000")]


RECURSIVE = """int f(int n) { int r = 0; if (n > 0) { r = f(n - 1); r = r + 7; } return r; }
int main(void) { return f(3); }"""
MUTUAL = """int f(int n); int h(int m) { return f(m); }
int f(int n) { int r = 0; if (n > 0) { r = h(n - 1); r = r + 7; } return r; }
int main(void) { return f(3); }"""


@pytest.mark.parametrize("source", [RECURSIVE, MUTUAL])
def test_a_recursive_call_returns_and_has_other_arguments(source: str) -> None:
    program = c_program(source)
    n = named(program, "n")
    assumed = build.and_(build.le(build.constant(0, n.sort), n), build.le(n, build.constant(1, n.sort)))
    (case,) = symbolic_ranges(program, "f", assumed)
    assert places(case, program, "r") == [("0", "7")]  # f(1) is f(0) + 7, and f(0) is 0
    assert places(case, program, "n") == [("1 n + 0", "1 n + 0")]
