"""Linear programs, solved by HiGHS: the only module that imports `highspy`, and only when one is solved.

A model is given by arrays (the interface by expressions takes a hundred times longer). The answer is in
floating point: a hint, never a proof. Callers round it and check it in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Row = Sequence[tuple[int, float]]  # (column, coefficient)
TINY: Final = 300  # columns up to which presolving costs more than it saves


@dataclass(slots=True)
class LinearProgram:
    """Columns with bounds and costs, and rows `lower <= row <= upper`. Infinite bounds are `inf`."""

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
    """One instance of HiGHS, used for many programs."""

    def __init__(self) -> None:
        import highspy

        self._package: Any = highspy
        self._highs: Any = self._package.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
            self._highs.setOptionValue(option, value)

    def maximum(self, program: LinearProgram, *, seconds: float | None = None) -> list[float] | None:
        """The columns of a solution of greatest cost; None if there is none, or it was not found."""
        return self._solve(program, self._package.ObjSense.kMaximize, seconds)

    def minimum(self, program: LinearProgram, *, seconds: float | None = None) -> list[float] | None:
        """The columns of a solution of least cost; None if there is none, or it was not found."""
        return self._solve(program, self._package.ObjSense.kMinimize, seconds)

    def _solve(self, program: LinearProgram, sense: Any, seconds: float | None) -> list[float] | None:
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
