"""No answer is published before `validate` has checked its evidence on the program or clauses as given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.outcome import Check, ProofCheck
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict

OnSufficient = Callable[[ProofCheck], None]  # is told that a proof is complete
INCOMPLETE: Final = frozenset({"trace-not-replayed", "trace-needs-undefined-behaviour"})


def confirm(
    subject: Program | HornSystem,
    verdict: Verdict,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: OnSufficient | None = None,
) -> tuple[Verdict, Check | None]:
    """The verdict with how its evidence was checked; UNKNOWN if it was not confirmed.

    Each clause of a proof has to be discharged by `solvers` of the solvers. `on_sufficient` is called when
    that is done, before other solvers are asked for their opinions."""
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
    """A trace that does not replay may lack inputs of statements that were sliced away."""
    from certus.pipeline.completion import complete

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
    """Check the evidence of a verdict: how it went, or why it is refused."""
    if isinstance(subject, Program):
        return _examine_program(subject, verdict, budget, statistics, solvers, on_sufficient)
    from certus.validate.horn import check_derivation, check_model

    with statistics.timed("validate"):
        if isinstance(verdict, Unsafe) and isinstance(verdict.refutation, Derivation):
            return check_derivation(subject, verdict.refutation, budget=budget)
        if isinstance(verdict, Safe) and isinstance(verdict.proof, Model):
            return check_model(
                subject,
                verdict.proof,
                budget=budget,
                statistics=statistics,
                solvers=solvers,
                on_sufficient=on_sufficient,
            )
    return Diagnostic("evidence-malformed", "this evidence is about a program, not about Horn clauses")


def _examine_program(
    program: Program,
    verdict: Safe | Unsafe,
    budget: Budget,
    statistics: Statistics,
    solvers: int,
    on_sufficient: OnSufficient | None,
) -> Check | Diagnostic:
    if isinstance(verdict, Safe):
        from certus.validate.proofs import check_proof

        return check_proof(
            program,
            verdict.proof,
            budget=budget,
            statistics=statistics,
            solvers=solvers,
            on_sufficient=on_sufficient,
        )
    from certus.validate.replay import replay

    if not isinstance(verdict.refutation, Trace):
        return Diagnostic("evidence-malformed", "a program is refuted by a trace, not by a derivation")
    with statistics.timed("validate.replay"):
        return replay(program, verdict.refutation, budget=budget)
