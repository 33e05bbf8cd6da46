"""Cheap looks at a program before any engine: runs by the interpreter, which need no solver.

A program without inputs has one execution: that run is the answer. Others get a few runs on random inputs,
which find shallow errors within milliseconds, and later a search among inputs one after the other
(`explore`), which finds deep ones of programs with few states, or that there are none. A random run that
reaches an error is told as a trace whose inputs are made as simple as they can be. All traces have to be
replayed, and all proofs checked, like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Final

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Inductive, Trace
from certus.core.program import Program
from certus.core.terms import Value
from certus.core.verdict import Safe, Unsafe
from certus.pipeline.explore import explored
from certus.validate.compile import Compiled, compile_program
from certus.validate.inputs import NoInputs, Nondeterministic, RandomInputs, ReplayInputs, constants
from certus.validate.interpreter import Ending, Run, run

STEPS: Final = 2000  # of a random run; or what may pass every edge twice, if that is more
ALL_STEPS: Final = 300_000  # of all random runs, and once more of those that make the inputs of one simple
START: Final = 3000  # what it costs to begin a run, in steps
ONE_RUN: Final = 0.4  # of the time limit, for a program that seems to have no inputs


def runs(program: Program, budget: Budget) -> tuple[Safe | Unsafe | None, str]:
    """The answer, if running the program gives it; and what kind of look that was."""
    compiled = compile_program(program)
    try:
        return execute(compiled, budget.part(ONE_RUN)), "execution"
    except Nondeterministic:
        return _unsafe(random_error(compiled, budget)), "random"


def search(program: Program, budget: Budget) -> tuple[Safe | Unsafe | None, str]:
    """The same by a search, which takes up to a second."""
    found = explored(compile_program(program), budget)
    return Safe(found) if isinstance(found, Inductive) else _unsafe(found), "search"


LOOKS: Final = {"runs": runs, "search": search}


def _unsafe(trace: Trace | None) -> Unsafe | None:
    return None if trace is None else Unsafe(trace)


def execute(compiled: Compiled, budget: Budget) -> Safe | Unsafe | None:
    """The verdict by the only run, if it ends within the budget. Raises `Nondeterministic` if there are
    others."""
    try:
        end = run(compiled, NoInputs(), budget=budget)
    except BudgetExceeded:
        return None
    if end.ending is Ending.ERROR:
        return Unsafe(Trace(end.location.name))
    return Safe(Execution(end.steps)) if end.ending in (Ending.EXIT, Ending.BLOCKED) else None


def random_error(compiled: Compiled, budget: Budget) -> Trace | None:
    """A trace to an error that random inputs lead to. Effort is counted in steps, not in seconds, so that a
    program always gets the same runs."""
    known = constants(compiled.program)
    limit = max(STEPS, 2 * len(compiled.program.edge))
    number, left = 0, ALL_STEPS
    while left > 0:
        inputs = RandomInputs(Random(f"look/{number}"), known)
        try:
            end = run(compiled, inputs, step_limit=limit, budget=budget)
        except BudgetExceeded:
            return None
        if end.ending is Ending.ERROR:
            return simple(compiled, inputs.trace(end.location.name), end.steps, budget)
        number, left = number + 1, left - START - end.steps
    return None


# ------------------------------------------------------------------------------ simple inputs


def simple(compiled: Compiled, trace: Trace, steps: int, budget: Budget) -> Trace:
    """A trace to the same error, in no more steps, with as many inputs 0, else 1, as a short greedy search
    finds."""
    left = ALL_STEPS
    progress = True
    while progress:
        progress = False
        for candidate in _simpler(trace):
            end = _replayed(compiled, candidate, steps, budget) if left > 0 else None
            if end is None:
                return trace
            left -= START + end.steps
            if end.ending is Ending.ERROR and end.location.name == trace.error:
                trace, steps, progress = candidate, end.steps, True
                break
    return trace


def _replayed(compiled: Compiled, trace: Trace, steps: int, budget: Budget) -> Run | None:
    try:
        return run(compiled, ReplayInputs(compiled.program, trace), step_limit=steps + 1, budget=budget)
    except BudgetExceeded:
        return None


def _simpler(trace: Trace) -> Iterator[Trace]:
    """Traces that give less: nothing at an edge, nothing from some execution of it on, 0 or 1 at one."""
    for edge, executions in trace.inputs.items():
        others: Mapping[int, tuple[tuple[Value, ...], ...]] = {
            key: given for key, given in trace.inputs.items() if key != edge
        }
        yield replace(trace, inputs=others)
        for kept in range(1, len(executions)):
            yield replace(trace, inputs={**others, edge: executions[:kept]})
        for number, values in enumerate(executions):
            for most in (0, 1):
                smaller = tuple(v if 0 <= v <= most else type(v)(most) for v in values)
                if smaller != values:
                    changed = (*executions[:number], smaller, *executions[number + 1 :])
                    yield replace(trace, inputs={**others, edge: changed})
    for variable in trace.initial:
        yield replace(trace, initial={x: value for x, value in trace.initial.items() if x is not variable})
