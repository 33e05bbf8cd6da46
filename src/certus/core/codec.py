"""Outcomes and their parts as JSON-able data, for other processes and for evidence files.

Terms travel in tables (`certus.core.wire`), locations by name, edges by index. Decoding needs the subject
the data is about, checks all of it against that subject, and raises ValueError with a sentence on nonsense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Point,
    Proof,
    Refutation,
    Trace,
    Unrolling,
)
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.horn import Step as Inference
from certus.core.outcome import Outcome, PassSize, ProofCheck, Replay, Size, Step
from certus.core.program import Call, Havoc, Program
from certus.core.reading import mapping, natural, position, seconds, sequence, shown, text
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind, Value
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.core.wire import decode_terms, decode_value, encode_terms, encode_value

Subject = Program | HornSystem
Json = dict[str, Any]

VERSION: Final = 1

# -------------------------------------------------------------------------------------- outcome


def encode_outcome(outcome: Outcome) -> Json:
    """All of an outcome but its subject."""
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
    names = ("version", "property", "engine", "verdict", "check", "statistics", "diagnostics", "seconds", "passes")
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
        Size(*(natural(n, "a size") for n in sequence(found[key], "a size", 2))) for key in ("before", "after")
    )
    return PassSize(text(found["name"], "the name of a pass"), before, after)


def encode_statistics(statistics: Statistics) -> Json:
    return {"counters": dict(statistics.counters), "seconds": dict(statistics.seconds)}


def decode_statistics(data: object) -> Statistics:
    found = mapping(data, "statistics", ("counters", "seconds"))
    counters = mapping(found["counters"], "the counters")
    counted = Counter({key: natural(value, f"the counter {key}") for key, value in counters.items()})
    return Statistics(counted, _decode_seconds(found["seconds"]))


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
    numbers = [natural(found[key], f"the {key} of a span") for key in ("line", "column", "end_line", "end_column")]
    file, line = found["presumed_file"], found["presumed_line"]
    return Span(
        text(found["file"], "the file of a span"),
        *numbers,
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


def encode_proof(proof: Proof) -> Json:
    if isinstance(proof, Inductive):
        invariants, names = list(proof.invariants.items()), list(proof.summaries)
        return {
            "kind": "inductive",
            "points": [_encode_point(point) for point, _ in invariants],
            "summaries": names,
            "terms": encode_terms([f for _, f in invariants] + [proof.summaries[name] for name in names]),
        }
    if isinstance(proof, KInductive):
        return {
            "kind": "k-inductive",
            "k": proof.k,
            "points": [_encode_point(point) for point in proof.invariants],
            "terms": encode_terms(list(proof.invariants.values())),
        }
    if isinstance(proof, Unrolling):
        return {"kind": "unrolling", "loops": dict(proof.loops), "recursion": dict(proof.recursion)}
    if isinstance(proof, Execution):
        return {"kind": "execution", "steps": proof.steps}
    return _encode_model(proof)


def decode_proof(data: object, subject: Subject) -> Proof:
    kind = mapping(data, "a proof", ("kind",))["kind"]
    if kind == "model":
        return _decode_model(data, subject)
    program = _program(subject, "this proof")
    if kind == "inductive":
        found = mapping(data, "an inductive proof", ("points", "summaries", "terms"))
        points = [_decode_point(p, program) for p in sequence(found["points"], "the points of a proof")]
        names = [_procedure(n, program) for n in sequence(found["summaries"], "the summaries of a proof")]
        formulas = _formulas(found["terms"], len(points) + len(names))
        split = len(points)
        return Inductive(_distinct(points, formulas[:split]), _distinct(names, formulas[split:]))
    if kind == "k-inductive":
        found = mapping(data, "a k-inductive proof", ("k", "points", "terms"))
        points = [_decode_point(p, program) for p in sequence(found["points"], "the points of a proof")]
        return KInductive(natural(found["k"], "k"), _distinct(points, _formulas(found["terms"], len(points))))
    if kind == "unrolling":
        found = mapping(data, "an unrolling", ("loops", "recursion"))
        loops = mapping(found["loops"], "the loops of an unrolling")
        recursion = mapping(found["recursion"], "the recursion of an unrolling")
        return Unrolling(
            {_location(name, program): natural(bound, "a bound") for name, bound in loops.items()},
            {_procedure(name, program): natural(bound, "a bound") for name, bound in recursion.items()},
        )
    if kind == "execution":
        found = mapping(data, "an execution", ("steps",))
        return Execution(natural(found["steps"], "the length of an execution"))
    raise ValueError(f"there is no kind of proof {shown(kind)}")
