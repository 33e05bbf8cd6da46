"""Counterexamples become shorter, and their inputs simpler."""

from __future__ import annotations

from dataclasses import replace

from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.program import Havoc, Program
from certus.frontend.lp.load import load_lp
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.inputs import ReplayInputs
from certus.interpreter.interpreter import Ending, Run, run
from certus.interpreter.simplification import simplified

# Each round reads a letter and a weight; three letters 7 are an error.
LETTERS = """
void main() {
    int letter = 1; int weight = 0; int count = 0;
    while (letter != 0) {
        letter = *;
        weight = *;
        if (letter == 7) { count = count + 1; }
        assert(count < 3);
    }
}
"""
HEAVY = LETTERS.replace("assert(count < 3)", "assert(count < 3 || weight > 100)")


def trace_of(program: Program, *inputs: int) -> Trace:
    """Return a trace whose inputs are read in turn at the edges that read inputs."""
    edges = [index for index, edge in program.edge.items() if isinstance(edge.op, Havoc)]
    by_edge = {edge: tuple((v,) for v in inputs[at :: len(edges)]) for at, edge in enumerate(edges)}
    return Trace(program.errors[0].location.name, {}, by_edge)


def ended(compiled: Compiled, trace: Trace) -> Run:
    return run(compiled, ReplayInputs(compiled.program, trace), budget=Budget())


def simple(text: str, *inputs: int) -> tuple[Run, Run, Trace]:
    """Return the runs of a trace and of the simplified trace, and the latter."""
    compiled = compile_program(load_lp(text, "p.lp").program)
    trace = trace_of(compiled.program, *inputs)
    before = ended(compiled, trace)
    after = simplified(compiled, trace, before.steps, Budget())
    return before, ended(compiled, after), after


def test_rounds_in_the_middle_are_left_out_and_other_values_become_zero() -> None:
    before, after, trace = simple(LETTERS, 5, 9, 7, -4, 2, 2, 8, 1, 7, 3, 1, 1, 1, 6, 7, 100, 4, 4)
    assert before.ending is after.ending is Ending.ERROR
    assert after.steps < before.steps
    assert [*trace.inputs.values()] == [((7,), (7,), (7,))], "weights are 0, which a trace need not say"


def test_the_same_trace_becomes_the_same_one() -> None:
    inputs = (5, 9, 7, -4, 2, 2, 8, 1, 7, 3, 1, 1, 1, 6, 7, 100, 4, 4)
    assert simple(LETTERS, *inputs)[2] == simple(LETTERS, *inputs)[2]


def test_a_trace_without_error_stays() -> None:
    before, after, trace = simple(HEAVY, 7, 200, 7, 200, 7, 200, 0, 200)
    assert before.ending is after.ending is Ending.EXIT
    assert trace.inputs[max(trace.inputs)] == ((200,),) * 4


def test_another_error_does_not_count() -> None:
    text = "void main() { int x = *; assert(x < 10); assert(x < 5); }"
    program = load_lp(text, "p.lp").program
    compiled = compile_program(program)
    second = replace(trace_of(program, 8), error=program.errors[1].location.name)
    after = simplified(compiled, second, ended(compiled, second).steps, Budget())
    assert [*after.inputs.values()] == [((8,),)], "0 and 1 reach no error"


def test_numbers_become_smaller() -> None:
    text = "void main() { int x = *; int y = *; assert(x < 10 || y > -10); }"
    _, _, trace = simple(text, 40_000, -40_000)
    ((x,),), ((y,),) = trace.inputs.values()
    assert 10 <= x < 20
    assert -20 < y <= -10
