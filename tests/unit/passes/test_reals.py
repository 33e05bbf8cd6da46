"""The pass that replaces reals by integers with a common denominator."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from certus.core import build
from certus.core.engine import Task
from certus.core.errors import Unsupported
from certus.core.evidence import Trace, old
from certus.core.program import Assign, Assume, Call, Havoc, Program, leaves
from certus.core.terms import INT, REAL, Expr
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks
from certus.passes.reals import UNIT, ScaledProgram, has_reals, scaled_program

X, Y = (build.var(f"main.{name}", REAL) for name in "xy")
SCALED_X, SCALED_Y, N = (build.var(f"main.{name}", INT) for name in "xyn")


def scaled(body: str) -> ScaledProgram:
    return scaled_program(load_lp(f"void main() {{ {body} }}", "test.lp").program)


def steps(program: Program) -> list[object]:
    return [op for p in program.procedures.values() for edge in p.edges for op in leaves(edge)]


def test_no_real_is_left() -> None:
    after = scaled("real x = *, y = x / 3; int i = *; if (x + i < y) { y = 0.25; } assert(y < 2);").program
    assert not has_reals(after)
    assert UNIT in after.globals
    assert UNIT not in after.initial


def test_a_constant_is_a_multiple_of_the_unit() -> None:
    after = scaled("real x = 0.5, y = 0.75; x = y + 1;").program
    assigned = [op for op in steps(after) if isinstance(op, Assign)]
    assert [op.values[0] for op in assigned] == [
        build.scale(2, UNIT),
        build.scale(3, UNIT),
        build.add(SCALED_Y, build.scale(4, UNIT)),
    ]


def test_a_step_is_taken_only_if_its_value_is_an_integer() -> None:
    after = scaled("real x = *; x = x / 3;").program
    divisible = build.eq(build.mod(SCALED_X, build.integer(3)), build.integer(0))
    assert Assume(divisible) in steps(after)
    assert Assign((SCALED_X,), (build.div(SCALED_X, build.integer(3)),)) in steps(after)


def test_arguments_that_are_no_integers_stop_before_the_call() -> None:
    text = "void f(real a) { a = 0; } void main() { real x = *; f(x / 2); }"
    main = scaled_program(load_lp(text, "test.lp").program).program.procedures["main"]
    (call,) = (edge for edge in main.edges if isinstance(edge.op, Call))
    (before,) = main.predecessors[call.source]
    assert before.op == Assume(build.eq(build.mod(SCALED_X, build.integer(2)), build.integer(0)))


def test_statements_of_blocks_are_taken_only_if_they_give_integers() -> None:
    text = "void main() { real x = *; if (x > 0) { x = x / 2; } else { x = x / 4; } assert(x < 1); }"
    task, _ = LargeBlocks("large").apply(Task(load_lp(text, "test.lp").program))
    assert isinstance(task.subject, Program)
    plain = scaled_program(load_lp(text, "test.lp").program).program
    blocks = scaled_program(task.subject).program
    assert len(blocks.edge) < len(plain.edge)
    for by in (2, 4):
        divisible = build.eq(build.mod(SCALED_X, build.integer(by)), build.integer(0))
        assert Assume(divisible) in steps(blocks)


def test_a_trace_has_fractions() -> None:
    program = load_lp("real g; void main() { real x = *; int i = *; assert(x < g + i); }", "test.lp").program
    key = {e.op.targets[0].name: e.key for e in program.edge.values() if isinstance(e.op, Havoc)}
    g = build.var("g", INT)
    trace = Trace("main:1", {g: 3, UNIT: 4}, {key["main.x"]: ((6,),), key["main.i"]: ((6,), (7,))})
    back = scaled_program(program).trace(trace)
    assert back.initial == {build.var("g", REAL): Fraction(3, 4)}
    assert back.inputs == {key["main.x"]: ((Fraction(3, 2),),), key["main.i"]: ((6,), (7,))}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (build.le(SCALED_X, build.scale(6, UNIT)), build.le(X, build.real(3))),
        (build.lt(SCALED_X, SCALED_Y), build.lt(X, Y)),
        (build.le(build.add(SCALED_X, build.integer(1)), SCALED_Y), build.lt(X, Y)),
        (build.le(SCALED_X, build.add(SCALED_Y, build.integer(7))), build.le(X, Y)),
        (build.eq(SCALED_X, build.add(SCALED_Y, build.integer(7))), build.FALSE),
        (build.le(build.integer(1), UNIT), build.TRUE),
        (build.le(old(SCALED_X), SCALED_X), build.le(old(X), X)),
        (build.eq(build.mul(UNIT, N), SCALED_X), build.eq(build.rdiv(build.to_real(N), build.real(2)), X)),
    ],
)
def test_a_formula_about_reals(formula: Expr, expected: Expr) -> None:
    back = scaled("real x = *, y = 0.5; int n = *;").formula(formula)
    assert build.eq(back, expected) is build.TRUE, back


def test_functions_of_reals_are_refused() -> None:
    floor = build.floor(X)
    procedure = load_lp("void main() { real x = *; int n = *; }", "test.lp").program.procedures["main"]
    last = procedure.edges[-1]
    edges = (*procedure.edges[:-1], replace(last, op=Assign((N,), (floor,))))
    program = load_lp("void main() { }", "test.lp").program
    with pytest.raises(Unsupported) as refused:
        scaled_program(replace(program, procedures={"main": replace(procedure, edges=edges)}))
    assert refused.value.diagnostic.code == "engine-without-reals"


def test_a_main_procedure_that_calls_itself_is_refused() -> None:
    text = "real g = 0.5; void main() { if (g < 3) { g = g + 1; main(); } assert(g <= 2); }"
    with pytest.raises(Unsupported, match="main procedure"):
        scaled_program(load_lp(text, "test.lp").program)
