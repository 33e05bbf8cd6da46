"""A witness as YAML text, the same for the same program and verdict but for its time."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from certus.core.evidence import Trace
from certus.core.outcome import Outcome, Replay
from certus.core.program import Program
from certus.core.verdict import Safe, Unsafe
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
from certus.report.witness.invariants import translate
from certus.report.witness.path import segments

_LANGUAGE: Final = ("c", "i")
Yaml = dict[str, Any]


def witness_of(outcome: Outcome) -> tuple[Witness, str] | str:
    """The witness of a verdict, with a remark on what it leaves out; or why there is none."""
    program = outcome.subject
    if not isinstance(program, Program) or program.file.rpartition(".")[2].lower() not in _LANGUAGE:
        return "witnesses are about C programs"
    task = _task(program, outcome.specification)
    if isinstance(outcome.verdict, Unsafe):
        trace, check = outcome.verdict.refutation, outcome.check
        if not isinstance(trace, Trace) or not isinstance(check, Replay):
            return "the counterexample was not replayed"
        found = segments(program, trace, check)
        if found is None:
            return "the violation is in another file than the program"
        return ViolationWitness(task, found), ""
    if isinstance(outcome.verdict, Safe):
        made = translate(outcome.verdict.proof, program)
        remark = ""
        if made.left_out:
            remark = f"weakened: of {made.left_out} formulas of the proof, C cannot say all or anything"
        return CorrectnessWitness(task, made.invariants), remark
    return "there is no verdict"


def render_witness(witness: Witness, *, engine: str, remark: str, created: str) -> str:
    """`created` is the time in ISO 8601."""
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


def _segments(found: Sequence[Sequence[Waypoint]]) -> list[Yaml]:
    return [{"segment": [{"waypoint": _waypoint(each)} for each in segment]} for segment in found]


def _waypoint(waypoint: Waypoint) -> Yaml:
    made: Yaml = {"type": waypoint.kind, "action": waypoint.action}
    if waypoint.constraint is not None:
        made["constraint"] = {"value": waypoint.constraint}
        if waypoint.format is not None:
            made["constraint"]["format"] = waypoint.format
    return made | {"location": _location(waypoint.place)}


def _invariants(found: Iterable[WitnessInvariant]) -> list[Yaml]:
    return [
        {
            "invariant": {
                "type": each.kind,
                "location": _location(each.place),
                "value": each.value,
                "format": each.format,
            }
        }
        for each in found
    ]


def _location(place: Place) -> Yaml:
    made: Yaml = {"file_name": place.file, "line": place.line}
    if place.column is not None:
        made["column"] = place.column
    if place.function is not None:
        made["function"] = place.function
    return made


def _lines(value: Any, depth: int) -> list[str]:
    """Block style; texts in double quotes, as in JSON. Nesting is that of the format: a few levels."""
    indent = "  " * depth
    found: list[str] = []
    if isinstance(value, dict):
        for key, part in value.items():
            name = key if key.isidentifier() else json.dumps(key)
            found.extend(_entry(f"{indent}{name}:", part, depth))
    else:
        for part in value:
            inner = _lines(part, depth + 1) if isinstance(part, dict) else [f"{indent}  {_scalar(part)}"]
            found += [f"{indent}- {inner[0][len(indent) + 2 :]}", *inner[1:]]
    return found


def _entry(name: str, part: Any, depth: int) -> list[str]:
    if isinstance(part, (dict, list)):
        if not part:
            return [f"{name} {'{}' if isinstance(part, dict) else '[]'}"]
        return [name, *_lines(part, depth + 1)]
    return [f"{name} {_scalar(part)}"]


def _scalar(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
