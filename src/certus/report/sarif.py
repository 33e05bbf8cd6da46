"""Render an outcome as SARIF 2.1.0, for code hosts and editors (docs/sarif.md).

There is one run. A violation is a result with the counterexample as a code flow; other answers are
notifications. The log contains no times, so the same outcome gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Unknown, Unsafe
from certus.core.outcome import UNDEFINED, Outcome
from certus.core.version import VERSION
from certus.report.outcome_view import assumptions, file_of, files_of, nothing_to_check
from certus.report.rules import Rule, rules
from certus.report.sarif_results import CWE, ROOT, Json, artifact, physical, results, text

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_CWE_SITE: Final = "https://cwe.mitre.org/data/definitions"
_CONFIGURATION: Final = frozenset(  # codes of diagnostics about the command rather than the input
    (
        "usage",
        "unknown-property",
        "bad-property-file",
        "contradictory-task",
        "unknown-language",
        "no-clang",
        "several-files",
    )
)
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render_sarif(outcome: Outcome, *, exit_code: int) -> str:
    """Render the outcome as SARIF text, without a final newline."""
    return _rendered(sarif_log(outcome, exit_code=exit_code))


def render_refusal_sarif(file: str, diagnostics: Sequence[Diagnostic], *, exit_code: int) -> str:
    """Render a failed run, with the reasons: diagnostics about the command are configuration notifications,
    those about the input are execution notifications."""
    configuration = [_diagnostic(d) for d in diagnostics if d.code in _CONFIGURATION]
    execution = [_diagnostic(d) for d in diagnostics if d.code not in _CONFIGURATION]
    description = "malformed input" if exit_code == 2 else "no answer"
    invocation = _invocation(execution, exit_code, description, successful=False)
    if configuration:
        invocation["toolConfigurationNotifications"] = configuration
    return _rendered(_log([file], (), invocation, results=[], properties={"verdict": None}))


def _rendered(log: Json) -> str:
    return json.dumps(log, indent=2, ensure_ascii=False)


def sarif_log(outcome: Outcome, *, exit_code: int) -> Json:
    """Return the outcome as SARIF data."""
    about = rules(outcome)
    parts = outcome.answers if outcome.answers and not outcome.vacuous else (outcome,)
    notes = _once(note for each in parts for note in _notifications(each))
    is_answered = not isinstance(outcome.verdict, Unknown)
    return _log(
        [file_of(outcome), *files_of(outcome)[1:]],
        about,
        _invocation(notes, exit_code, outcome.answer, successful=is_answered),
        results=_results(outcome, about),
        properties={
            "verdict": outcome.answer,
            "vacuous": outcome.vacuous,
            "property": outcome.property_name,
            "engine": outcome.engine,
            **({"answers": {each.kind: each.answer for each in outcome.answers}} if outcome.answers else {}),
        },
    )


def _results(outcome: Outcome, about: Sequence[Rule]) -> list[Json]:
    """Return the results without repetitions; for the default question, those of all kinds of checks."""
    return _once(result for each in outcome.answers or (outcome,) for result in results(each, about))


def _once(entries: Iterable[Json]) -> list[Json]:
    """Return the entries without repetitions."""
    kept: list[Json] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def _invocation(notes: list[Json], exit_code: int, description: str, *, successful: bool) -> Json:
    return {
        "executionSuccessful": successful,
        "exitCode": int(exit_code),
        "exitCodeDescription": description,
        "toolExecutionNotifications": notes,
    }


def _log(
    files: Sequence[str], about: Sequence[Rule], invocation: Json, *, results: list[Json], properties: Json
) -> Json:
    notes = (
        *invocation["toolExecutionNotifications"],
        *invocation.get("toolConfigurationNotifications", ()),
    )
    driver = {
        "name": "Certus",
        "version": VERSION,
        "semanticVersion": VERSION,
        "rules": [_rule(rule) for rule in about],
        "notifications": [{"id": code} for code in sorted({note["descriptor"]["id"] for note in notes})],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": text("the working directory of certus")}},
        "artifacts": [{"location": artifact(file), "roles": ["analysisTarget"]} for file in files],
        "invocations": [invocation],
        "results": results,
        "properties": properties,
        **_taxonomy(about),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": text(rule.claim),
        "fullDescription": text(f"{rule.claim} {rule.advice}"),
        "help": text(rule.help),
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "tags": ["correctness", *_weaknesses(rule)],
            "precision": "very-high",
            "problem.severity": "error",
        },
    }


def _weaknesses(rule: Rule) -> list[str]:
    """Return the tags by which code hosts recognise entries of the Common Weakness Enumeration."""
    return ["security", *(f"external/cwe/cwe-{number}" for number in rule.cwe)] if rule.cwe else []


def _taxonomy(about: Sequence[Rule]) -> Json:
    """Return the entries of the Common Weakness Enumeration that results may refer to."""
    numbers = sorted({number for rule in about for number in rule.cwe})
    if not numbers:
        return {}
    taxa = [{"id": str(number), "helpUri": f"{_CWE_SITE}/{number}.html"} for number in numbers]
    about_cwe = {"name": CWE, "shortDescription": text("weaknesses of software")}
    return {"taxonomies": [{**about_cwe, "informationUri": "https://cwe.mitre.org/", "taxa": taxa}]}


# --------------------------------------------------------------------------------- notifications


def _notifications(outcome: Outcome) -> Iterator[Json]:
    """Yield the notifications: why there are no results, the assumptions of a proof, and remarks."""
    name = outcome.property_name
    if isinstance(outcome.verdict, Unknown):
        yield _diagnostic(outcome.verdict.reason)
    elif outcome.vacuous:
        sentence = nothing_to_check(outcome)
        level = "note" if outcome.kind else "warning"
        yield _note("nothing-to-check", f"{sentence[:1].upper()}{sentence[1:]}.") | {"level": level}
    elif not isinstance(outcome.verdict, Unsafe):
        yield _note("holds", f"HOLDS: no execution violates {name}. The proof was checked.")
    for assumption in assumptions(outcome):
        yield _note("assuming", f"The proof assumes that {assumption}.")
    if outcome.challenge is not None:
        yield _note("challenge", f"{outcome.challenge.sentence.capitalize()}.")
    for diagnostic in outcome.diagnostics:
        if diagnostic.code != UNDEFINED:  # which is a result
            yield _diagnostic(diagnostic)


def _note(code: str, message: str) -> Json:
    return {"descriptor": {"id": code}, "level": "note", "message": text(message)}


def _diagnostic(diagnostic: Diagnostic) -> Json:
    hint = f" Hint: {diagnostic.hint}" if diagnostic.hint else ""
    note = _note(diagnostic.code, diagnostic.message + hint) | {"level": _LEVELS[diagnostic.severity]}
    if diagnostic.span is not None:
        note["locations"] = [{"physicalLocation": physical(diagnostic.span)}]
    return note
