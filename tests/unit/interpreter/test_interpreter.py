"""The interpreter: how runs end, calls, deep terms and recursion, speed."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded, Inconsistent
from certus.core.evidence import Trace
from certus.core.program import Assume, Edge, Program, Seq
from certus.core.terms import BOOL, INT, Expr, array, machine
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import Ending, Machine, Run, run

I32 = machine(32, signed=True)
ONE = build.integer(1)


def ends(program: Program, trace: Trace | None = None, *, limit: int = 1 << 40) -> Run:
    inputs = TraceInputs(program, trace or Trace("?"))
    return run(compile_program(program), inputs, step_limit=limit, budget=Budget())


def counting(n: int) -> ProgramBuilder:
    """`for (x = 0; x < n; x++) y = -y + 1;` with the increment after a join."""
    b = ProgramBuilder()
    x, y = b.local("main", "x"), b.var("y", initial=0)
    b.edge("main", "entry", "loop", b.assign((x, 0)))
    b.branch("main", "loop", build.lt(x, build.integer(n)), "body", "after")
    b.branch("main", "body", build.eq(build.rem(x, build.integer(2)), build.integer(0)), "even", "odd")
    b.edge("main", "even", "join", b.assign((y, build.add(y, ONE))))
    b.edge("main", "odd", "join", b.assign((y, build.sub(y, ONE))))
    b.edge("main", "join", "loop", b.assign((x, build.add(x, ONE))))
    return b


def test_a_run_counts_its_edges_and_stops_at_the_exit() -> None:
    b = counting(10)
    b.skip("main", "after", "exit")
    end = ends(b.build())
    assert (end.ending, end.steps) == (Ending.EXIT, 1 + 4 * 10 + 2)


def test_an_empty_main_returns_at_once() -> None:
    b = ProgramBuilder()
    b.at("main", "entry")
    b.skip("main", "entry", "exit")
    assert ends(b.build()).steps == 1


def test_other_code_returns_from_a_call() -> None:
    b = ProgramBuilder()
    b.edge("main", "entry", "after", b.call("f"))
    b.skip("main", "after", "exit")
    b.skip("f", "entry", "middle")
    b.skip("f", "middle", "exit")
    compiled = compile_program(b.build())
    machine_ = Machine(compiled, TraceInputs(compiled.program, Trace("?")))
    single = compiled.code(frozenset({b.at("f", "middle"), b.at("f", "entry")}))
    while machine_.location is not b.at("f", "middle"):
        machine_.advance(single, limit=machine_.steps + 1, budget=Budget())
    end = machine_.advance(compiled.code(compiled.everywhere), budget=Budget())
    assert end.ending is Ending.EXIT


def test_a_limit_ends_an_endless_loop() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "entry")
    end = ends(b.build(), limit=1000)
    assert (end.ending, end.steps) == (Ending.LIMIT, 1000)


def test_a_budget_ends_an_endless_loop() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "entry")
    program = b.build()
    start = time.monotonic()
    with pytest.raises(BudgetExceeded):
        run(compile_program(program), TraceInputs(program, Trace("?")), budget=Budget(0.1))
    assert time.monotonic() - start < 15


def test_a_failing_assumption_blocks() -> None:
    b = ProgramBuilder()
    x = b.var("x", initial=3)
    edge = b.edge("main", "entry", "exit", Assume(build.lt(x, build.integer(3))))
    end = ends(b.build())
    assert (end.ending, end.location, end.edge, end.steps) == (Ending.BLOCKED, edge.source, edge, 0)


def test_a_location_without_edges_blocks() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "nowhere")
    assert ends(b.build()).ending is Ending.BLOCKED


def test_parallel_assignment_reads_before_it_writes() -> None:
    b = ProgramBuilder()
    x, y = b.var("x", initial=1), b.var("y", initial=2)
    b.edge("main", "entry", "after", b.assign((x, y), (y, x)))
    b.check("main", "after", build.and_(build.eq(x, build.integer(2)), build.eq(y, ONE)), "exit")
    assert ends(b.build()).ending is Ending.EXIT


def test_machine_arithmetic_wraps() -> None:
    b = ProgramBuilder()
    x = b.var("x", I32, initial=I32.high)
    b.edge("main", "entry", "after", b.assign((x, build.add(x, build.constant(1, I32)))))
    b.check("main", "after", build.eq(x, build.constant(I32.low, I32)), "exit")
    assert ends(b.build()).ending is Ending.EXIT


def test_arrays_are_values() -> None:
    b = ProgramBuilder()
    a, c = b.var("a", array(INT, INT)), b.var("c", array(INT, INT))
    b.edge("main", "entry", "m", b.assign((c, a), (a, build.store(a, ONE, build.integer(7)))))
    unchanged = build.eq(build.select(c, ONE), build.integer(0))
    b.check("main", "m", build.and_(unchanged, build.eq(build.select(a, ONE), build.integer(7))), "exit")
    assert ends(b.build()).ending is Ending.EXIT


@pytest.mark.parametrize("guarded", [True, False])
def test_dividing_by_zero_is_undefined_only_if_the_value_is_needed(guarded: bool) -> None:
    b = ProgramBuilder()
    x, y = b.var("x", initial=0), b.var("y", initial=0)
    quotient = build.quot(ONE, x)
    value = build.ite(build.eq(x, build.integer(0)), ONE, quotient) if guarded else quotient
    edge = b.edge("main", "entry", "after", b.assign((y, value)))
    b.skip("main", "after", "exit")
    end = ends(b.build())
    if guarded:
        assert end.ending is Ending.EXIT
    else:
        assert (end.ending, end.edge, end.steps) == (Ending.UNDEFINED, edge, 0)


def test_an_oversized_shift_in_a_condition_is_undefined() -> None:
    b = ProgramBuilder()
    x = b.var("x", I32, initial=32)
    b.branch("main", "entry", build.eq(build.shl(build.constant(1, I32), x), x), "exit", "other")
    assert ends(b.build()).ending is Ending.UNDEFINED


def test_results_go_to_the_targets_of_the_call() -> None:
    b = ProgramBuilder()
    p, q = b.parameter("f", "p"), b.parameter("f", "q")
    b.result("f", "r1")
    b.result("f", "r2")
    b.edge("f", "entry", "exit", b.returns(q, p))
    x, g = b.local("main", "x"), b.var("g", initial=0)
    b.edge("main", "entry", "after", b.call("f", ONE, build.integer(2), into=(x, g)))
    b.check("main", "after", build.and_(build.eq(x, build.integer(2)), build.eq(g, ONE)), "exit")
    assert ends(b.build()).ending is Ending.EXIT


def test_an_error_in_a_callee_ends_the_run() -> None:
    b = ProgramBuilder()
    b.skip("f", "entry", "bad")
    error = b.error("f", "bad")
    b.edge("main", "entry", "exit", b.call("f"))
    end = ends(b.build())
    assert (end.ending, end.location, end.steps) == (Ending.ERROR, error, 2)


def recursion(depth: int) -> tuple[Program, Expr]:
    """`f(n) = n == 0 ? 0 : f(n - 1) + 1` called with `depth`; main checks the result."""
    b = ProgramBuilder()
    n, t = b.parameter("f", "n"), b.local("f", "t")
    b.result("f", "r")
    zero = build.integer(0)
    b.branch("f", "entry", build.eq(n, zero), "base", "step")
    b.edge("f", "base", "exit", b.returns(zero))
    b.edge("f", "step", "back", b.call("f", build.sub(n, ONE), into=(t,)))
    b.edge("f", "back", "exit", b.returns(build.add(t, ONE)))
    x = b.local("main", "x")
    b.edge("main", "entry", "after", b.call("f", build.integer(depth), into=(x,)))
    b.check("main", "after", build.ne(x, build.integer(depth)), "exit")
    return b.build(), x


@pytest.mark.no_cover
def test_recursion_a_million_deep() -> None:
    program, x = recursion(1_000_000)
    machine_ = Machine(compile_program(program), TraceInputs(program, Trace("?")))
    end = machine_.advance(compile_program(program).code(), budget=Budget())
    assert end.ending is Ending.ERROR
    assert machine_.value(x) == 1_000_000
    assert machine_.depth == 0


def test_deep_and_shared_terms() -> None:
    b = ProgramBuilder()
    x, y = b.var("x", I32, initial=1), b.var("y", I32, initial=0)
    shared, deep = x, x
    for _ in range(64):
        shared = build.add(build.bit_xor(shared, y), shared)  # 2**64 paths, 129 terms
    for i in range(20_000):
        deep = build.sub(build.constant(i % 7, I32), deep)
    b.edge("main", "entry", "m", b.assign((x, shared), (y, deep)))
    b.check("main", "m", build.eq(x, build.constant(0, I32)), "exit")
    start = time.monotonic()
    assert ends(b.build()).ending is Ending.EXIT
    assert time.monotonic() - start < 30


@pytest.mark.no_cover
def test_long_straight_and_branching_code() -> None:
    """20,000 edges in a row, and 3,000 assertions one after another, need no recursion or deep nesting."""
    b = ProgramBuilder()
    x = b.var("x", initial=0)
    names = ["entry", *(f"s{i}" for i in range(20_000))]
    for source, target in pairwise(names):
        b.edge("main", source, target, b.assign((x, build.add(x, ONE))))
    at = names[-1]
    for i in range(3_000):
        b.check("main", at, build.ne(x, build.integer(i)), f"c{i}")
        at = f"c{i}"
    b.skip("main", at, "exit")
    end = ends(b.build())
    assert (end.ending, end.steps) == (Ending.EXIT, 23_001)


def test_numbers_do_not_grow_without_end() -> None:
    b = ProgramBuilder()
    x = b.var("x", initial=3)
    b.edge("main", "entry", "entry", b.assign((x, build.mul(x, x))))
    assert ends(b.build()).ending is Ending.LIMIT


def test_blocks_are_refused() -> None:
    b = ProgramBuilder()
    inner = b.skip("main", "entry", "exit")
    program = b.build()
    main = program.procedures["main"]
    block = Edge(1, inner.source, Seq(inner, inner), inner.target)
    changed = Program(
        {"main": type(main)("main", (), (), (), main.entry, main.exit, (block,))}, "main", (), ()
    )
    with pytest.raises(Inconsistent):
        compile_program(changed)


def test_a_choice_without_conditions_is_refused() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "exit")
    b.edge("main", "entry", "exit", b.havoc(b.var("x", BOOL)))
    with pytest.raises(Inconsistent):
        compile_program(b.build())


def test_speed() -> None:
    """Well above 500,000 steps a second; asserted with slack for busy machines."""
    b = counting(200_000)
    b.skip("main", "after", "exit")
    program = b.build()
    compiled = compile_program(program)
    start = time.process_time()
    end = run(compiled, TraceInputs(program, Trace("?")), budget=Budget())
    rate = end.steps / (time.process_time() - start)
    assert end.ending is Ending.EXIT
    assert rate > 50_000, f"{rate:.0f} steps a second"
