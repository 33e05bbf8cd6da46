"""A violation of a C program is published only if the compiled program does not speak against it."""

from __future__ import annotations

from dataclasses import replace

from certus.core.budget import Budget
from certus.core.challenge import CLANG, GCC
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.outcome import CONFIRMED, Replay
from certus.core.program import Program
from certus.core.verdict import Unknown, Unsafe, Verdict
from certus.pipeline.disagreement import compilers_disagree, save_runs
from certus.pipeline.settings import Settings
from certus.validate.compiled import CompiledReplay, compiled_replay


def replay_compiled(
    program: Program, verdict: Unsafe, check: Replay, settings: Settings, *, budget: Budget
) -> tuple[Verdict, Replay | None]:
    """The verdict and its check, with what the compiled program made of the trace; UNKNOWN if it must have
    reached the error and did not."""
    trace = verdict.refutation
    assert isinstance(trace, Trace)
    arguments, keep = settings.clang_arguments, settings.harness
    try:
        found = compiled_replay(program, trace, arguments=arguments, budget=budget, keep=keep)
    except BudgetExceeded:
        return verdict, replace(check, compiled="no time was left for the compiled program")
    if found.confirmed:
        return verdict, replace(check, compiled=CONFIRMED, compilers=found.compilers)
    if found.why_not is not None:
        return verdict, replace(check, compiled=found.why_not)
    if GCC in found.compilers.agreed:
        return Unknown(_only_gcc(program, trace, found, settings)), None
    reason = Diagnostic(
        "compiled-replay-disagrees",
        f"the interpreter follows the trace to {trace.error}, but in the compiled program {found.ending}",
        span=program.error_at(program.location[trace.error]).span,
        hint="this is a defect of Certus, not of the program: please report it with --harness FILE",
    )
    return Unknown(reason), None


def _only_gcc(program: Program, trace: Trace, found: CompiledReplay, settings: Settings) -> Diagnostic:
    """That gcc's program reaches the error, and Clang's does not."""
    inputs = {name: tuple(values) for name, values in found.supply.values.items()}
    reached = "the error was reached"
    runs = {CLANG: {"ended": found.ending}, GCC: {"ended": reached}}
    listed = {name: list(values) for name, values in inputs.items()}
    place = save_runs(settings.evidence, program, {"inputs": listed, **runs})
    span = program.error_at(program.location[trace.error]).span
    return compilers_disagree(found.ending, reached, inputs, place, span)
