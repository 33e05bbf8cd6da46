"""Solve linear programs with HiGHS; `highspy` is imported only when a solver is created.

A model is passed as arrays, because HiGHS's expression interface takes a hundred times longer. The answer is
in floating point: a hint, never a proof. Callers round it and check it in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final

Row = Sequence[tuple[int, float]]  # (column, coefficient)
TINY: Final = 300  # number of columns up to which presolving costs more than it saves


@dataclass(slots=True)
class LinearProgram:
    """A linear program: columns with bounds and costs, rows `lower <= row <= upper`; no bound is `inf`."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)

    def column(self, lower: float, upper: float, cost: float, *, whole: bool = False) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.cost.append(cost)
        self.whole.append(whole)
        return len(self.cost) - 1

    def row(self, row: Row, *, lower: float = float("-inf"), upper: float = float("inf")) -> None:
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        for column, coefficient in row:
            self.columns.append(column)
            self.coefficients.append(coefficient)
        self.starts.append(len(self.columns))


class LinearSolver:
    """A HiGHS instance, reused for many programs."""

    def __init__(self) -> None:
        import highspy

        self._package: ModuleType = highspy
        self._highs = self._package.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
            self._highs.setOptionValue(option, value)

    def maximum(self, program: LinearProgram, *, seconds: float | None = None) -> list[float] | None:
        """Return the columns of a solution of greatest cost; None if HiGHS does not find an optimum."""
        return self._solve(program, self._package.ObjSense.kMaximize, seconds)

    def minimum(self, program: LinearProgram, *, seconds: float | None = None) -> list[float] | None:
        """Return the columns of a solution of least cost; None if HiGHS does not find an optimum."""
        return self._solve(program, self._package.ObjSense.kMinimize, seconds)

    def _solve(self, program: LinearProgram, sense: object, seconds: float | None) -> list[float] | None:
        import numpy as np

        package, highs = self._package, self._highs
        mixed = any(program.whole)
        model = package.HighsLp()
        model.num_col_, model.num_row_ = len(program.cost), len(program.row_lower)
        model.col_cost_ = np.array(program.cost, dtype=np.double)
        model.col_lower_ = np.array(program.lower, dtype=np.double)
        model.col_upper_ = np.array(program.upper, dtype=np.double)
        model.row_lower_ = np.array(program.row_lower, dtype=np.double)
        model.row_upper_ = np.array(program.row_upper, dtype=np.double)
        model.a_matrix_.format_ = package.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.array(program.starts, dtype=np.int32)
        model.a_matrix_.index_ = np.array(program.columns, dtype=np.int32)
        model.a_matrix_.value_ = np.array(program.coefficients, dtype=np.double)
        model.sense_ = sense
        if mixed:
            kinds = package.HighsVarType
            model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in program.whole]
        highs.clearModel()
        small = len(program.cost) <= TINY and not mixed
        highs.setOptionValue("presolve", "off" if small else "choose")
        highs.setOptionValue("time_limit", float("inf") if seconds is None else float(seconds))
        highs.passModel(model)
        highs.run()
        if highs.getModelStatus() != package.HighsModelStatus.kOptimal:
            return None
        return list(highs.getSolution().col_value)
