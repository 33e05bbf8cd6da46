"""No answer is published before its evidence is checked on the program or the clauses as the front end gave
them, and, for a violation of a C program, replayed by the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.outcome import CLANG, CONFIRMED, GCC, Check, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.frontend.tasks.task_files import C_SUFFIXES
from certus.run.disagreement import compilers_disagree, save_runs
from certus.run.settings import Settings

if TYPE_CHECKING:
    from certus.check.replay.compiled import CompiledReplay

OnSufficient = Callable[[ProofCheck], None]  # called when a proof is complete
INCOMPLETE: Final = frozenset({"trace-not-replayed", "trace-needs-undefined-behaviour"})
VACUITY_SECONDS: Final = 1.0  # at most, for finding out what a proof does not say


def publish(
    answer: Outcome,
    settings: Settings,
    budget: Budget,
    statistics: Statistics,
    keep: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Check the evidence of an answer: return the outcome with its check, or UNKNOWN with the reason.

    `keep` gets the outcome as soon as the proof is complete. Further opinions of solvers can only change how
    it was checked, or refute it."""
    subject = answer.subject
    complete: list[Outcome] = []

    def sufficient(check: ProofCheck) -> None:
        complete.append(_with_notes(replace(answer, check=check), budget, statistics))
        if keep is not None:
            keep(complete[-1])

    verdict, check = confirm(
        subject,
        answer.verdict,
        budget=budget,
        statistics=statistics,
        solvers=settings.solvers,
        on_sufficient=sufficient,
    )
    if complete and isinstance(verdict, Safe):
        return replace(complete[-1], check=check)
    compiles = settings.execute and Path(subject.file).suffix.lower() in C_SUFFIXES
    if (
        compiles
        and isinstance(subject, Program)
        and isinstance(verdict, Unsafe)
        and isinstance(check, Replay)
    ):
        with statistics.timed("validate.compiled"):
            verdict, check = replay_compiled(subject, verdict, check, settings, budget=budget)
    return _with_notes(replace(answer, verdict=verdict, check=check), budget, statistics)


def _with_notes(outcome: Outcome, budget: Budget, statistics: Statistics) -> Outcome:
    """Add notes on what a proof about a program does not say."""
    program, verdict, check = outcome.subject, outcome.verdict, outcome.check
    if not (isinstance(program, Program) and isinstance(verdict, Safe) and isinstance(check, ProofCheck)):
        return outcome
    from certus.check.proofs.check import vacuous

    left = budget.remaining()
    limit = Budget(VACUITY_SECONDS if left is None else min(VACUITY_SECONDS, left / 2))
    with statistics.timed("validate.vacuity"):
        notes = vacuous(program, verdict.proof, budget=limit, statistics=statistics)
    return replace(outcome, diagnostics=notes)


def confirm(
    subject: Program | HornSystem,
    verdict: Verdict,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: OnSufficient | None = None,
) -> tuple[Verdict, Check | None]:
    """Return the verdict and how its evidence was checked; UNKNOWN if it was not confirmed.

    At least `solvers` solvers have to discharge each clause of a proof. `on_sufficient` is called when they
    have, before other solvers are asked for their opinions."""
    if isinstance(verdict, Unknown):
        return verdict, None
    statistics.progress("checking the evidence")
    try:
        check = examine(
            subject,
            verdict,
            budget=budget,
            statistics=statistics,
            solvers=solvers,
            on_sufficient=on_sufficient,
        )
    except BudgetExceeded:
        check = Diagnostic(
            "evidence-not-checked",
            "an answer was found, but its evidence could not be checked within the limit",
            hint="try a larger --timeout",
        )
    if isinstance(subject, Program) and isinstance(check, Diagnostic) and check.code in INCOMPLETE:
        verdict, check = _completed(subject, verdict, check, budget=budget, statistics=statistics)
    if isinstance(check, Diagnostic):
        return Unknown(check), None
    return verdict, check


def _completed(
    program: Program,
    verdict: Safe | Unsafe,
    refused: Diagnostic,
    *,
    budget: Budget,
    statistics: Statistics,
) -> tuple[Safe | Unsafe, Check | Diagnostic]:
    """Complete a trace that does not replay: it may lack inputs of statements that were sliced away."""
    from certus.check.replay.trace_completion import complete

    if not isinstance(verdict, Unsafe) or not isinstance(verdict.refutation, Trace):
        return verdict, refused
    with statistics.timed("validate.completion"), suppress(BudgetExceeded):
        trace = complete(program, verdict.refutation, budget=budget, statistics=statistics)
        if trace is not None:
            check = examine(program, Unsafe(trace), budget=budget, statistics=statistics)
            return (verdict, refused) if isinstance(check, Diagnostic) else (Unsafe(trace), check)
    return verdict, refused


def examine(
    subject: Program | HornSystem,
    verdict: Safe | Unsafe,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: OnSufficient | None = None,
) -> Check | Diagnostic:
    """Check the evidence of a verdict; return how it was checked, or why it is refused."""
    evidence = verdict.proof if isinstance(verdict, Safe) else verdict.refutation
    if isinstance(subject, HornSystem):
        from certus.check.proofs.horn import check_derivation, check_model

        with statistics.timed("validate"):
            if isinstance(evidence, Derivation):
                return check_derivation(subject, evidence, budget=budget)
            if isinstance(evidence, Model):
                return check_model(
                    subject,
                    evidence,
                    budget=budget,
                    statistics=statistics,
                    solvers=solvers,
                    on_sufficient=on_sufficient,
                )
        return Diagnostic("evidence-malformed", "this evidence is about a program, not about Horn clauses")
    if isinstance(verdict, Safe):
        from certus.check.proofs.check import check_proof

        return check_proof(
            subject,
            verdict.proof,
            budget=budget,
            statistics=statistics,
            solvers=solvers,
            on_sufficient=on_sufficient,
        )
    if not isinstance(evidence, Trace):
        return Diagnostic("evidence-malformed", "a program is refuted by a trace, not by a derivation")
    from certus.check.replay.replay import replay

    with statistics.timed("validate.replay"):
        return replay(subject, evidence, budget=budget)


# -------------------------------------------------------------------------- the compiled program


def replay_compiled(
    program: Program, verdict: Unsafe, check: Replay, settings: Settings, *, budget: Budget
) -> tuple[Verdict, Replay | None]:
    """Replay the trace by the compiled program; return the verdict and its check with the result, or UNKNOWN
    if the compiled program must have reached the error and did not."""
    from certus.check.replay.compiled import compiled_replay

    trace = verdict.refutation
    assert isinstance(trace, Trace)
    arguments, keep = settings.clang_arguments, settings.harness
    try:
        native = compiled_replay(program, trace, arguments=arguments, budget=budget, keep=keep)
    except BudgetExceeded:
        return verdict, replace(check, compiled="no time was left for the compiled program")
    if native.confirmed:
        return verdict, replace(check, compiled=CONFIRMED, compilers=native.compilers)
    if native.why_not is not None:
        return verdict, replace(check, compiled=native.why_not)
    if GCC in native.compilers.agreed:
        return Unknown(_only_gcc(program, trace, native, settings)), None
    reason = Diagnostic(
        "compiled-replay-disagrees",
        f"the interpreter follows the trace to {trace.error}, but in the compiled program {native.ending}",
        span=program.error_at(program.location[trace.error]).span,
        hint="this is a defect of Certus, not of the program: please report it with --harness FILE",
    )
    return Unknown(reason), None


def _only_gcc(program: Program, trace: Trace, native: CompiledReplay, settings: Settings) -> Diagnostic:
    """Say that the program compiled by gcc reaches the error, and the one compiled by Clang does not."""
    inputs = {name: tuple(values) for name, values in native.supply.values.items()}
    reached = "the error was reached"
    runs = {CLANG: {"ended": native.ending}, GCC: {"ended": reached}}
    listed = {name: list(values) for name, values in inputs.items()}
    place = save_runs(settings.evidence, program, {"inputs": listed, **runs})
    span = program.error_at(program.location[trace.error]).span
    return compilers_disagree(native.ending, reached, inputs, place, span)
