"""Order the locations of a procedure, and compute live variables, for the constraint system.

Locations are in a weak topological order (Bourdoncle, "Efficient chaotic iteration strategies with
widenings", 1993): every loop is a contiguous stretch that begins with the loop's entries, and all edges
except those back to entries go forward. Each location has the set of its live variables as bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from certus.core.effects import global_writes, terms, with_callees, written
from certus.core.loops import call_graph, callees_of, components
from certus.core.program import Call, Edge, Location, Procedure, Program, statements
from certus.core.terms import Expr, Kind
from certus.core.walk import variables


@dataclass(slots=True, eq=False)
class Stretch:
    """A loop: the positions `start` .. `end` (exclusive) of the order, and the variables assigned there."""

    entries: tuple[Location, ...]
    body: frozenset[Location]
    start: int
    end: int = 0
    assigned: int = 0


@dataclass(slots=True, eq=False)
class Flow:
    """The control flow of one procedure. Bit n of a set stands for `names[n]`."""

    procedure: Procedure
    names: tuple[Expr, ...]
    order: list[Location] = field(default_factory=list)
    loops: dict[Location, Stretch] = field(default_factory=dict)  # by entry
    live: dict[Location, int] = field(default_factory=dict)

    @property
    def at_entry(self) -> Iterator[Expr]:
        """The variables that are live at the entry."""
        return self.members(self.live[self.procedure.entry])

    def members(self, bits: int) -> Iterator[Expr]:
        while bits:
            lowest = bits & -bits
            yield self.names[lowest.bit_length() - 1]
            bits ^= lowest


def without_blocks(program: Program) -> Program:
    """Return the program with single statements instead of blocks, which have the original edges."""
    procedures = {}
    for name, procedure in program.procedures.items():
        edges: dict[int, Edge] = {}
        for edge in procedure.edges:
            edges.update((each.index, each) for each in statements(edge))
        procedures[name] = replace(procedure, edges=tuple(edges.values()))
    return replace(program, procedures=procedures)


# ------------------------------------------------------------------------------------------- order


def flows(program: Program, effects: Effects, *, lasting: bool = False) -> dict[str, Flow]:
    """Return the control flow of all procedures; if `lasting`, all variables are live everywhere."""
    calls = call_graph(program)
    result: dict[str, Flow] = {}
    for group in components(tuple(calls), calls.__getitem__):  # callees first
        for name in group:
            result[name] = _flow(program, program.procedures[name], effects, result, lasting=lasting)
    return {name: result[name] for name in program.procedures}


def _flow(
    program: Program, procedure: Procedure, effects: Effects, callees: Mapping[str, Flow], *, lasting: bool
) -> Flow:
    """Return the control flow of a procedure; `callees` are those that do not call it in turn."""
    names = (*procedure.variables, *program.globals)
    flow = Flow(procedure, names)
    _put_in_order(flow)
    bit = {x: 1 << n for n, x in enumerate(names)}
    uses, kills, writes = _accesses(flow, bit, effects, callees)
    for loop in dict.fromkeys(flow.loops.values()):
        for at in flow.order[loop.start : loop.end]:
            for edge in procedure.successors[at]:
                if edge.target in loop.body:
                    loop.assigned |= writes[edge.index]
    returns = procedure.name in callees_of(program)
    at_exit = _bits((*procedure.results, *effects.writes[procedure.name]) if returns else (), bit)
    if lasting:
        flow.live = dict.fromkeys(flow.order, (1 << len(names)) - 1)
    else:
        _find_live(flow, uses, kills, at_exit)
    return flow


def _put_in_order(flow: Flow) -> None:
    procedure = flow.procedure
    targets = {at: tuple(e.target for e in out) for at, out in procedure.successors.items()}
    reached: dict[Location, None] = {procedure.entry: None}
    pending = [procedure.entry]
    while pending:
        for target in targets[pending.pop()]:
            if target not in reached:
                reached[target] = None
                pending.append(target)
    regions: list[list[Location] | Stretch] = [list(reached)]
    while regions:
        region = regions.pop()
        if isinstance(region, Stretch):
            region.end = len(flow.order)
            continue
        if len(region) == 1 and region[0] not in targets[region[0]]:
            flow.order.append(region[0])
            continue
        groups = components(region, targets.__getitem__)
        if len(groups) > 1:
            regions.extend(groups)  # the last, which no other group leads to, comes first
            continue
        body = frozenset(region)
        members = sorted(region, key=lambda at: at.index)
        into = [
            at
            for at in members
            if at is procedure.entry
            or any(e.source in reached and e.source not in body for e in procedure.predecessors[at])
        ]
        entries = tuple(into)
        loop = Stretch(entries, body, len(flow.order))
        flow.loops.update((at, loop) for at in entries)
        flow.order.extend(entries)
        rest = [at for at in members if at not in flow.loops]
        regions.append(loop)
        if rest:
            regions.extend(components(rest, targets.__getitem__))


def _accesses(
    flow: Flow, bit: Mapping[Expr, int], effects: Effects, callees: Mapping[str, Flow]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Return the variables that each edge, by index, reads, kills and may write. A call reads what is live at
    the entry of the callee, and kills what the callee may write."""
    uses: dict[int, int] = {}
    kills: dict[int, int] = {}
    writes: dict[int, int] = {}
    for edge in flow.procedure.edges:
        op = edge.op
        use, kill = _bits(effects.reads[edge.index], bit), _bits(written(op, flow.procedure), bit)
        write = kill
        if isinstance(op, Call):
            callee = callees.get(op.procedure)
            entering = effects.mentions[op.procedure] if callee is None else callee.at_entry
            use |= _bits(entering, bit)
            write |= _bits(effects.writes[op.procedure], bit)
            kill = write
        uses[edge.index], kills[edge.index], writes[edge.index] = use, kill, write
    return uses, kills, writes


def _find_live(flow: Flow, uses: Mapping[int, int], kills: Mapping[int, int], at_exit: int) -> None:
    live = dict.fromkeys(flow.order, 0)
    procedure = flow.procedure
    if procedure.exit in live:
        live[procedure.exit] = at_exit
    pending = dict.fromkeys(flow.order)
    while pending:
        at, _ = pending.popitem()  # the last first: liveness propagates backwards
        before = live[at]
        after = before
        for edge in procedure.successors[at]:
            after |= uses[edge.index] | (live[edge.target] & ~kills[edge.index])
        if after != before:
            live[at] = after
            pending.update((e.source, None) for e in procedure.predecessors[at] if e.source in live)
    flow.live = live


def _bits(names: Iterable[Expr], bit: Mapping[Expr, int]) -> int:
    bits = 0
    for x in names:
        bits |= bit.get(x, 0)
    return bits


# ----------------------------------------------------------------------------------------- effects


def mentioned(term: Expr) -> tuple[Expr, ...]:
    """Return the variables of a term. Most terms have no subterms with arguments, which is fast."""
    if not term.args:
        return (term,) if term.kind is Kind.VAR else ()
    if any(a.args for a in term.args):
        return variables(term)
    return tuple(a for a in term.args if a.kind is Kind.VAR)


class Effects:
    """The globals that each procedure or a callee may write (`writes`) or mentions (`mentions`), and the
    variables that each edge, by index, reads (`reads`)."""

    def __init__(self, program: Program) -> None:
        self.reads = {
            edge.index: tuple(x for term in terms(edge.op) for x in mentioned(term))
            for procedure in program.procedures.values()
            for edge in procedure.edges
        }
        self.writes = global_writes(program)
        reads = with_callees(program, lambda p: (x for edge in p.edges for x in self.reads[edge.index]))
        self.mentions = {name: {**reads[name], **writes} for name, writes in self.writes.items()}
