"""Instances of block formulas: what the values before the block decide costs nothing."""

from __future__ import annotations

from certus.core import build
from certus.core.program import Assign, Assume, Block, Choice, Edge, Location, Op, Procedure, Seq
from certus.core.terms import INT, Expr, machine
from certus.encoding.block_formula import BlockFormula, block_formula

U32 = machine(32, signed=False)
X, Y, W = build.var("x", INT), build.var("y", INT), build.var("w", U32)
W_AS_INT = build.to_int(W)
HERE = Location(0, "main")
MAIN = Procedure("main", (), (), (X, Y, W), HERE, Location(1, "main"), ())


def branch(condition: Expr, then: Op, otherwise: Op) -> Block:
    def steps(*ops: Op) -> Block:
        first, second = (Edge(number, HERE, op, HERE) for number, op in enumerate(ops))
        return Seq(first, second)

    return Choice((steps(Assume(condition), then), steps(Assume(build.not_(condition)), otherwise)))


def formula(block: Block) -> BlockFormula:
    result = block_formula(block, MAIN)
    assert result is not None
    return result


def test_a_known_branch_leaves_one_value_and_no_merge() -> None:
    positive = build.gt(X, build.integer(0))
    block = formula(branch(positive, Assign((Y,), (build.add(X, build.integer(1)),)), Assign((Y,), (X,))))
    constant = block.instance(7, {X: build.integer(4)})
    assert constant.values[Y] is build.integer(5)
    assert not any(term.sort is INT for formula in constant.definitions for term in formula.args)
    open_ = block.instance(8, {})
    assert open_.values[Y].name.startswith("y@8.")


def test_both_ways_to_the_same_value_are_that_value() -> None:
    one = build.integer(1)
    block = formula(branch(build.gt(X, one), Assign((Y,), (W_AS_INT,)), Assign((Y,), (build.to_int(W),))))
    assert block.instance(1, {}).values[Y] is W_AS_INT


def test_machine_integers_read_as_integers_are_merged_as_such() -> None:
    """Null, or a pointer that was stored."""
    block = formula(
        branch(build.gt(X, build.integer(0)), Assign((Y,), (W_AS_INT,)), Assign((Y,), (build.integer(0),)))
    )
    merged = build.wrap(block.instance(3, {}).values[Y], U32)
    assert not merged.args
    assert merged.sort is U32
    outside = build.integer(-1)
    wide = formula(branch(build.gt(X, build.integer(0)), Assign((Y,), (W_AS_INT,)), Assign((Y,), (outside,))))
    assert wide.instance(3, {}).values[Y].sort is INT
    assert not wide.instance(3, {}).values[Y].args
