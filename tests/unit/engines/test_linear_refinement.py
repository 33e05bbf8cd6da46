"""The engine `linear` on programs that are not linear: refinement of the Linear Program, and lifted paths."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder
from tests.unit.engines.test_linear import answered

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unknown, Unsafe
from certus.core.outcome import ProofCheck
from certus.core.program import Havoc
from certus.core.terms import BOOL, INT, array
from certus.engines.linear import LinearReachability, Options
from certus.run.publish import examine

SQUARES = "int n = *; int i = 0, s = 0; while (i < n) { s = s + i + i + 1; i = i + 1; } assert(s == i * i);"
GAUSS = "int n = *; int i = 1, s = 0; while (i <= n) { s = s + i; i = i + 1; } assert(2 * s == i * (i - 1));"
PRODUCT = "int a = *, b = *; int i = 0, p = 0; while (i < b) { p = p + a; i = i + 1; } assert(p == a * i);"
BOTH = f"{SQUARES} int y = *; assume(1 <= y && y <= 2); int p = s * y; assert(y == 2 || p == s);"
CASES = """int x = *, y = *; assume(1 <= y && y <= 3); int p = x * y;
    if (y == 2) { assert(p == x + x); } else { assert(p == x || p == 3 * x); }"""
DIVISION = "int x = *, y = *; assume(x >= 0 && 2 <= y && y <= 4); int q = x / y; assert(q <= x);"


@pytest.mark.parametrize(
    ("body", "expressions", "cases"),
    [(SQUARES, 1, False), (GAUSS, 1, False), (PRODUCT, 1, False), (CASES, 0, True), (DIVISION, 0, True)],
)
def test_one_refinement(body: str, expressions: int, cases: bool) -> None:
    text = f"void main() {{ {body} }}"
    coarse, _ = answered(text, refinements=0)
    assert isinstance(coarse, Unknown)
    assert coarse.reason.code == "not-linear"
    verdict, statistics = answered(text)
    assert isinstance(verdict, Safe)
    assert statistics.counters["linear.refinements"] == 1
    assert statistics.counters["linear.expressions"] == expressions
    assert bool(statistics.counters["linear.cases"]) is cases


def test_two_refinements() -> None:
    text = f"void main() {{ {BOTH} }}"
    assert isinstance(answered(text, refinements=1)[0], Unknown)
    verdict, statistics = answered(text)
    assert isinstance(verdict, Safe)
    assert statistics.counters["linear.refinements"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "void main() { int x = *; int y = x * x; assert(y != 49); }",
        "void main() { int i = 0; while (*) { i = i + 1; assert(i * i != 9); } }",
        "int g; void f(int k) { g = g * k; } void main() { g = 3; f(5); assert(g != 15); }",
    ],
)
def test_a_path_of_the_linear_program_may_be_an_execution(text: str) -> None:
    verdict, _ = answered(text)
    assert isinstance(verdict, Unsafe)


def test_a_call_changes_the_expressions_over_globals() -> None:
    text = """
    int g;
    void step() { g = g + 1; }
    void main() { g = 2; int s = g * g; step(); assert(s != g * g || s == 9); }
    """
    verdict, _ = answered(text)
    assert not isinstance(verdict, Unsafe)


def test_elements_of_arrays_become_columns() -> None:
    b = ProgramBuilder()
    cells = b.var("cells", array(INT, INT))
    i, go = b.local("main", "i"), b.local("main", "go", BOOL)
    first = build.select(cells, build.integer(0))
    b.edge("main", "entry", "loop", b.assign((cells, build.store(cells, build.integer(0), build.integer(7)))))
    b.edge("main", "loop", "decide", Havoc((go,)))
    b.branch("main", "decide", go, "inside", "exit")
    b.edge("main", "inside", "chosen", Havoc((i,)))
    b.branch("main", "chosen", build.lt(build.integer(0), i), "write", "check")
    b.edge("main", "write", "check", b.assign((cells, build.store(cells, i, i))))
    b.check("main", "check", build.eq(first, build.integer(7)), "loop")
    program, statistics = b.build(), Statistics()
    verdict = LinearReachability().run(Task(program), Options(), Budget(60), statistics)
    assert isinstance(verdict, Safe)
    assert statistics.counters["linear.refinements"] >= 1
    check = examine(program, verdict, budget=Budget(60), statistics=statistics)
    assert isinstance(check, ProofCheck)


def test_what_no_refinement_helps_is_unknown() -> None:
    unknown, _ = answered(
        "void main() { int x = *, y = *; assume(x > 1 && y > 1 && x * y == 35); assert(x + y == 12); }"
    )
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "not-linear"
