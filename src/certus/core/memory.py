"""Partitions: how one flat byte memory falls apart into variables and arrays.

A *region* is a set of objects that pointers are not told apart by. Pointers into a region know where in an
object they point: modulo the region's `stride`, or, if that is 0, exactly. That offset is the *phase*. So a
pointer to a list node has phase 0 and stride 0, one into an array of 4-byte integers phase 0 and stride 4,
and one to the member at 8 of an array of 24-byte records phase 8 and stride 24.

If all accesses to a region fall into disjoint *fields* (a phase and a width), then each field is memory of
its own: an access at one never touches another. Otherwise the region consists of bytes.

A `Partition` is like the types of a program: it gives every variable and every field that may carry an
address its type, a `Pointer`. What it says can be checked, operation by operation, without knowing how it
was found (`validate.regions`), and suffices to replace the memory operations (`logic.memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from certus.core.loops import loop_forest
from certus.core.program import Alloc, Call, Free, Load, Program, Store, leaves
from certus.core.reading import mapping, natural, position, sequence, shown
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.core.wire import decode_terms, encode_terms

Layout = Literal["fixed", "free"]
Storage = Literal["arrays", "locals", "globals"]
WIDTHS = (8, 16, 32, 64)  # of pointers, in bits


@dataclass(frozen=True, slots=True)
class Pointer:
    """The type of an address: into which region, and where in an object."""

    region: int
    phase: int


@dataclass(frozen=True, slots=True)
class Field:
    """`width` bytes at `offset` (modulo the stride); `holds` is the type of addresses kept there."""

    offset: int
    width: int
    holds: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """`fields` are disjoint; None means bytes, and then `holds` is the type of all addresses kept in them.

    `layout`: with `fixed` the encoding may choose the addresses, because nothing the program computes
    depends on them; with `free` they are arbitrary. `storage`: one array per field; or a variable per cell
    of the region's only object, local to the procedure that allocates it or global. `wild`: integers
    that are no addresses may be turned into pointers to here; the stride is then 1."""

    stride: int
    fields: tuple[Field, ...] | None
    holds: Pointer | None = None
    layout: Layout = "free"
    storage: Storage = "arrays"
    wild: bool = False


@dataclass(frozen=True, slots=True)
class Partition:
    """The regions, the width of a pointer in bits, and the types of all variables that carry addresses."""

    bits: int
    regions: tuple[Region, ...]
    carriers: Mapping[Expr, Pointer]

    @property
    def address(self) -> MachineSort:
        """The sort of addresses where memory operations have been replaced."""
        return machine(self.bits, signed=False)


def uses_memory(program: Program) -> bool:
    """Whether some edge is a memory operation."""
    return any(
        isinstance(op, Load | Store | Alloc | Free)
        for procedure in program.procedures.values()
        for edge in procedure.edges
        for op in leaves(edge)
    )


def executed_once(program: Program) -> frozenset[int]:
    """The edges, by index, that no execution takes twice: outside loops, in procedures called once."""
    sites: dict[str, list[tuple[str, bool]]] = {name: [] for name in program.procedures}
    straight: dict[str, list[int]] = {}
    for name, procedure in program.procedures.items():
        forest = loop_forest(procedure)
        straight[name] = []
        for edge in procedure.edges:
            outside = forest.innermost(edge.source) is None
            if outside:
                straight[name].append(edge.index)
            for op in leaves(edge):
                if isinstance(op, Call):
                    sites[op.procedure].append((name, outside))
    found: list[int] = []
    once: set[str] = set()
    work = [program.main] if not sites[program.main] else []
    while work:
        name = work.pop()
        once.add(name)
        found += straight[name]
        work.extend(other for other, calls in sites.items() if other not in once and calls == [(name, True)])
    return frozenset(found)


# ---------------------------------------------------------------------------------------- JSON


def encode_partition(partition: Partition) -> dict[str, Any]:
    return {
        "bits": partition.bits,
        "regions": [_encode_region(region) for region in partition.regions],
        "carriers": encode_terms(list(partition.carriers)),
        "types": [_encode_pointer(pointer) for pointer in partition.carriers.values()],
    }


def decode_partition(data: object) -> Partition:
    found = mapping(data, "a partition", ("bits", "regions", "carriers", "types"))
    if found["bits"] not in WIDTHS:
        raise ValueError(f"pointers have no width of {shown(found['bits'])} bits")
    entries = sequence(found["regions"], "the regions of a partition")
    regions = tuple(_decode_region(entry, len(entries)) for entry in entries)
    carriers = decode_terms(found["carriers"])
    if any(v.kind is not Kind.VAR for v in carriers) or len(set(carriers)) != len(carriers):
        raise ValueError("the carriers of addresses must be distinct variables")
    types = [
        _decode_pointer(t, len(entries))
        for t in sequence(found["types"], "the types of carriers", len(carriers))
    ]
    given = {v: t for v, t in zip(carriers, types, strict=True) if t is not None}
    if len(given) != len(carriers):
        raise ValueError("a carrier of addresses has no type")
    return Partition(found["bits"], regions, given)


def _encode_region(region: Region) -> dict[str, Any]:
    fields = None
    if region.fields is not None:
        fields = [[f.offset, f.width, _encode_pointer(f.holds)] for f in region.fields]
    return {
        "stride": region.stride,
        "fields": fields,
        "holds": _encode_pointer(region.holds),
        "layout": region.layout,
        "storage": region.storage,
        "wild": region.wild,
    }


def _decode_region(data: object, regions: int) -> Region:
    found = mapping(data, "a region", ("stride", "fields", "holds", "layout", "storage", "wild"))
    fields: tuple[Field, ...] | None = None
    if found["fields"] is not None:
        fields = tuple(_decode_field(f, regions) for f in sequence(found["fields"], "the fields of a region"))
    for name, known in (
        ("layout", get_args(Layout)),
        ("storage", get_args(Storage)),
        ("wild", (False, True)),
    ):
        if found[name] not in known:
            raise ValueError(f"a region has no {name} {shown(found[name])}")
    return Region(
        natural(found["stride"], "a stride"),
        fields,
        _decode_pointer(found["holds"], regions),
        found["layout"],
        found["storage"],
        bool(found["wild"]),
    )


def _decode_field(data: object, regions: int) -> Field:
    offset, width, holds = sequence(data, "a field", 3)
    return Field(_whole(offset, "an offset"), natural(width, "a width"), _decode_pointer(holds, regions))


def _encode_pointer(pointer: Pointer | None) -> list[int] | None:
    return None if pointer is None else [pointer.region, pointer.phase]


def _decode_pointer(data: object, regions: int) -> Pointer | None:
    if data is None:
        return None
    region, phase = sequence(data, "the type of an address", 2)
    return Pointer(position(region, regions, "region"), _whole(phase, "a phase"))


def _whole(data: object, what: str) -> int:
    if isinstance(data, bool) or not isinstance(data, int):
        raise ValueError(f"{what} must be an integer, not {shown(data)}")
    return data
