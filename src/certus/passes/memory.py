"""Replace memory operations by variables and arrays.

The pass computes a partition of memory (`points_to`), decides the layout and storage of each region
(`core.memory`), and lowers the program (`encoding.memory`). The back map wraps a proof in `Partitioned`, so
that `check` can check the partition and lower the program again. A trace keeps the inputs of edges that take
inputs in the original program; the initial values of cells become the contents of objects.

A region is `free` or `wild` only if the operations demand it. Its object becomes variables if all its cells
are known and few: then executions with constant indexes fold to constants, and the others need no theory of
arrays (measured in docs/adr/0004).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.diagnostic import Diagnostic
from certus.core.effects import assigned_variables, uses_memory
from certus.core.engine import BackMap, Task
from certus.core.errors import Unsupported
from certus.core.evidence import (
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Refutation,
    Trace,
)
from certus.core.heap import endangered
from certus.core.loops import loop_forest
from certus.core.memory import Field, Partition, Pointer, Region, executed_once, renewed
from certus.core.program import Alloc, Edge, Havoc, Program
from certus.core.terms import Expr, Kind, MachineSort, Value
from certus.encoding.addresses import AddressTypes, Mistyped, cell_offsets
from certus.encoding.memory import MemoryLowering
from certus.passes.pointer_flow import PointerFlow, scan_types
from certus.passes.points_to import Node

CELLS = 32  # most cells of an object with accesses at variable offsets
EXACT_CELLS = 256  # most cells of an object with accesses at constant offsets only


@dataclass(frozen=True, slots=True)
class Memory:
    """The pass that removes memory operations. `watched`: lost objects are found by watching an arbitrary
    one, instead of counting all."""

    watched: bool = False

    @property
    def name(self) -> str:
        return "memory"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        """Lower the program; raise `Unsupported` if no partition fits."""
        program = task.subject
        if not isinstance(program, Program) or not uses_memory(program):
            return task, BackMap.identity()
        partition = replace(find_partition(program), watched=self.watched)
        try:
            lowering = MemoryLowering(program, partition)
            lowered = lowering.program()
        except Mistyped as wrong:
            raise pointers_unsupported(str(wrong)) from wrong

        def proof_back(proof: Proof) -> Proof:
            return Partitioned(partition, _tracking(proof, lowering, lowered))

        def refutation_back(refutation: Refutation) -> Refutation:
            return _original_inputs(refutation, lowering) if isinstance(refutation, Trace) else refutation

        lowered_task = replace(task, subject=lowered, facts={}, objects=lowering.watching.objects)
        return lowered_task, BackMap(proof_back, refutation_back)


def _tracking(proof: Proof, lowering: MemoryLowering, lowered: Program) -> Proof:
    """Add to the formulas at loop heads that all objects on the heap are tracked, where `check` demands it:
    an engine need not care about objects that are lost before an endless loop. The claim often is inductive,
    and a proof that does not imply it is refused anyway. Where objects are watched, the engine states it."""
    places = endangered(lowering.original)
    if lowering.watching.objects or not places or not isinstance(proof, Inductive | KInductive):
        return proof
    heads = {at for p in lowering.original.procedures.values() for at in loop_forest(p).heads if at in places}
    invariants: dict[Point, Expr] = {}
    for point, formula in proof.invariants.items():
        invariants[point] = formula
        if point.location in heads:
            invariants[point] = build.and_(formula, lowering.watching.tracked(lowered, point))
    return replace(proof, invariants=invariants)


def _original_inputs(trace: Trace, lowering: MemoryLowering) -> Trace:
    program, inputs = lowering.original, dict[int, tuple[tuple[Value, ...], ...]]()
    for edge, executions in trace.inputs.items():
        if edge in program.edge and isinstance(program.edge[edge].op, Havoc):
            inputs[edge] = executions
        elif edge in lowering.contents:
            alloc, cells = lowering.contents[edge]
            inputs[alloc] = tuple(_contents(cells, values) for values in executions)
    globals_ = {x.name: x for x in program.globals}
    initial = {globals_[x.name]: value for x, value in trace.initial.items() if x.name in globals_}
    return Trace(trace.error, initial, inputs)


def _contents(cells: Mapping[int, Expr], values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the bytes of an object whose cells have these values, up to the last that is not 0."""
    contents = bytearray()
    for (offset, cell), value in zip(cells.items(), values, strict=True):
        assert isinstance(cell.sort, MachineSort)
        end = offset + cell.sort.width // 8
        contents.extend(bytes(max(end - len(contents), 0)))
        contents[offset:end] = int(value).to_bytes(end - offset, "little")
    return tuple(contents.rstrip(b"\0"))


def pointers_unsupported(message: str) -> Unsupported:
    return Unsupported(
        Diagnostic(
            "unsupported-pointer-use",
            f"Certus cannot distinguish the program's pointers from integers: {message}",
            hint="do not compute addresses from integers, or keep pointers in variables of pointer type",
        )
    )


def find_partition(program: Program) -> Partition:
    """Return a partition that fits the program; raise `Unsupported` if none is found."""
    flow = PointerFlow(program, program.pointer_bits)
    wild: Node | None = None
    while True:
        flow.settle()
        _make_bytes(flow)
        draft = _Draft(flow, wild)
        try:
            types = scan_types(program, draft.partition)
        except Mistyped as wrong:
            raise pointers_unsupported(str(wrong)) from wrong
        intruded = types.intruded
        mixed = dict.fromkeys((*intruded, *(types.leaks if intruded else ())))
        roots = [draft.roots[number] for number in mixed]
        if not roots or (len(roots) == 1 and wild is not None and wild.root()[0] is roots[0]):
            return draft.decided(types)
        wild = roots[0]
        for other in roots:
            flow.places.unify((wild, 0), (other, 0))
        flow.places.narrow(wild, 1)  # an integer may point anywhere in an object


def _make_bytes(flow: PointerFlow) -> None:
    """Turn classes with overlapping fields into bytes, until nothing changes."""
    while True:
        overlapping = [r for r in flow.roots() if r.stride != 1 and flow.places.fields(r) is None]
        if not overlapping:
            return
        for root in overlapping:
            flow.places.narrow(root, 1)
        flow.settle()


class _Draft:
    """The partition into the points-to classes, with every region free."""

    def __init__(self, flow: PointerFlow, wild: Node | None) -> None:
        self.flow = flow
        self.roots = [root for root in flow.roots() if root.pointing]
        self._numbers = {root: number for number, root in enumerate(self.roots)}
        carriers = {v: p for v, n in flow.nodes.items() if (p := self._pointer(n)) is not None}
        special = None if wild is None else wild.root()[0]
        regions = tuple(replace(self._region(root), wild=root is special) for root in self.roots)
        self.partition = Partition(flow.bits, regions, carriers)

    def _pointer(self, node: Node) -> Pointer | None:
        root, offset = node.root()
        if root not in self._numbers:
            return None
        phase = offset - self.flow.places.base(root)
        return Pointer(self._numbers[root], phase % root.stride if root.stride else phase)

    def _region(self, root: Node) -> Region:
        places = self.flow.places
        fields = places.fields(root)
        held = {self._phase(root, offset): self._pointer(n) for offset, n in root.contents.items()}
        if fields is None:
            return Region(root.stride, None, next(iter(held.values()), None))
        wide = self.flow.bits // 8
        return Region(
            root.stride,
            tuple(Field(at, width, held.get(at) if width == wide else None) for at, width in fields),
        )

    def _phase(self, root: Node, offset: int) -> int:
        phase = offset - self.flow.places.base(root)
        return phase % root.stride if root.stride else phase

    # -------------------------------------------------------------------------------- decisions

    def decided(self, types: AddressTypes) -> Partition:
        """Return the partition with the layouts and storage that the types allow."""
        partition = self.partition
        once = executed_once(self.flow.program)
        single = {
            number
            for number, root in enumerate(self.roots)
            if not root.allocs or (len(root.allocs) == 1 and next(iter(root.allocs)).index in once)
        }
        single |= renewed(self.flow.program, partition).keys()
        free = dict.fromkeys(types.leaks)
        free.update((n, None) for n in types.distances if n not in single)
        for one, other in types.equations:
            if one.region not in single and not (one == other and partition.regions[one.region].stride == 0):
                free[one.region] = None
        for region in partition.regions:
            if region.fields is None and region.holds is not None:
                free[region.holds.region] = None
        other_writes = assigned_variables(self.flow.program)
        regions = []
        for number, region in enumerate(partition.regions):
            if number in free or region.wild:
                regions.append(region)
            else:
                fixed = replace(region, layout="fixed")
                regions.append(self._stored(number, fixed, other_writes, single=number in single))
        return replace(partition, regions=tuple(regions))

    def _stored(self, number: int, region: Region, writes: frozenset[Expr], *, single: bool) -> Region:
        """Return the region with its object as variables, if possible."""
        allocs = list(self.roots[number].allocs)
        if len(allocs) != 1 or not region.fields or not _few_cells(region, allocs[0]):
            return region
        alloc = allocs[0].op
        assert isinstance(alloc, Alloc)
        procedure = self.flow.program.procedures[allocs[0].source.procedure]
        holders = [v for v, pointer in self.partition.carriers.items() if pointer.region == number]
        held = any(pointer.region == number for r in self.partition.regions for pointer in _held(r))
        own = holders == [alloc.target] and not held and alloc.target in procedure.variables
        if own and alloc.target not in writes:
            return replace(region, storage="locals")
        return replace(region, storage="globals") if single else region


def _held(region: Region) -> Iterator[Pointer]:
    for holds in (region.holds, *(field.holds for field in region.fields or ())):
        if holds is not None:
            yield holds


def _few_cells(region: Region, edge: Edge) -> bool:
    alloc = edge.op
    assert isinstance(alloc, Alloc)
    fields: Sequence[Field] = region.fields or ()
    if not region.stride:
        return len(fields) <= EXACT_CELLS
    if alloc.size.kind is not Kind.CONST:
        return False
    return sum(len(cell_offsets(region, field, alloc.size)) for field in fields) <= CELLS
