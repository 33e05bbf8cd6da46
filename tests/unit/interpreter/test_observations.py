"""Values of chosen variables at chosen edges."""

from __future__ import annotations

from tests.builders import ProgramBuilder
from tests.laws.observations import Observations

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import run

ONE = build.integer(1)


def test_edges_and_calls_are_noted_in_order() -> None:
    b = ProgramBuilder()
    x, y = b.local("main", "x"), b.var("y", initial=5)
    p = b.parameter("observe", "p")
    b.skip("observe", "entry", "exit")
    b.edge("main", "entry", "loop", b.assign((x, 0)))
    b.branch("main", "loop", build.lt(x, build.integer(3)), "body", "exit")
    step = b.edge("main", "body", "call", b.assign((x, build.add(x, ONE)), (y, build.add(y, y))))
    call = b.edge("main", "call", "loop", b.call("observe", build.mul(build.integer(7), x)))
    program = b.build()
    compiled = compile_program(program)
    chosen = Observations(program, {step.index: (x, y), call.index: (p, y)})
    calls = Observations.of_calls(program, "observe")
    for observer in (chosen, chosen, calls):
        run(compiled, TraceInputs(program, Trace("?")), budget=Budget(), observer=observer)
    assert chosen.values == [
        (edge.index, values)
        for i in (1, 2, 3)
        for edge, values in ((step, (i, 5 << i)), (call, (7 * i, 5 << i)))
    ]
    assert calls.values == [(call.index, (7 * i,)) for i in (1, 2, 3)]
