"""What the constraint system needs to know of a procedure's control flow.

Locations are put into a weak topological order (Bourdoncle, "Efficient chaotic iteration strategies with
widenings", 1993): every loop is a stretch of it that begins with the loop's entries, and all edges
but those back to entries go forward. With each location come the variables that are live there, as a set
of bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from certus.core.loops import call_graph, components
from certus.core.program import (
    Assign,
    Assume,
    Call,
    Edge,
    Havoc,
    Location,
    Procedure,
    Program,
    Return,
)
from certus.core.terms import Expr, Kind
from certus.core.walk import variables


@dataclass(slots=True, eq=False)
class Stretch:
    """A loop: the positions `start` .. `end` (exclusive) of the order, and what is assigned there."""

    entries: tuple[Location, ...]
    body: frozenset[Location]
    start: int
    end: int = 0
    assigned: int = 0


@dataclass(slots=True, eq=False)
class Flow:
    """One procedure. Bit n of a set stands for `names[n]`."""

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


def flat(program: Program) -> Program:
    """The program with single statements again: the edges inside blocks are those of the original."""
    procedures = {}
    for name, procedure in program.procedures.items():
        edges: dict[int, Edge] = {}
        for edge in procedure.edges:
            edges.update((each.index, each) for each in _statements(edge))
        procedures[name] = Procedure(
            name,
            procedure.parameters,
            procedure.results,
            procedure.variables,
            procedure.entry,
            procedure.exit,
            tuple(edges.values()),
            procedure.span,
        )
    return Program(
        procedures,
        program.main,
        program.globals,
        program.errors,
        program.initial,
        program.source_names,
        program.source,
        program.file,
        program.pointer_bits,
    )


def _statements(edge: Edge) -> Iterator[Edge]:
    """The edges with single statements in an edge, each once."""
    from certus.core.program import Choice, Seq

    done: set[int] = set()
    stack: list[Edge | Seq | Choice] = [edge]
    while stack:
        block = stack.pop()
        if id(block) in done:
            continue
        done.add(id(block))
        if isinstance(block, Edge):
            if isinstance(block.op, Seq | Choice):
                stack.append(block.op)
            else:
                yield block
        else:
            parts = (block.first, block.second) if isinstance(block, Seq) else block.alternatives
            stack.extend(reversed(parts))


# ------------------------------------------------------------------------------------------- order


def flows(program: Program, effects: Effects, *, lasting: bool = False) -> dict[str, Flow]:
    """The control flow of all procedures; if `lasting`, all variables are live everywhere."""
    calls = call_graph(program)
    found: dict[str, Flow] = {}
    for group in components(tuple(calls), calls.__getitem__):  # callees first
        for name in group:
            found[name] = _flow(program, program.procedures[name], effects, found, lasting=lasting)
    return {name: found[name] for name in program.procedures}


def _flow(
    program: Program, procedure: Procedure, effects: Effects, known: Mapping[str, Flow], *, lasting: bool
) -> Flow:
    """One procedure, whose callees are known unless they call it in turn."""
    names = (*procedure.variables, *program.globals)
    made = Flow(procedure, names)
    _put_in_order(made)
    bit = {x: 1 << n for n, x in enumerate(names)}
    uses, kills, writes = _accesses(made, bit, effects, known)
    for loop in dict.fromkeys(made.loops.values()):
        for at in made.order[loop.start : loop.end]:
            for edge in procedure.successors[at]:
                if edge.target in loop.body:
                    loop.assigned |= writes[edge.index]
    at_exit = _bits((*procedure.results, *effects.writes[procedure.name]), bit)
    if lasting:
        made.live = dict.fromkeys(made.order, (1 << len(names)) - 1)
    else:
        _find_live(made, uses, kills, 0 if procedure.name == program.main else at_exit)
    return made


def _put_in_order(made: Flow) -> None:
    procedure = made.procedure
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
            region.end = len(made.order)
            continue
        if len(region) == 1 and region[0] not in targets[region[0]]:
            made.order.append(region[0])
            continue
        groups = components(region, targets.__getitem__)
        if len(groups) > 1:
            regions.extend(groups)  # the last, which no other leads to, comes first
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
        loop = Stretch(entries, body, len(made.order))
        made.loops.update((at, loop) for at in entries)
        made.order.extend(entries)
        rest = [at for at in members if at not in made.loops]
        regions.append(loop)
        if rest:
            regions.extend(components(rest, targets.__getitem__))


def _accesses(
    made: Flow, bit: Mapping[Expr, int], effects: Effects, known: Mapping[str, Flow]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """What the edges, by index, read, do not let pass, and may write. A call takes what is live at the entry
    of the callee; what that may write comes back from it, and goes into it if it may come back as it was."""
    uses: dict[int, int] = {}
    kills: dict[int, int] = {}
    writes: dict[int, int] = {}
    for edge in made.procedure.edges:
        op = edge.op
        use, kill = _bits(effects.reads[edge.index], bit), _bits(written(op, made.procedure), bit)
        write = kill
        if isinstance(op, Call):
            callee = known.get(op.procedure)
            entering = effects.mentions[op.procedure] if callee is None else callee.at_entry
            use |= _bits(entering, bit)
            write |= _bits(effects.writes[op.procedure], bit)
            kill = write
        uses[edge.index], kills[edge.index], writes[edge.index] = use, kill, write
    return uses, kills, writes


def _find_live(made: Flow, uses: Mapping[int, int], kills: Mapping[int, int], at_exit: int) -> None:
    live = dict.fromkeys(made.order, 0)
    procedure = made.procedure
    if procedure.exit in live:
        live[procedure.exit] = at_exit
    pending = dict.fromkeys(made.order)
    while pending:
        at, _ = pending.popitem()  # the last first: control flows against liveness
        before = live[at]
        found = before
        for edge in procedure.successors[at]:
            found |= uses[edge.index] | (live[edge.target] & ~kills[edge.index])
        if found != before:
            live[at] = found
            pending.update((e.source, None) for e in procedure.predecessors[at] if e.source in live)
    made.live = live


def _bits(names: Iterable[Expr], bit: Mapping[Expr, int]) -> int:
    found = 0
    for x in names:
        found |= bit.get(x, 0)
    return found


# ----------------------------------------------------------------------------------------- effects


def written(op: object, procedure: Procedure) -> tuple[Expr, ...]:
    if isinstance(op, Assign | Havoc | Call):
        return op.targets
    return procedure.results if isinstance(op, Return) else ()


def _read(op: object) -> tuple[Expr, ...]:
    if isinstance(op, Assume):
        return (op.condition,)
    if isinstance(op, Assign | Return):
        return op.values
    return op.arguments if isinstance(op, Call) else ()


def mentioned(term: Expr) -> tuple[Expr, ...]:
    """The variables of a term; most terms are flat."""
    if not term.args:
        return (term,) if term.kind is Kind.VAR else ()
    if any(a.args for a in term.args):
        return variables(term)
    return tuple(a for a in term.args if a.kind is Kind.VAR)


class Effects:
    """The globals that each procedure, or what it calls, may write (`writes`) and mentions at all; what each
    edge, by index, reads."""

    def __init__(self, program: Program) -> None:
        shared = frozenset(program.globals)
        calls = call_graph(program)
        self.writes: dict[str, dict[Expr, None]] = {}
        self.mentions: dict[str, dict[Expr, None]] = {}
        self.reads: dict[int, tuple[Expr, ...]] = {}
        for group in components(tuple(calls), calls.__getitem__):  # callees first
            writes: dict[Expr, None] = {}
            mentions: dict[Expr, None] = {}
            for name in group:
                procedure = program.procedures[name]
                for edge in procedure.edges:
                    reads = tuple(x for term in _read(edge.op) for x in mentioned(term))
                    self.reads[edge.index] = reads
                    mentions.update((x, None) for x in reads if x in shared)
                    writes.update((x, None) for x in written(edge.op, procedure) if x in shared)
                for callee in calls[name]:
                    writes.update(self.writes.get(callee, {}))
                    mentions.update(self.mentions.get(callee, {}))
            mentions.update(writes)
            for name in group:
                self.writes[name], self.mentions[name] = writes, mentions
