"""Check the evidence of an answer before it is published, on the program or the clauses as the front end
built them. The compiled C program must reach the error of a violation, and must not contradict a HOLDS.

The native runs that challenge a HOLDS do not depend on a proof. So they take place beside the engines if a
second core is free, and otherwise when there is a proof to challenge (`Challenger`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from certus.codec.outcomes import decode_challenge, encode_challenge
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.outcome import (
    CLANG,
    COMPILERS_DISAGREE,
    CONFIRMED,
    CONTRADICTION,
    GCC,
    Challenge,
    Check,
    Disagreement,
    Outcome,
    ProofCheck,
    Replay,
)
from certus.core.program import Program
from certus.core.vocabulary import Property, error_kinds
from certus.frontend import C_SUFFIXES
from certus.run.settings import Settings
from certus.system.child import Children, ChildResult
from certus.system.child_main import lasting_directory

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
    """Complete a trace that does not replay: its run may end in another error, or it may lack inputs of
    statements that were sliced away."""
    from certus.check.replay.replay import error_reached
    from certus.check.replay.trace_completion import complete

    if not isinstance(verdict, Unsafe) or not isinstance(verdict.refutation, Trace):
        return verdict, refused
    with statistics.timed("validate.completion"), suppress(BudgetExceeded):
        trace: Trace | None = verdict.refutation
        other = error_reached(program, verdict.refutation, budget=budget)
        if other is not None:
            trace = replace(verdict.refutation, error=other)
        else:
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
        with suppress(BudgetExceeded):
            if (other := _with_zeros(program, trace, check, settings, budget=budget)) is not None:
                return other
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


def _with_zeros(
    program: Program, trace: Trace, check: Replay, settings: Settings, *, budget: Budget
) -> tuple[Unsafe, Replay] | None:
    """Return a violation that the compiled program confirms, with its check, if there is one in the run of
    the trace with zeros for the values that the compiled program cannot get."""
    from certus.check.replay.compiled import compiled_replay, with_zeros

    zeros = with_zeros(program, trace, steps=check.steps, budget=budget)
    if zeros is None:
        return None
    again = examine(program, Unsafe(zeros), budget=budget, statistics=Statistics())
    if not isinstance(again, Replay):
        return None
    arguments = settings.clang_arguments
    native = compiled_replay(program, zeros, arguments=arguments, budget=budget)
    if not native.confirmed:
        return None
    if settings.harness is not None:
        compiled_replay(program, zeros, arguments=arguments, budget=budget, keep=settings.harness)
    return Unsafe(zeros), replace(again, compiled=CONFIRMED, compilers=native.compilers)


def _only_gcc(program: Program, trace: Trace, native: CompiledReplay, settings: Settings) -> Diagnostic:
    """Say that the program compiled by gcc reaches the error, and the one compiled by Clang does not."""
    inputs = {name: tuple(values) for name, values in native.supply.values.items()}
    reached = "the error was reached"
    runs = {CLANG: {"ended": native.ending}, GCC: {"ended": reached}}
    listed = {name: list(values) for name, values in inputs.items()}
    place = save_runs(settings.evidence, program, {"inputs": listed, **runs})
    span = program.error_at(program.location[trace.error]).span
    return compilers_disagree(native.ending, reached, inputs, place, span)


# ---------------------------------------------------------------------------- the challenge of a proof

NAME: Final = "challenge"  # of the child process
RESERVE: Final = 0.05  # of the time, for a challenge that has to wait for a proof
AT_MOST: Final = 1.0  # seconds of it
NOT_DETERMINED: Final = "execution-not-confirmed"
OPERATIONS: Final = {
    **{"no-overflow": ("overflow",), "no-div-zero": ("division-by-zero",)},
    **{"float-cast-overflow": ("float-cast-overflow",), "float-divide-by-zero": ("float-division-by-zero",)},
}


def is_challenged(program: object) -> bool:
    """Return whether there is a compiled program to run: only for C."""
    return isinstance(program, Program) and Path(program.file).suffix.lower() in C_SUFFIXES


def challenged(
    program: Program, wanted: Property, arguments: Sequence[str], *, budget: Budget, execute: bool
) -> Challenge:
    """Challenge the program in this process; `arguments` are flags for Clang."""
    from certus.check.challenge.native import ErrorCodes, challenge
    from certus.check.replay.harness import ExitCode
    from certus.frontend.c.load import error_rules

    functions = error_rules(wanted).functions
    codes = {
        name: int(ExitCode.ASSERTION if kind == "assertion" else ExitCode.ERROR)
        for name, kind in functions.items()
    }
    operations = OPERATIONS.get(wanted.name) or sorted(error_kinds(wanted.kinds))
    errors = ErrorCodes(codes, tuple(operations))
    return challenge(program, errors, arguments=arguments, budget=budget, execute=execute)


@dataclass(slots=True, eq=False)
class Challenger:
    """The challenge of one program, in a child process of its own. Results of other children that arrive
    while its result is awaited are kept in `arrived`."""

    program: Program
    wanted: Property
    settings: Settings
    budget: Budget
    arrived: deque[tuple[str, ChildResult]] = field(default_factory=deque)
    _challenge: Challenge | None = None
    _started: bool = False

    @property
    def is_finished(self) -> bool:
        """Return whether the result is known."""
        return self._challenge is not None

    def start(self, children: Children) -> None:
        """Start the challenge, unless it is started already."""
        if self._started:
            return
        self._started = True
        children.start(NAME, lambda _: self._work(), seconds=self.budget.remaining())

    def result(self, children: Children) -> Challenge:
        """Return the result of the challenge; wait for it if necessary."""
        self.start(children)
        while self._challenge is None:
            name, result = children.next_result()
            if not self.takes(name, result):
                self.arrived.append((name, result))
        return self._challenge

    def takes(self, name: str, result: ChildResult) -> bool:
        """Return whether this was the result of the challenge, and keep it."""
        if name != NAME:
            return False
        if result.payload is not None:
            self._challenge = decode_challenge(json.loads(result.payload))
        else:
            late = result.kind in ("timeout", "cpu")
            self._challenge = Challenge(
                why_not="no time was left for it" if late else result.detail or result.kind
            )
        return True

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings so far, about undefined behaviour and the order of inputs."""
        return () if self._challenge is None else self._challenge.warnings

    def _work(self) -> bytes:
        settings = self.settings
        challenge = challenged(
            self.program,
            self.wanted,
            settings.clang_arguments,
            budget=Budget(self.budget.remaining()),
            execute=settings.execute,
        )
        return json.dumps(encode_challenge(challenge)).encode()


def judge(outcome: Outcome, challenge: Challenge, evidence: Path | None = None) -> Outcome:
    """Return a HOLDS after its challenge; UNKNOWN if a native run contradicts it, or if the proof is the only
    execution, which does not end natively. Runs that disagree are saved in `evidence`."""
    proof = outcome.verdict.proof if isinstance(outcome.verdict, Safe) else None
    assert isinstance(outcome.subject, Program)
    contradicting = [challenge.reached[s.kind] for s in outcome.subject.errors if s.kind in challenge.reached]
    outcome = replace(outcome, challenge=challenge, diagnostics=(*challenge.warnings, *outcome.diagnostics))
    reason: Diagnostic | None = None
    if challenge.disagreement is not None:
        reason = _reason(outcome, challenge.disagreement, evidence)
    elif contradicting:
        reason = _reason(outcome, contradicting[0], evidence)
    elif isinstance(proof, Execution) and challenge.ran and not challenge.only_run_ended:
        message = "the compiled program does not come to the end of the only execution within the limit"
        reason = Diagnostic(NOT_DETERMINED, message, hint="try another engine, or --engine auto")
    if reason is None:
        return outcome
    return replace(outcome, verdict=Unknown(reason), check=None, challenge=None)


def _reason(outcome: Outcome, runs: Disagreement, evidence: Path | None) -> Diagnostic:
    """Return the reason why runs that disagree make the answer UNKNOWN; save the runs."""
    inputs = {name: list(values) for name, values in runs.inputs.items()}
    if runs.code == COMPILERS_DISAGREE:
        endings = {CLANG: runs.native, GCC: runs.gcc}
        both = {name: {"ended": endings[name], "asked": list(runs.asked[name])} for name in endings}
        place = save_runs(evidence, outcome.subject, {"inputs": inputs, **both})
        return compilers_disagree(runs.native, runs.gcc, runs.inputs, place)
    place = save_runs(
        evidence, outcome.subject, {"inputs": inputs, "native": runs.native, "model": runs.model}
    )
    where = inputs_text(runs.inputs)
    what = "the compiled program and its model disagree"
    if runs.code == CONTRADICTION:
        what = f"{outcome.engine} found a proof, but there is a run with an error"
    message = f"{what}{where}: natively, {runs.native}; in the model, {runs.model}"
    hint = (
        "either the program breaks what a proof assumes, such as where objects lie (docs/c-support.md), or "
        f"Certus has a defect: please report it with the runs, which are saved in {place}"
    )
    return Diagnostic(runs.code, message, hint=hint)


# --------------------------------------------------------------------------- runs that disagree


def save_runs(evidence: Path | None, subject: Program | HornSystem, runs: Mapping[str, Any]) -> Path:
    """Save the program and its runs; return the directory, a new one if `evidence` names none."""
    from certus.run.sources import texts_of

    place = evidence or lasting_directory("certus-disagreement-")
    place.mkdir(parents=True, exist_ok=True)
    record = {"file": subject.file, **runs}
    (place / "disagreement.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for number, (file, text) in enumerate(texts_of(subject).items(), 1):
        name = f"program{'' if number == 1 else number}{Path(file).suffix}"
        (place / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return place


def inputs_text(inputs: Mapping[str, tuple[int, ...]]) -> str:
    """Return the first inputs of each function as part of a message; empty if there are none."""
    values_text = ", ".join(f"{name}() = {value}" for name, values in inputs.items() for value in values[:3])
    return f" with the inputs {values_text}" if values_text else ""


def compilers_disagree(
    clang: str, gcc: str, inputs: Mapping[str, tuple[int, ...]], place: Path, span: Span | None = None
) -> Diagnostic:
    """Return the reason for UNKNOWN if the program ends differently with gcc; `place` has the runs."""
    return Diagnostic(
        COMPILERS_DISAGREE,
        f"the program depends on the compiler{inputs_text(inputs)}: with Clang, {clang}; with gcc, {gcc}",
        span=span,
        hint="C leaves some things open, such as which operand is evaluated first or in which type a wide "
        f"bit-field is computed with: make the program independent of them; both runs are saved in {place}",
    )
