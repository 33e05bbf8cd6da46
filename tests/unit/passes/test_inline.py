"""Inlining: copies with variables of their own, and evidence under the call strings they stand for."""

from __future__ import annotations

import pytest

from certus.check.proofs.check import check_proof
from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Inductive, Point, Trace, Unrolling, Unsafe, in_frame
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Call, Program
from certus.core.terms import INT, Expr
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp.load import load_lp
from certus.passes.inline import Inline, choose, inline


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def v(name: str) -> Expr:
    return build.var(name, INT)


def calls(subject: Program, name: str = "main") -> list[str]:
    return [e.op.procedure for e in subject.procedures[name].edges if isinstance(e.op, Call)]


CHAIN = program("""
int g;
void c() { g = g + 1; }
void b() { c(); c(); }
void a() { b(); b(); }
void r(int k) { if (k > 0) { r(k - 1); a(); } }
void main() { g = 0; a(); r(2); assert(g >= 0); }
""")


class TestChoice:
    def test_recursion_stays_and_the_rest_goes(self) -> None:
        assert choose(CHAIN) == {"a", "b", "c"}
        result, _ = inline(CHAIN, choose(CHAIN))
        assert list(result.procedures) == ["r", "main"]
        assert calls(result) == ["r"]
        assert calls(result, "r") == ["r"]

    def test_large_procedures_called_once_go_others_stay(self) -> None:
        big = "x = x + 1; " * 10
        text = f"int x; void f() {{ {big} }} void main() {{ f(); %s assert(x > 0); }}"
        assert choose(program(text % ""), small=3) == {"f"}
        assert choose(program(text % "f();"), small=3) == frozenset()

    def test_growth_is_limited(self) -> None:
        levels = " ".join(f"void f{n}() {{ f{n - 1}(); f{n - 1}(); }}" for n in range(1, 12))
        subject = program(
            f"int g; void f0() {{ g = g + 1; }} {levels} void main() {{ f11(); assert(g > 0); }}"
        )
        result, _ = inline(subject, choose(subject, small=10**9, growth=20))
        edges = sum(len(p.edges) for p in result.procedures.values())
        assert edges <= 20 * sum(len(p.edges) for p in subject.procedures.values())
        assert len(result.procedures) < len(subject.procedures)


class TestCopies:
    SUBJECT = program("""
    int get() { int x = *; return x; }
    int both() { int a; int b; a = get(); b = get(); return a - b; }
    void main() { int d; int e; d = both(); e = get(); if (d == 3) { assert(e != 5); } }
    """)

    def test_every_copy_has_its_own_variables_and_points_to_its_origin(self) -> None:
        result, copies = inline(self.SUBJECT, frozenset({"get", "both"}))
        (havoc,) = (e.index for e in self.SUBJECT.procedures["get"].edges if e.text == "x = *;")
        copied = [e for e in result.procedures["main"].edges if e.origin == havoc]
        assert len({e.op for e in copied}) == 3
        strings = [copies.edges[e.index][0] for e in copied]
        assert sorted(map(len, strings)) == [1, 2, 2]
        assert len(set(strings)) == 3

    def test_inputs_of_all_copies_are_those_of_the_original_in_order(self) -> None:
        task, back = Inline().apply(Task(self.SUBJECT))
        verdict = back.verdict(BoundedModelChecking().run(task, Options(), Budget(60), Statistics()))
        assert isinstance(verdict, Unsafe)
        assert isinstance(verdict.refutation, Trace)
        (values,) = verdict.refutation.inputs.values()
        (first,), (second,), (third,) = values
        assert (first - second, third) == (3, 5)
        assert isinstance(replay(self.SUBJECT, verdict.refutation, budget=Budget(30)), Replay)

    def test_errors_in_copies_are_those_of_the_original(self) -> None:
        subject = program("void f(int a) { assert(a < 3); } void main() { f(1); f(4); }")
        task, back = Inline().apply(Task(subject))
        assert isinstance(task.subject, Program)
        assert len(task.subject.errors) == 2
        verdict = back.verdict(BoundedModelChecking().run(task, Options(), Budget(60), Statistics()))
        assert isinstance(verdict, Unsafe)
        assert isinstance(verdict.refutation, Trace)
        assert verdict.refutation.error == subject.errors[0].location.name

    def test_source_names_are_kept(self) -> None:
        result, copies = inline(self.SUBJECT, frozenset({"get", "both"}))
        copied = [x for x, (_, original) in copies.variables.items() if original.name == "get.x"]
        assert [result.source_names[x] for x in copied] == ["x", "x", "x"]


class TestProofs:
    SUBJECT = program("""
    int g;
    void bump(int by) { int i = 0; while (i < by) { g = g + 1; i = i + 1; } }
    void twice(int by) { bump(by); bump(by); }
    void main() { int a = *; assume(a >= 0); g = 0; twice(a); assert(g == a + a); }
    """)

    def accepted(self, proof: object) -> bool:
        assert isinstance(proof, Inductive | Unrolling)
        checked = check_proof(self.SUBJECT, proof, budget=Budget(30), statistics=Statistics())
        return isinstance(checked, ProofCheck)

    def test_formulas_at_copies_go_to_their_call_strings(self) -> None:
        task, back = Inline().apply(Task(self.SUBJECT))
        assert isinstance(task.subject, Program)
        main = task.subject.procedures["main"]
        by, copy = {}, {}
        heads = loop_forest(main).heads
        for name in ("bump.i", "bump.by", "twice.by"):
            copy[name] = [x for x in main.variables if x.name.startswith(f"main.{name}$")]
        by[0], by[1] = copy["bump.by"]
        g, a = v("g"), v("main.a")
        (outer,) = copy["twice.by"]
        invariants = {}
        for n, head in enumerate(heads):
            i = copy["bump.i"][n]
            before = build.integer(0) if n == 0 else a
            parts = [
                build.le(i, by[n]),
                build.eq(by[n], a),
                build.eq(outer, a),
                build.ge(a, build.integer(0)),
                build.eq(g, build.add(before, i)),
            ]
            if n == 1:
                parts.append(build.eq(copy["bump.i"][0], a))  # control has left that copy
            invariants[Point(head)] = build.and_(*parts)
        proof = back.proof(Inductive(invariants))
        assert isinstance(proof, Inductive)
        assert sorted(len(p.calls) for p in proof.invariants) == [2, 2]
        assert {p.location.procedure for p in proof.invariants} == {"bump"}
        first = next(iter(proof.invariants.values()))
        assert build.eq(in_frame(v("twice.by"), 1), a) in first.args
        assert self.accepted(proof)

    def test_the_bound_of_a_head_is_the_greatest_of_its_copies(self) -> None:
        task, back = Inline().apply(Task(self.SUBJECT))
        assert isinstance(task.subject, Program)
        first, second = loop_forest(task.subject.procedures["main"]).heads
        (head,) = loop_forest(self.SUBJECT.procedures["bump"]).heads
        assert back.proof(Unrolling({first.name: 2, second.name: 5})) == Unrolling({head.name: 5})


@pytest.mark.no_cover
def test_deep_chains_need_no_recursion() -> None:
    levels = " ".join(f"void f{n}() {{ f{n - 1}(); }}" for n in range(1, 1500))
    subject = program(f"int g; void f0() {{ g = 1; }} {levels} void main() {{ f1499(); assert(g == 1); }}")
    result, _ = inline(subject, choose(subject))
    assert list(result.procedures) == ["main"]
