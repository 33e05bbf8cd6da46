"""Bounded ranges (Zaks et al. 2006, section 5.1): tighter, and no facts."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import Analysed, c_program

from certus.analysis.ranges import facts
from certus.analysis.ranges.bounded import BoundedRanges, bounded_ranges
from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Inductive, Point
from certus.core.program import Program


def within(text: str, bound: int) -> BoundedRanges:
    return bounded_ranges(Analysed(c_program(text)).ranges, bound)


def of(ranges: BoundedRanges, name: str) -> tuple[int | None, int | None]:
    names = ranges.program.source_names
    (range_,) = [r for x in ranges.essa.defined if names.get(x) == name and (r := ranges.of(x))]
    return range_.low, range_.high


@pytest.mark.parametrize("bound", [1, 2, 12])
def test_the_paper_s_example(bound: int) -> None:
    assert of(within("int main(void) { int i = 0; while (1) i++; }", bound), "i") == (0, bound)


@pytest.mark.parametrize(
    ("body", "range_"),
    [
        ("x = x * x", (2, 256)),
        ("x = (x << 1) | 1", (2, 31)),
        ("x = x / 2", (0, 2)),
        ("x = 1000 % (x + 1)", (0, 2)),
        ("x = x & 6", (0, 2)),
        ("x = x ^ 5", (0, 7)),
        ("x = 3 * x - 1", (2, 41)),
    ],
)
def test_operators_that_are_not_linear(body: str, range_: tuple[int, int]) -> None:
    ranges = within(
        f"extern int any(void); int main(void) {{ int x = 2; while (any()) {body}; return x; }}", 3
    )
    assert of(ranges, "x") == range_


def test_a_loop_inside_is_entered_anew_in_every_round() -> None:
    ranges = within(
        """extern int any(void); int main(void) { int s = 0; while (any()) { int j = 0;
        while (any()) { j++; s++; } } return s; }""",
        5,
    )
    assert of(ranges, "j") == (0, 5)
    assert of(ranges, "s") == (0, 21)  # four rounds of four, in the fifth five


def test_a_loop_that_ends_by_itself_has_its_range() -> None:
    text = "int main(void) { int i = 0; while (i < 3) i++; return i; }"
    assert of(within(text, 100), "i") == (0, 3)


def _claim(ranges: BoundedRanges, program: Program) -> Inductive:
    """Bounded ranges as if they were facts."""
    (head,) = facts.heads(program)
    names = ranges.at(head)
    return Inductive({Point(head): build.conjunction(facts.range_formula(x, r) for x, r in names.items())})


def test_bounded_ranges_are_refused_as_a_proof() -> None:
    """The ranges within 5 rounds exclude the error, which the sixth reaches."""
    program = c_program(
        """extern int any(void); extern void reach_error(void);
        int main(void) { int i = 0; while (any()) { i++; if (i > 5) reach_error(); } return 0; }"""
    )
    ranges = bounded_ranges(Analysed(program).ranges, 5)
    assert not any(ranges.reaches(site.location) for site in program.errors)
    check = check_proof(program, _claim(ranges, program), budget=Budget(20), statistics=Statistics())
    assert isinstance(check, Diagnostic)
    assert check.code == "proof-refuted"
    assert not isinstance(facts.proof(program), Inductive)


def test_nothing_makes_facts_of_bounded_ranges() -> None:
    """Facts come from a program, never from ranges that someone hands in; and the types differ."""
    ranges = within("int main(void) { int i = 0; while (1) i++; }", 5)
    assert not isinstance(ranges, Analysed(ranges.program).ranges.__class__)
    assert facts.facts(ranges.program) == {}
