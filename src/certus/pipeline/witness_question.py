"""What a witness is asked to show, once it is clear that it is about the program at hand."""

from __future__ import annotations

import hashlib
from pathlib import Path

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.witness import CorrectnessWitness, Place, Witness
from certus.frontend.properties import Property, property_of, property_of_line
from certus.frontend.source import read_source
from certus.frontend.task_files import C_SUFFIXES
from certus.frontend.witness import CODE
from certus.pipeline.settings import Settings


def question_of(witness: Witness, file: Path, settings: Settings) -> Property:
    """Return the property. Raises `InputError` if the witness is not about this file."""
    if file.suffix.lower() not in C_SUFFIXES:
        raise InputError([Diagnostic("usage", f"{file} is no C program.", hint="Witnesses are about those.")])
    read_source(file)  # says what is wrong if it cannot be read
    task = witness.task
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest not in task.hashes.values():
        message = f"The witness is about another program: the SHA-256 sum of {file} is {digest}."
        raise InputError([Diagnostic(CODE, message, span=task.span)])
    lines = file.read_bytes().split(b"\n")
    for place, span in _places(witness):
        length = len(lines[place.line - 1]) if place.line <= len(lines) else 0
        if place.column is not None and place.column > max(length, 1) and place.line <= len(lines):
            message = f"Line {place.line} of {file} ends before column {place.column}."
            raise InputError([Diagnostic(CODE, message, span=span, hint=f"Its length is {length}.")])
        if Path(place.file).name not in (file.name, *(Path(each).name for each in task.files)):
            message = f"The witness speaks of {place.file}, which is not the program."
            raise InputError([Diagnostic(CODE, message, span=span)])
    if settings.data_model not in (None, task.data_model):
        message = f"The witness says {task.data_model}, the command line {settings.data_model}."
        raise InputError([Diagnostic("contradictory-witness", message, span=task.span)])
    if settings.property_name is not None:
        return property_of(settings.property_name)
    assert task.span is not None
    if not task.specification:
        message, hint = "The witness names no property.", "Name it, as in `--property unreach-call`."
        raise InputError([Diagnostic(CODE, message, span=task.span, hint=hint)])
    return property_of_line(task.specification, task.span)


def _places(witness: Witness) -> list[tuple[Place, Span | None]]:
    if isinstance(witness, CorrectnessWitness):
        return [(each.place, each.span) for each in witness.invariants]
    return [(each.place, each.span) for segment in witness.segments for each in segment]
