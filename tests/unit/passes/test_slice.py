"""Slicing keeps what errors depend on, whether executions come to them included."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import check_proof
from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.effects import written
from certus.core.engine import Task
from certus.core.evidence import Inductive, Point, Trace, Unsafe
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Alloc, Assign, Assume, Call, Havoc, Load, Program, Store
from certus.core.terms import INT, Expr, machine
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp.load import load_lp
from certus.passes.slice import Slice, slice_program


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def v(name: str) -> Expr:
    return build.var(name, INT)


def writes(subject: Program) -> set[str]:
    return {x.name for p in subject.procedures.values() for e in p.edges for x in written(e.op, p)}


def branches(subject: Program, name: str = "main") -> int:
    return sum(len(out) > 1 for out in subject.procedures[name].successors.values())


class TestWhatGoes:
    def test_variables_nothing_depends_on(self) -> None:
        result = slice_program(
            program("int g; void main() { int x = *; int y = 0; g = x; y = y + 1; assert(x > 0); }")
        )
        assert writes(result) == {"main.x"}
        assert result.globals == ()
        assert [x.name for x in result.procedures["main"].variables] == ["main.x"]

    def test_a_branch_both_ways_of_which_do_nothing(self) -> None:
        text = "void main() { int x = *; int y = 0; if (y > 0) { y = 1; } else { y = 2; } assert(x > 0); }"
        result = slice_program(program(text))
        assert branches(result) == 0  # of the assertion, too, only the way to the error is left
        assert writes(result) == {"main.x"}

    def test_calls_that_do_nothing(self) -> None:
        callee = "int g; int f(int a) { g = a; return a; }"
        subject = program(callee + "void main() { int x = *; int y; y = f(x); assert(x > 0); }")
        assert list(slice_program(subject).procedures) == ["main"]

    def test_parameters_and_results_that_do_not_matter(self) -> None:
        result = slice_program(
            program("""
            int, int f(int a, int b) { return a + 1, b; }
            void main() { int x = *; int y; x, y = f(x, y); assert(x > 0); }
            """)
        )
        (call,) = (e.op for e in result.procedures["main"].edges if isinstance(e.op, Call))
        assert call == Call("f", (v("main.x"),), (v("main.x"),))
        assert [x.name for x in result.procedures["f"].parameters] == ["f.a"]
        assert len(result.procedures["f"].results) == 1

    def test_what_comes_after_the_last_error(self) -> None:
        result = slice_program(
            program("void main() { int x = *; assert(x > 0); x = x + 1; if (x > 7) { x = 0; } }")
        )
        assert [type(e.op) for e in result.procedures["main"].edges] == [Havoc, Assume]

    def test_a_program_without_errors_is_empty(self) -> None:
        assert slice_program(program("void main() { int x = *; x = x + 1; }")).procedures["main"].edges == ()


class TestWhatStays:
    @pytest.mark.parametrize(
        "before",
        [
            pytest.param("while (y > 0) { y = y - 1; }", id="a loop that may not end"),
            pytest.param("assume(y > 0);", id="an assumption"),
            pytest.param("if (y > 0) { while (true) { ; } }", id="an endless loop in a branch"),
            pytest.param("if (y > 0) { assume(false); }", id="an abort in a branch"),
            pytest.param("f(y);", id="a call of something that may not return"),
        ],
    )
    def test_on_which_it_depends_whether_the_error_is_reached(self, before: str) -> None:
        helper = "void f(int a) { assume(a > 0); }"
        result = slice_program(program(f"{helper} void main() {{ int y = *; {before} assert(false); }}"))
        assert "main.y" in writes(result)

    def test_a_continue_that_may_keep_a_loop_from_ending(self) -> None:
        """Weak control dependence: the branch is passed on every way to the end, yet it matters."""
        result = slice_program(
            program("""
            void main() {
              int x = 0; int y = *;
              top:
              if (y > 0) { goto top; }
              if (x < 3) { x = x + 1; goto top; }
              assert(false);
            }
            """)
        )
        assert "main.y" in writes(result)

    def test_a_global_written_by_a_callee(self) -> None:
        result = slice_program(
            program("int g; void f() { g = 3; } void main() { g = 1; f(); assert(g == 3); }")
        )
        assert list(result.procedures) == ["f", "main"]

    def test_recursion(self) -> None:
        text = "void f(int k) { if (k != 0) { f(k - 1); } } void main() { int n = *; f(n); assert(false); }"
        result = slice_program(program(text))
        assert [x.name for x in result.procedures["f"].parameters] == ["f.k"]

    def test_memory_operations_and_what_they_need(self) -> None:
        b = ProgramBuilder()
        p, q, x = b.local("main", "p"), b.local("main", "q"), b.local("main", "x", machine(8, signed=False))
        b.edge("main", "entry", "a", Alloc(p, build.integer(1), 1, "heap", "p"))
        b.edge("main", "a", "b", b.assign((q, p)))
        b.edge("main", "b", "c", Store(q, build.constant(1, x.sort)))
        b.edge("main", "c", "d", Load(x, q))
        b.check("main", "d", build.FALSE, "exit")
        kept = [type(e.op) for e in slice_program(b.build()).procedures["main"].edges]
        assert kept == [Alloc, Assign, Store, Load]


class TestEvidence:
    SUBJECT = program(
        """
    int seen; int total;
    void note(int a) { seen = a; if (a > 9) { total = total + a; } }
    void main() {
      int x = *; int n = 0; int junk = *;
      assume(x >= 0);
      while (n < x) { junk = *; note(junk); if (junk > 3) { junk = 0; } n = n + 1; }
      assert(n == x);
    }
    """
    )

    def test_formulas_hold_on_the_original(self) -> None:
        task, back = Slice().apply(Task(self.SUBJECT))
        assert isinstance(task.subject, Program)
        assert writes(task.subject) == {"main.x", "main.n"}
        (head,) = loop_forest(task.subject.procedures["main"]).heads
        proof = back.proof(Inductive({Point(head): build.le(v("main.n"), v("main.x"))}))
        checked = check_proof(self.SUBJECT, proof, budget=Budget(30), statistics=Statistics())
        assert isinstance(checked, ProofCheck)

    def test_traces_lack_inputs_that_do_not_matter(self) -> None:
        subject = program(self.SUBJECT.source.replace("n == x", "n < 2"))
        task, back = Slice().apply(Task(subject))
        verdict = back.verdict(BoundedModelChecking().run(task, Options(), Budget(60), Statistics()))
        assert isinstance(verdict, Unsafe)
        assert isinstance(verdict.refutation, Trace)
        assert len(verdict.refutation.inputs) == 1
        assert isinstance(replay(subject, verdict.refutation, budget=Budget(30)), Replay)


@pytest.mark.no_cover
def test_long_programs_take_little_time() -> None:
    body = " ".join(
        f"if (x > {n}) {{ y = y + 1; }} else {{ z = z - 1; }} assume(y > {n});" for n in range(2000)
    )
    subject = program(f"void main() {{ int x = *; int y = 0; int z = 0; {body} assert(x > 0); }}")
    assert writes(slice_program(subject)) == {"main.x", "main.y"}


def test_a_result_without_a_write_stays_a_variable() -> None:
    """The procedure does not return, but its caller reads the result."""
    b = ProgramBuilder()
    x, result, n = b.local("main", "x"), b.result("f"), b.local("f", "n")
    b.edge("main", "entry", "a", b.call("f", into=(x,)))
    b.check("main", "a", build.eq(x, build.integer(0)), "exit")
    b.edge("f", "entry", "stuck", b.assign((n, build.integer(1))))
    f = slice_program(b.build()).procedures["f"]
    assert f.results == (result,)
    assert result in f.variables
