"""The invariants of a witness as formulas over the variables of the program.

An invariant is a probe in the program with probes. It is a plain term if its evaluation takes no branch and
reads only variables that the program itself has, or memory at addresses that depend on these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.evidence import Point, in_frame
from certus.core.memory import Partition
from certus.core.program import Assign, Assume, Edge, Load, Location, Program
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.core.witness import probe_number
from certus.encoding.addresses import Mistyped
from certus.encoding.memory import MemoryLowering
from certus.witness.call_strings import CallStrings
from certus.witness.validate.case import Case


@dataclass(frozen=True, slots=True)
class InvariantClaims:
    """`formulas` hold at points, if the invariants do; `complete` are the numbers of the probes that these
    formulas express in full."""

    formulas: Mapping[Point, Expr]
    complete: frozenset[int]


def claimed_invariants(case: Case, partition: Partition | None) -> InvariantClaims:
    """Translate the invariants at every point of their locations. With a partition, formulas are about the
    variables that replace memory. Invariants that are no plain terms are left out, and so are those in a
    procedure with too many call strings. An invariant whose evaluation may be undefined has two probes, and
    both must be plain terms."""
    strings = CallStrings(case.program, frozenset({case.program.main}))
    reader = None if partition is None else _MemoryConditions(case.program, partition)
    local_names = reader.locals if reader is not None else frozenset(x.name for x in strings.locals)
    formulas: dict[Point, list[Expr]] = {}
    expressed: dict[int, bool] = {}
    errors = case.probed.error_locations
    deciding = frozenset(e.source for e in case.probed.edge.values() if e.target in errors)
    for edge in case.probed.edge.values():
        number = probe_number(edge.text)
        if number is None or edge.branch is not True or edge.source not in deciding:
            continue
        was_expressed, expressed[number] = expressed.get(number, True), False
        location = case.back_map.locations.get(edge.source)
        formula = _condition(case, edge, reader, deciding)
        if location is None or formula is None:
            continue
        contexts = strings.of(location.procedure)
        if contexts is None:
            continue
        expressed[number] = was_expressed
        for string in contexts:
            own = [x for x in variables(formula) if x.name in local_names]
            frames = {x: in_frame(x, len(string)) for x in own}
            formulas.setdefault(Point(location, string), []).append(substitute(formula, frames))
    complete = frozenset(number for number, is_expressed in expressed.items() if is_expressed)
    return InvariantClaims({point: build.conjunction(parts) for point, parts in formulas.items()}, complete)


def _condition(
    case: Case, edge: Edge, reader: _MemoryConditions | None, deciding: frozenset[Location]
) -> Expr | None:
    """Return the condition that a probe tests as a term of the program itself; None if it depends on
    variables that only the probe has, other than those it has read from memory."""
    assert isinstance(edge.op, Assume)
    images, loads = case.back_map.variables, _loads(case.probed, edge, deciding)
    if loads is None:
        return None
    read = [load.target for load in loads]
    mentioned = variables(edge.op.condition, *(load.address for load in loads))
    if not all(x in images or x in read for x in variables(edge.op.condition)):
        return None
    if not all(x in images for load in loads for x in variables(load.address)):
        return None
    own = {x: images[x] for x in mentioned if x in images and x not in read}
    condition = substitute(edge.op.condition, own)
    if reader is None:
        return None if loads else condition
    return reader.term(condition, [replace(load, address=substitute(load.address, own)) for load in loads])


def _loads(program: Program, edge: Edge, deciding: frozenset[Location]) -> list[Load] | None:
    """Return the loads of a probe before its test, in order; None if several paths lead to the test. Between
    its loads a probe may test something else at one of the `deciding` locations."""
    loads: list[Load] = []
    procedure = program.procedures[edge.source.procedure]
    at = edge.source
    while any(e.text == edge.text for e in procedure.predecessors[at]):
        if len(procedure.predecessors[at]) != 1:
            return None
        (before,) = procedure.predecessors[at]
        if isinstance(before.op, Load):
            loads.append(before.op)
        elif before.branch is not True or before.source not in deciding:
            return None
        at = before.source
    return loads[::-1]


class _MemoryConditions:
    """Translates conditions on program states into terms over the variables that replace memory. `locals` are
    the names of those variables that belong to frames."""

    def __init__(self, program: Program, partition: Partition) -> None:
        self._lowering = MemoryLowering(program, partition)
        cells = (x for o in self._lowering.objects.values() if o.scope for x in o.cells.values())
        own = (x for p in program.procedures.values() for x in p.variables)
        self.locals = frozenset(x.name for x in (*own, *cells))

    def term(self, condition: Expr, loads: Iterable[Load]) -> Expr | None:
        """Translate a condition on the results of `loads`, all from one state, with addresses over program
        variables. Returns None if the partition has no such memory."""
        values: dict[Expr, Expr] = {}
        try:
            for load in loads:
                lowered = self._lowering.load(load)
                if not isinstance(lowered, Assign):
                    return None
                values[load.target] = lowered.values[0]
            return substitute(self._lowering.terms.plain(condition), values)
        except Mistyped:
            return None
