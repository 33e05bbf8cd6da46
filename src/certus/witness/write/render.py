"""Render the witness of a verdict as YAML. Except for its time, it depends only on program and verdict."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from certus.core.evidence import Safe, Trace, Unknown, Unsafe
from certus.core.outcome import Outcome, Replay
from certus.core.program import Program
from certus.core.version import VERSION
from certus.core.witness import (
    FORMAT_VERSION,
    CorrectnessWitness,
    Place,
    ViolationWitness,
    Waypoint,
    Witness,
    WitnessInvariant,
    WitnessTask,
)
from certus.report.outcome_view import counted
from certus.witness.write.invariants import translate
from certus.witness.write.waypoints import segments

_LANGUAGE: Final = ("c", "i")
Yaml = dict[str, "str | int | Yaml | list[Yaml] | list[str]"]


def witness_of(outcome: Outcome) -> tuple[Witness, str] | str:
    """Return the witness of a verdict with a remark on what it leaves out, or the reason why there is
    none."""
    program = outcome.subject
    if not isinstance(program, Program) or program.file.rpartition(".")[2].lower() not in _LANGUAGE:
        return "witnesses are about C programs"
    if outcome.answers and not outcome.specification and not isinstance(outcome.verdict, Unknown):
        return "property files have no name for this question; choose one with --property"
    task = _task(program, outcome.specification)
    if isinstance(outcome.verdict, Unsafe):
        trace, check = outcome.verdict.refutation, outcome.check
        if not isinstance(trace, Trace) or not isinstance(check, Replay):
            return "the counterexample was not replayed"
        path = segments(program, trace, check)
        if path is None:
            return "the violation is in another file than the program"
        return ViolationWitness(task, path), ""
    if isinstance(outcome.verdict, Safe):
        translation = translate(outcome.verdict.proof, program)
        remark = ""
        if translation.left_out:
            formulas = counted(translation.left_out, "formula")
            remark = f"weakened: C cannot fully express {formulas} of the proof"
        return CorrectnessWitness(task, translation.invariants), remark
    return "there is no verdict"


def render_witness(witness: Witness, *, engine: str, remark: str, created: str) -> str:
    """Render a witness; `created` is the time in ISO 8601."""
    if isinstance(witness, ViolationWitness):
        kind, content = "violation_sequence", _segments(witness.segments)
    else:
        kind, content = "invariant_set", _invariants(witness.invariants)
    producer: Yaml = {"name": "Certus", "version": VERSION, "configuration": engine}
    if remark:
        producer["description"] = remark
    task = witness.task
    about: Yaml = {
        "input_files": list(task.files),
        "input_file_hashes": dict(task.hashes),
        "specification": task.specification,
        "data_model": task.data_model,
        "language": task.language,
    }
    body = json.dumps([kind, producer, about, content])
    metadata: Yaml = {
        "format_version": FORMAT_VERSION,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, body)),
        "creation_time": created,
        "producer": producer,
        "task": about,
    }
    entry: Yaml = {"entry_type": kind, "metadata": metadata, "content": content}
    return "\n".join(_lines([entry], 0)) + "\n"


def _task(program: Program, specification: str) -> WitnessTask:
    model = "LP64" if program.pointer_bits == 64 else "ILP32"
    hashes = {unit.file: unit.digest for unit in program.units}
    return WitnessTask(tuple(hashes), hashes, specification, model)


def _segments(segments: Sequence[Sequence[Waypoint]]) -> list[Yaml]:
    entries: list[list[Yaml]] = [[{"waypoint": _waypoint(each)} for each in segment] for segment in segments]
    return [{"segment": entry} for entry in entries]


def _waypoint(waypoint: Waypoint) -> Yaml:
    fields: Yaml = {"type": waypoint.kind, "action": waypoint.action}
    if waypoint.constraint is not None:
        form: Yaml = {} if waypoint.format is None else {"format": waypoint.format}
        fields["constraint"] = {"value": waypoint.constraint, **form}
    return fields | {"location": _location(waypoint.place)}


def _invariants(invariants: Iterable[WitnessInvariant]) -> list[Yaml]:
    return [
        {
            "invariant": {
                "type": each.kind,
                "location": _location(each.place),
                "value": each.value,
                "format": each.format,
            }
        }
        for each in invariants
    ]


def _location(place: Place) -> Yaml:
    fields: Yaml = {"file_name": place.file, "line": place.line}
    if place.column is not None:
        fields["column"] = place.column
    if place.function is not None:
        fields["function"] = place.function
    return fields


def _lines(value: Yaml | Sequence[Yaml | str], depth: int) -> list[str]:
    """Render in block style, texts in double quotes as in JSON. The format nests only a few levels deep."""
    indent = "  " * depth
    lines: list[str] = []
    if isinstance(value, dict):
        for key, part in value.items():
            name = key if key.isidentifier() else json.dumps(key)
            lines.extend(_entry(f"{indent}{name}:", part, depth))
    else:
        for item in value:
            inner = _lines(item, depth + 1) if isinstance(item, dict) else [f"{indent}  {_scalar(item)}"]
            lines += [f"{indent}- {inner[0][len(indent) + 2 :]}", *inner[1:]]
    return lines


def _entry(name: str, part: str | int | Yaml | Sequence[Yaml | str], depth: int) -> list[str]:
    if isinstance(part, (dict, list)):
        if not part:
            return [f"{name} {'{}' if isinstance(part, dict) else '[]'}"]
        return [name, *_lines(part, depth + 1)]
    assert isinstance(part, (str, int))
    return [f"{name} {_scalar(part)}"]


def _scalar(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
