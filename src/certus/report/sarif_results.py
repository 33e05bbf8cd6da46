"""The results of a SARIF log: violations, with their counterexamples as code flows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from certus.core.diagnostic import Diagnostic, Span
from certus.core.outcome import UNDEFINED, Outcome
from certus.core.program import Call, Havoc, Program, Return
from certus.core.values import Datum
from certus.report.counterexample import Counterexample, Move, counterexample
from certus.report.outcome_view import counted, derivation, file_of, function_name, value_text
from certus.report.rules import CLAUSES, Rule

MOST_STEPS: Final = 1000  # of a code flow; code hosts do not show more
ROOT: Final = "%SRCROOT%"
CWE: Final = "CWE"

Json = dict[str, Any]


def results(outcome: Outcome, about: Sequence[Rule]) -> Iterator[Json]:
    """Yield the results of an outcome."""
    trace, steps = counterexample(outcome), derivation(outcome)
    if trace is not None:
        site, program = trace.error, outcome.subject
        assert isinstance(program, Program)
        index, rule = _rule_of(site.kind, about)
        calls = _open_calls(trace)
        place = {} if site.span is None else {"physicalLocation": physical(site.span)}
        named = {"logicalLocations": [_function(site.location.procedure)]}
        yield {
            **_failed(index, rule),
            "message": text(_message(trace, rule)),
            "locations": [place | named],
            "codeFlows": [{"threadFlows": [_flow(trace)]}],
            "stacks": [_stack(trace, calls)],
            "partialFingerprints": {"primaryLocationLineHash": _fingerprint(trace, calls, program)},
            **_about_memory(trace, program),
        }
    elif steps:
        lines = (_inference(n, clause, values, used) for n, (clause, values, used) in enumerate(steps))
        yield {
            **_failed(*_rule_of(CLAUSES, about)),
            "message": text(f"The clauses have no model: false is derived in {len(steps)} steps."),
            "locations": [{"physicalLocation": {"artifactLocation": artifact(file_of(outcome))}}],
            "codeFlows": [{"threadFlows": [{"locations": list(lines)[-MOST_STEPS:]}]}],
            "partialFingerprints": {"primaryLocationLineHash": _hash(CLAUSES)},
        }

    for diagnostic in outcome.diagnostics:
        if diagnostic.code == UNDEFINED:
            yield _undefined(diagnostic, *_rule_of(UNDEFINED, about))


def _about_memory(trace: Counterexample, program: Program) -> Json:
    """Return the weakness that a defect of memory is an instance of, and where its object began and ended."""
    defect = trace.defect
    if defect is None:
        return {}
    data: Json = {}
    if defect.cwe is not None:
        data["taxa"] = [{"id": str(defect.cwe), "toolComponent": {"name": CWE}}]
    target, lost = defect.object, defect.lost
    edges: list[tuple[str, int | None]] = []
    if target is not None:
        begin, end = ("allocated", "freed") if target.storage == "heap" else ("declared", "out of scope")
        edges += [(f"`{target.name}` is {begin} here", target.allocated)]
        edges += [(f"`{target.name}` is {end} from here on", target.ended)]
    if lost is not None:
        edges.append(("the last pointer is lost here", lost.edge))
    places = [(words, program.edge[e].span) for words, e in edges if e is not None and e in program.edge]
    related = [
        {"id": number, "message": text(words), "physicalLocation": physical(span)}
        for number, (words, span) in enumerate(places, 1)
        if span is not None
    ]
    return data | ({"relatedLocations": related} if related else {})


def _undefined(diagnostic: Diagnostic, index: int, rule: Rule) -> Json:
    """Return a warning about undefined behaviour in an execution, independent of the answer."""
    span = diagnostic.span
    sentence = f"{diagnostic.message[0].upper()}{diagnostic.message[1:]}."
    return {
        **_failed(index, rule),
        "level": "warning",
        "message": text(sentence),
        "locations": [] if span is None else [{"physicalLocation": physical(span)}],
        "partialFingerprints": {"primaryLocationLineHash": _hash(UNDEFINED, diagnostic.message)},
    }


def _rule_of(kind: str, about: Sequence[Rule]) -> tuple[int, Rule]:
    return next((n, rule) for n, rule in enumerate(about) if rule.id == kind)


def _failed(index: int, rule: Rule) -> Json:
    return {"ruleId": rule.id, "ruleIndex": index, "kind": "fail", "level": "error"}


def _message(trace: Counterexample, rule: Rule) -> str:
    values = [f"{name} = {value_text(value)}" for name, value in trace.initial]
    for move in trace.moves:
        if isinstance(move.edge.op, Havoc) and move.reason:
            values += [f"{change.name} = {change.value}" for change in move.scene.changes]
    inputs = f" with {', '.join(values[:5])}{', ...' * (len(values) > 5)}" if values else ""
    failure = rule.failure.format(trace.error.text or rule.id)
    if trace.wrong:
        failure = f"{trace.wrong[0].upper()}{trace.wrong[1:]}"
    return f"{failure}{inputs}, after {counted(trace.steps, 'step')}."


def _fingerprint(trace: Counterexample, calls: Sequence[Move], program: Program) -> str:
    """Return a fingerprint of the procedure, the line of the claim and the lines of the open calls, with the
    number of equal lines before the claim. Changes to other lines do not affect it."""
    site = trace.error
    texts = {
        file: [" ".join(line.split()) for line in text.split("\n")] for file, text in program.texts.items()
    }

    def text_at(span: Span | None, otherwise: str) -> str:
        lines = [] if span is None else texts.get(span.file, [])
        return lines[span.line - 1] if span is not None and span.line <= len(lines) else otherwise

    claim = text_at(site.span, site.text)
    before = 0 if site.span is None else texts.get(site.span.file, [])[: site.span.line - 1].count(claim)
    callers = dict.fromkeys(text_at(call.span, call.statement) for call in calls)
    return f"{_hash(site.kind, site.location.procedure, claim, site.text, *callers)}:{before + 1}"


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ------------------------------------------------------------------------------------ code flows


def _flow(trace: Counterexample) -> Json:
    moves: Sequence[Move] = trace.moves
    if len(moves) > MOST_STEPS:
        moves = [move for move in moves if move.reason][-MOST_STEPS:]
    flow: Json = {"locations": [_step(move, has_reasons=trace.matter is not None) for move in moves]}
    initial = (*trace.initial, *trace.unimportant)
    if initial:
        flow["initialState"] = _state([(name, value_text(value)) for name, value in initial])
    return flow


def _step(move: Move, *, has_reasons: bool) -> Json:
    reason = f" ({move.reason})" if has_reasons and move.reason else ""
    sentence = f"{move.statement.rstrip(';')}{': ' * bool(move.effect)}{move.effect}{reason}"
    place: Json = {"message": text(sentence)}
    if move.span is not None:
        place["physicalLocation"] = physical(move.span)
    step: Json = {
        "location": place,
        "nestingLevel": move.depth,
        "executionOrder": move.number + 1,
        "importance": ("essential" if has_reasons else "important") if move.reason else "unimportant",
    }
    kinds = _kinds(move)
    if kinds:
        step["kinds"] = kinds
    changes = [(change.name, change.value) for change in move.scene.changes]
    if changes:
        step["state"] = _state(changes)
    return step


def _kinds(move: Move) -> list[str]:
    if move.branch is not None:
        return ["branch", value_text(move.branch)]
    if isinstance(move.edge.op, Call):
        return ["call", "function"]
    return ["return", "function"] if isinstance(move.edge.op, Return) else []


def _state(values: Sequence[tuple[str, str]]) -> Json:
    return {name: text(value) for name, value in values}


def _inference(number: int, clause: int, values: Sequence[tuple[str, Datum]], used: tuple[int, ...]) -> Json:
    premises = f" from {', '.join(f'step {n}' for n in used)}" if used else ""
    return {
        "location": {"message": text(f"step {number}: clause {clause}{premises}")},
        "importance": "essential",
        "state": _state([(name, value_text(value)) for name, value in values]),
    }


def _open_calls(trace: Counterexample) -> tuple[Move, ...]:
    """Return the open calls when the claim is violated, innermost first."""
    calls: list[Move] = []
    for move in trace.moves:
        while calls and calls[-1].depth >= move.depth:
            calls.pop()
        if isinstance(move.edge.op, Call):
            calls.append(move)
    return tuple(reversed(calls))


def _stack(trace: Counterexample, calls: Sequence[Move]) -> Json:
    frames = [_frame(trace.error.span, trace.error.location.procedure)]
    frames += [_frame(call.span, call.edge.source.procedure) for call in calls]
    return {"message": text("the calls that lead to the violation"), "frames": frames}


def _function(procedure: str) -> Json:
    return {"name": function_name(procedure), "kind": "function"}


def _frame(span: Span | None, procedure: str) -> Json:
    place: Json = {"logicalLocations": [_function(procedure)]}
    if span is not None:
        place["physicalLocation"] = physical(span)
    return {"location": place}


# ----------------------------------------------------------------------------------------- places


def physical(span: Span) -> Json:
    """Return a span as a physical location."""
    return {
        "artifactLocation": artifact(span.file),
        "region": {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        },
    }


def artifact(file: str) -> Json:
    """Return the location of a file; relative paths are relative to the working directory of Certus."""
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(os.fsencode(path)), "uriBaseId": ROOT}


def text(words: str) -> Json:
    """Return a message."""
    return {"text": words}
