"""The engine `linear` on real numbers: exact proofs, fractions in counterexamples, and where it gives up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.unit.engines.test_linear import answered

from certus.core import build
from certus.core.evidence import Execution, Inductive, Safe, Trace, Unknown, Unsafe
from certus.core.terms import REAL

MEAN = "real x = *, y = *; assume(x > y); real z = (x + y) / 2;"
HALF = "real half(real a) { return a / 2; }"
FALL = """real fall(real h, int k) { if (k <= 0) { return h; } real r = fall(h, k - 1); return r - 0.25; }
    void main() { int k = *; real h = *; real r = fall(h, k); assert(r <= h); }"""
COUNTER = "real x = 0.5; int i = 0, n = *; while (i < n) { x = x + 0.5; i = i + 1; } assert(x * 2 == i + 1);"


@pytest.mark.parametrize(
    "text",
    [
        f"void main() {{ {MEAN} assert(x > z && z > y); }}",
        f"real g; {HALF} void main() {{ g = 1; while (*) {{ g = half(g); }} assert(g > 0 && g <= 1); }}",
        FALL,
        "real c = 0.1; void main() { assert(10 * c == 1); }",
    ],
)
def test_proofs(text: str) -> None:
    verdict, _ = answered(text)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)


def test_a_counter_among_reals_takes_one_refinement() -> None:
    verdict, statistics = answered(f"void main() {{ {COUNTER} }}")
    assert isinstance(verdict, Safe)
    assert statistics.counters["linear.refinements"] == 1


@pytest.mark.parametrize(
    "text",
    [
        f"void main() {{ {MEAN} assert(z < 0.0003 || x > 0.001 || y <= 0); }}",
        f"{HALF} void main() {{ real x = *; real y = half(x); y = half(y); assert(y > 0.1 || x <= 0); }}",
        "void main() { real x = *; int i = *; assume(i < x && x < i + 1); assert(2 * x <= i + i + 1.5); }",
    ],
)
def test_violations(text: str) -> None:
    verdict, _ = answered(text)
    assert isinstance(verdict, Unsafe)


def test_a_global_without_a_value_is_a_fraction_of_the_trace() -> None:
    verdict, _ = answered("real g; void main() { assert(g * 3 != 1); }")
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    assert verdict.refutation.initial == {build.var("g", REAL): Fraction(1, 3)}


def test_one_execution() -> None:
    verdict, _ = answered("void main() { real x = 0; while (x < 110) { x = x + 0.5; } assert(x == 110); }")
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Execution)


@pytest.mark.parametrize(
    "body",
    [
        "real x = *, y = *; assume(x > 1 && y > 1); assert(x * y > 1);",  # a product of reals
        "real x = *; int i = *; assume(x == 0.5); assert(x != i);",  # an integer among reals is rational
    ],
)
def test_what_is_not_linear(body: str) -> None:
    verdict, _ = answered(f"void main() {{ {body} }}")
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "not-linear"
