"""Render an outcome as versioned JSON, with the same content as the text.

docs/json.md describes every field; `FORMAT` increases when a field changes its meaning or is removed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

from certus.codec.outcomes import encode_undecided
from certus.core.diagnostic import Diagnostic, Span
from certus.core.evidence import Execution, Inductive, KInductive, Proof, Unknown, Unrolling
from certus.core.outcome import DerivationCheck, Outcome, ProofCheck, Replay, challenge_json
from certus.core.program import Program
from certus.core.values import ArrayValue, Datum
from certus.core.version import VERSION
from certus.report.counterexample import Counterexample, Move, counterexample
from certus.report.outcome_view import (
    FloatBits,
    assumptions,
    bounds,
    derivation,
    file_of,
    files_of,
    invariants,
    is_vast,
    proof_of,
    relations,
    sentence_of,
    summaries,
    total_seconds,
    value_text,
)

FORMAT: Final = 2

Json = dict[str, Any]


def render_json(outcome: Outcome) -> str:
    """Render the outcome as JSON text, with keys in a fixed order and without a final newline."""
    return _text(outcome_json(outcome))


def render_input_error_json(file: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Render the diagnostics about malformed input, which has no verdict."""
    return _text(_header(file) | {"verdict": None, "diagnostics": [diagnostic_json(d) for d in diagnostics]})


def outcome_json(outcome: Outcome) -> Json:
    """Return the outcome as JSON data."""
    files = files_of(outcome)
    data = _header(file_of(outcome)) | ({"files": files} if len(files) > 1 else {})
    data |= _answer(outcome)
    if outcome.answers:
        data["answers"] = [{"kind": each.kind, **_answer(each)} for each in outcome.answers]
    return data


def _answer(outcome: Outcome) -> Json:
    """Return the fields of one answer: that to the whole question, or about one kind of checks."""
    data: Json = {
        "property": outcome.property_name,
        "engine": outcome.engine,
        "verdict": outcome.answer,
        "vacuous": outcome.vacuous,
        "expected": outcome.expected,
    }
    if outcome.subproperty is not None:
        data["subproperty"] = outcome.subproperty
    if sentence := sentence_of(outcome):
        data["finding"] = sentence
    proof, trace, steps = proof_of(outcome), counterexample(outcome), derivation(outcome)
    if isinstance(outcome.verdict, Unknown):
        data["reason"] = diagnostic_json(outcome.verdict.reason)
    if proof is not None:
        data["proof"] = _proof(proof, outcome)
    if assumptions(outcome):
        data["assuming"] = list(assumptions(outcome))
    if trace is not None:
        data["trace"] = _trace(trace, outcome)
    if steps:
        data["derivation"] = [
            {"clause": clause, "values": _values(values), "premises": list(premises)}
            for clause, values, premises in steps
        ]
    data["check"] = _check(outcome)
    if outcome.challenge is not None:
        data["challenge"] = challenge_json(outcome.challenge)
    data["diagnostics"] = [diagnostic_json(d) for d in outcome.diagnostics]
    data["passes"] = [
        {"name": p.name, "before": asdict(p.before), "after": asdict(p.after)} for p in outcome.passes
    ]
    data["findings"] = [asdict(finding) for finding in outcome.statistics.findings]
    data["statistics"] = {
        "counters": dict(sorted(outcome.statistics.counters.items())),
        "seconds": dict(sorted(outcome.statistics.seconds.items())),
    }
    data["seconds"] = {"total": total_seconds(outcome), **dict(sorted(outcome.seconds.items()))}
    return data


def _text(data: Json) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def _header(file: str) -> Json:
    return {"certus": VERSION, "format": FORMAT, "file": file}


def _proof(proof: Proof, outcome: Outcome) -> Json:
    program = outcome.subject
    if not isinstance(program, Program):
        return {
            "kind": "model",
            "relations": [{"relation": head, "formula": formula} for head, formula in relations(proof)],
        }
    if isinstance(proof, Execution):
        return {"kind": "execution", "steps": proof.steps}
    if isinstance(proof, Unrolling):
        loops, recursion = bounds(proof, program)
        return {
            "kind": "unrolling",
            "loops": [{"location": b.name, **_place(b.span), "entries": b.count} for b in loops],
            "recursion": [{"procedure": b.name, "activations": b.count} for b in recursion],
        }
    data: Json = {"kind": "inductive" if isinstance(proof, Inductive) else "k-inductive"}
    if isinstance(proof, KInductive):
        data["k"] = proof.k
    data["invariants"] = [
        {
            "location": i.location.name,
            "loop": i.location.loop is not None,
            **_place(i.span),
            "called_from_lines": list(i.calls),
            "formula": i.formula,
        }
        for i in invariants(outcome)
    ]
    data["summaries"] = [{"procedure": name, "formula": formula} for name, formula in summaries(outcome)]
    return data


def _trace(trace: Counterexample, outcome: Outcome) -> Json:
    """Encode a counterexample: `head` are the steps before the first omitted one, `tail` those after it."""
    site, moves, check = trace.error, trace.moves, outcome.check
    assert isinstance(check, Replay)
    gap = next((i for i, move in enumerate(moves) if move.omitted), len(moves))
    return {
        "steps": check.steps,
        "matter": check.matter,
        "initial": _values((*trace.initial, *trace.unimportant)),
        "head": [_move(move) for move in moves[:gap]],
        "omitted": trace.omitted,
        "tail": [_move(move) for move in moves[gap:]],
        "violated": {"kind": site.kind, "claim": site.text, **_place(site.span), **_defect(trace, outcome)},
    }


def _defect(trace: Counterexample, outcome: Outcome) -> Json:
    """Encode what is wrong with memory; nothing for other violations."""
    defect, program = trace.defect, outcome.subject
    if defect is None or not isinstance(program, Program):
        return {}

    def place(edge: int | None) -> Json | None:
        span = program.edge[edge].span if edge is not None and edge in program.edge else None
        return None if span is None else {"file": span.file, **_place(span)}

    target, lost = defect.object, defect.lost
    return {
        "defect": {
            "sentence": trace.wrong,
            "kind": defect.kind.value,
            "cwe": defect.cwe,
            "access": defect.question,
            "offset": _value(defect.offset),
            "bytes": _value(defect.size),
            "object": None
            if target is None
            else {
                "name": target.name,
                "storage": target.storage,
                "bytes": _value(target.size),
                "allocated": place(target.allocated),
                "ended": place(target.ended),
            },
            "objects": defect.count,
            "lost": None if lost is None else {"how": lost.loss.value, "at": place(lost.edge)},
        }
    }


def _move(move: Move) -> Json:
    return {
        "number": move.number,
        "file": None if move.span is None else move.span.file,
        **_place(move.span),
        "statement": move.statement,
        "branch": move.branch,
        "depth": move.depth,
        "changes": _values(move.changes),
        "shown": [{"name": c.name, "value": c.value} for c in move.scene.changes],
        "because": [{"name": name, "value": value} for name, value in move.scene.because],
        "reason": move.reason or None,
    }


def _values(pairs: Sequence[tuple[str, Datum]]) -> list[Json]:
    return [{"name": name, "value": _value(value)} for name, value in pairs]


def _value(value: Datum) -> bool | int | str:
    if isinstance(value, (Fraction, ArrayValue, FloatBits)):
        return value_text(value)
    return hex(value) if is_vast(value) else value


def _check(outcome: Outcome) -> Json | None:
    check = outcome.check
    if isinstance(check, ProofCheck):
        return {
            "kind": "proof",
            "clauses": check.clauses,
            "discharged": dict(check.discharged),
            "undecided": encode_undecided(check),
            "by_one": check.by_one,
            "runs": check.runs,
        }
    if isinstance(check, DerivationCheck):
        return {"kind": "derivation", "steps": check.steps}
    if isinstance(check, Replay):
        compiled = {"compiled": check.compiled, **check.compilers.json()} if check.compiled else {}
        return {"kind": "replay", "steps": check.steps, **compiled}
    return None


def diagnostic_json(diagnostic: Diagnostic) -> Json:
    """Return a diagnostic as JSON data."""
    return {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "file": None if diagnostic.span is None else diagnostic.span.file,
        **_place(diagnostic.span),
    }


def _place(span: Span | None) -> Json:
    return {"line": None if span is None else span.line, "column": None if span is None else span.column}
