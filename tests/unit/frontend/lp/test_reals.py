"""Real numbers in the small language: exact fractions, and ints that become reals where one is required."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.test_verdicts import fails
from tests.unit.frontend.lp.texts import errors_of, load, main_of

from certus.core import build
from certus.core.program import Assign
from certus.core.terms import INT, REAL, Expr

X, COUNT, ZERO = build.var("main.x", REAL), build.var("main.i", INT), build.integer(0)


def value(body: str) -> Expr:
    """The value of the last assignment."""
    op = main_of(body).edges[-1].op
    assert isinstance(op, Assign)
    return op.values[0]


@pytest.mark.parametrize(
    ("expression", "term"),
    [
        ("0.25", build.real(Fraction(1, 4))),
        ("-1.5", build.real(Fraction(-3, 2))),
        ("7", build.real(7)),
        ("i", build.to_real(COUNT)),
        ("x / 2", build.scale(Fraction(1, 2), X)),
        ("i / 2", build.to_real(build.quot(COUNT, build.integer(2)))),  # a division of ints truncates
        ("i / 2.0", build.scale(Fraction(1, 2), build.to_real(COUNT))),
        ("x + i", build.add(X, build.to_real(COUNT))),
        ("2 * x - 0.5", build.add(build.scale(2, X), build.real(Fraction(-1, 2)))),
        (
            "i > 0.5 ? x : 1",
            build.ite(build.gt(build.to_real(COUNT), build.real(Fraction(1, 2))), X, build.real(1)),
        ),
        (
            "(i == (i > 0 ? i : x)) ? x : 1",
            build.ite(
                build.eq(build.to_real(COUNT), build.ite(build.gt(COUNT, ZERO), build.to_real(COUNT), X)),
                X,
                build.real(1),
            ),
        ),
    ],
)
def test_terms(expression: str, term: Expr) -> None:
    assert value(f"real x = *; int i = *; x = {expression};") is term


@pytest.mark.parametrize(
    "body",
    [
        "real x = *; int i = x;",
        "int i = 0.5;",
        "real x = *; int i = x + 1;",
        "real x = *; x = x % 2;",
        "real x = *; bool b = x;",
        "real x = true;",
    ],
)
def test_a_real_is_not_converted(body: str) -> None:
    assert [error.code for error in errors_of(f"void main() {{ {body} }}")] == ["type-mismatch"]


def test_procedures_take_and_return_reals() -> None:
    program = load("real half(real a) { return a / 2; } void main() { real h = half(3); assert(h == 1.5); }")
    assert not fails(program)


def arithmetic() -> st.SearchStrategy[str]:
    leaves = st.one_of(
        st.integers(0, 9).map(lambda n: f"{n}.0"),
        st.integers(0, 999).map(lambda n: f"{n // 100}.{n % 100:02}"),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(inner, st.integers(1, 7)).map(lambda p: f"({p[0]} / {p[1]})"),
        ),
        max_leaves=6,
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(text=arithmetic())
def test_arithmetic_is_exact(text: str) -> None:
    exact = eval(re.sub(r"(\d+\.\d+)", r'Fraction("\1")', text), {"Fraction": Fraction})
    claim = f"x * {exact.denominator} == {exact.numerator}"
    assert not fails(load(f"void main() {{ real x = {text}; assert({claim}); }}"))
