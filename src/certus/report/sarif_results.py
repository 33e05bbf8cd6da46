"""Results of SARIF logs: violations, with their paths as code flows, and the places in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from certus.core.challenge import UNDEFINED
from certus.core.diagnostic import Diagnostic, Span
from certus.core.outcome import Outcome
from certus.core.program import Call, Havoc, Program, Return
from certus.core.values import Datum
from certus.report.content import counted, derivation, file_of, function_name, value_text
from certus.report.rules import CLAUSES, Rule
from certus.report.steps import Move, Path, path

MOST_STEPS: Final = 1000  # of a code flow: code hosts show no more
ROOT: Final = "%SRCROOT%"

Json = dict[str, Any]


def results(outcome: Outcome, about: Sequence[Rule]) -> Iterator[Json]:
    found, steps = path(outcome), derivation(outcome)
    if found is not None:
        site, program = found.error, outcome.subject
        assert isinstance(program, Program)
        index, rule = _rule_of(site.kind, about)
        calls = _open_calls(found)
        place = {} if site.span is None else {"physicalLocation": physical(site.span)}
        named = {"logicalLocations": [_function(site.location.procedure)]}
        yield {
            **_failed(index, rule),
            "message": text(_message(found, rule)),
            "locations": [place | named],
            "codeFlows": [{"threadFlows": [_flow(found)]}],
            "stacks": [_stack(found, calls)],
            "partialFingerprints": {"primaryLocationLineHash": _fingerprint(found, calls, program)},
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


def _undefined(diagnostic: Diagnostic, index: int, rule: Rule) -> Json:
    """Undefined behaviour that an execution met: a warning, whatever the answer is."""
    span = diagnostic.span
    said = f"{diagnostic.message[0].upper()}{diagnostic.message[1:]}."
    return {
        **_failed(index, rule),
        "level": "warning",
        "message": text(said),
        "locations": [] if span is None else [{"physicalLocation": physical(span)}],
        "partialFingerprints": {"primaryLocationLineHash": _hash(UNDEFINED, diagnostic.message)},
    }


def _rule_of(kind: str, about: Sequence[Rule]) -> tuple[int, Rule]:
    return next((n, rule) for n, rule in enumerate(about) if rule.id == kind)


def _failed(index: int, rule: Rule) -> Json:
    return {"ruleId": rule.id, "ruleIndex": index, "kind": "fail", "level": "error"}


def _message(found: Path, rule: Rule) -> str:
    given = [f"{name} = {value_text(value)}" for name, value in found.initial]
    for move in found.moves:
        if isinstance(move.edge.op, Havoc) and move.reason:
            given += [f"{change.name} = {change.value}" for change in move.scene.changes]
    inputs = f" with {', '.join(given[:5])}{', ...' * (len(given) > 5)}" if given else ""
    failure = rule.failure.format(found.error.text or rule.id)
    return f"{failure}{inputs}, after {counted(found.steps, 'step')}."


def _fingerprint(found: Path, calls: Sequence[Move], program: Program) -> str:
    """The same as long as the lines of the claim and of the calls that lead there are, and the procedure:
    other lines do not count, except for equal ones before the claim, which are counted."""
    site = found.error
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


def _flow(found: Path) -> Json:
    moves: Sequence[Move] = found.moves
    if len(moves) > MOST_STEPS:
        moves = [move for move in moves if move.reason][-MOST_STEPS:]
    flow: Json = {"locations": [_step(move, known=found.matter is not None) for move in moves]}
    initial = (*found.initial, *found.unimportant)
    if initial:
        flow["initialState"] = _state([(name, value_text(value)) for name, value in initial])
    return flow


def _step(move: Move, *, known: bool) -> Json:
    reason = f" ({move.reason})" if known and move.reason else ""
    said = f"{move.statement.rstrip(';')}{': ' * bool(move.effect)}{move.effect}{reason}"
    place: Json = {"message": text(said)}
    if move.span is not None:
        place["physicalLocation"] = physical(move.span)
    found: Json = {
        "location": place,
        "nestingLevel": move.depth,
        "executionOrder": move.number + 1,
        "importance": ("essential" if known else "important") if move.reason else "unimportant",
    }
    kinds = _kinds(move)
    if kinds:
        found["kinds"] = kinds
    changes = [(change.name, change.value) for change in move.scene.changes]
    if changes:
        found["state"] = _state(changes)
    return found


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


def _open_calls(found: Path) -> tuple[Move, ...]:
    """The calls that had not returned when the claim was violated, innermost first."""
    calls: list[Move] = []
    for move in found.moves:
        while calls and calls[-1].depth >= move.depth:
            calls.pop()
        if isinstance(move.edge.op, Call):
            calls.append(move)
    return tuple(reversed(calls))


def _stack(found: Path, calls: Sequence[Move]) -> Json:
    frames = [_frame(found.error.span, found.error.location.procedure)]
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
    """A relative path is one from where Certus was started."""
    found = PurePosixPath(file)
    if found.is_absolute():
        return {"uri": found.as_uri()}
    return {"uri": quote(str(found)), "uriBaseId": ROOT}


def text(words: str) -> Json:
    return {"text": words}
