"""Search among inputs, one after the other."""

from __future__ import annotations

from pathlib import Path

from certus.check.proofs.check import check_proof
from certus.check.replay.replay import replay
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Inductive, Trace, Unknown
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.engines.search.engine import _Exploration, candidates, explore
from certus.frontend import load_question, read_question
from certus.frontend.lp.load import load_lp
from certus.interpreter.compile import compile_program
from certus.run.settings import Settings
from certus.run.worker import solve

LOCK = """
    int at;
    void step(int key) {
        if (at == 0 && key == 31) { at = 1; }
        else if (at == 1 && key == 12) { at = 2; }
        else if (at == 2 && key == 31) { at = 3; }
        else { at = 0; }
    }
    void main() {
        at = 0;
        while (true) { int k = *; step(k); assert(at != 3); }
    }
"""
SAFE = LOCK.replace("at != 3", "at != 7")


def lp(text: str) -> Program:
    return load_lp(text, "search.lp").program


def c(text: str, folder: Path) -> Program:
    (folder / "search.c").write_text(text)
    return load_question(read_question(folder / "search.c")).program


def given(trace: Trace) -> list[object]:
    return [values[0] for executions in trace.inputs.values() for values in executions]


def test_values_are_those_that_the_program_compares_with() -> None:
    program = lp(LOCK)
    assert list(candidates(program).values()) == [(0, 1, 31, 12)]
    near = lp("void main() { int k = *; bool b = *; if (k < 7 && b) { assert(k != 2); } }")
    assert list(candidates(near).values()) == [(0, 1, 7, 6, 8, 2), (False, True)]


def test_an_error_deep_in_few_states_is_found() -> None:
    program = lp(LOCK)
    trace = explore(compile_program(program), Budget(20))
    assert isinstance(trace, Trace)
    assert given(trace) == [31, 12, 31]
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)


def test_a_state_is_followed_once() -> None:
    exploration = _Exploration(compile_program(lp(SAFE)), Budget(20))
    exploration.run()
    assert len(exploration.seen) == 4  # one for each value of `at`; the last key is not read again


def accepted(program: Program, proof: object) -> bool:
    assert isinstance(proof, Inductive)
    checked = check_proof(program, proof, budget=Budget(20), statistics=Statistics())
    return isinstance(checked, ProofCheck)


def test_all_states_are_a_proof() -> None:
    program = lp(SAFE)
    proof = explore(compile_program(program), Budget(20))
    assert accepted(program, proof)
    outcome = solve(Task(program, "unreach-call"), Settings(engine="search", timeout=20.0))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "search")


def test_values_that_are_not_tried_make_the_check_refuse() -> None:
    """20 times 20 is compared with nothing."""
    program = lp(
        "void main() { int s = 0; while (true) { int k = *; if (k * k == 400) { s = 1; } assert(s != 1); } }"
    )
    proof = explore(compile_program(program), Budget(20))
    assert not accepted(program, proof)
    outcome = solve(Task(program, "unreach-call"), Settings(engine="search", timeout=20.0))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "proof-refuted"


def test_states_of_waiting_activations_count() -> None:
    """The inputs are asked for in a procedure that is called at two places, and the caller remembers."""
    program = lp("""
        int last;
        int ask(int most) {
            int k = 0 - 1;
            while (k < 0) { k = *; if (k < 0 || k > most) { k = 0 - 1; } }
            return k;
        }
        void main() {
            int a = 0; int b = 0;
            while (true) { a = ask(2); last = a; b = ask(3); assert(last == a && b <= 3 && a <= 2); }
        }
    """)
    proof = explore(compile_program(program), Budget(20))
    assert accepted(program, proof)
    assert isinstance(proof, Inductive)
    assert sorted(len(point.calls) for point in proof.invariants) == [0, 1, 1]


def test_runs_that_go_on_for_ever_prove_nothing() -> None:
    program = lp("void main() { int k = *; while (k > 0) { k = k + 0; } assert(k <= 0); }")
    assert explore(compile_program(program), Budget(20)) is None


def test_memory_belongs_to_the_state(tmp_path: Path) -> None:
    text = """
        extern int __VERIFIER_nondet_int(void);
        void reach_error(void) {}
        static int pressed(const int *key, int wanted) { return *key == wanted; }
        int main(void) {
            unsigned char code[3] = {0, 0, 0}, n = 0;
            for (;;) {
                int key = __VERIFIER_nondet_int();
                if (!pressed(&key, 5) && !pressed(&key, 9)) continue;
                code[n % 3] = key;
                n = (n + 1) % 3;
                if (n == 0 && code[0] == 9 && code[1] == 5 && code[2] == 9) reach_error();
            }
        }
    """
    program = c(text, tmp_path)
    trace = explore(compile_program(program), Budget(20))
    assert isinstance(trace, Trace)
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)
    assert [value for value in given(trace) if value] == [9, 5, 9]


def test_what_is_not_modelled_is_no_input(tmp_path: Path) -> None:
    text = """
        #include <stdlib.h>
        void reach_error(void) {}
        int main(void) { if (strtol("7", 0, 10) == 8) reach_error(); }
    """
    assert explore(compile_program(c(text, tmp_path)), Budget(20)) is None
