"""Linear programs through HiGHS."""

from __future__ import annotations

import pytest

from certus.solvers.highs import LinearProgram, LinearSolver

INFINITE = float("inf")


def test_a_maximum_and_a_minimum_of_one_program() -> None:
    program = LinearProgram()
    x, y = program.column(0.0, 10.0, 1.0), program.column(0.0, 10.0, 1.0)
    program.row([(x, 1.0), (y, 2.0)], upper=12.0)
    program.row([(x, 1.0), (y, -1.0)], lower=-1.0)
    solver = LinearSolver()
    assert solver.maximum(program) == pytest.approx([10.0, 1.0])
    assert solver.minimum(program) == pytest.approx([0.0, 0.0])


def test_whole_columns() -> None:
    program = LinearProgram()
    x = program.column(0.0, 10.0, 1.0, whole=True)
    program.row([(x, 2.0)], upper=7.0)
    assert LinearSolver().maximum(program) == pytest.approx([3.0])


def test_no_solution_and_no_end() -> None:
    impossible, endless = LinearProgram(), LinearProgram()
    x = impossible.column(0.0, 1.0, 1.0)
    impossible.row([(x, 1.0)], lower=2.0)
    endless.column(0.0, INFINITE, 1.0)
    solver = LinearSolver()
    assert solver.maximum(impossible) is None
    assert solver.maximum(endless) is None
