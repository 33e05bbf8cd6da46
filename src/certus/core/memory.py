"""Partitions: how one flat byte memory is divided into variables and arrays.

A *region* is a set of objects that the types of pointers do not distinguish. The offset of a pointer in its
object is known: modulo the region's `stride`, or, if the stride is 0, exactly. That offset is the *phase*. So
a pointer to a list node has phase 0 and stride 0, one into an array of 4-byte integers phase 0 and stride 4,
and one to the member at 8 of an array of 24-byte records phase 8 and stride 24.

If all accesses to a region fall into disjoint *fields* (a phase and a width), then each field is separate
memory: an access to one never touches another. Otherwise the region consists of bytes.

A `Partition` is like the types of a program: it gives every variable and every field that may hold an address
its type, a `Pointer`. `check.proofs.partition` checks it operation by operation, however it was computed;
`encoding.memory` replaces the memory operations with it. The last part finds the names that the source has
for parts of objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from certus.core.effects import terms, written
from certus.core.loops import call_graph, loop_forest
from certus.core.program import (
    Alloc,
    ArrayShape,
    Call,
    Choice,
    Edge,
    Procedure,
    Program,
    ScalarShape,
    Seq,
    Shape,
    leaves,
)
from certus.core.terms import Expr, MachineSort, machine
from certus.core.walk import variables

Layout = Literal["fixed", "free"]
Storage = Literal["arrays", "locals", "globals"]
WIDTHS = (8, 16, 32, 64)  # of pointers, in bits


@dataclass(frozen=True, slots=True)
class Pointer:
    """The type of an address: its region and its offset in an object."""

    region: int
    phase: int


@dataclass(frozen=True, slots=True)
class Field:
    """The `width` bytes at `offset` (modulo the stride). `holds` is the type of addresses stored there."""

    offset: int
    width: int
    holds: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A set of objects. `fields` are disjoint; None means bytes, and then `holds` is the type of all
    addresses stored in them.

    `layout`: with `fixed` the encoding may choose the addresses, because no result of the program depends on
    them; with `free` they are arbitrary. `storage`: one array per field; or a variable per cell of the
    region's only object, local to the procedure that allocates it or global. `wild`: integers that are not
    addresses may become pointers into the region; the stride is then 1."""

    stride: int
    fields: tuple[Field, ...] | None
    holds: Pointer | None = None
    layout: Layout = "free"
    storage: Storage = "arrays"
    wild: bool = False


@dataclass(frozen=True, slots=True)
class Partition:
    """The regions, the width of a pointer in bits, and the types of all variables that hold addresses.
    `watched`: lost objects are found by watching an arbitrary one instead of counting all
    (`encoding.watching`)."""

    bits: int
    regions: tuple[Region, ...]
    carriers: Mapping[Expr, Pointer]
    watched: bool = False

    @property
    def address(self) -> MachineSort:
        """The sort of addresses where memory operations have been replaced."""
        return machine(self.bits, signed=False)

    @property
    def base(self) -> int:
        """The first address of a fixed layout. It is large, so that a pointer moved far before its object is
        neither null nor behind it."""
        return 1 << (self.bits - 4)


def executed_once(program: Program) -> frozenset[int]:
    """Return the indices of edges that no execution takes twice: outside loops, in procedures called once."""
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
    edges: list[int] = []
    once: set[str] = set()
    work = [program.main] if not sites[program.main] else []
    while work:
        name = work.pop()
        once.add(name)
        edges += straight[name]
        work.extend(other for other, calls in sites.items() if other not in once and calls == [(name, True)])
    return frozenset(edges)


def renewed(program: Program, partition: Partition) -> dict[int, tuple[Expr, ...]]:
    """Return the regions whose objects an execution uses one at a time, each with the local variables of the
    procedure that allocates it that can hold its address.

    The region has a single allocation. When it is executed again, no address of an earlier object is read any
    more, because only these variables can hold one:

    - the locals of its procedure P. P is never active twice, and each of them is written before it is read;
    - the locals of procedures that do not lead to P by calls. No activation of theirs is left then, since all
      procedures active below P call P, directly or not."""
    allocs: dict[int, list[Edge]] = {}
    for edge in program.edge.values():
        if isinstance(edge.op, Alloc) and (pointer := partition.carriers.get(edge.op.target)) is not None:
            allocs.setdefault(pointer.region, []).append(edge)
    regions = partition.regions
    held = {p.region for r in regions for p in (r.holds, *(f.holds for f in r.fields or ())) if p is not None}
    single = {
        n: edges[0]
        for n, edges in allocs.items()
        if len(edges) == 1 and n not in held and not regions[n].wild
    }
    holders: dict[int, list[Expr]] = {}
    for x, pointer in partition.carriers.items():
        holders.setdefault(pointer.region, []).append(x)
    own = {name: frozenset(procedure.variables) for name, procedure in program.procedures.items()}
    result = {}
    for number, edge in single.items():
        procedure = program.procedures[edge.source.procedure]
        callers = _callers(program, procedure.name)
        local = tuple(x for x in holders[number] if x in own[procedure.name])
        others = frozenset(holders[number]).difference(local)
        elsewhere = {name for name in own if name != procedure.name and not others.isdisjoint(own[name])}
        if (
            procedure.name not in callers
            and others.isdisjoint(program.globals)
            and callers.isdisjoint(elsewhere)
            and all(_is_rewritten(x, edge, procedure) for x in local)
        ):
            result[number] = local
    return result


def _callers(program: Program, name: str) -> frozenset[str]:
    """Return the procedures that lead to one by calls."""
    calls = call_graph(program)
    callers: dict[str, None] = {}
    work = [name]
    while work:
        called = work.pop()
        new = [caller for caller, callees in calls.items() if called in callees and caller not in callers]
        callers.update(dict.fromkeys(new))
        work += new
    return frozenset(callers)


def _is_rewritten(x: Expr, after: Edge, procedure: Procedure) -> bool:
    """Return whether a local variable is written before it is read, on all paths from an edge that does not
    write it, or is not read."""
    if x in procedure.results:
        return False
    if isinstance(after.op, Alloc) and x is after.op.target:
        return True
    seen = {after.target}
    work = [after.target]
    while work:
        for edge in procedure.successors[work.pop()]:
            if isinstance(edge.op, Seq | Choice) or x in variables(*terms(edge.op)):
                return False
            if x not in written(edge.op, procedure) and edge.target not in seen:
                seen.add(edge.target)
                work.append(edge.target)
    return True


# ------------------------------------------------------------------------ names in the source


def extent(shape: Shape | None) -> int:
    """Return the number of bytes, from the start of an object, that certainly belong to it."""
    if isinstance(shape, ArrayShape):
        return shape.count * shape.size
    return shape.width // 8 if isinstance(shape, ScalarShape) else 0


def lvalue(name: str, shape: Shape, offset: int, width: int) -> tuple[str, ScalarShape] | None:
    """Return the lvalue for the `width` bytes at `offset` of an object, and its shape; None if it has
    none."""
    work: list[tuple[str, Shape, int]] = [(name, shape, offset)]
    while work:
        text, part, at = work.pop()
        if isinstance(part, ScalarShape):
            if at == 0 and part.width == 8 * width:
                return text, part
        elif isinstance(part, ArrayShape):
            if 0 <= at < part.count * part.size:
                work.append((f"{text}[{at // part.size}]", part.element, at % part.size))
        else:
            inner = [(m, start, s) for m, start, s in part.members if start <= at]
            work += [(f"{text}.{m}" if m else text, s, at - start) for m, start, s in reversed(inner)]
    return None
