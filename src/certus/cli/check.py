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
    from certus.report.text import Palette
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
    from certus.cli.terminal import check_places, coloured, emit
    from certus.codec.outcomes import decode_diagnostic
    from certus.core.errors import InputError
    from certus.report.text import Palette

    check_places(arguments.output)
    result = _check_in_child(
        arguments.file,
        arguments.timeout or _TIMEOUT,
        arguments.memory,
        solvers=arguments.solvers or 1,
        execute=arguments.execute,
    )
    if result["verdict"] is None:
        raise InputError([decode_diagnostic(problem) for problem in result["problems"]])
    palette = Palette(arguments.output is None and coloured(sys.stdout))
    about = f"  {result['about']}" if result["about"] else ""
    lines = [f"{result['verdict']}  {arguments.file}{about}{_said(result)}"]
    if not arguments.quiet:
        lines += _details(result, palette)
        for kind, answer in result["answers"].items():
            lines += [f"{answer['verdict']}  {kind}{_said(answer)}", *_details(answer, palette)]
    emit("\n".join(lines), arguments.output)
    return Exit.of(result["verdict"])


def _said(result: dict[str, Any]) -> str:
    """Say how an answer was checked; nothing if it sums up those about several kinds."""
    how = "not checked" if result["verdict"] == "UNKNOWN" and not result["answers"] else result["how"]
    return f"  {how}" if how else ""


def _details(result: dict[str, Any], palette: Palette) -> list[str]:
    """Return the lines on native runs, assumptions and problems."""
    from certus.codec.outcomes import decode_diagnostic
    from certus.report.text import render_diagnostic

    problems = [decode_diagnostic(problem) for problem in result["problems"]]
    native = [f"  {result['native']}"] if result["native"] else []
    assumed = [f"  assuming: {assumption}" for assumption in result["assuming"]]
    return [*native, *assumed, *(render_diagnostic(problem, palette=palette) for problem in problems)]


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
    empty = {"how": "", "about": "", "native": "", "assuming": [], "answers": {}}
    return {"verdict": "UNKNOWN", **empty, "problems": [encode_diagnostic(reason)]}


def _check(directory: Path, seconds: float, *, solvers: int, execute: bool) -> bytes:
    from certus.codec.outcomes import encode_diagnostic
    from certus.core.errors import InputError
    from certus.run.recheck import recheck

    data: dict[str, Any]
    try:
        result = recheck(directory, timeout=seconds, solvers=solvers, execute=execute)
        data = _result_data(result)
    except InputError as error:
        data = {"verdict": None, "problems": [encode_diagnostic(d) for d in error.diagnostics]}
    return json.dumps(data).encode()


def _result_data(result: RecheckResult) -> dict[str, Any]:
    """Return a result as data for another process."""
    from certus.codec.outcomes import encode_diagnostic

    return {
        "verdict": result.verdict,
        "how": "" if result.answers else _how(result),
        "about": result.about,
        "native": result.native,
        "assuming": list(result.assuming),
        "problems": [encode_diagnostic(problem) for problem in result.problems],
        "answers": {kind: _result_data(each) for kind, each in result.answers.items()},
    }


def _how(result: RecheckResult) -> str:
    """Say how the evidence was checked."""
    from certus.core.outcome import DerivationCheck, ProofCheck
    from certus.report.outcome_view import counted, solver_text

    if isinstance(result.check, ProofCheck):
        return f"checked: {solver_text(result.check)}"
    if isinstance(result.check, DerivationCheck):
        return f"evaluated again, {counted(result.check.steps, 'step')}"
    return "replayed"
