"""`certus check`: saved evidence checked again, without any engine.

The source is read again by the front end and the clauses are derived again; the saved ones must be
the same, so that what others run through their solvers is what makes the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.outcome import ProofCheck
from certus.core.statistics import Statistics
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.frontend import load_question
from certus.pipeline.confirm import confirm
from certus.pipeline.evidence import clause_texts, digest, read_manifest, read_manifest_question, read_verdict
from certus.pipeline.sources import changed_headers


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """The verdict the evidence supports, and the problems with it."""

    verdict: str
    clauses: int = 0
    discharged: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()


def recheck(directory: Path, *, timeout: float | None = None) -> RecheckResult:
    """Check the evidence in `directory`. Raises `InputError` if there is none to check."""
    manifest = read_manifest(directory)
    question, arguments = read_manifest_question(directory, manifest)
    program = load_question(question, arguments=arguments).program
    problems: list[Diagnostic] = []
    if digest(program.source) != manifest["sha256"]:
        problems.append(_problem("the source is not the one that was verified: its SHA-256 differs"))
    for header in changed_headers(directory, manifest["headers"]):
        problems.append(_problem(f"{header} is not the header that was read: its SHA-256 differs"))
    claimed = read_verdict(directory, program)
    if _WORDS[type(claimed)] != manifest["verdict"]:
        problems.append(
            _problem(f"the manifest says {manifest['verdict']}, the evidence {_WORDS[type(claimed)]}")
        )
    verdict, check = confirm(program, claimed, budget=Budget(timeout), statistics=Statistics())
    if isinstance(verdict, Unknown):
        return RecheckResult("UNKNOWN", problems=(*problems, verdict.reason))
    saved = {name: _read(directory / name) for name in manifest["clauses"]}
    derived = [text for _, text in clause_texts(program, verdict)]
    if list(saved.values()) != derived:
        problems.append(_problem("the saved clauses are not those of the proof"))
    answer = "UNKNOWN" if problems else _WORDS[type(verdict)]
    if isinstance(check, ProofCheck):
        return RecheckResult(answer, check.clauses, check.discharged, tuple(problems))
    return RecheckResult(answer, problems=tuple(problems))


_WORDS: Mapping[type[Verdict], str] = {Safe: "HOLDS", Unsafe: "VIOLATED", Unknown: "UNKNOWN"}


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _problem(message: str) -> Diagnostic:
    return Diagnostic(
        "evidence-changed", message, hint="do not trust this evidence; verify the program again"
    )
