"""Encode defects of memory as JSON, for other processes and for reports, and read them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, get_args

from certus.codec.reading import Json, JsonObject, integer, mapping, natural, sequence, shown, text
from certus.core.memory_defects import DefectKind, DefectObject, Loss, LostAt, MemoryDefect
from certus.core.program import Access, Program, Retained, Storage

T = TypeVar("T")
_QUESTIONS: Final[Mapping[str, Access | Retained]] = {q: q for q in (*get_args(Access), *get_args(Retained))}
_STORAGES: Final[Mapping[str, Storage]] = {s: s for s in get_args(Storage)}


def encode_defect(defect: MemoryDefect) -> JsonObject:
    """Encode a defect; edges are numbers."""
    target, lost = defect.object, defect.lost
    described: Json = None
    if target is not None:
        described = [target.name, target.storage, hex(target.size), target.allocated, target.ended]
    return {
        "kind": defect.kind.value,
        "question": defect.question,
        "offset": hex(defect.offset),
        "size": hex(defect.size),
        "object": described,
        "count": defect.count,
        "lost": None if lost is None else [lost.loss.value, lost.step, lost.edge],
    }


def decode_defect(data: object, program: Program) -> MemoryDefect:
    """Read a defect of a run of `program`."""
    keys = ("kind", "question", "offset", "size", "object", "count", "lost")
    fields = mapping(data, "a defect", keys)
    kinds, losses = {k.value: k for k in DefectKind}, {k.value: k for k in Loss}
    target, lost = fields["object"], None
    if fields["lost"] is not None:
        loss, step, edge = sequence(fields["lost"], "a loss", 3)
        how = _chosen(losses, loss, "a loss")
        lost = LostAt(how, natural(step, "a step"), _edge(edge, program))
    return MemoryDefect(
        _chosen(kinds, fields["kind"], "a defect"),
        _chosen(_QUESTIONS, fields["question"], "a question"),
        _number(fields["offset"], "an offset"),
        _number(fields["size"], "a size"),
        None if target is None else _decode_object(target, program),
        natural(fields["count"], "a number of objects"),
        lost,
    )


def _decode_object(data: object, program: Program) -> DefectObject:
    name, storage, size, allocated, ended = sequence(data, "an object", 5)
    return DefectObject(
        text(name, "the name of an object"),
        _chosen(_STORAGES, storage, "a storage"),
        _number(size, "the size of an object"),
        _edge(allocated, program),
        None if ended is None else _edge(ended, program),
    )


def _chosen(choices: Mapping[str, T], value: object, what: str) -> T:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{shown(value)} is not {what}")
    return choices[value]


def _number(data: object, what: str) -> int:
    """Read a number in hexadecimal: offsets may have any size."""
    return int(text(data, what), 16)


def _edge(data: object, program: Program) -> int:
    number = integer(data, "an edge")
    if number not in program.edge:
        raise ValueError(f"the program has no edge {number}")
    return number
