"""A HOLDS of a C program is published only if native runs of the compiled program do not speak against it.

The runs do not depend on a proof, so they happen beside the engines if a second core is free, and otherwise
once there is a proof to challenge.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.challenge import CLANG, COMPILERS_DISAGREE, CONTRADICTION, GCC, Challenge, Disagreement
from certus.core.codec import decode_challenge, encode_challenge
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.verdict import Safe, Unknown
from certus.frontend.properties import Property
from certus.frontend.task_files import C_SUFFIXES
from certus.pipeline.disagreement import compilers_disagree, inputs_text, save_runs
from certus.pipeline.settings import Settings
from certus.system.child import Children, ChildResult

NAME: Final = "challenge"  # of the child process
RESERVE: Final = 0.05  # of the time, for a challenge that has to wait for a proof
AT_MOST: Final = 1.0  # seconds of it
NOT_DETERMINED: Final = "execution-not-confirmed"
KINDS: Final = {"no-overflow": "overflow", "no-div-zero": "division-by-zero"}


def is_challenged(program: object) -> bool:
    """Whether there is a compiled program to run: only for C."""
    return isinstance(program, Program) and Path(program.file).suffix.lower() in C_SUFFIXES


def challenged(
    program: Program, wanted: Property, arguments: Sequence[str], *, budget: Budget, execute: bool
) -> Challenge:
    """Challenge the program in this process; `arguments` are flags for Clang."""
    from certus.frontend.c.load import error_rules
    from certus.validate.harness import Code
    from certus.validate.native import ErrorCodes, challenge

    functions = error_rules(wanted).functions
    codes = {
        name: int(Code.ASSERTION if kind == "assertion" else Code.ERROR) for name, kind in functions.items()
    }
    errors = ErrorCodes(codes, KINDS.get(wanted.name, ""))
    return challenge(program, errors, arguments=arguments, budget=budget, execute=execute)


@dataclass(slots=True, eq=False)
class Challenger:
    """The challenge of one program, in a child process of its own. Results of other children that arrive
    while it is waited for are kept in `arrived`."""

    program: Program
    wanted: Property
    settings: Settings
    budget: Budget
    arrived: deque[tuple[str, ChildResult]] = field(default_factory=deque)
    _found: Challenge | None = None
    _started: bool = False

    def start(self, children: Children) -> None:
        """Begin, if that has not happened yet."""
        if self._started:
            return
        self._started = True
        children.start(NAME, lambda _: self._work(), seconds=self.budget.remaining())

    def result(self, children: Children) -> Challenge:
        """Wait for the challenge to end."""
        self.start(children)
        while self._found is None:
            name, result = children.next_result()
            if not self.takes(name, result):
                self.arrived.append((name, result))
        return self._found

    def takes(self, name: str, result: ChildResult) -> bool:
        """Whether this was the result of the challenge."""
        if name != NAME:
            return False
        if result.payload is not None:
            self._found = decode_challenge(json.loads(result.payload))
        else:
            late = result.kind in ("timeout", "cpu")
            self._found = Challenge(
                why_not="no time was left for it" if late else result.detail or result.kind
            )
        return True

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is known so far of undefined behaviour, and of the order of inputs."""
        return () if self._found is None else self._found.warnings

    def _work(self) -> bytes:
        settings = self.settings
        found = challenged(
            self.program,
            self.wanted,
            settings.clang_arguments,
            budget=Budget(self.budget.remaining()),
            execute=settings.execute,
        )
        return json.dumps(encode_challenge(found)).encode()


def judged(outcome: Outcome, found: Challenge, evidence: Path | None = None) -> Outcome:
    """A HOLDS after its challenge; UNKNOWN if a native run speaks against it, or if the proof is the only
    run, which does not come to its end natively. Runs that disagree are saved in `evidence`."""
    proof = outcome.verdict.proof if isinstance(outcome.verdict, Safe) else None
    outcome = replace(outcome, challenge=found, diagnostics=(*found.warnings, *outcome.diagnostics))
    reason: Diagnostic | None = None
    if found.disagreement is not None:
        reason = _reason(outcome, found.disagreement, evidence)
    elif isinstance(proof, Execution) and found.ran and not found.only_run_ended:
        message = "the compiled program does not come to the end of the only execution within the limit"
        reason = Diagnostic(NOT_DETERMINED, message, hint="ask an engine, such as --engine bmc")
    if reason is None:
        return outcome
    return replace(outcome, verdict=Unknown(reason), check=None, challenge=None)


def _reason(outcome: Outcome, found: Disagreement, evidence: Path | None) -> Diagnostic:
    inputs = {name: list(values) for name, values in found.inputs.items()}
    if found.code == COMPILERS_DISAGREE:
        endings = {CLANG: found.native, GCC: found.gcc}
        runs = {name: {"ended": endings[name], "asked": list(found.asked[name])} for name in endings}
        place = save_runs(evidence, outcome.subject, {"inputs": inputs, **runs})
        return compilers_disagree(found.native, found.gcc, found.inputs, place)
    both = {"inputs": inputs, "native": found.native, "model": found.model}
    place = save_runs(evidence, outcome.subject, both)
    where = inputs_text(found.inputs)
    if found.code == CONTRADICTION:
        message = f"{outcome.engine} found a proof, but model and compiled program reach the error{where}"
    else:
        message = (
            f"the compiled program and its model disagree{where}: natively, {found.native}; "
            f"in the model, {found.model}"
        )
    hint = (
        "either the program breaks what a proof assumes, such as where objects lie (docs/c-support.md), or "
        f"Certus has a defect: please report it with the runs, which are saved in {place}"
    )
    return Diagnostic(found.code, message, hint=hint)
