"""Challenge a HOLDS of a C program: it is published only if no native run of the compiled program contradicts
it.

The runs do not depend on a proof, so they happen beside the engines if a second core is free, and otherwise
when there is a proof to challenge.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.codec.outcomes import decode_challenge, encode_challenge
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution, Safe, Unknown
from certus.core.outcome import (
    CLANG,
    COMPILERS_DISAGREE,
    CONTRADICTION,
    GCC,
    Challenge,
    Disagreement,
    Outcome,
)
from certus.core.program import Program
from certus.core.vocabulary import error_kinds
from certus.frontend.tasks.properties import Property
from certus.frontend.tasks.task_files import C_SUFFIXES
from certus.run.settings import Settings
from certus.system.child import Children, ChildResult

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
        """Whether the result is known."""
        return self._challenge is not None

    def start(self, children: Children) -> None:
        """Start the challenge, unless it is started already."""
        if self._started:
            return
        self._started = True
        children.start(NAME, lambda _: self._work(), seconds=self.budget.remaining())

    def result(self, children: Children) -> Challenge:
        """Return the result of the challenge, which may have to be awaited."""
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
        """Return what is known so far of undefined behaviour, and of the order of inputs."""
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
    from certus.run.disagreement import compilers_disagree, inputs_text, save_runs

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
    if runs.code == CONTRADICTION:
        message = f"{outcome.engine} found a proof, but model and compiled program reach the error{where}"
    else:
        message = (
            f"the compiled program and its model disagree{where}: natively, {runs.native}; "
            f"in the model, {runs.model}"
        )
    hint = (
        "either the program breaks what a proof assumes, such as where objects lie (docs/c-support.md), or "
        f"Certus has a defect: please report it with the runs, which are saved in {place}"
    )
    return Diagnostic(runs.code, message, hint=hint)
