"""`certus check DIR`: check saved evidence again, without engines, in a child process under limits."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certus.cli.arguments import add_execute, add_limits, add_output, add_solvers
from certus.cli.terminal import Exit

if TYPE_CHECKING:
    from certus.run.recheck import RecheckResult
    from certus.system.child import Reporter


_TIMEOUT = 60.0  # seconds, by default

_DESCRIPTION = """Check, without any engine, the evidence that `certus verify` or `certus chc` saved
with --evidence DIR."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.add_argument("file", metavar="DIR", type=Path, help="the directory with the evidence")
    add_solvers(parser)
    add_limits(parser)
    add_execute(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print one line only")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print whether the evidence proves its verdict."""
    from certus.cli.terminal import coloured, emit
    from certus.codec.outcomes import decode_diagnostic
    from certus.core.errors import InputError
    from certus.report.diagnostics import Palette, render_diagnostic

    result = _check_in_child(
        arguments.file,
        arguments.timeout or _TIMEOUT,
        arguments.memory,
        solvers=arguments.solvers or 1,
        execute=arguments.execute,
    )
    problems = [decode_diagnostic(problem) for problem in result["problems"]]
    if result["verdict"] is None:
        raise InputError(problems)
    palette = Palette(arguments.output is None and coloured(sys.stdout))
    how = "not checked" if result["verdict"] == "UNKNOWN" else result["how"]
    lines = [f"{result['verdict']}  {arguments.file}  {how}"]
    if not arguments.quiet:
        lines += [f"  {result['native']}"] if result["native"] else []
        lines += [render_diagnostic(problem, palette=palette) for problem in problems]
    emit("\n".join(lines), arguments.output)
    return Exit.of(result["verdict"])


def _check_in_child(
    directory: Path, seconds: float, memory: int | None, *, solvers: int, execute: bool
) -> dict[str, Any]:
    """Return the result of `recheck`, or the reason why it did not finish. Malformed evidence has no
    verdict."""
    from certus.codec.outcomes import encode_diagnostic
    from certus.core.diagnostic import Diagnostic
    from certus.system.child import run_limited

    def work(_: Reporter) -> bytes:
        return _check(directory, seconds, solvers=solvers, execute=execute)

    child = run_limited(work, seconds=seconds, memory=memory)
    if child.payload is not None:
        result: dict[str, Any] = json.loads(child.payload)
        return result
    message = f"the check of the evidence did not finish: {child.detail or child.kind}"
    reason = Diagnostic(child.kind, message, hint="try a larger --timeout or --memory")
    return {"verdict": "UNKNOWN", "how": "", "native": "", "problems": [encode_diagnostic(reason)]}


def _check(directory: Path, seconds: float, *, solvers: int, execute: bool) -> bytes:
    from certus.codec.outcomes import encode_diagnostic
    from certus.core.errors import InputError
    from certus.run.recheck import recheck

    data: dict[str, Any]
    try:
        result = recheck(directory, timeout=seconds, solvers=solvers, execute=execute)
        data = {
            "verdict": result.verdict,
            "how": _how(result),
            "native": result.native,
            "problems": [encode_diagnostic(problem) for problem in result.problems],
        }
    except InputError as error:
        data = {"verdict": None, "problems": [encode_diagnostic(d) for d in error.diagnostics]}
    return json.dumps(data).encode()


def _how(result: RecheckResult) -> str:
    """Say how the evidence was checked."""
    from certus.core.outcome import DerivationCheck, ProofCheck
    from certus.report.outcome_view import counted, solver_text

    if isinstance(result.check, ProofCheck) and result.check.discharged:
        return f"checked: {solver_text(result.check)}"
    if isinstance(result.check, DerivationCheck):
        return f"evaluated again, {counted(result.check.steps, 'step')}"
    return "replayed"
