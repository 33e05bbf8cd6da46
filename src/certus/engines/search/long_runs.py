"""Run the program for long on inputs that hardly change: errors behind large buffers and long loops.

A loop that reads in each iteration whether to go on ends early on random inputs, and so does one that stops
at the first 0 among many. Each run here gives all reads of an input the same value. A run that reaches an
error is a trace, which is replayed like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.floats import FORMATS, from_integer
from certus.core.program import Havoc, Program
from certus.core.terms import BOOL, INT, Expr, MachineSort, Value
from certus.core.values import Datum
from certus.interpreter.compile import Compiled
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import Ending, run
from certus.interpreter.simplification import simplified

EFFORT: Final = 2_500_000  # steps of all runs together
SOME: Final = 1000  # a large number that few programs cannot count to

Tried = Mapping[int, tuple[Value, ...]]  # for each edge that reads an input, values to try


def long_error(compiled: Compiled, tried: Tried, budget: Budget) -> Trace | None:
    """Return a trace to an error that inputs which do not change lead to. `tried` has the first values of
    each input that is worth trying."""
    left = EFFORT
    for choose in (_one, _highest, _largest, _some):
        inputs = _Steady(compiled.program, tried, choose)
        end = run(compiled, inputs, step_limit=left, budget=budget)
        if end.ending is Ending.ERROR:
            return simplified(compiled, inputs.trace(end.location.name), end.steps, budget)
        left -= end.steps
        if left <= 0 or not inputs.read:
            break
    return None


class _Steady(TraceInputs):
    """Supplies one value for all reads of an input. `read` counts the reads of each edge."""

    contents: Mapping[int, tuple[bytes, ...]] = {}  # new objects are zero

    def __init__(
        self, program: Program, tried: Tried, choose: Callable[[Expr, Sequence[Value]], int]
    ) -> None:
        super().__init__(program, Trace(""))
        self.read: dict[int, int] = {}
        self._values: dict[int, tuple[Datum, ...]] = {}
        for edge, values in tried.items():
            op = program.edge[edge].op
            assert isinstance(op, Havoc)
            x, rest = op.targets[0], super().havoc(edge, 0, op.targets[1:])
            if x in program.formats:
                first: Datum = from_integer(FORMATS[program.formats[x]], 1)
            else:
                first = _fitting(x, choose(x, values))
            self._values[edge] = (first, *rest)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = self._values.get(edge)
        if values is None:
            return super().havoc(edge, occurrence, targets)
        self.read[edge] = occurrence + 1
        return values

    def trace(self, error: str) -> Trace:
        """Return the inputs of the run as a trace to an error."""
        inputs = {n: (cast(tuple[Value, ...], self._values[n]),) * count for n, count in self.read.items()}
        return Trace(error, {}, inputs)


def _fitting(x: Expr, number: int) -> Value:
    if x.sort is BOOL:
        return number != 0
    return x.sort.wrap(number) if isinstance(x.sort, MachineSort) else number if x.sort is INT else 0


def _one(x: Expr, values: Sequence[Value]) -> int:
    return 1


def _highest(x: Expr, values: Sequence[Value]) -> int:
    return x.sort.high if isinstance(x.sort, MachineSort) else SOME


def _largest(x: Expr, values: Sequence[Value]) -> int:
    return max(map(int, values), default=1)


def _some(x: Expr, values: Sequence[Value]) -> int:
    return SOME
