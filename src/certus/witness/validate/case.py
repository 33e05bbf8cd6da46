"""What a witness claims, and the programs on which the claim is checked.

`Case` holds the program and the same program with probes: the expressions of the witness, compiled where the
witness places them, so that Clang resolves their names in scope (`frontend.c.source.probes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.engine import Task
from certus.core.errors import InputError
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.vocabulary import PARTS, Property
from certus.core.witness import CorrectnessWitness, Place, Witness
from certus.frontend import C_SUFFIXES, DEFAULT_MODEL, load_probed
from certus.frontend.c.source.probes import Probe, conjuncts
from certus.frontend.source import read_source
from certus.frontend.tasks.properties import property_of, property_of_line
from certus.run.settings import Settings
from certus.witness.read import CODE
from certus.witness.validate.probe_backmap import ProbeBackMap, match_programs

Answer = Literal["CONFIRMED", "REFUTED", "UNKNOWN"]
Kind = Literal["violation", "correctness"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer about a witness and the reason in one sentence. `outcome` is the evidence about the program:
    the violation that the witness leads to, the proof that its invariants allow, the counterexample to an
    invariant, or the proof that no execution follows the witness."""

    answer: Answer
    reason: Diagnostic
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """A judgement with what it is about and the time it took."""

    witness: str
    file: str
    property_name: str
    kind: Kind
    answer: Answer
    reason: Diagnostic
    outcome: Outcome | None = None
    seconds: float = 0.0


def note(code: str, message: str, span: Span | None = None) -> Diagnostic:
    """Return a diagnostic that explains a judgement."""
    return Diagnostic(code, message, Severity.NOTE, span)


@dataclass(slots=True)
class Case:
    """The program, the program with probes, and the map that carries evidence from the second to the
    first."""

    program: Program
    probed: Program
    back_map: ProbeBackMap
    probes: dict[int, Probe]
    property_name: str
    settings: Settings
    budget: Budget
    on_progress: Callable[[str], None] | None

    def task(self, program: Program) -> Task:
        """Return the question about `program` that the engines get."""
        return Task(program, self.property_name)


def load_case(
    witness: Witness,
    file: Path,
    property: Property,
    settings: Settings,
    budget: Budget,
    on_progress: Callable[[str], None] | None,
) -> Case:
    """Compile the program with and without the expressions of the witness."""
    probes = _probes(witness)
    model = settings.data_model or witness.task.data_model or DEFAULT_MODEL
    loaded, probed = load_probed(
        file,
        probes,
        _branch_places(witness),
        property=property,
        model=model,
        arguments=settings.clang_arguments,
        budget=budget,
        invariants=isinstance(witness, CorrectnessWitness),
    )
    settings = replace(settings, data_model=model)
    back_map = match_programs(probed, loaded.program)
    by_number = {probe.number: probe for probe in probes}
    return Case(loaded.program, probed, back_map, by_number, property.name, settings, budget, on_progress)


def _branch_places(witness: Witness) -> frozenset[tuple[int, int | None]]:
    """Return the places of branching waypoints, whose control flow the front end must keep."""
    if isinstance(witness, CorrectnessWitness):
        return frozenset()
    waypoints = (each for segment in witness.segments for each in segment)
    return frozenset((w.place.line, w.place.column) for w in waypoints if w.kind == "branching")


def _probes(witness: Witness) -> list[Probe]:
    """Return the expressions that the program evaluates: each conjunct of an invariant, and the assumptions
    of a violation witness, numbered like its waypoints."""
    if isinstance(witness, CorrectnessWitness):
        parts = [(each, part) for each in witness.invariants for part in conjuncts(each.value)]
        return [
            Probe(number, each.place, part, each.kind == "loop_invariant", each.span)
            for number, (each, part) in enumerate(parts)
        ]
    waypoints = [each for segment in witness.segments for each in segment]
    return [
        Probe(number, each.place, each.constraint or "", span=each.span)
        for number, each in enumerate(waypoints)
        if each.kind == "assumption"
    ]


# --------------------------------------------------------------------------------- is it this program?


def property_for(witness: Witness, file: Path, settings: Settings) -> Property:
    """Return the property in question. Raises `InputError` if the witness is about another program."""
    if file.suffix.lower() not in C_SUFFIXES:
        message, hint = f"{file} is not a C program.", "Give the C program (.c or .i) that the witness names."
        raise InputError([Diagnostic("usage", message, hint=hint)])
    read_source(file)  # raises if it cannot be read
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
            raise InputError([Diagnostic(CODE, message, span=span, hint=f"The line has {length} bytes.")])
        if Path(place.file).name not in (file.name, *(Path(each).name for each in task.files)):
            message = f"The witness refers to {place.file}, which is not the program."
            raise InputError([Diagnostic(CODE, message, span=span)])
    if settings.data_model not in (None, task.data_model):
        message = f"The witness is for {task.data_model}, but --data-model is {settings.data_model}."
        raise InputError([Diagnostic("contradictory-witness", message, span=task.span)])
    assert task.span is not None
    asked = None if settings.property_name is None else property_of(settings.property_name)
    if not task.specification:
        if asked is not None:
            return asked
        message, hint = "The witness names no property.", "Name it, as in `--property unreach-call`."
        raise InputError([Diagnostic(CODE, message, span=task.span, hint=hint)])
    stated = property_of_line(task.specification, task.span)
    if asked is not None and _parts(asked).isdisjoint(_parts(stated)):
        message = f"The witness is about {stated.name}, but --property is {asked.name}."
        raise InputError([Diagnostic("contradictory-witness", message, span=task.span)])
    return asked or stated


def _parts(property: Property) -> frozenset[str]:
    """Return the parts of a property; a witness about one part is also about the whole."""
    return frozenset(PARTS.get(property.name, (property.name,)))


def _places(witness: Witness) -> list[tuple[Place, Span | None]]:
    if isinstance(witness, CorrectnessWitness):
        return [(each.place, each.span) for each in witness.invariants]
    return [(each.place, each.span) for segment in witness.segments for each in segment]
