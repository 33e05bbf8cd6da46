"""From a task to a checked answer, in one process: passes, engine, back map, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded
from certus.core.outcome import PassSize, ProofCheck, Replay
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import Engine, Task
from certus.core.verdict import Safe, Unknown, Verdict
from certus.engines.registry import ENGINES
from certus.pipeline.confirm import confirm
from certus.pipeline.settings import AUTO, Settings, engine_options
from certus.transform.large_blocks import LargeBlocks
from certus.transform.passes import apply_passes

RESERVE_SHARE, RESERVE_SECONDS = 0.1, 2.0  # of the time limit, kept for validation
VACUITY_SECONDS = 1.0  # at the most, for looking at what a proof does not say


@dataclass(slots=True)
class Solved:
    """A checked answer on its way to an `Outcome`."""

    verdict: Verdict
    engine: str
    check: ProofCheck | Replay | None = None
    statistics: Statistics = field(default_factory=Statistics)
    notes: tuple[Diagnostic, ...] = ()
    passes: tuple[PassSize, ...] = ()


def solve(task: Task, settings: Settings, on_progress: Callable[[str], None] | None = None) -> Solved:
    """Answer the task within the time limit of the settings."""
    assert isinstance(task.subject, Program)
    statistics = Statistics(on_progress=on_progress)
    if settings.log_queries is not None:
        from certus.logic.querylog import QueryLog

        statistics.queries = QueryLog(settings.log_queries)
    whole = Budget(settings.timeout)
    solved = _without_inputs(task.subject, settings, whole, statistics)
    if solved is None:
        engine = ENGINES["bmc" if settings.engine == AUTO else settings.engine]
        solved = _by_engine(engine, task, settings, _before_validation(settings), statistics)
    solved.verdict, solved.check = confirm(task.subject, solved.verdict, budget=whole, statistics=statistics)
    if isinstance(solved.check, ProofCheck):
        solved.notes += _vacuity(task.subject, solved.verdict, whole, statistics)
    return solved


def _without_inputs(
    program: Program, settings: Settings, budget: Budget, statistics: Statistics
) -> Solved | None:
    """`auto` first executes a program that has no inputs: its one run is the answer."""
    if settings.engine != AUTO:
        return None
    from certus.pipeline.execute import execute

    with statistics.timed("execution"):
        verdict = execute(program, budget.part(0.3))
    return None if verdict is None else Solved(verdict, "execution", statistics=statistics)


def _by_engine(
    engine: Engine, task: Task, settings: Settings, budget: Budget, statistics: Statistics
) -> Solved:
    options = engine_options(engine, settings)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return Solved(Unknown(refusal), engine.name, statistics=statistics)
    with statistics.timed("passes"):
        prepared, back, sizes = apply_passes(task, [LargeBlocks(settings.blocks)])
    try:
        with statistics.timed("engine"):
            verdict = back.verdict(engine.run(prepared, options, budget, statistics))
    except BudgetExceeded as limit:
        verdict = Unknown(_limit_reached(engine, limit))
    return Solved(verdict, engine.name, statistics=statistics, passes=sizes)


def _limit_reached(engine: Engine, limit: BudgetExceeded) -> Diagnostic:
    message = f"{engine.name} did not finish within the {limit.limit} limit"
    return Diagnostic(f"{limit.limit}-limit", message, Severity.NOTE, hint=f"try a larger --{_FLAG[limit.limit]}")


_FLAG = {"time": "timeout", "memory": "memory", "interrupt": "timeout"}


def _before_validation(settings: Settings) -> Budget:
    """The engine's part of the time limit."""
    if settings.timeout is None:
        return Budget()
    reserve = max(RESERVE_SHARE * settings.timeout, RESERVE_SECONDS)
    return Budget(max(settings.timeout - reserve, settings.timeout / 2))


def _vacuity(
    program: Program, verdict: Verdict, budget: Budget, statistics: Statistics
) -> tuple[Diagnostic, ...]:
    from certus.validate.vacuity import vacuous

    assert isinstance(verdict, Safe)
    left = budget.remaining()
    limit = Budget(VACUITY_SECONDS if left is None else min(VACUITY_SECONDS, left / 2))
    with statistics.timed("validate.vacuity"):
        return vacuous(program, verdict.proof, budget=limit, statistics=statistics)
