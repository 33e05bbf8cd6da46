"""Search among inputs, one after the other."""

from __future__ import annotations

from pathlib import Path

from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.frontend import load_question, read_question
from certus.frontend.lp.load import load_lp
from certus.pipeline.explore import _Exploration, candidates, explored_error
from certus.validate.compile import compile_program
from certus.validate.replay import replay

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
    trace = explored_error(compile_program(program), Budget(20))
    assert trace is not None
    assert given(trace) == [31, 12, 31]
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)


def test_a_state_is_followed_once() -> None:
    exploration = _Exploration(compile_program(lp(LOCK.replace("at != 3", "at != 7"))), Budget(20))
    assert exploration.run() is None
    assert len(exploration.seen) <= 8  # the first, and then one for each value of `at` and the last key


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
    trace = explored_error(compile_program(program), Budget(20))
    assert trace is not None
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)
    assert [value for value in given(trace) if value] == [9, 5, 9]


def test_what_is_not_modelled_is_no_input(tmp_path: Path) -> None:
    text = """
        #include <stdlib.h>
        void reach_error(void) {}
        int main(void) { if (strtol("7", 0, 10) == 8) reach_error(); }
    """
    assert explored_error(compile_program(c(text, tmp_path)), Budget(20)) is None
