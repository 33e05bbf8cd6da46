"""What happens in the child process of one engine: passes, engine, back map, check of the evidence.

The child sends an `Outcome` to its parent (`run.schedule`). Only checked answers are sent: whatever the
engine says, `publish` has checked its evidence on the program or the clauses as the front end gave them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from certus.codec.outcomes import encode_outcome
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import uses_memory
from certus.core.engine import BackMap, Engine, Facts, Pass, ProgramForm, Task, apply_passes
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.evidence import Inductive, Point, Proof, Safe, Unknown, Unsafe, Verdict
from certus.core.horn import HornSystem
from certus.core.loops import loop_forest
from certus.core.outcome import Outcome, PassSize
from certus.core.program import Program, called
from certus.engines.registry import ENGINES
from certus.run.publish import publish
from certus.run.settings import Settings, block_pass, engine_options
from certus.run.sharing import Exchange, RangeFacts
from certus.run.unconfirmed import unconfirmed_error, without_error
from certus.system.child import Reporter

RESERVED: Final = 0.1  # of the time, for the check of the evidence
RESERVE: Final = 2.0  # seconds of it at least
HINTS: Final = {"time": "try a larger --timeout", "memory": "try a larger --memory"}


def work(
    task: Task,
    settings: Settings,
    reporter: Reporter,
    *,
    quick: tuple[str, ...] = (),
    exchange: Exchange | None = None,
) -> bytes:
    """Answer the task by the engine that the settings name, unless one of the `quick` engines does, and
    return the outcome as text. An outcome whose proof is complete is sent before further solvers are asked
    for their opinions on it."""

    def keep(outcome: Outcome) -> None:
        reporter.keep(_encoded(outcome))

    return _encoded(solve(task, settings, reporter.progress, quick=quick, exchange=exchange, keep=keep))


def _encoded(outcome: Outcome) -> bytes:
    return json.dumps(encode_outcome(outcome)).encode()


def solve(
    task: Task,
    settings: Settings,
    on_progress: Callable[[str], None] | None = None,
    *,
    quick: tuple[str, ...] = (),
    exchange: Exchange | None = None,
    keep: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Answer the task in this process, within the time limit of the settings. Facts come from the `exchange`
    and go to it. `keep` gets an outcome whose proof is complete while other solvers are still asked for their
    opinions on it."""
    statistics = Statistics(on_progress=on_progress)
    exchange = exchange or Exchange()
    if settings.log_queries is not None:
        from certus.solvers.query_log import QueryLog

        statistics.queries = QueryLog(settings.log_queries)
    whole = Budget(settings.timeout)
    for name in (*quick, settings.engine) if _has_errors(task) else (settings.engine,):
        statistics.on_invariants = partial(exchange.send_facts, name)
        outcome = _checked(task, replace(settings, engine=name), exchange, whole, statistics, keep)
        if not isinstance(outcome.verdict, Unknown):
            break
    return outcome


def _checked(
    task: Task,
    settings: Settings,
    exchange: Exchange,
    whole: Budget,
    statistics: Statistics,
    keep: Callable[[Outcome], None] | None,
) -> Outcome:
    """Return the answer of one engine after the check of its evidence.

    If a counterexample does not replay, the engine searches again without its error (`run.unconfirmed`). If
    it reaches no other, there is no answer: nothing is known about the errors that were left out."""
    first: Outcome | None = None
    asked = task
    while True:
        answer = _answer(
            ENGINES[settings.engine], asked, settings, exchange, _before_check(whole), statistics
        )
        if first is not None and not isinstance(answer.verdict, Unsafe):
            return first
        outcome = publish(replace(answer, subject=task.subject), settings, whole, statistics, keep)
        site = unconfirmed_error(answer.verdict, outcome)
        if site is None or not isinstance(asked.subject, Program):
            return outcome
        first = first or outcome
        asked = replace(asked, subject=without_error(asked.subject, site))
        if not _has_errors(asked):
            return first
        statistics.progress(f"the counterexample to {site} does not replay; searching for another error")


def _answer(
    engine: Engine[Any],
    task: Task,
    settings: Settings,
    exchange: Exchange,
    budget: Budget,
    statistics: Statistics,
) -> Outcome:
    """Run one engine and carry its evidence back to the task. Nothing is checked yet."""
    options = engine_options(engine, settings)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return Outcome(task.subject, task.property_name, Unknown(refusal), engine.name, statistics=statistics)
    prepared, back = task, BackMap.identity()
    sizes: tuple[PassSize, ...] = ()
    if isinstance(task.subject, Program) and engine.form is not ProgramForm.ORIGINAL:
        try:
            with statistics.timed("passes"):
                if _has_errors(task):
                    passes = _passes(task.subject, settings, engine, options, exchange, budget, statistics)
                else:
                    passes = _only_memory(task.subject)
                prepared, back, sizes = apply_passes(task, passes)
        except Unsupported as refused:
            reason = Unknown(refused.diagnostic)
            return Outcome(task.subject, task.property_name, reason, engine.name, statistics=statistics)
    if _has_errors(task) or engine.form is ProgramForm.ORIGINAL:
        verdict = _run(engine, prepared, options, budget, statistics)
    else:
        verdict = Safe(_nothing_to_prove(prepared))
    verdict = back.verdict(verdict)
    return Outcome(
        task.subject, task.property_name, verdict, engine.name, statistics=statistics, passes=sizes
    )


def _has_errors(task: Task) -> bool:
    return isinstance(task.subject, HornSystem) or bool(task.subject.errors)


def _nothing_to_prove(task: Task) -> Proof:
    """Return the proof for a program without error locations: its loops and procedures may do anything."""
    assert isinstance(task.subject, Program)
    procedures = task.subject.procedures
    callees = dict.fromkeys(c.procedure for p in procedures.values() for e in p.edges for c in called(e.op))
    heads = (head for procedure in procedures.values() for head in loop_forest(procedure).heads)
    return Inductive({Point(head): build.TRUE for head in heads}, dict.fromkeys(callees, build.TRUE))


def _passes(
    program: Program,
    settings: Settings,
    engine: Engine[Any],
    options: Any,
    exchange: Exchange,
    budget: Budget,
    statistics: Statistics,
) -> list[Pass]:
    """Return the passes for an engine. Memory comes first: its partition is checked on the program as
    given."""
    from certus.passes.bounds import Bounds
    from certus.passes.constants import Constants
    from certus.passes.inline import Inline
    from certus.passes.memory import Memory
    from certus.passes.slice import Slice

    inlines = settings.inline and engine.form is ProgramForm.INLINED
    memory: list[Pass] = [Memory(watched=engine.watches)] if uses_memory(program) else []
    inline: list[Pass] = [Inline()] if inlines else []
    facts: list[Pass] = []
    wanted = engine.facts_wanted(options) if settings.ranges else Facts.NEVER
    if wanted is not Facts.NEVER:
        ranges = replace(exchange, inlined=inlines).ranges
        facts = [RangeFacts(budget, statistics, ranges, late=wanted is Facts.ON_DEMAND)]
    return [*memory, Constants(), Slice(), *inline, Bounds(), *facts, block_pass(settings)]


def _only_memory(program: Program) -> list[Pass]:
    """Return the passes for a program without error locations: a proof needs the partition of its memory."""
    from certus.passes.memory import Memory

    return [Memory()] if uses_memory(program) else []


def _run(engine: Engine[Any], task: Task, options: Any, budget: Budget, statistics: Statistics) -> Verdict:
    """Return what the engine says; UNKNOWN when it reaches a limit or something that it does not support."""
    seconds = budget.remaining()
    try:
        with statistics.timed("engine"):
            return engine.run(task, options, budget, statistics)
    except Unsupported as refused:
        return Unknown(refused.diagnostic)
    except BudgetExceeded as reached:
        limit = reached.limit
        timed = limit == "time" and seconds is not None
        within = f"the {seconds:.1f} s it had" if timed else f"the {limit} limit"
        latest = f"; last: {statistics.latest}" if statistics.latest else ""
        message = f"{engine.name} did not finish within {within}{latest}"
        return Unknown(Diagnostic(f"{limit}-limit", message, Severity.NOTE, hint=HINTS.get(limit)))


def _before_check(whole: Budget) -> Budget:
    """Return the engine's part of the time left: the rest is for the check of its evidence."""
    left = whole.remaining()
    if left is None:
        return Budget()
    return Budget(max(left - max(RESERVED * left, RESERVE), left / 2))
