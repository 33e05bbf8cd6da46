"""Constants are folded where they hold, dead branches go, and proofs get the facts back."""

from __future__ import annotations

import pytest

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Inductive, KInductive, Point, Unrolling, old
from certus.core.horn import HornSystem
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck
from certus.core.program import Assume, Call, Program
from certus.core.terms import INT, Expr
from certus.frontend.lp.load import load_lp
from certus.passes.constants import Constants, propagate
from certus.passes.inline import Inline


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def folded(subject: Program) -> Program:
    task, _ = Constants().apply(Task(subject))
    assert isinstance(task.subject, Program)
    return task.subject


def v(name: str) -> Expr:
    return build.var(name, INT)


def conditions(subject: Program, name: str = "main") -> list[str]:
    return [repr(e.op.condition) for e in subject.procedures[name].edges if isinstance(e.op, Assume)]


def accepts(subject: Program, proof: Inductive | KInductive | Unrolling) -> bool:
    checked = check_proof(subject, proof, budget=Budget(30), statistics=Statistics())
    return isinstance(checked, ProofCheck)


def test_a_dead_branch_and_its_error_go() -> None:
    subject = program("int d = 0; void main() { int x = *; if (d == 1) { assert(x > 0); } }")
    result = folded(subject)
    assert result.errors == ()
    assert conditions(result) == ["true"]


def test_branches_that_agree_make_a_constant_and_others_do_not() -> None:
    same = program("void main() { int x; if (*) { x = 2; } else { x = 1 + 1; } assert(x == 2); }")
    other = program("void main() { int x; if (*) { x = 2; } else { x = 3; } assert(x == 2); }")
    assert folded(same).errors == ()
    assert len(folded(other).errors) == 1


def test_a_condition_makes_a_constant() -> None:
    assert folded(program("void main() { int x = *; if (x == 4) { assert(x + 1 == 5); } }")).errors == ()


def test_a_variable_written_in_a_loop_is_none_at_its_head() -> None:
    """Even if it is always written the same: `validate` forgets it at a loop no proof mentions."""
    subject = program("void main() { int x = 1; int y = 7; while (*) { x = 1; } assert(x == 1 && y == 7); }")
    result = folded(subject)
    assert len(result.errors) == 1
    assert "main.x" in " ".join(conditions(result))
    assert "main.y" not in " ".join(conditions(result))


@pytest.mark.parametrize(("second", "errors"), [("3", 0), ("4", 1)])
def test_a_parameter_is_constant_if_all_calls_agree(second: str, errors: int) -> None:
    text = "void f(int k) { assert(k == 3); } void main() { f(3); f(%s); }"
    assert len(folded(program(text % second)).errors) == errors


def test_globals_a_callee_may_write_are_unknown_after_the_call() -> None:
    text = "int g; int h; void f() { g = *; } void main() { g = 1; h = 2; f(); assert(%s); }"
    assert len(folded(program(text % "g == 1")).errors) == 1
    assert folded(program(text % "h == 2")).errors == ()


def test_procedures_called_in_dead_code_only_go() -> None:
    subject = program("void f() { assert(false); } void main() { if (1 > 2) { f(); } }")
    assert list(folded(subject).procedures) == ["main"]


def test_dividing_by_zero_is_not_folded() -> None:
    subject = program("int z = 0; void main() { int x = 5; x = x / z; assert(x == 0); }")
    assert accepts(subject, Inductive({}))  # the execution ends before
    folded(subject)


def test_a_recursive_procedure_stays_recursive() -> None:
    subject = program("void f(int k) { if (k > 0) { f(k - 1); } assert(k == 0); } void main() { f(0); }")
    result = folded(subject)
    assert any(isinstance(e.op, Call) for e in result.procedures["f"].edges)


class TestEvidence:
    SUBJECT = program("""
    int step = 2;
    void main() { int x = 0; int top = 10; while (x < top) { x = x + step; } assert(x <= top + 1); }
    """)

    def test_an_inductive_proof_gets_the_facts(self) -> None:
        task, back = Constants().apply(Task(self.SUBJECT))
        assert isinstance(task.subject, Program)
        (head,) = loop_forest(task.subject.procedures["main"]).heads
        formula = build.le(v("main.x"), build.integer(11))
        proof = Inductive({Point(head): formula})
        assert accepts(task.subject, proof)
        assert not accepts(self.SUBJECT, proof)
        facts = (build.eq(v("main.top"), build.integer(10)), build.eq(v("step"), build.integer(2)))
        assert back.proof(proof) == Inductive({Point(head): build.and_(formula, *facts)})
        assert accepts(self.SUBJECT, back.proof(proof))
        assert accepts(self.SUBJECT, back.proof(KInductive(2, proof.invariants)))

    @pytest.mark.parametrize(
        "callee", ["void f() { n = 0; while (n < 9) { n = *; } }", "void f() { while (*) { n = *; } }"]
    )
    def test_facts_at_a_call_hold_in_a_callee_that_does_not_know_them(self, callee: str) -> None:
        main = "mode = 1; f(); mode = 2; f(); while (*) { assert(mode == 2); n = 0; } assert(n < n + 1);"
        subject = program(f"int mode; int n; {callee} void main() {{ {main} }}")
        task, back = Constants().apply(Task(subject))
        assert isinstance(task.subject, Program)
        (inner,) = loop_forest(subject.procedures["f"]).heads
        (outer,) = loop_forest(subject.procedures["main"]).heads
        calls = [e.index for e in subject.procedures["main"].edges if isinstance(e.op, Call)]
        points = [Point(inner, (call,)) for call in calls] + [Point(outer)]
        proof = Inductive(dict.fromkeys(points, build.TRUE))
        assert accepts(task.subject, proof)
        assert not accepts(subject, proof)
        assert accepts(subject, back.proof(proof))

    def test_summaries_get_the_facts_at_the_entry(self) -> None:
        subject = program("""
        int g; int d = 0;
        void f(int k, int by) { if (d > 0) { g = 0; } if (k > 0) { g = g + by; f(k - 1, by); } }
        void main() { int n = *; assume(n > 0); g = 1; f(n, 1); assert(g >= 1); }
        """)
        task, back = Constants().apply(Task(subject))
        assert isinstance(task.subject, Program)
        summary = build.ge(v("g"), old(v("g")))
        proof = Inductive({}, {"f": summary})
        assert accepts(task.subject, proof)
        assert not accepts(subject, proof)
        assert accepts(subject, back.proof(proof))

    def test_uncalled_recursion_gets_an_empty_summary(self) -> None:
        subject = program("""
        void f(int k) { assert(k < 0); f(k - 1); }
        void main() { int x = 0; if (x == 1) { f(x); } }
        """)
        task, back = Constants().apply(Task(subject))
        assert isinstance(task.subject, Program)
        assert list(task.subject.procedures) == ["main"]
        assert not accepts(subject, Inductive({}))
        assert accepts(subject, back.proof(Inductive({})))

    def test_a_loop_that_is_none_any_more_is_entered_once(self) -> None:
        subject = program("void main() { int x = 0; while (true) { x = *; break; } assert(true || x > 0); }")
        _, back = Constants().apply(Task(subject))
        assert accepts(subject, back.proof(Unrolling({})))

    def test_recursion_that_is_bounded_keeps_its_bound(self) -> None:
        subject = program("void f(int k) { if (k > 0) { f(k - 1); } } void main() { f(3); assert(true); }")
        _, back = Constants().apply(Task(subject))
        assert accepts(subject, back.proof(Unrolling({}, {"f": 4})))


def test_the_state_at_a_location() -> None:
    subject = program("void main() { int x = 1; int y; y = x + 1; assert(y == 2); }")
    constants = propagate(subject)
    assert constants is not None
    states = [constants.at(at) for at in subject.procedures["main"].locations]
    assert {v("main.x"): build.integer(1), v("main.y"): build.integer(2)} in states
    assert None in states  # the error


def test_horn_systems_pass_unchanged() -> None:
    task = Task(HornSystem((), ()))
    assert Constants().apply(task)[0] is task


@pytest.mark.no_cover
def test_long_programs_take_little_time() -> None:
    lines = "\n".join(
        f"x{n % 50} = x{(n + 1) % 50} + 1; if (x{n % 50} > {n}) {{ y = y + 1; }}" for n in range(3000)
    )
    declared = " ".join(f"int x{n} = {n};" for n in range(50))
    subject = program(f"void main() {{ {declared} int y = 0; {lines} assert(y >= 0); }}")
    assert len(folded(subject).procedures["main"].edges) < len(subject.procedures["main"].edges)


def test_a_loop_stays_one_if_what_it_calls_never_returns() -> None:
    subject = program(
        "int g = 0; int step() { int r = 0; assume(g - r != g); return r; }"
        "void main() { int k = 0; int x = *; while (k < 2) { x = step(); k = k + 1; } assert(x > 7); }"
    )
    task = Task(subject)
    backs = []
    for each in (Constants(), Inline()):
        task, back = each.apply(task)
        backs.append(back)
    assert isinstance(task.subject, Program)
    (head,) = loop_forest(task.subject.procedures["main"]).heads
    proof = backs[0].proof(backs[1].proof(Unrolling({head.name: 1})))
    assert isinstance(proof, Unrolling)
    assert accepts(subject, proof)


def test_a_dead_loop_does_not_weaken_a_proof() -> None:
    """The dead loop stays, since main does not end; its steps need not lead to the constants of the other."""
    subject = program(
        "bool dead = false; void main() { int m = 0, i = 0, n = 0;"
        " if (dead) { while (i < 3) { i = i + 1; } m = 1; }"
        " while (n < 3) { n = n + 1; assert(m == 0); } assume(m == 1); }"
    )
    task, back = Constants().apply(Task(subject))
    assert isinstance(task.subject, Program)
    heads = loop_forest(task.subject.procedures["main"]).heads
    assert len(heads) == 2
    assert accepts(subject, back.proof(Inductive({Point(at): build.TRUE for at in heads})))
