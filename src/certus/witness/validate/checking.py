"""Search for evidence about the programs of a case, and check evidence about the program itself.

The search works on programs built from the witness, so its answers count only once their evidence has been
carried back and checked here, in a child process, like the evidence of any engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from certus.codec.outcomes import decode_outcome, encode_outcome
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Safe, Unknown, Unsafe, Verdict
from certus.core.outcome import CONTRADICTION, Outcome, Replay
from certus.core.program import Program
from certus.core.vocabulary import Property
from certus.run.publish import Challenger, confirm, judge
from certus.run.schedule import Schedule
from certus.system.child import Children, Reporter, run_limited
from certus.witness.validate.case import Case, Judgement

DIRECT_SHARE: Final = 0.3  # of the time, for the inputs or invariants of the witness exactly as it gives them
RESERVE: Final = 0.15  # of the time, kept for checks on the program itself


def search(case: Case, program: Program, engines: tuple[str, ...] = ()) -> Outcome:
    """Run the engines (these, or all of them) on a program built from the witness."""
    case.budget.check()
    left = case.budget.remaining()
    seconds = None if left is None else (1 - RESERVE) * left
    options = {"bmc.shortest": "false", **case.settings.options}  # any violation will do
    settings = replace(
        case.settings, execute=False, harness=None, evidence=None, options=options, engines=engines
    )
    return Schedule(case.task(program), settings, case.on_progress, seconds=seconds).run()


def check_in_child(case: Case, verdict: Verdict, engine: str) -> Outcome:
    """Check evidence about the program itself in a child process."""
    checked = in_child(case, 1.0, lambda budget: check(case, verdict, engine, budget))
    if checked is None:
        reason = Diagnostic("evidence-not-checked", "the evidence could not be checked within the limits")
        return Outcome(case.program, case.property_name, Unknown(reason), engine)
    return checked


def check(case: Case, verdict: Verdict, engine: str, budget: Budget) -> Outcome:
    """Check evidence about the program itself; with `--execute`, also replay a violation natively."""
    statistics = Statistics()
    verdict, result = confirm(
        case.program, verdict, budget=budget, statistics=statistics, solvers=case.settings.solvers
    )
    if isinstance(verdict, Unsafe) and isinstance(result, Replay) and case.settings.execute:
        from certus.run.publish import replay_compiled

        verdict, result = replay_compiled(case.program, verdict, result, case.settings, budget=budget)
    return Outcome(case.program, case.property_name, verdict, engine, result, statistics)


def in_child(case: Case, share: float, work: Callable[[Budget], Outcome | None]) -> Outcome | None:
    """Run `work` in a child process for a share of the time; None if it gives no outcome in that time."""
    case.budget.check()
    budget = case.budget.part(share)

    def encoded(_: Reporter) -> bytes:
        outcome = work(budget)
        return json.dumps(None if outcome is None else encode_outcome(outcome)).encode()

    result = run_limited(encoded, seconds=budget.remaining(), memory=case.settings.memory)
    if result.kind == "interrupted":
        raise KeyboardInterrupt
    data = None if result.payload is None else json.loads(result.payload)
    return None if data is None else decode_outcome(data, case.program)


def challenge(case: Case, property: Property, judgement: Judgement) -> Judgement:
    """Compare a judgement that rests on a proof with native runs of the program. A proof that refutes a
    violation witness only says that no execution follows it: other executions may reach the error."""
    outcome = judgement.outcome
    if outcome is None or not isinstance(outcome.verdict, Safe):
        return judgement
    challenger = Challenger(case.program, property, case.settings, case.budget)
    with Children(memory=case.settings.memory) as children:
        result = challenger.result(children)
    disagreement = result.disagreement
    if judgement.answer == "REFUTED" and (disagreement is None or disagreement.code == CONTRADICTION):
        return judgement
    outcome = judge(outcome, result)
    if isinstance(outcome.verdict, Unknown):
        return Judgement("UNKNOWN", outcome.verdict.reason)
    return replace(judgement, outcome=outcome)


def reason_of(outcome: Outcome) -> Diagnostic:
    """Return the reason of an UNKNOWN outcome."""
    assert isinstance(outcome.verdict, Unknown)
    return outcome.verdict.reason
