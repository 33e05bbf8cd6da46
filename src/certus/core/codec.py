"""Outcomes and their parts as JSON-able data, for other processes and for evidence files.

Terms travel in tables (`certus.core.wire`), locations by name, edges by index. Decoding needs the subject
the data is about, checks all of it against that subject, and raises ValueError with a sentence on nonsense.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any, Final

from certus.core.challenge import Challenge, Disagreement
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence_codec import (
    Subject,
    decode_proof,
    decode_refutation,
    decode_trace,
    encode_proof,
    encode_refutation,
    encode_trace,
    require_program,
)
from certus.core.outcome import Check, DerivationCheck, Outcome, PassSize, ProofCheck, Size, Undecided
from certus.core.reading import mapping, natural, seconds, sequence, shown, text
from certus.core.replay_codec import decode_compilers, decode_replay, encode_compilers, encode_replay
from certus.core.statistics import Finding, Refinement, Statistics
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict

__all__ = [
    "decode_challenge",
    "decode_check",
    "decode_diagnostic",
    "decode_outcome",
    "decode_proof",
    "decode_refutation",
    "decode_span",
    "decode_statistics",
    "decode_trace",
    "decode_verdict",
    "encode_challenge",
    "encode_check",
    "encode_diagnostic",
    "encode_outcome",
    "encode_proof",
    "encode_refutation",
    "encode_span",
    "encode_statistics",
    "encode_trace",
    "encode_undecided",
    "encode_verdict",
]

Json = dict[str, Any]

VERSION: Final = 1

# -------------------------------------------------------------------------------------- outcome


def encode_outcome(outcome: Outcome) -> Json:
    """All of an outcome but its subject and what was expected, which belong to the question."""
    return {
        "version": VERSION,
        "property": outcome.property_name,
        "engine": outcome.engine,
        "verdict": encode_verdict(outcome.verdict),
        "check": encode_check(outcome.check),
        "statistics": encode_statistics(outcome.statistics),
        "diagnostics": [encode_diagnostic(d) for d in outcome.diagnostics],
        "seconds": dict(outcome.seconds),
        "passes": [_encode_pass(p) for p in outcome.passes],
    }


def decode_outcome(data: object, subject: Subject) -> Outcome:
    names = (
        "version",
        "property",
        "engine",
        "verdict",
        "check",
        "statistics",
        "diagnostics",
        "seconds",
        "passes",
    )
    found = mapping(data, "an outcome", names)
    if found["version"] != VERSION:
        raise ValueError(f"an outcome of version {VERSION} was expected, not {shown(found['version'])}")
    return Outcome(
        subject,
        text(found["property"], "the property"),
        decode_verdict(found["verdict"], subject),
        text(found["engine"], "the engine"),
        decode_check(found["check"], subject),
        decode_statistics(found["statistics"]),
        tuple(decode_diagnostic(d) for d in sequence(found["diagnostics"], "the diagnostics")),
        _decode_seconds(found["seconds"]),
        tuple(_decode_pass(p) for p in sequence(found["passes"], "the passes")),
    )


def _encode_pass(item: PassSize) -> Json:
    before, after = ([size.locations, size.edges] for size in (item.before, item.after))
    return {"name": item.name, "before": before, "after": after}


def _decode_pass(data: object) -> PassSize:
    found = mapping(data, "a pass", ("name", "before", "after"))
    before, after = (
        Size(*(natural(n, "a size") for n in sequence(found[key], "a size", 2)))
        for key in ("before", "after")
    )
    return PassSize(text(found["name"], "the name of a pass"), before, after)


def encode_statistics(statistics: Statistics) -> Json:
    return {
        "counters": dict(statistics.counters),
        "seconds": dict(statistics.seconds),
        "findings": [[found.kind, found.place, found.text] for found in statistics.findings],
        "refinements": [[list(r.path), [list(pair) for pair in r.added]] for r in statistics.refinements],
    }


def decode_statistics(data: object) -> Statistics:
    found = mapping(data, "statistics", ("counters", "seconds", "findings", "refinements"))
    counters = mapping(found["counters"], "the counters")
    counted = Counter({key: natural(value, f"the counter {key}") for key, value in counters.items()})
    findings = [_decode_finding(item) for item in sequence(found["findings"], "the findings")]
    refinements = [_decode_refinement(item) for item in sequence(found["refinements"], "the refinements")]
    return Statistics(counted, _decode_seconds(found["seconds"]), findings, refinements)


def _decode_finding(data: object) -> Finding:
    kind, place, words = (text(item, "a finding") for item in sequence(data, "a finding", 3))
    return Finding(kind, place, words)


def _decode_refinement(data: object) -> Refinement:
    path, added = sequence(data, "a refinement", 2)
    pairs = [sequence(pair, "a predicate", 2) for pair in sequence(added, "predicates")]
    return Refinement(
        tuple(text(place, "a place") for place in sequence(path, "a path")),
        tuple((text(place, "a place"), text(words, "a predicate")) for place, words in pairs),
    )


def _decode_seconds(data: object) -> dict[str, float]:
    return {key: seconds(value, f"the time {key}") for key, value in mapping(data, "times").items()}


# ---------------------------------------------------------------------------------- diagnostics


def encode_diagnostic(diagnostic: Diagnostic) -> Json:
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "severity": diagnostic.severity.value,
        "span": None if diagnostic.span is None else encode_span(diagnostic.span),
        "hint": diagnostic.hint,
    }


def decode_diagnostic(data: object) -> Diagnostic:
    found = mapping(data, "a diagnostic", ("code", "message", "severity", "span", "hint"))
    severities = {s.value: s for s in Severity}
    severity = text(found["severity"], "a severity")
    if severity not in severities:
        raise ValueError(f"there is no severity {shown(severity)}")
    return Diagnostic(
        text(found["code"], "the code of a diagnostic"),
        text(found["message"], "the message of a diagnostic"),
        severities[severity],
        None if found["span"] is None else decode_span(found["span"]),
        None if found["hint"] is None else text(found["hint"], "the hint of a diagnostic"),
    )


def encode_span(span: Span) -> Json:
    return {f.name: getattr(span, f.name) for f in fields(Span)}


def decode_span(data: object) -> Span:
    found = mapping(data, "a span", [f.name for f in fields(Span)])
    file, line = found["presumed_file"], found["presumed_line"]
    return Span(
        text(found["file"], "the file of a span"),
        natural(found["line"], "the line of a span"),
        natural(found["column"], "the column of a span"),
        natural(found["end_line"], "the last line of a span"),
        natural(found["end_column"], "the last column of a span"),
        None if file is None else text(file, "the presumed file of a span"),
        None if line is None else natural(line, "the presumed line of a span"),
    )


# -------------------------------------------------------------------------------------- verdict


def encode_verdict(verdict: Verdict) -> Json:
    if isinstance(verdict, Safe):
        return {"answer": "holds", "proof": encode_proof(verdict.proof)}
    if isinstance(verdict, Unsafe):
        return {"answer": "violated", "refutation": encode_refutation(verdict.refutation)}
    return {"answer": "unknown", "reason": encode_diagnostic(verdict.reason)}


def decode_verdict(data: object, subject: Subject) -> Verdict:
    found = mapping(data, "a verdict", ("answer",))
    answer = found["answer"]
    if answer == "holds":
        return Safe(decode_proof(mapping(data, "a verdict", ("proof",))["proof"], subject))
    if answer == "violated":
        refutation = mapping(data, "a verdict", ("refutation",))["refutation"]
        return Unsafe(decode_refutation(refutation, subject))
    if answer == "unknown":
        return Unknown(decode_diagnostic(mapping(data, "a verdict", ("reason",))["reason"]))
    raise ValueError(f"there is no answer {shown(answer)}")


# ---------------------------------------------------------------------------------------- check


def encode_check(check: Check | None) -> Json | None:
    if check is None:
        return None
    if isinstance(check, DerivationCheck):
        return {"kind": "derivation-check", "steps": check.steps}
    if isinstance(check, ProofCheck):
        return {
            "kind": "proof-check",
            "clauses": check.clauses,
            "discharged": dict(check.discharged),
            "runs": check.runs,
            "undecided": encode_undecided(check),
            "by_one": check.by_one,
        }
    return encode_replay(check)


def encode_challenge(found: Challenge) -> Json:
    """A challenge on its way from one process to another."""
    said = found.disagreement
    return {
        "compared": found.compared,
        "not_compared": found.not_compared,
        "why_not": found.why_not,
        "only_run_ended": found.only_run_ended,
        "warnings": [encode_diagnostic(warning) for warning in found.warnings],
        "disagreement": None
        if said is None
        else [
            said.code,
            {name: list(values) for name, values in said.inputs.items()},
            said.native,
            said.model,
            said.gcc,
            {compiler: list(asked) for compiler, asked in said.asked.items()},
        ],
        "compilers": encode_compilers(found.compilers),
        "gcc_compared": found.gcc_compared,
    }


def decode_challenge(data: object) -> Challenge:
    names = ("compared", "not_compared", "why_not", "only_run_ended", "warnings", "disagreement")
    found = mapping(data, "a challenge", (*names, "compilers", "gcc_compared"))
    said = found["disagreement"]
    return Challenge(
        natural(found["compared"], "the compared runs"),
        natural(found["not_compared"], "the other runs"),
        text(found["why_not"], "a reason"),
        found["only_run_ended"] is True,
        tuple(decode_diagnostic(warning) for warning in sequence(found["warnings"], "warnings")),
        None if said is None else _decode_disagreement(said),
        decode_compilers(found["compilers"]),
        natural(found["gcc_compared"], "the runs of gcc's program"),
    )


def _decode_disagreement(data: object) -> Disagreement:
    code, inputs, native, model, gcc, asked = sequence(data, "a disagreement", 6)
    values = {
        name: tuple(int(value) for value in sequence(listed, "inputs"))
        for name, listed in mapping(inputs, "inputs").items()
    }
    functions = {
        compiler: tuple(text(name, "a function") for name in sequence(listed, "functions"))
        for compiler, listed in mapping(asked, "functions").items()
    }
    code, native, model, gcc = (text(each, "a disagreement") for each in (code, native, model, gcc))
    return Disagreement(code, values, native, model, gcc, functions)


def encode_undecided(check: ProofCheck) -> Json:
    """By solver, how many clauses it did not decide for each reason."""
    return {
        solver: {reason.value: number for reason, number in reasons.items()}
        for solver, reasons in check.undecided.items()
    }


def _decode_undecided(data: object) -> dict[str, dict[Undecided, int]]:
    known = {reason.value: reason for reason in Undecided}
    found: dict[str, dict[Undecided, int]] = {}
    for solver, reasons in mapping(data, "the undecided clauses").items():
        found[solver] = {}
        for reason, number in mapping(reasons, "the undecided clauses of a solver").items():
            if reason not in known:
                raise ValueError(f"there is no reason {shown(reason)} for an undecided clause")
            found[solver][known[reason]] = natural(number, "a number of clauses")
    return found


def decode_check(data: object, subject: Subject) -> Check | None:
    if data is None:
        return None
    kind = mapping(data, "a check", ("kind",))["kind"]
    if kind == "derivation-check":
        found = mapping(data, "a derivation check", ("steps",))
        return DerivationCheck(natural(found["steps"], "the number of steps"))
    if kind == "proof-check":
        found = mapping(data, "a proof check", ("clauses", "discharged", "runs", "undecided", "by_one"))
        discharged = mapping(found["discharged"], "the discharged clauses")
        return ProofCheck(
            natural(found["clauses"], "the number of clauses"),
            {solver: natural(n, "a number of clauses") for solver, n in discharged.items()},
            natural(found["runs"], "the number of runs"),
            _decode_undecided(found["undecided"]),
            natural(found["by_one"], "the number of clauses by one solver"),
        )
    if kind == "replay":
        return decode_replay(data, require_program(subject, "a replay"))
    raise ValueError(f"there is no kind of check {shown(kind)}")
