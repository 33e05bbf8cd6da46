"""`certus check DIR`: re-check saved evidence without any engine, in a child under limits."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certus.cli.arguments import add_execute, add_solvers
from certus.cli.exits import Exit
from certus.cli.units import duration, size

if TYPE_CHECKING:
    from certus.pipeline.recheck import RecheckResult
    from certus.system.child import Reporter


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="re-check saved evidence",
        description="Re-check, without any engine, what `certus verify` or `certus chc` saved by --evidence.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="DIR", type=Path, help="the directory with the evidence")
    add_solvers(parser)
    parser.add_argument("--timeout", metavar="TIME", type=duration, default=60.0, help="time limit (60s)")
    parser.add_argument("--memory", metavar="SIZE", type=size, help="memory limit: 4GB, 500MB")
    add_execute(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="one line only")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write the report to FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import coloured, emit
    from certus.core.codec import decode_diagnostic
    from certus.core.errors import InputError
    from certus.report.diagnostics import Palette, render_diagnostic

    found = _checked(
        arguments.file,
        arguments.timeout,
        arguments.memory,
        solvers=arguments.solvers or 1,
        execute=arguments.execute,
    )
    problems = [decode_diagnostic(problem) for problem in found["problems"]]
    if found["verdict"] is None:
        raise InputError(problems)
    palette = Palette(arguments.output is None and coloured(sys.stdout))
    lines = [_first_line(arguments.file, found)]
    if not arguments.quiet:
        lines += [f"  {found['native']}"] if found["native"] else []
        lines += [render_diagnostic(problem, palette=palette) for problem in problems]
    emit("\n".join(lines), arguments.output)
    return Exit.of(found["verdict"])


def _checked(
    directory: Path, seconds: float | None, memory: int | None, *, solvers: int, execute: bool
) -> dict[str, Any]:
    """What `recheck` found, or why it did not finish. Malformed evidence has no verdict."""
    from certus.core.codec import encode_diagnostic
    from certus.core.diagnostic import Diagnostic
    from certus.system.child import run_limited

    def work(_: Reporter) -> bytes:
        return _work(directory, seconds, solvers=solvers, execute=execute)

    result = run_limited(work, seconds=seconds, memory=memory)
    if result.payload is not None:
        found: dict[str, Any] = json.loads(result.payload)
        return found
    message = f"the evidence was not checked to the end: {result.detail or result.kind}"
    reason = Diagnostic(result.kind, message, hint="try a larger --timeout or --memory")
    return {"verdict": "UNKNOWN", "how": "", "native": "", "problems": [encode_diagnostic(reason)]}


def _work(directory: Path, seconds: float | None, *, solvers: int, execute: bool) -> bytes:
    from certus.core.codec import encode_diagnostic
    from certus.core.errors import InputError
    from certus.pipeline.recheck import recheck

    found: dict[str, Any]
    try:
        result = recheck(directory, timeout=seconds, solvers=solvers, execute=execute)
        found = {
            "verdict": result.verdict,
            "how": _how(result),
            "native": result.native,
            "problems": [encode_diagnostic(problem) for problem in result.problems],
        }
    except InputError as error:
        found = {"verdict": None, "problems": [encode_diagnostic(d) for d in error.diagnostics]}
    return json.dumps(found).encode()


def _how(result: RecheckResult) -> str:
    """How the evidence was checked."""
    from certus.core.outcome import DerivationCheck, ProofCheck
    from certus.report.content import counted
    from certus.report.solvers import solver_text

    if isinstance(result.check, ProofCheck) and result.check.discharged:
        return f"checked: {solver_text(result.check)}"
    if isinstance(result.check, DerivationCheck):
        return f"evaluated again, {counted(result.check.steps, 'step')}"
    return "replayed"


def _first_line(directory: Path, found: dict[str, Any]) -> str:
    how = "not checked" if found["verdict"] == "UNKNOWN" else found["how"]
    return f"{found['verdict']}  {directory}  {how}"
