"""Replayed traces as JSON-able data, a part of `certus.core.codec`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from certus.core.challenge import Compilers
from certus.core.evidence_codec import require_location
from certus.core.outcome import Reason, Replay, Role, Step
from certus.core.program import Program
from certus.core.reading import mapping, natural, position, sequence, shown, text
from certus.core.terms import Expr, Kind
from certus.core.wire import decode_terms, decode_value, encode_terms, encode_value

Json = dict[str, Any]


def encode_replay(check: Replay) -> Json:
    mentioned = [v for step in check.kept for v in _mentioned(step)]
    numbers = {v: number for number, v in enumerate(dict.fromkeys((*mentioned, *(check.initial or ()))))}
    return {
        "kind": "replay",
        "steps": check.steps,
        "kept": [_encode_step(step, numbers) for step in check.kept],
        "error": check.error,
        "compiled": check.compiled,
        "compilers": encode_compilers(check.compilers),
        "matter": check.matter,
        "initial": None if check.initial is None else [numbers[v] for v in check.initial],
        "variables": encode_terms(list(numbers)),
    }


def _mentioned(step: Step) -> Iterator[Expr]:
    yield from (variable for variable, _ in step.changes)
    if step.reason is not None and step.reason.variable is not None:
        yield step.reason.variable


def _encode_step(step: Step, numbers: dict[Expr, int]) -> list[Any]:
    changes = [[numbers[v], encode_value(value)] for v, value in step.changes]
    return [step.number, step.edge, step.depth, changes, _encode_reason(step.reason, numbers)]


def _encode_reason(reason: Reason | None, numbers: dict[Expr, int]) -> list[Any] | None:
    if reason is None:
        return None
    read = None if reason.variable is None else numbers[reason.variable]
    return [reason.role.value, reason.by, reason.at, read]


def decode_replay(data: object, program: Program) -> Replay:
    keys = ("steps", "kept", "error", "compiled", "compilers", "matter", "initial", "variables")
    found = mapping(data, "a replay", keys)
    variables = decode_terms(found["variables"])
    if any(v.kind is not Kind.VAR for v in variables):
        raise ValueError("only variables change in a replay")
    matter, initial = found["matter"], found["initial"]
    return Replay(
        natural(found["steps"], "the number of steps"),
        tuple(
            _decode_step(step, variables, program)
            for step in sequence(found["kept"], "the steps of a replay")
        ),
        require_location(found["error"], program),
        text(found["compiled"], "how the compiled program ended"),
        None if matter is None else natural(matter, "the number of steps that matter"),
        None
        if initial is None
        else tuple(_numbered(v, variables) for v in sequence(initial, "the initial values that matter")),
        decode_compilers(found["compilers"]),
    )


def encode_compilers(compilers: Compilers) -> list[Any]:
    return [list(compilers.agreed), compilers.absent, compilers.differs]


def decode_compilers(data: object) -> Compilers:
    agreed, absent, differs = sequence(data, "the compilers", 3)
    return Compilers(
        tuple(text(name, "a compiler") for name in sequence(agreed, "the compilers that agreed")),
        text(absent, "a reason"),
        text(differs, "how a program ended"),
    )


def _numbered(number: object, variables: Sequence[Expr]) -> Expr:
    return variables[position(number, len(variables), "variable")]


def _decode_step(data: object, variables: Sequence[Expr], program: Program) -> Step:
    number, edge, depth, changes, reason = sequence(data, "a step", 5)
    changed = []
    for change in sequence(changes, "the changes of a step"):
        variable, value = sequence(change, "a change", 2)
        known = _numbered(variable, variables)
        changed.append((known, decode_value(value, known.sort)))
    return Step(
        natural(number, "the number of a step"),
        _known_edge(edge, program),
        natural(depth, "the call depth of a step"),
        tuple(changed),
        None if reason is None else _decode_reason(reason, variables, program),
    )


def _decode_reason(data: object, variables: Sequence[Expr], program: Program) -> Reason:
    role, by, at, read = sequence(data, "a reason", 4)
    roles = {r.value: r for r in Role}
    if text(role, "the role of a step") not in roles:
        raise ValueError(f"there is no role {shown(role)} of a step")
    return Reason(
        roles[role],
        natural(by, "the number of a step"),
        _known_edge(at, program),
        None if read is None else _numbered(read, variables),
    )


def _known_edge(edge: object, program: Program) -> int:
    index = natural(edge, "the edge of a step")
    if index not in program.edge:
        raise ValueError(f"the program has no edge number {index}")
    return index
