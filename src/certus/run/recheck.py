"""`certus check`: check saved evidence again, without any engine.

The front end reads the source again and the clauses are derived again. The saved clauses must be the same, so
that they are what the verdict rests on, whichever solver a user gives them to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.evidence import Safe, Unknown, Unsafe, Verdict
from certus.core.horn import HornSystem
from certus.core.outcome import Check, DerivationCheck, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.vocabulary import KINDS
from certus.frontend import Question, has_clauses, load_clauses, load_question
from certus.run.evidence import (
    clause_texts,
    digest,
    read_answers,
    read_manifest,
    read_manifest_question,
    read_verdict,
    unusable,
)
from certus.run.publish import challenged, confirm, is_challenged, judge, replay_compiled
from certus.run.settings import Settings
from certus.run.sources import changed_headers, texts_of


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """The verdict that the evidence supports, and the problems with it. A proof or a model has `clauses`, a
    derivation from Horn clauses `steps` that were evaluated again. `check` says how it was checked, `native`
    what native runs showed, and `about` what was asked: a property or a kind of checks. Evidence about
    several kinds of checks has `answers` by kind; a HOLDS about one kind lists under `assuming` the claims of
    the other kinds that the evidence does not prove."""

    verdict: str
    clauses: int = 0
    discharged: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    steps: int = 0
    native: str = ""
    check: Check | None = None
    answers: Mapping[str, RecheckResult] = field(default_factory=dict)
    assuming: tuple[str, ...] = ()
    about: str = ""


def recheck(
    directory: Path, *, timeout: float | None = None, solvers: int = 1, execute: bool = False
) -> RecheckResult:
    """Check the evidence in `directory`, each clause of a proof by at least `solvers` solvers. With `execute`
    the program is compiled and run, too. Raises `InputError` if there is no evidence to check.

    Evidence about several kinds of checks is VIOLATED if one of them is, and HOLDS if all do."""
    kinds, whole = read_answers(directory), Budget(timeout)
    if not kinds:
        return _alone(_recheck(directory, timeout, solvers, execute=execute), directory)
    answers: dict[str, RecheckResult] = {}
    for number, kind in enumerate(kinds):
        if set(read_manifest(directory / kind).get("kinds", ())) != set(kinds):
            raise unusable(directory, f"it has not the answers about all kinds that {kind} was asked with")
        left = whole.remaining()
        share = None if left is None else left / (len(kinds) - number)
        answers[kind] = _recheck(directory / kind, share, solvers, execute=execute, kind=kind)
    words = [each.verdict for each in answers.values()]
    verdict = next((word for word in ("VIOLATED", "UNKNOWN") if word in words), "HOLDS")
    others = {kind: each.verdict for kind, each in answers.items() if each.verdict != "HOLDS"}
    complete = {kind: _assuming(each, others) for kind, each in answers.items()}
    return RecheckResult(verdict, answers=complete)


def _alone(result: RecheckResult, directory: Path) -> RecheckResult:
    """Return the result about one answer. The evidence about one kind of checks proves nothing about
    others."""
    manifest = read_manifest(directory)
    kind = manifest.get("kind", "")
    others = [each for each in manifest.get("kinds", []) if each != kind]
    if result.verdict != "UNKNOWN":  # otherwise there may be no such property
        result = replace(result, about=kind or manifest["property"])
    return _assuming(result, dict.fromkeys(others, "not checked here"))


def _assuming(result: RecheckResult, others: Mapping[str, str]) -> RecheckResult:
    if result.verdict != "HOLDS":
        return result
    assumed = tuple(f"{KINDS[kind].claim} ({kind}: {said})" for kind, said in others.items())
    return replace(result, assuming=assumed)


def _recheck(
    directory: Path, timeout: float | None, solvers: int, *, execute: bool, kind: str = ""
) -> RecheckResult:
    """Check the evidence of one answer, about one kind of checks if `kind` names it."""
    manifest = read_manifest(directory)
    kind = kind or manifest.get("kind", "")
    if kind != manifest.get("kind", ""):
        raise unusable(directory, f"it is not about {kind}")
    question, arguments = read_manifest_question(directory, manifest)
    budget = Budget(timeout)
    try:
        subject = whole = _read_again(question, arguments, budget)
    except Unsupported as refusal:
        return RecheckResult("UNKNOWN", problems=(refusal.diagnostic,))
    except BudgetExceeded:
        late = Diagnostic("time-limit", "the source was not read in time", hint="try a larger --timeout")
        return RecheckResult("UNKNOWN", problems=(late,))
    if kind and isinstance(subject, Program):
        subject = subject.only(KINDS[kind].errors)
    problems: list[Diagnostic] = []
    for text, saved_as in zip(texts_of(subject).values(), manifest["sources"], strict=True):
        if digest(text) != saved_as["sha256"]:
            name = "the source" if len(manifest["sources"]) == 1 else saved_as["file"]
            problems.append(_problem(f"{name} is not the one that was verified: its SHA-256 differs"))
    for header in changed_headers(directory, manifest["headers"]):
        problems.append(_problem(f"{header} is not the header that was read: its SHA-256 differs"))
    claimed = read_verdict(directory, subject)
    if _WORDS[type(claimed)] != manifest["verdict"]:
        problems.append(
            _problem(f"the manifest says {manifest['verdict']}, the evidence {_WORDS[type(claimed)]}")
        )
    verdict, check = confirm(subject, claimed, budget=budget, statistics=Statistics(), solvers=solvers)
    if isinstance(verdict, Unknown):
        verdict = Unknown(_refusal(verdict.reason))
    outcome = Outcome(subject, question.property.name, verdict, "check", check)
    settings = Settings(clang_arguments=tuple(arguments), execute=execute)
    outcome, native = _natively(outcome, whole, question, settings, budget)
    verdict, check = outcome.verdict, outcome.check
    if isinstance(verdict, Unknown):
        return RecheckResult("UNKNOWN", problems=(*problems, verdict.reason))
    saved = {name: _read(directory / name) for name in manifest["clauses"]}
    derived = [text.encode() for _, text in clause_texts(subject, verdict)]
    if list(saved.values()) != derived:
        problems.append(_problem("the saved clauses are not those of the proof"))
    answer = "UNKNOWN" if problems else _WORDS[type(verdict)]
    diagnostics = (*problems, *outcome.diagnostics)
    if isinstance(check, ProofCheck):
        return RecheckResult(answer, check.clauses, check.discharged, diagnostics, native=native, check=check)
    steps = check.steps if isinstance(check, DerivationCheck) else 0
    return RecheckResult(answer, problems=diagnostics, steps=steps, native=native, check=check)


def _natively(
    outcome: Outcome, whole: Program | HornSystem, question: Question, settings: Settings, budget: Budget
) -> tuple[Outcome, str]:
    """Return the outcome after native runs of a C program, and what they showed. `whole` is the program with
    the errors of all kinds."""
    program, verdict, check = outcome.subject, outcome.verdict, outcome.check
    if not isinstance(program, Program) or not isinstance(whole, Program) or not is_challenged(program):
        return outcome, ""
    if isinstance(verdict, Safe):
        flags, wanted = settings.clang_arguments, question.property
        challenge = challenged(whole, wanted, flags, budget=budget, execute=settings.execute)
        return judge(outcome, challenge), challenge.sentence
    if isinstance(verdict, Unsafe) and isinstance(check, Replay) and settings.execute:
        verdict, replayed = replay_compiled(program, verdict, check, settings, budget=budget)
        said = "" if replayed is None else _replayed_text(replayed)
        return replace(outcome, verdict=verdict, check=replayed), said
    return outcome, ""


def _replayed_text(check: Replay) -> str:
    said = f"replayed by the compiled program: {check.compiled}"
    return "; ".join(filter(None, (said, check.compilers.sentence)))


def _read_again(question: Question, arguments: Sequence[str], budget: Budget) -> Program | HornSystem:
    if has_clauses(question):
        return load_clauses(question, budget)
    return load_question(question, arguments=arguments, budget=budget).program


_WORDS: Mapping[type[Verdict], str] = {Safe: "HOLDS", Unsafe: "VIOLATED", Unknown: "UNKNOWN"}


def _read(path: Path) -> bytes:
    """Return the content of a file; nothing if it cannot be read."""
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _problem(message: str) -> Diagnostic:
    return Diagnostic("evidence-changed", message, hint=_DISTRUST)


def _refusal(reason: Diagnostic) -> Diagnostic:
    """Return why the evidence is refused. It may come from anywhere, so a contradiction is no defect of
    Certus."""
    return reason if reason.code in _UNDECIDED else replace(reason, hint=_DISTRUST)


_DISTRUST: Final = "do not trust this evidence; verify it again"
_UNDECIDED: Final = frozenset(
    {"evidence-not-checked", "proof-not-checked", "proof-too-large", "second-solver-missing"}
)
