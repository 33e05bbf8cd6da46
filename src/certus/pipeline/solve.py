"""From a task to a checked answer, in one process: passes, engine, back map, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Unsupported
from certus.core.memory import uses_memory
from certus.core.outcome import Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import Engine, Pass, Task
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.engines.registry import ENGINES
from certus.pipeline.confirm import confirm
from certus.pipeline.exchange import Exchange
from certus.pipeline.facts import RangeFacts
from certus.pipeline.running import before_validation, run_engine
from certus.pipeline.settings import Settings, engine_options
from certus.transform.bounds import Bounds
from certus.transform.constants import Constants
from certus.transform.inline import Inline
from certus.transform.large_blocks import LargeBlocks
from certus.transform.memory import Memory
from certus.transform.passes import apply_passes
from certus.transform.slice import Slice

RELYING = ("kind", "predicate", "arrays")  # get facts unless an option `facts` of theirs says otherwise
ASKING = ("linear",)  # engines for which facts are found only if they ask
RESERVE = 2.0  # seconds at least that are kept for validation
Keep = Callable[[Outcome], None]
VACUITY_SECONDS = 1.0  # at the most, for looking at what a proof does not say


def solve(
    task: Task,
    settings: Settings,
    on_progress: Callable[[str], None] | None = None,
    *,
    looks: str | None = None,
    exchange: Exchange | None = None,
    keep: Keep | None = None,
) -> Outcome:
    """Answer the task by one engine within the time limit of the settings, unless `looks`, of that name, give
    an answer. Facts are had from and given to the `exchange`. `keep` gets an outcome whose proof is complete
    while other solvers are still asked for their opinions on it."""
    assert isinstance(task.subject, Program)
    statistics = Statistics(on_progress=on_progress)
    exchange = replace(exchange or Exchange(), inlined=ENGINES[settings.engine].inlines)
    statistics.on_invariants = partial(exchange.tell, settings.engine)
    if settings.log_queries is not None:
        from certus.logic.querylog import QueryLog

        statistics.queries = QueryLog(settings.log_queries)
    whole = Budget(settings.timeout)
    if looks is not None:
        seen = _by_looking(looks, task, settings, whole, statistics, keep)
        if seen is not None and not isinstance(seen.verdict, Unknown):
            return seen
    engine = ENGINES[settings.engine]
    found = _by_engine(engine, task, settings, exchange, before_validation(whole, RESERVE), statistics)
    return _confirmed(found, settings, whole, statistics, keep)


def search(
    task: Task,
    settings: Settings,
    on_progress: Callable[[str], None] | None = None,
    *,
    keep: Keep | None = None,
) -> Outcome:
    """Answer the task by a search among inputs, if that can. `keep` is as for `solve`."""
    statistics = Statistics(on_progress=on_progress)
    found = _by_looking("search", task, settings, Budget(settings.timeout), statistics, keep)
    nothing = Unknown(Diagnostic("nothing-found", "the search among inputs found nothing", Severity.NOTE))
    return found or Outcome(task.subject, task.property_name, nothing, "search", statistics=statistics)


def _by_looking(
    looks: str, task: Task, settings: Settings, budget: Budget, statistics: Statistics, keep: Keep | None
) -> Outcome | None:
    """The answer of runs of the program, if they have one: UNKNOWN if it is not confirmed."""
    from certus.pipeline.looks import LOOKS

    assert isinstance(task.subject, Program)
    with statistics.timed("looks"):
        verdict, how = LOOKS[looks](task.subject, budget)
    if verdict is None:
        return None
    found = Outcome(task.subject, task.property_name, verdict, how, statistics=statistics)
    return _confirmed(found, settings, budget, statistics, keep)


def _confirmed(
    found: Outcome, settings: Settings, budget: Budget, statistics: Statistics, keep: Keep | None
) -> Outcome:
    """The outcome after validation, with notes on what a proof leaves out.

    The outcome is made, and kept, as soon as the proof is complete. Further opinions of solvers can only
    change how it was checked, or refute it."""
    program = found.subject
    assert isinstance(program, Program)
    complete: list[Outcome] = []

    def sufficient(check: ProofCheck) -> None:
        assert isinstance(found.verdict, Safe)
        notes = _vacuity(program, found.verdict, budget, statistics)
        complete.append(replace(found, check=check, diagnostics=notes))
        if keep is not None:
            keep(complete[-1])

    verdict, check = confirm(
        program,
        found.verdict,
        budget=budget,
        statistics=statistics,
        solvers=settings.solvers,
        on_sufficient=sufficient,
    )
    if complete and isinstance(verdict, Safe):
        return replace(complete[-1], check=check)
    if isinstance(verdict, Unsafe) and isinstance(check, Replay) and settings.execute:
        verdict, check = _by_the_compiled(program, verdict, check, settings, budget, statistics)
    notes: tuple[Diagnostic, ...] = ()
    if isinstance(verdict, Safe) and isinstance(check, ProofCheck):
        notes = _vacuity(program, verdict, budget, statistics)
    return replace(found, verdict=verdict, check=check, diagnostics=notes)


def _by_the_compiled(
    program: Program,
    verdict: Unsafe,
    check: Replay,
    settings: Settings,
    budget: Budget,
    statistics: Statistics,
) -> tuple[Verdict, Replay | None]:
    """A violation of a C program, replayed by the compiled program too."""
    if Path(program.file).suffix.lower() not in (".c", ".i"):
        return verdict, check
    from certus.pipeline.compiled import replay_compiled

    with statistics.timed("validate.compiled"):
        return replay_compiled(program, verdict, check, settings, budget=budget)


def _by_engine(
    engine: Engine,
    task: Task,
    settings: Settings,
    exchange: Exchange,
    budget: Budget,
    statistics: Statistics,
) -> Outcome:
    options = engine_options(engine, settings)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return Outcome(task.subject, task.property_name, Unknown(refusal), engine.name)
    try:
        with statistics.timed("passes"):
            late = engine.name in ASKING
            wants_facts = settings.ranges and getattr(options, "facts", late or engine.name in RELYING)
            ranges = RangeFacts(budget, statistics, exchange.ranges, late=late)
            facts: list[Pass] = [ranges] if wants_facts else []
            prepared, back, sizes = apply_passes(task, _passes(task, settings, engine, facts))
    except Unsupported as refused:
        return Outcome(task.subject, task.property_name, Unknown(refused.diagnostic), engine.name)
    verdict = back.verdict(run_engine(engine, prepared, options, budget, statistics))
    return Outcome(
        task.subject, task.property_name, verdict, engine.name, statistics=statistics, passes=sizes
    )


def _passes(task: Task, settings: Settings, engine: Engine, facts: list[Pass]) -> list[Pass]:
    """Memory comes first: `validate` checks its partition on the program as given."""
    assert isinstance(task.subject, Program)
    memory: list[Pass] = [Memory()] if uses_memory(task.subject) else []
    inline: list[Pass] = [Inline()] if engine.inlines else []
    return [*memory, Constants(), Slice(), *inline, Bounds(), *facts, LargeBlocks(settings.blocks)]


def _vacuity(
    program: Program, verdict: Safe, budget: Budget, statistics: Statistics
) -> tuple[Diagnostic, ...]:
    from certus.validate.vacuity import vacuous

    left = budget.remaining()
    limit = Budget(VACUITY_SECONDS if left is None else min(VACUITY_SECONDS, left / 2))
    with statistics.timed("validate.vacuity"):
        return vacuous(program, verdict.proof, budget=limit, statistics=statistics)
