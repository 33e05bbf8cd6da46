"""Laws of real numbers in the engine `linear`: formulas at an infinite denominator, and exact answers."""

from __future__ import annotations

import re
from fractions import Fraction
from math import lcm

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unknown, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.terms import INT, REAL, Expr
from certus.core.values import evaluate
from certus.engines.bmc import BoundedModelChecking
from certus.engines.bmc import Options as BmcOptions
from certus.engines.linear import LinearReachability, Options
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks
from certus.passes.polynomials import at_infinity
from certus.run.publish import examine

X, Y = (build.var(name, REAL) for name in "xy")
SCALED_X, SCALED_Y, W, N = (build.var(name, INT) for name in ("x", "y", "w", "n"))
MEANING = {SCALED_X: {1: X}, SCALED_Y: {1: Y}, W: {1: build.real(1)}}
small = st.integers(-3, 3)
fractions = st.builds(Fraction, st.integers(-4, 4), st.integers(1, 4))


@st.composite
def numbers(draw: st.DrawFn) -> Expr:
    """A linear term over the integers, which may divide and choose."""
    parts = [build.scale(draw(small), x) for x in (SCALED_X, SCALED_Y, W, N)]
    total = build.add(*parts, build.integer(draw(small)))
    kind = draw(st.sampled_from(("sum", "division", "choice", "product")))
    if kind == "division":
        return build.div(total, build.integer(draw(st.integers(2, 3))))
    if kind == "choice":
        return build.ite(build.le(draw(st.sampled_from(parts)), total), total, SCALED_X)
    return build.add(total, build.mul(N, W)) if kind == "product" else total


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    a=numbers(),
    b=numbers(),
    compare=st.sampled_from((build.eq, build.le, build.lt)),
    x=fractions,
    y=fractions,
    n=small,
)
def test_a_formula_at_infinity_holds_for_large_numbers_with_many_divisors(
    a: Expr, b: Expr, compare: object, x: Fraction, y: Fraction, n: int
) -> None:
    assert callable(compare)
    formula = compare(a, b)
    w = 36 * lcm(x.denominator, y.denominator) * 10**6
    exact = evaluate(formula, {SCALED_X: int(x * w), SCALED_Y: int(y * w), W: w, N: n})
    assert evaluate(at_infinity(formula, MEANING), {X: x, Y: y, N: n}) == exact


constants = st.sampled_from(("0", "1", "0.5", "2.25", "-1.5"))
places = st.sampled_from(("x", "y", "i", "x / 2", "y / 3", "x + i", "x - y", "0.4 * y"))
comparisons = st.sampled_from(("<", "<=", "==", "!=", ">"))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program over two reals and an integer, without loops: bounded model checking is exact."""
    lines = ["real x = *;", "real y = *;", "int i = *;"]
    for _ in range(draw(st.integers(1, 4))):
        condition = f"{draw(places)} {draw(comparisons)} {draw(constants)}"
        change = f"{draw(st.sampled_from('xy'))} = {draw(places)} + {draw(constants)};"
        shape = draw(st.sampled_from(("assume", "if", "step")))
        lines.append(
            {"assume": f"assume({condition});", "if": f"if ({condition}) {{ {change} }}"}.get(shape, change)
        )
    lines.append(f"assert({draw(places)} {draw(comparisons)} {draw(places)});")
    return f"void main() {{ {' '.join(lines)} }}"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(text=programs())
def test_linear_agrees_with_bounded_model_checking(text: str) -> None:
    program = load_lp(text, "random.lp").program
    task, back = LargeBlocks("large").apply(Task(program))
    verdict = back.verdict(LinearReachability().run(task, Options(), Budget(60), Statistics()))
    expected = back.verdict(BoundedModelChecking().run(task, BmcOptions(), Budget(60), Statistics()))
    if isinstance(verdict, Unknown) and re.search(r"\bi\b", text.partition("int i = *;")[2]):
        return  # among reals, integers are rationals
    assert type(verdict) is type(expected), (text, verdict)
    assert isinstance(verdict, Safe | Unsafe)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Replay if isinstance(verdict, Unsafe) else ProofCheck), check
