"""Describe what is wrong with memory where a replayed trace ends.

The object and its bounds come from the run itself. For a lost object the trace is run again, and after each
step the interpreter looks whether a pointer to the object is left: the step that took the last one is what
the user wants to see. In long runs it looks at `_STOPS` places first, and after each step only behind the
last one where a pointer was left. The description explains a violation; whether it is one does not depend
on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.memory_defects import (
    DefectKind,
    DefectObject,
    Loss,
    LostAt,
    MemoryDefect,
)
from certus.core.program import (
    Alloc,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    MarkBits,
    Program,
)
from certus.core.terms import INT, Expr
from certus.core.values import Datum
from certus.core.vocabulary import PART_OF_KIND
from certus.interpreter.compile import Code, Compiled
from certus.interpreter.indeterminate import Indeterminate
from certus.interpreter.inputs import ReplayInputs, TraceInputs
from certus.interpreter.interpreter import Ending, Machine, Observer, Run
from certus.interpreter.objects import MemoryObject, Refusal

_STOPS: Final = 500  # places where a long run is looked at
_STEPS: Final = 5_000  # after which a run is looked at, one by one


def memory_defect(
    compiled: Compiled, trace: Trace, machine: Machine, end: Run, budget: Budget
) -> MemoryDefect | None:
    """Return what is wrong where a run on the inputs of `trace` ended; None if its error is not about memory.
    Takes at most a quarter of the remaining time."""
    refusal = machine.memory.refused
    if refusal is None or compiled.program.error_at(end.location).kind not in PART_OF_KIND:
        return None
    target, offset = refusal.place
    kind = _kind(refusal)
    lost: LostAt | None = None
    with suppress(BudgetExceeded):
        part = budget.part(0.25)
        if target is None and _is_uninitialised(compiled, trace, end, part):
            kind = DefectKind.UNINITIALISED
        if kind is DefectKind.LOST and target is not None:
            lost = _Losing(compiled, ReplayInputs(compiled.program, trace), target, end.steps).find(part)
    described = None if target is None else _described(target)
    return MemoryDefect(kind, refusal.question, offset, refusal.size, described, refusal.count, lost)


def _described(target: MemoryObject) -> DefectObject:
    ended = None if target.live else target.ended
    return DefectObject(target.name, target.storage, target.extent, target.edge, ended)


def _kind(refusal: Refusal) -> DefectKind:
    target, offset = refusal.place
    if refusal.question == "tracked":
        return DefectKind.LOST
    if refusal.question == "freed":
        return DefectKind.NOT_FREED
    if target is None:
        is_null = 0 <= offset < _NEAR_NULL and refusal.question != "free"
        return DefectKind.NULL if is_null else DefectKind.NO_OBJECT
    inside = 0 <= offset < max(target.extent, 1)
    if not target.live and inside:
        return DefectKind.FREED if target.storage == "heap" else DefectKind.OUT_OF_SCOPE
    if refusal.question == "free":
        return DefectKind.NOT_START if target.storage == "heap" else DefectKind.NOT_HEAP
    if inside and offset + refusal.size <= target.extent:
        return DefectKind.CONSTANT
    return DefectKind.OUT_OF_BOUNDS


_NEAR_NULL: Final = 4096  # bytes: members and elements behind a null pointer


# ------------------------------------------------------------------------- uninitialised pointers


class _Uninitialised(TraceInputs):
    """The inputs of a trace, where memory and pointers that were never written have no value."""

    def __init__(self, program: Program, trace: Trace) -> None:
        super().__init__(program, trace)
        self._unset = {e.index for e in program.edge.values() if _reads_unset(e)}

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = super().havoc(edge, occurrence, targets)
        if edge not in self._unset:
            return values
        return tuple(
            cast(Datum, Indeterminate.uninitialised(0, -1, target.name)) if target.sort is INT else value
            for target, value in zip(targets, values, strict=True)
        )


def _reads_unset(edge: Edge) -> bool:
    """Return whether an edge gives variables a value only because nothing wrote them."""
    op = edge.op
    return isinstance(op, Havoc) and op.function is None and not op.approximates


def _is_uninitialised(compiled: Compiled, trace: Trace, end: Run, budget: Budget) -> bool:
    """Return whether the run comes to the same error if uninitialised values have no value, because the
    address is one."""
    machine = Machine(compiled, _Uninitialised(compiled.program, trace))
    code = compiled.code()
    code.require(compiled.program.main)
    again = machine.advance(code, limit=end.steps + 1, budget=budget)
    refusal = machine.memory.refused
    same = again.ending is Ending.ERROR and again.location is end.location
    return same and refusal is not None and refusal.undetermined


# ----------------------------------------------------------------------------------- lost objects


class _Losing(Observer):
    """An observer of the steps of a run, which finds the last one that took the last pointer to an object."""

    def __init__(self, compiled: Compiled, inputs: ReplayInputs, lost: MemoryObject, steps: int) -> None:
        self.watched = compiled.everywhere
        self._compiled = compiled
        self._inputs = inputs
        self._start = lost.start
        self._steps = steps
        self._tracked = False  # after the step before
        self._found: LostAt | None = None

    def find(self, budget: Budget) -> LostAt | None:
        """Return the step that took the last pointer; None if it was not found."""
        first = 0
        machine = Machine(self._compiled, self._inputs)
        if self._steps > _STEPS:
            stop = self._last_tracked(budget)
            if stop is None:
                return None
            first = stop
            _advance(machine, self._compiled.code(), first, budget)
        self._tracked = self._is_tracked(machine)
        code = self._compiled.code(self.watched)
        code.require(machine.location.procedure)
        machine.advance(code, limit=first + _STEPS, budget=budget, observer=self)
        return self._found

    def _last_tracked(self, budget: Budget) -> int | None:
        """Return the number of steps at the last of some places where a pointer is left; None if there is
        none."""
        machine, stop = Machine(self._compiled, self._inputs), None
        for number in range(1, _STOPS):
            limit = self._steps * number // _STOPS
            if machine.steps < limit and not _advance(machine, self._compiled.code(), limit, budget):
                break
            if self._is_tracked(machine):
                stop = machine.steps
            budget.check()
        return stop

    def _is_tracked(self, machine: Machine) -> bool:
        return self._start in machine.memory.tracked_starts()

    # -- the observer

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is None or isinstance(edge.op, Call):
            return
        if isinstance(edge.op, Alloc) and machine.value(edge.op.target) == self._start:
            self._found = LostAt(Loss.NEVER_KEPT, machine.steps - 1, edge.index)
            self._tracked = self._is_tracked(machine)
        elif not isinstance(edge.op, _HARMLESS):
            ends = {"heap": Loss.FREED, "stack": Loss.SCOPE, "static": Loss.SCOPE}
            self._look(
                machine, edge, ends[edge.op.storage] if isinstance(edge.op, Free) else Loss.OVERWRITTEN
            )

    def leave(self, machine: Machine, edge: Edge) -> None:
        self._look(machine, edge, Loss.RETURNED)

    def _look(self, machine: Machine, edge: Edge, loss: Loss) -> None:
        tracked = self._is_tracked(machine)
        if self._tracked and not tracked:
            self._found = LostAt(loss, machine.steps - 1, edge.index)
        self._tracked = tracked


_HARMLESS: Final = (Assume, Inspect, InspectHeap, InspectBits, MarkBits)  # steps that write nothing


def _advance(machine: Machine, code: Code, limit: int, budget: Budget) -> bool:
    """Run on to a number of steps; return whether the run goes on there."""
    code.require(machine.location.procedure)
    return machine.advance(code, limit=limit, budget=budget).ending is Ending.LIMIT
