"""Counting loops and how often their heads are entered: checked by running them."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Unrolling
from certus.core.loops import LoopBound
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.terms import machine
from certus.frontend.lp.load import load_lp
from certus.passes.bounds import loop_bounds


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def bounds(body: str) -> list[LoopBound]:
    return list(loop_bounds(program(f"int g; void main() {{ int i; int j; int n = 7; {body} }}")).values())


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        ("i = 0; while (i < 10) { i = i + 1; }", 11),
        ("i = 0; while (i < n) { i = i + 3; }", 4),
        ("i = 9; while (i >= 0) { i = i - 2; }", 6),
        ("i = 0; while (i != 10) { i = i + 5; }", 3),
        ("i = 12; while (i < 10) { i = i + 1; }", 1),
        ("i = 3; while (i == 3) { i = i + 1; }", 2),
        ("i = 0; while (!(i > 4)) { g = *; i = i + 1; }", 6),
        ("i = 0; while (i < 1000000000000) { i = i + 1; }", 1000000000001),
        ("i = 0; again: i = i + 1; if (i < 5) { goto again; }", 5),
        ("i = 0; while (i + 1 < 5) { i = i + 1; }", 5),
        ("i = 5; while (i - 2 != 0) { i = i - 1; }", 4),
        ("i = 0; while (i < 4) { if (*) { g = 1; } else { g = 2; } i = i + 1; }", 5),
    ],
)
def test_counting_loops(body: str, entries: int) -> None:
    assert bounds(body) == [LoopBound(entries, exact=True)]


def test_the_bound_is_right() -> None:
    subject = program("void main() { int i = 2; int x = *; while (i < 9) { i = i + 2; } assert(i == 10); }")
    ((head, bound),) = loop_bounds(subject).items()

    def accepts(times: int) -> bool:
        proof = Unrolling({head: times})
        return isinstance(check_proof(subject, proof, budget=Budget(30), statistics=Statistics()), ProofCheck)

    assert accepts(bound.entries)
    assert not accepts(bound.entries - 1)


def test_nested_loops_count_for_each_stay() -> None:
    nested = bounds("i = 0; while (i < 3) { j = 0; while (j < 5) { j = j + 1; } i = i + 1; }")
    assert nested == [LoopBound(4, exact=True), LoopBound(6, exact=True)]


def test_an_assertion_inside_is_no_way_out() -> None:
    text = "int g; void main() { int i = 0; while (i < 4) { assert(g > 3); i = i + 1; } }"
    assert list(loop_bounds(program(text)).values()) == [LoopBound(5, exact=True, fails=True)]


@pytest.mark.parametrize("extra", ["if (g > 3) { break; }", "assume(g > 3);", "f();"])
def test_other_ways_out_make_it_inexact(extra: str) -> None:
    text = f"int g; void f() {{ g = *; }} void main() {{ int i = 0; while (i < 4) {{ {extra} i = i + 1; }} }}"
    assert list(loop_bounds(program(text)).values()) == [LoopBound(5, exact=False)]


@pytest.mark.parametrize(
    "body",
    [
        "i = *; while (i < 10) { i = i + 1; }",
        "i = 0; while (i < g) { i = i + 1; g = 3; }",
        "i = 0; while (i < 10) { if (*) { i = i + 1; } }",
        "i = 0; while (i < 10) { i = i + 1; i = i + 1; }",
        "i = 0; while (i < 10) { i = i - 1; }",
        "i = 0; while (i != 10) { i = i + 3; }",
        "i = 0; while (i < 10) { i = 2 * i + 1; }",
        "i = 0; while (i < 10) { j = 0; while (j < g) { j = j + 1; i = i + 1; } }",
        "i = 0; while (i < 10) { i = 5 - i; }",
    ],
)
def test_others_have_no_bound(body: str) -> None:
    assert bounds(body) == []


@pytest.mark.parametrize(("limit", "expected"), [(200, [LoopBound(201, exact=True)]), (255, [])])
def test_a_counter_that_wraps_has_no_bound(limit: int, expected: list[LoopBound]) -> None:
    u8 = machine(8, signed=False)
    b = ProgramBuilder()
    i = b.local("main", "i", u8)
    one, top = build.constant(1, u8), build.constant(limit, u8)
    condition = build.le(i, top) if limit == 255 else build.lt(i, top)
    b.edge("main", "entry", "loop", b.assign((i, 0)))
    b.branch("main", "loop", condition, "body", "exit")
    b.edge("main", "body", "loop", b.assign((i, build.add(i, one))))
    assert list(loop_bounds(b.build()).values()) == expected
