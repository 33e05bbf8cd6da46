"""Ranges as formulas: facts that are inductive by themselves, and proofs."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import c_program, lp_program

from certus.analysis.ranges.facts import facts, proof
from certus.analysis.ranges.result import Ranges
from certus.analysis.ranges.symbolic_facts import symbolic_facts, symbols
from certus.check.proofs.check import check_proof
from certus.check.proofs.clauses import proof_clauses
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.c_text import c_text
from certus.core.evidence import Inductive, Point
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.solver import Answer
from certus.reference.mixed_integer_ranges import by_mixed_integer
from certus.solvers.z3.solver import Z3Solver

GUARDED = """extern int any(void); extern void reach_error(void);
int main(void) { int i = 0; while (any()) { if (i < 100) i++; if (i > 100) reach_error(); } return 0; }"""
CALLS = """extern int any(void); extern void reach_error(void); int g;
int next(int k) { int j; for (j = 0; j < 10; j++) g = j; if (k < 9) return k + 1; return 0; }
int main(void) { int i = 0; while (any()) { i = next(i); if (i > 9 || g > 9) reach_error(); } return 0; }"""
CELLS = """extern int any(void); extern void reach_error(void);
void move(int *p) { if (*p < 5) *p = *p + 1; else *p = -3; }
int main(void) { int l = -3; while (any()) { move(&l); if (l > 5 || l < -3) reach_error(); } return 0; }"""
COPIES = """extern int any(void); extern void reach_error(void);
int main(void) { int x = any(), y, z = 0; if (x < 0 || x > 100) return 0; y = x;
while (any()) { if (y < 5) z = x; if (z > 100) reach_error(); } return x + y; }"""
COUNT = """extern int any(void); extern void reach_error(void);
int main(void) { int n = any(), i = 0; if (n < 0 || n > 1000000) return 0;
while (i <= n) i++; if (i != n + 1) reach_error(); return 0; }"""
HALF = """void main() { int n; n = *; int i; i = 1; while (i + i <= n) { i = i + 1; }
assert(n < 0 || 2 * i <= n + 2); }"""
CALLED = """void count(int n) { int i; i = 0; while (i <= n) { i = i + 1; } assert(i == n + 1); }
void main() { int n; n = *; assume(n >= 0); count(n); }"""
TWO = """extern int any(void); extern void reach_error(void); int g1, g2;
int main(void) { int *p = &g1; while (any()) { int v = any(); if (v >= -2 && v <= 5) *p = v;
p = any() ? &g1 : &g2; } if (g1 > 5 || g2 < -2) reach_error(); return 0; }"""
TABLE = """extern int any(void); extern void reach_error(void); short m[20][30];
int main(void) { int i, j; for (i = 0; i < 20; i++) for (j = 0; j < 30; j++) m[i][j] = (short)(i - j);
i = any(); j = any(); if (i < 0 || i >= 20 || j < 0 || j >= 30) return 0;
if (m[i][j] > 19 || m[i][j] < -29) reach_error(); return 0; }"""
RECURSIVE = "void f(int n) { if (n > 0) { f(n - 1); } assert(n <= 7); } void main() { f(7); }"


def formulas(program: Program) -> list[str]:
    return [c_text(fact) for fact in facts(program).values()]


def test_facts_are_the_ranges_at_loop_heads() -> None:
    assert formulas(c_program(GUARDED)) == ["main.i >= 0 && main.i <= 100"]


def test_facts_are_inductive_without_summaries() -> None:
    """Nor do they rest on equalities that they do not say: x is less than 5 in COPIES because y is."""
    for text in (GUARDED, CALLS, COPIES):
        program = c_program(text)
        result = facts(program)
        assert result
        for clause in proof_clauses(program, Inductive(result, {})):
            if "no error" not in clause.title:
                solver = Z3Solver(Statistics())
                solver.add(*clause.formulas)
                assert solver.check(budget=Budget(20), purpose="test") is Answer.UNSAT, clause.title


@pytest.mark.parametrize(
    "program",
    [
        c_program(GUARDED),
        c_program(CALLS),
        c_program(CELLS),
        c_program(COUNT),
        c_program(TWO),
        c_program(TABLE),
        lp_program(RECURSIVE),
        lp_program(HALF),
        lp_program(CALLED),
    ],
    ids=["guarded", "calls", "cells", "count", "two", "table", "recursive", "half", "called"],
)
def test_ranges_alone_prove_range_properties(program: Program) -> None:
    result = proof(program)
    assert isinstance(result, Inductive)
    check = check_proof(program, result, budget=Budget(30), statistics=Statistics())
    assert isinstance(check, ProofCheck), check


def test_the_reference_solver_proves_the_same() -> None:
    assert isinstance(proof(c_program(GUARDED), solver=by_mixed_integer), Inductive)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [(COUNT, ("n + 1)", "n)")), (TWO, ("g1 > 5", "g1 > 4")), (TABLE, ("> 19", "> 18"))],
    ids=["count", "two", "table"],
)
def test_one_less_is_not_proved(text: str, wrong: tuple[str, str]) -> None:
    assert isinstance(proof(c_program(text.replace(*wrong))), Ranges)


@pytest.mark.parametrize("program", [c_program(COUNT), lp_program(HALF)], ids=["count", "half"])
def test_symbolic_facts_are_inductive(program: Program) -> None:
    result = facts(program)
    points = {Point(at): each for at, each in symbolic_facts(program, Budget(20)).items()}
    assert points
    both = {p: build.and_(result.get(p, build.TRUE), each) for p, each in points.items()}
    for clause in proof_clauses(program, Inductive(both, {})):
        if "no error" not in clause.title:
            solver = Z3Solver(Statistics())
            solver.add(*clause.formulas)
            assert solver.check(budget=Budget(20), purpose="test") is Answer.UNSAT, clause.title


def test_symbols_keep_their_value() -> None:
    """Neither a variable that a loop assigns, nor one that is assigned twice, nor a constant is a symbol."""
    program = lp_program(
        """void f(int a, int b) { int c; int d; int e; int g; c = *; d = 3; e = *; e = *; b = 1;
        while (a + b + c + d + e + g > 0) { g = *; } assert(g == 0); } void main() { f(1, 2); }"""
    )
    names = [each.variable.name.rpartition(".")[2] for each in symbols(program.procedures["f"])]
    assert names == ["a", "c"]


def test_an_error_within_the_ranges_is_not_proved_away() -> None:
    result = proof(lp_program("void main() { int i; i = *; assert(i != 3); }"))
    assert isinstance(result, Ranges)
