"""Proofs are checked on the original program: right ones pass, planted wrong ones are refused."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import check_proof
from certus.core.accounting import Budget, Statistics
from certus.core.build import (
    FALSE,
    TRUE,
    add,
    and_,
    eq,
    ge,
    implies,
    integer,
    le,
    ne,
    not_,
    or_,
    var,
)
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution, Inductive, KInductive, Point, Proof, Unrolling, in_frame, old
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck
from certus.core.program import Call, ErrorSite, Location, Program
from certus.core.terms import INT, Expr
from certus.frontend.lp.load import load_lp


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def check(subject: Program, proof: Proof) -> ProofCheck | Diagnostic:
    return check_proof(subject, proof, budget=Budget(30), statistics=Statistics())


def passes(subject: Program, proof: Proof) -> bool:
    return isinstance(check(subject, proof), ProofCheck)


def refusal(subject: Program, proof: Proof) -> str:
    result = check(subject, proof)
    assert isinstance(result, Diagnostic), result
    return result.code


def head(subject: Program, name: str = "main", number: int = 0) -> Location:
    return loop_forest(subject.procedures[name]).heads[number]


def v(name: str) -> Expr:
    return var(name, INT)


X, Y = v("main.x"), v("main.y")

TWINS = program("""
void main() {
  int x = 0; int y = 0;
  while (*) { x = x + 1; y = y + 1; }
  assert(x == y);
}
""")


class TestInductive:
    def test_an_inductive_invariant_is_a_proof(self) -> None:
        result = check(TWINS, Inductive({Point(head(TWINS)): eq(X, Y)}))
        assert isinstance(result, ProofCheck)
        assert result.clauses == result.discharged["z3"] == result.discharged["cvc5"] == 2
        assert result.runs > 0

    def test_a_stronger_one_is_too(self) -> None:
        assert passes(TWINS, Inductive({Point(head(TWINS)): and_(eq(X, Y), ge(X, integer(0)))}))

    @pytest.mark.parametrize(
        "formula",
        [
            pytest.param(le(X, Y), id="too weak for the assertion"),
            pytest.param(and_(eq(X, Y), le(X, integer(5))), id="not kept by the loop"),
            pytest.param(and_(eq(X, Y), ne(X, integer(0))), id="not true at the start"),
            pytest.param(FALSE, id="false"),
        ],
    )
    def test_wrong_ones_are_refuted(self, formula: Expr) -> None:
        assert refusal(TWINS, Inductive({Point(head(TWINS)): formula})) == "proof-refuted"

    def test_a_missing_loop_is_refuted(self) -> None:
        assert refusal(TWINS, Inductive({})) == "proof-refuted"

    def test_names_out_of_scope_are_refused(self) -> None:
        assert refusal(TWINS, Inductive({Point(head(TWINS)): eq(X, v("main.z"))})) == "proof-malformed"

    def test_a_loop_that_does_not_matter_needs_no_invariant(self) -> None:
        subject = program("""
        void main() {
          int x = 1; int y = 0;
          while (*) { y = y + 1; while (y > 3) { y = y - 2; } }
          assert(x == 1);
        }
        """)
        assert passes(subject, Inductive({}))

    def test_what_a_forgotten_loop_writes_is_forgotten(self) -> None:
        subject = program("""
        void main() {
          int x = 1;
          while (*) { x = 2; while (*) { x = 1; } }
          assert(x == 1);
        }
        """)
        assert refusal(subject, Inductive({})) == "proof-refuted"

    def test_a_loop_entered_in_the_middle_is_covered(self) -> None:
        text = """
        void main() {
          int x = 0; int y = 0;
          if (*) { goto middle; }
          top: x = x + 1;
          middle: y = y + 1;
          if (*) { goto top; }
          assert(%s);
        }
        """
        assert passes(program(text % "true || x == y"), Inductive({}))
        assert refusal(program(text % "y <= x + 1"), Inductive({})) == "proof-refuted"


RECURSIVE = program("""
int n;
int count(int k) {
  int r;
  if (k <= 0) { return 0; }
  r = count(k - 1);
  n = n + 1;
  return r + 1;
}
void main() {
  int a = *; int r;
  assume(a >= 0);
  n = 0;
  r = count(a);
  assert(r == a);
  assert(n == a);
}
""")
N, K, RESULT = v("n"), v("count.k"), RECURSIVE.procedures["count"].results[0]
CONTRACT = and_(eq(RESULT, old(K)), eq(N, add(old(N), old(K))))
GUARDED = implies(ge(old(K), integer(0)), CONTRACT)


class TestSummaries:
    def test_a_summary_proves_recursion(self) -> None:
        assert passes(RECURSIVE, Inductive({}, {"count": GUARDED}))

    def test_with_a_precondition_at_the_entry(self) -> None:
        entry = Point(RECURSIVE.procedures["count"].entry)
        assert passes(RECURSIVE, Inductive({entry: ge(K, integer(0))}, {"count": CONTRACT}))

    def test_a_precondition_that_callers_do_not_keep_is_refuted(self) -> None:
        entry = Point(RECURSIVE.procedures["count"].entry)
        assert (
            refusal(RECURSIVE, Inductive({entry: ge(K, integer(1))}, {"count": CONTRACT})) == "proof-refuted"
        )

    @pytest.mark.parametrize(
        "summary",
        [
            pytest.param(CONTRACT, id="too strong: wrong for negative k"),
            pytest.param(
                implies(ge(old(K), integer(0)), eq(RESULT, old(K))), id="too weak: says nothing of n"
            ),
            pytest.param(and_(GUARDED, le(RESULT, integer(3))), id="too strong: bounded"),
            pytest.param(FALSE, id="false"),
        ],
    )
    def test_wrong_summaries_are_refuted(self, summary: Expr) -> None:
        assert refusal(RECURSIVE, Inductive({}, {"count": summary})) == "proof-refuted"

    def test_a_recursive_procedure_without_summary_is_arbitrary(self) -> None:
        assert refusal(RECURSIVE, Inductive({})) == "proof-refuted"

    def test_one_that_can_fail_needs_a_summary(self) -> None:
        subject = program("""
        void down(int k) { assert(k >= 0); if (k > 0) { down(k - 1); } }
        void main() { down(5); }
        """)
        assert refusal(subject, Inductive({})) == "proof-incomplete"
        k = v("down.k")
        good = Inductive({Point(subject.procedures["down"].entry): ge(k, integer(0))}, {"down": TRUE})
        assert passes(subject, good)
        bad = Inductive({Point(subject.procedures["down"].entry): ge(k, integer(1))}, {"down": TRUE})
        assert refusal(subject, bad) == "proof-refuted"

    def test_an_entry_is_entered_with_the_values_at_the_call(self) -> None:
        """`depth` is raised once before each call, not twice."""
        subject = program("""
        int depth;
        void dive(int k) { depth = depth + 1; if (k > 0) { dive(k - 1); } depth = depth - 1; }
        void main() { depth = 0; dive(2); assert(depth <= 3); }
        """)
        k, depth = v("dive.k"), v("depth")
        entry = Point(subject.procedures["dive"].entry)

        def proof(total: int) -> Inductive:
            return Inductive({entry: eq(add(depth, k), integer(total))}, {"dive": eq(depth, old(depth))})

        assert passes(subject, proof(2))
        assert refusal(subject, proof(1)) == "proof-refuted"
        assert refusal(subject, proof(3)) == "proof-refuted"

    def test_locals_are_arbitrary_where_a_procedure_is_entered(self) -> None:
        subject = program("""
        void down(int k) { int x; x = 0; if (k > 0) { down(k - 1); } assert(k == k); }
        void main() { down(5); }
        """)
        entry = Point(subject.procedures["down"].entry)
        assert (
            refusal(subject, Inductive({entry: eq(v("down.x"), integer(0))}, {"down": TRUE}))
            == "proof-refuted"
        )

    def test_globals_a_procedure_cannot_write_keep_their_values(self) -> None:
        subject = program("""
        int g; int h;
        void touch(int k) { if (k > 0) { touch(k - 1); } g = *; }
        void main() { h = 7; touch(3); assert(h == 7); }
        """)
        assert passes(subject, Inductive({}, {"touch": TRUE}))
        assert passes(subject, Inductive({}))


class TestCallStrings:
    SUBJECT = program("""
    int g;
    void bump(int by) { int i = 0; while (i < by) { g = g + 1; i = i + 1; } }
    void main() {
      int a = *; int b = *;
      assume(a >= 0 && b >= 0);
      g = 0;
      bump(a);
      bump(b);
      assert(g == a + b);
    }
    """)

    def proof(self, first: Expr, second: Expr) -> Inductive:
        calls = [e.index for e in self.SUBJECT.procedures["main"].edges if isinstance(e.op, Call)]
        loop = head(self.SUBJECT, "bump")
        return Inductive({Point(loop, (calls[0],)): first, Point(loop, (calls[1],)): second})

    def formulas(self) -> tuple[Expr, Expr]:
        i, by = in_frame(v("bump.i"), 1), in_frame(v("bump.by"), 1)
        g, a, b = v("g"), v("main.a"), v("main.b")
        same = and_(le(i, by), ge(a, integer(0)), ge(b, integer(0)))
        return and_(same, eq(by, a), eq(g, i)), and_(same, eq(by, b), eq(g, add(a, i)))

    def test_each_call_has_formulas_of_its_own(self) -> None:
        assert passes(self.SUBJECT, self.proof(*self.formulas()))

    def test_formulas_of_the_wrong_call_are_refuted(self) -> None:
        first, second = self.formulas()
        assert refusal(self.SUBJECT, self.proof(second, first)) == "proof-refuted"


class TestKInductive:
    SUBJECT = program("""
    void main() {
      int x = 0; int y = 1;
      while (*) { x, y = y, x; }
      assert(x >= 0);
    }
    """)

    def proof(self, k: int) -> KInductive:
        return KInductive(k, {Point(head(self.SUBJECT)): ge(X, integer(0))})

    def test_two_visits_are_enough_where_one_is_not(self) -> None:
        assert refusal(self.SUBJECT, self.proof(1)) == "proof-refuted"
        assert passes(self.SUBJECT, self.proof(2))
        assert passes(self.SUBJECT, self.proof(3))

    def test_the_first_visits_are_checked_too(self) -> None:
        subject = program("""
        void main() {
          int x = 0; int y = -1;
          while (*) { x, y = y, x; }
          assert(x >= 0);
        }
        """)
        assert refusal(subject, self_proof(subject, 2)) == "proof-refuted"

    def test_k_must_be_positive(self) -> None:
        assert refusal(self.SUBJECT, self.proof(0)) == "proof-malformed"


def self_proof(subject: Program, k: int) -> KInductive:
    return KInductive(k, {Point(head(subject)): ge(X, integer(0))})


class TestUnrolling:
    LOOP = program("""
    void main() {
      int x = 0; int n = *;
      assume(n >= 0 && n <= 5);
      while (x < n) { x = x + 1; }
      assert(x == n);
    }
    """)
    DEEP = program("""
    int f(int k) { int r; if (k <= 0) { return 0; } r = f(k - 1); return r + 2; }
    void main() { int n = *; int r; assume(n >= 0 && n <= 4); r = f(n); assert(r == 2 * n); }
    """)

    def bound(self, times: int) -> Unrolling:
        return Unrolling({head(self.LOOP).name: times})

    def test_enough_entries_are_a_proof(self) -> None:
        assert passes(self.LOOP, self.bound(6))
        assert passes(self.LOOP, self.bound(9))

    @pytest.mark.parametrize("times", [0, 1, 5])
    def test_a_bound_too_small_is_refuted(self, times: int) -> None:
        assert refusal(self.LOOP, self.bound(times)) == "proof-refuted"

    def test_a_missing_loop_is_refuted(self) -> None:
        assert refusal(self.LOOP, Unrolling({})) == "proof-refuted"

    def test_recursion_has_a_bound_of_its_own(self) -> None:
        assert passes(self.DEEP, Unrolling({}, {"f": 5}))
        assert refusal(self.DEEP, Unrolling({}, {"f": 4})) == "proof-refuted"

    def test_a_failing_program_has_no_unrolling_proof(self) -> None:
        subject = program("void main() { int x = *; int i = 0; while (i < 2) { i = i + 1; } assert(x < i); }")
        assert refusal(subject, Unrolling({head(subject).name: 3})) == "proof-refuted"

    def test_nested_loops_and_long_unrollings(self) -> None:
        subject = program("""
        void main() {
          int n = *; int i = 0; int j = 0; int s = 0;
          assume(n >= 0 && n <= 30);
          while (i < n) { j = 0; while (j < i) { j = j + 1; s = s + 1; } i = i + 1; }
          assert(s >= 0);
        }
        """)
        heads = loop_forest(subject.procedures["main"]).heads
        result = check(subject, Unrolling({at.name: 31 for at in heads}))
        assert isinstance(result, ProofCheck)

    def test_deep_recursion_needs_no_python_stack(self) -> None:
        subject = program("""
        int f(int k) { int r; if (k <= 0) { return 0; } r = f(k - 1); return r + 1; }
        void main() { int r; r = f(2000); assert(r == 2000); }
        """)
        assert passes(subject, Unrolling({}, {"f": 2001}))


class TestExecution:
    def test_a_program_without_inputs_proves_itself_by_running(self) -> None:
        subject = program("void main() { int i = 0; while (i < 100) { i = i + 1; } assert(i == 100); }")
        assert passes(subject, Execution(0))

    def test_inputs_are_refused(self) -> None:
        subject = program("void main() { int i = *; if (i > 3) { assert(i > 2); } }")
        assert refusal(subject, Execution(0)) == "execution-not-confirmed"

    def test_failing_runs_are_refused(self) -> None:
        subject = program("void main() { int i = 3; assert(i > 3); }")
        assert refusal(subject, Execution(0)) == "execution-not-confirmed"


def test_an_error_at_the_entry_of_a_called_procedure_is_not_missed() -> None:
    subject = program("void f() { assume(true); } void main() { f(); }")
    entry = subject.procedures["f"].entry
    failing = replace(subject, errors=(ErrorSite(entry, "reached", None, ""),))
    for proof in (Unrolling({}), Inductive({}), KInductive(2, {})):
        assert refusal(failing, proof) == "proof-refuted"


def test_a_proof_without_partition_is_refused_where_the_program_uses_memory() -> None:
    b = ProgramBuilder()
    b.edge("main", "entry", "loop", b.alloc(b.local("main", "p"), 4))
    b.check("main", "loop", TRUE, "exit")
    for proof in (Unrolling({}), Inductive({})):
        assert refusal(b.build(), proof) == "proof-malformed"


def test_boolean_structure_in_formulas() -> None:
    subject = program("""
    void main() {
      bool b = false; int x = 0;
      while (*) { if (b) { b = false; x = x - 1; } else { b = true; x = x + 1; } }
      assert(x == 0 || x == 1);
    }
    """)
    b = next(x for x in subject.procedures["main"].variables if x.name == "main.b")
    good = or_(and_(b, eq(X, integer(1))), and_(not_(b), eq(X, integer(0))))
    assert passes(subject, Inductive({Point(head(subject)): good}))
    assert refusal(subject, Inductive({Point(head(subject)): or_(b, eq(X, integer(0)))})) == "proof-refuted"


def test_the_body_of_200_locks_is_checked_in_time() -> None:
    script = Path(__file__).parents[4] / "examples" / "locks.py"
    text = subprocess.run([sys.executable, script, "200"], capture_output=True, text=True, check=True).stdout
    subject = program(text)
    proof = Inductive({Point(at): TRUE for at in loop_forest(subject.procedures["main"]).heads})
    start = time.process_time()
    assert passes(subject, proof)
    assert time.process_time() - start < 40  # eight times what is promised


def test_a_proof_is_told_of_when_it_is_complete() -> None:
    announced: list[ProofCheck] = []
    proof = Inductive({Point(head(TWINS)): eq(X, Y)})
    result = check_proof(
        TWINS, proof, budget=Budget(30), statistics=Statistics(), solvers=2, on_sufficient=announced.append
    )
    assert isinstance(result, ProofCheck)
    assert [(check.clauses, check.by_one) for check in announced] == [(2, 0)]
    assert announced[0].runs == result.runs > 0


def test_a_wrong_proof_is_never_told_of() -> None:
    announced: list[ProofCheck] = []
    check_proof(
        TWINS, Inductive({}), budget=Budget(30), statistics=Statistics(), on_sufficient=announced.append
    )
    assert announced == []
