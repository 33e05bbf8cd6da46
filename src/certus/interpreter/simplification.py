"""Make a counterexample shorter and its inputs simpler, so that a person can follow it.

Inputs are left out in the order in which the run reads them, in smaller and smaller groups (delta debugging,
Zeller and Hildebrandt 2002); then they are replaced by 0, else by 1, else by smaller numbers. A candidate is
taken if its run reaches the same error in fewer steps, or in as many with simpler inputs. The effort is
counted in steps, so that a trace always becomes the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.program import Havoc, Program
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue, Datum
from certus.interpreter.compile import Compiled
from certus.interpreter.inputs import ReplayInputs
from certus.interpreter.interpreter import Ending, run

EFFORT: Final = 400_000  # steps of all runs, and as many more as the trace has, `AGAIN` times
AGAIN: Final = 10
MOST: Final = 3_000_000  # steps of all runs, at most
START: Final = 3000  # the cost of starting a run, in steps

Read = tuple[int, tuple[Value, ...]]  # the edge that reads inputs, and their values


@dataclass(frozen=True, slots=True)
class _Run:
    """A trace whose run reaches the error: what it reads, in order, and its length."""

    trace: Trace
    reads: tuple[Read, ...]
    steps: int


def simplified(compiled: Compiled, trace: Trace, steps: int, budget: Budget) -> Trace:
    """Return a trace to the same error in no more steps, `steps`, and with simpler inputs."""
    search = _Search(compiled, min(EFFORT + AGAIN * steps, MOST), budget)
    best = search.run(trace, steps)
    if best is None:
        return trace
    best = _without_contents(search, best)
    best = _reduced(search, best, lambda group: (), lambda each: (each.steps, 0))
    for most in (0, 1):
        best = _reduced(search, best, partial(_up_to, most), partial(_complexity, most))
    integers = _integers(compiled.program)
    before = None
    while best is not before:
        before, best = best, _reduced(search, best, partial(_halved, integers), _magnitude)
    return best.trace


class _Search:
    """Runs of candidates, as long as the effort lasts."""

    def __init__(self, compiled: Compiled, effort: int, budget: Budget) -> None:
        self._compiled = compiled
        self._left = effort
        self._budget = budget

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    def run(self, trace: Trace, steps: int) -> _Run | None:
        """Run a candidate; None if it does not reach the error within `steps`."""
        if self.is_over:
            return None
        inputs = _Recorded(self._compiled.program, trace)
        try:
            end = run(self._compiled, inputs, step_limit=steps + 1, budget=self._budget)
        except BudgetExceeded:
            self._left = 0
            return None
        self._left -= START + end.steps
        if end.ending is not Ending.ERROR or end.cause or end.location.name != trace.error:
            return None
        return _Run(trace, tuple(inputs.reads), end.steps) if end.steps <= steps else None


class _Recorded(ReplayInputs):
    """The values of a trace; records what a run reads."""

    def __init__(self, program: Program, trace: Trace) -> None:
        super().__init__(program, trace)
        self.reads: list[Read] = []

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = super().havoc(edge, occurrence, targets)
        if edge not in self._unmodelled:
            self.reads.append((edge, tuple(0 if isinstance(v, ArrayValue) else v for v in values)))
        return values


def _without_contents(search: _Search, best: _Run) -> _Run:
    """Leave out the contents of new objects, and the values of globals, one by one."""
    read = {edge for edge, _ in best.reads}
    trace = best.trace
    for edge in (edge for edge in trace.inputs if edge not in read):
        others = {key: values for key, values in best.trace.inputs.items() if key != edge}
        best = search.run(replace(best.trace, inputs=others), best.steps) or best
    for variable in trace.initial:
        initial = {x: value for x, value in best.trace.initial.items() if x is not variable}
        best = search.run(replace(best.trace, initial=initial), best.steps) or best
    return best


def _reduced(
    search: _Search,
    best: _Run,
    change: Callable[[tuple[Read, ...]], tuple[Read, ...]],
    complexity: Callable[[_Run], tuple[int, int]],
) -> _Run:
    """Change groups of reads, first all of them and then smaller groups, if that makes the run simpler."""
    size = len(best.reads)
    while size and not search.is_over:
        at = 0
        while at < len(best.reads) and not search.is_over:
            before, group, after = best.reads[:at], best.reads[at : at + size], best.reads[at + size :]
            changed = change(group)
            candidate = None
            if changed != group:
                candidate = search.run(_with(best.trace, (*before, *changed, *after)), best.steps)
            if candidate is not None and complexity(candidate) < complexity(best):
                best = candidate
                at += len(changed)
            else:
                at += size
        size //= 2
    return best


def _with(trace: Trace, reads: Iterable[Read]) -> Trace:
    """Return a trace with other inputs; those at the end that are 0 need not be named."""
    inputs: dict[int, list[tuple[Value, ...]]] = {}
    for edge, values in reads:
        inputs.setdefault(edge, []).append(values)
    for executions in inputs.values():
        while executions and not any(executions[-1]):
            executions.pop()
    contents = {edge: values for edge, values in trace.inputs.items() if edge not in inputs}
    return replace(trace, inputs={**contents, **{e: tuple(values) for e, values in inputs.items() if values}})


def _up_to(most: int, reads: Iterable[Read]) -> tuple[Read, ...]:
    """Replace inputs that are not between 0 and `most`."""
    return tuple(
        (edge, tuple(v if 0 <= v <= most else type(v)(most) for v in values)) for edge, values in reads
    )


def _integers(program: Program) -> frozenset[int]:
    """Return the edges that read no floating-point numbers."""
    edges = ((n, e.op) for n, e in program.edge.items() if isinstance(e.op, Havoc))
    return frozenset(n for n, op in edges if not any(x in program.formats for x in op.targets))


def _halved(integers: frozenset[int], reads: Iterable[Read]) -> tuple[Read, ...]:
    """Replace integers that are larger than 2, or smaller than -2, by half of them."""
    return tuple((n, tuple(map(_half, values)) if n in integers else values) for n, values in reads)


def _half(value: Value) -> Value:
    if not isinstance(value, int) or -2 <= value <= 2:
        return value
    return (value + 1) // 2 if value > 0 else value // 2 + 1


def _magnitude(each: _Run) -> tuple[int, int]:
    """Return the number of steps, and the sum of the inputs."""
    return each.steps, sum(abs(int(v)) for _, values in each.reads for v in values)


def _complexity(most: int, each: _Run) -> tuple[int, int]:
    """Return the number of steps, and of inputs that are not between 0 and `most`."""
    return each.steps, sum(not 0 <= v <= most for _, values in each.reads for v in values)
