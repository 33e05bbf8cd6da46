"""What has become of memory where its operations are replaced (`logic.memory`): which part of which object a
variable stands for, and what conditions on memory say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from certus.core.memory import Partition
from certus.core.program import Assign, Load, Program
from certus.core.terms import Expr
from certus.core.walk import substitute
from certus.logic.addresses import Mistyped
from certus.logic.memory import MemoryLowering


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the variables stand for that replace memory. A cell is at an offset from the address in a variable
    of the program; an array holds the field at an offset of all objects of a region (None: their bytes).
    `anchors`: the variable with the address, `BASE`, of a region's only object."""

    cells: Mapping[Expr, tuple[Expr, int]]
    arrays: Mapping[Expr, tuple[int, int | None]]
    anchors: Mapping[int, Expr]


def replacement(program: Program, partition: Partition) -> Replacement:
    """How `lower_memory` names what is in memory."""
    lowering = MemoryLowering(program, partition)
    cells = {x: (o.base, at) for o in lowering.objects.values() for at, x in o.cells.items()}
    arrays: dict[Expr, tuple[int, int | None]] = {}
    for number, region in enumerate(partition.regions):
        if region.fields is None:
            arrays[lowering.bytes(number)] = (number, None)
        elif number not in lowering.objects:
            arrays.update((lowering.array(number, f), (number, f.offset)) for f in region.fields)
    anchors = {pointer.region: x for x, pointer in partition.carriers.items() if x in lowering.anchors}
    return Replacement(cells, arrays, anchors)


class ConditionReader:
    """Conditions on states of a program as terms about the program without memory operations. `locals` are
    the names of the variables of that program that belong to frames."""

    def __init__(self, program: Program, partition: Partition) -> None:
        self._lowering = MemoryLowering(program, partition)
        cells = (x for o in self._lowering.objects.values() if o.scope for x in o.cells.values())
        own = (x for p in program.procedures.values() for x in p.variables)
        self.locals = frozenset(x.name for x in (*own, *cells))

    def term(self, condition: Expr, loads: Iterable[Load]) -> Expr | None:
        """What a condition means that is about the results of loads; these are of the same state, and their
        addresses about the program's variables. None if the program has no such memory."""
        values: dict[Expr, Expr] = {}
        try:
            for load in loads:
                made = self._lowering.load(load)
                if not isinstance(made, Assign):
                    return None
                values[load.target] = made.values[0]
            return substitute(self._lowering.terms.plain(condition), values)
        except Mistyped:
            return None
