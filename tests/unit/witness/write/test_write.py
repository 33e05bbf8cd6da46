"""Witnesses of outcomes made by hand, about a program that Clang has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution, Inductive, Point, Safe, Trace, Unknown, Unsafe, in_frame, old
from certus.core.outcome import Outcome, Replay
from certus.core.program import Assign, Havoc, Location, Program
from certus.core.terms import Expr
from certus.core.witness import CorrectnessWitness, ViolationWitness
from certus.frontend.c.load import load_c
from certus.witness.read import read_witness
from certus.witness.write import render_witness, witness_of

SOURCE = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
unsigned total;
int add(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += 2;
  return s;
}
int main(void) {
  int open;
  int n = __VERIFIER_nondet_int();
  if (n < 0) return 0;
  int low = n, high = low;
  do {
    int inner = n;
    total += inner;
  } while (total < 10u);
  if (open == 5 && add(n) == 8 && high == n)
    reach_error();
  return 0;
}
"""
CREATED = "2024-01-01T00:00:00+00:00"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    file = tmp_path_factory.mktemp("witness") / "sum.c"
    file.write_text(SOURCE)
    return replace(load_c(file).program, file=str(file))


def head(program: Program, line: int) -> Location:
    return next(at for at in program.location.values() if at.loop is not None and at.loop.line == line)


def variable(program: Program, name: str) -> Expr:
    return next(x for x in program.source_names if x.name == name)


def outcome(program: Program, verdict: Safe | Unsafe | Unknown) -> Outcome:
    return Outcome(program, "unreach-call", verdict, "hand", specification="CHECK( ... )")


def correctness(program: Program, formulas: Mapping[Point, Expr], *summaries: str) -> CorrectnessWitness:
    proof = Inductive(formulas, dict.fromkeys(summaries, build.TRUE))
    found = witness_of(outcome(program, Safe(proof)))
    assert not isinstance(found, str)
    assert isinstance(found[0], CorrectnessWitness)
    return found[0]


def values(witness: CorrectnessWitness) -> list[tuple[str, int, int | None, str]]:
    return [(i.kind, i.place.line, i.place.column, i.value) for i in witness.invariants]


def number(x: Expr, value: int) -> Expr:
    return build.constant(value, x.sort)


class TestInvariants:
    def test_a_for_loop_knows_what_it_declares(self, program: Program) -> None:
        i, s, n = (variable(program, f"add.{name}") for name in "isn")
        formula = build.and_(build.le(i, n), build.eq(s, build.mul(number(s, 2), i)))
        found = correctness(program, {Point(head(program, 6)): formula}, "add")
        assert sorted(values(found)[0][3].split(" && ")) == ["i <= n", "s == (int)(2 * (long long)i)"]
        assert values(found)[0][:3] == ("loop_invariant", 6, 3)
        assert found.invariants[0].place.function == "add"

    def test_what_c_cannot_say_is_left_out_and_told(self, program: Program) -> None:
        i, n = variable(program, "add.i"), variable(program, "add.n")
        formula = build.and_(build.le(number(i, 0), i), build.eq(old(n), number(n, 3)))
        proof = Inductive({Point(head(program, 6)): formula}, {"add": build.TRUE})
        found = witness_of(outcome(program, Safe(proof)))
        assert not isinstance(found, str)
        witness, remark = found
        assert isinstance(witness, CorrectnessWitness)
        assert [v[3] for v in values(witness)] == ["i >= 0"]
        assert remark == "weakened: C cannot fully express 1 formula of the proof"

    def test_equal_variables_speak_for_each_other(self, program: Program) -> None:
        n = variable(program, "add.n")
        formula = build.and_(build.eq(old(n), n), build.le(old(n), number(n, 3)))
        found = correctness(program, {Point(head(program, 6)): formula}, "add")
        assert [v[3] for v in values(found)] == ["n <= 3"]

    def test_multiples_of_a_power_of_two_are_conversions(self, program: Program) -> None:
        i, n = (build.to_int(variable(program, f"add.{name}")) for name in "in")
        whole = build.integer(1 << 32)
        apart = build.sub(i, n)
        formula = build.eq(apart, build.mul(whole, build.div(apart, whole)))
        found = correctness(program, {Point(head(program, 6)): formula}, "add")
        assert [v[3] for v in values(found)] == ["(unsigned int)((long long)i - (long long)n) == 0"]

    def test_a_do_loop_speaks_before_its_body(self, program: Program) -> None:
        n, inner = variable(program, "main.n"), variable(program, "main.inner")
        formula = build.and_(build.le(number(n, 0), n), build.eq(inner, n))
        found = correctness(program, {Point(head(program, 15)): formula})
        assert values(found) == [("location_invariant", 16, 5, "n >= 0")]

    def test_of_statements_at_one_place_the_first(self, program: Program) -> None:
        n = variable(program, "main.n")
        first, second = (
            next(
                e.source
                for e in program.edge.values()
                if isinstance(e.op, Assign) and e.op.targets == (variable(program, f"main.{name}"),)
            )
            for name in ("low", "high")
        )
        assert first.statement is not None
        formula = build.le(number(n, 0), n)
        assert values(correctness(program, {Point(first): formula})) == [
            ("location_invariant", 14, 3, "n >= 0")
        ]
        assert values(correctness(program, {Point(second): formula})) == []

    def test_all_call_strings_together(self, program: Program) -> None:
        i = variable(program, "add.i")
        (call,) = (e for e in program.edge.values() if e.call is not None and e.text == "add(n)")
        formula = build.le(in_frame(i, 1), number(i, 7))
        found = correctness(program, {Point(head(program, 6), (call.index,)): formula})
        assert [v[3] for v in values(found)] == ["i <= 7"]
        assert (
            values(correctness(program, {Point(head(program, 6), (call.index, call.index)): formula})) == []
        )

    def test_a_run_needs_no_invariant(self, program: Program) -> None:
        found = witness_of(outcome(program, Safe(Execution(3))))
        assert not isinstance(found, str)
        assert found[0].task.hashes[program.file]
        assert isinstance(found[0], CorrectnessWitness)
        assert found[0].invariants == ()


def violation(program: Program) -> Outcome:
    inputs = {}
    for edge in program.edge.values():
        if isinstance(edge.op, Havoc):
            inputs[edge.index] = ((4,),) if edge.call is not None else ((5,),)
    trace = Trace(program.errors[0].location.name, {}, inputs)
    check = replay(program, trace, budget=Budget(10))
    assert isinstance(check, Replay)
    return replace(outcome(program, Unsafe(trace)), check=check)


def test_inputs_assumptions_and_the_target(program: Program) -> None:
    found = witness_of(violation(program))
    assert not isinstance(found, str)
    witness = found[0]
    assert isinstance(witness, ViolationWitness)
    told = [(w.kind, w.place.line, w.place.column, w.constraint) for (w,) in witness.segments]
    assert ("function_return", 12, 33, "\\result == 4") in told
    assert ("assumption", 12, 3, "open == 5") in told
    assert told[-1] == ("target", 20, 5, None)


@pytest.mark.parametrize("kind", ["violation", "correctness"])
def test_what_is_written_is_read_again(kind: str, program: Program, tmp_path: Path) -> None:
    n = variable(program, "main.n")
    proof = Inductive({Point(head(program, 15)): build.le(number(n, 0), n)})
    found = witness_of(violation(program) if kind == "violation" else outcome(program, Safe(proof)))
    assert not isinstance(found, str)
    witness, remark = found
    text = render_witness(witness, engine="hand", remark=remark, created=CREATED)
    file = tmp_path / "w.yml"
    file.write_text(text)
    assert read_witness(file) == witness
    assert text == render_witness(witness, engine="hand", remark=remark, created=CREATED)
    later = render_witness(witness, engine="hand", remark=remark, created="2025-01-01T00:00:00+00:00")
    assert later.replace("2025", "2024") == text


def test_no_verdict_no_witness(program: Program) -> None:
    assert witness_of(outcome(program, Unknown(Diagnostic("why", "because")))) == "there is no verdict"
    other = replace(program, file="sum.lp")
    assert witness_of(outcome(other, Safe(Execution(3)))) == "witnesses are about C programs"
