"""Build the acyclic graph on which an inductive proof is checked: calls expanded, cycles cut.

A `Place` is a location under a call string that starts at a *root*: main, or a procedure that the proof
summarises. A call is entered unless the proof has a summary for the callee. A recursive callee without
summary is entered only along call strings that the proof mentions, and otherwise *skipped*: the variables
that it may write become arbitrary. That is sound only if no error is reachable in it; otherwise the proof
is refused.

A cycle without cut point is *blurred*: on entering it, all variables that it may write become arbitrary, and
control continues from any place where the cycle can be entered. This covers the last visit of such a place
in every execution, so the edges back to it can be removed. Blurring repeats inside until no cycle is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from certus.core.diagnostic import Diagnostic, Span
from certus.core.effects import written
from certus.core.errors import CertusError
from certus.core.evidence import Point, in_frame
from certus.core.loops import call_graph, components, recursive
from certus.core.program import Call, Edge, Location, Program, leaves
from certus.core.terms import Expr

PLACES = 200_000  # the most places a root may expand to


class Refused(CertusError):
    """The proof is rejected; the diagnostic says why."""

    def __init__(self, code: str, message: str, *, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, span=span, hint=hint)


def not_basic(edge: Edge) -> Refused:
    """Return the refusal of a proof about a program with blocks or memory operations."""
    return Refused("proof-malformed", f"the proof gives no meaning to {edge!r}: it is not a basic operation")


@dataclass(frozen=True, slots=True)
class Place:
    """A location under a call string; with `blur` > 0 the place before a blurred cycle, with `blur` -1 the
    place before the entry of the root."""

    location: Location
    calls: tuple[int, ...]
    blur: int = 0

    @property
    def depth(self) -> int:
        return len(self.calls)


@dataclass(frozen=True, eq=False)
class _EdgeMove:
    edge: Edge


class Step(_EdgeMove):
    """A move that executes a basic operation other than a call."""


class Enter(_EdgeMove):
    """A move that binds the parameters and goes to the entry of the callee."""


class Leave(_EdgeMove):
    """A move that writes the results to the targets of the call."""


class Contract(_EdgeMove):
    """A move that uses the summary of the callee."""


@dataclass(frozen=True, slots=True, eq=False)
class Forget:
    """A move that makes all `variables` arbitrary."""

    variables: tuple[Expr, ...]


Move = Step | Enter | Leave | Contract | Forget


@dataclass(slots=True)
class Expansion:
    """The places reachable from `start`, the place before the entry of `root`, with their moves."""

    root: str
    start: Place
    moves: dict[Place, list[tuple[Move, Place]]] = field(default_factory=dict)

    @property
    def entry(self) -> Place:
        return Place(self.start.location, ())

    def returns_to_entry(self) -> bool:
        """Return whether control can return to the entry in the same activation."""
        others = (moves for place, moves in self.moves.items() if place != self.start)
        return any(target == self.entry for moves in others for _, target in moves)


@dataclass(frozen=True)
class Outline:
    """The recursive procedures, the globals that each procedure may write, and the procedures in which an
    error is reachable; callees are included."""

    recursive: frozenset[str]
    writes: Mapping[str, tuple[Expr, ...]]
    fails: frozenset[str]


def outline(program: Program) -> Outline:
    """Return the outline of a program's calls, computed independently of `core.effects.global_writes`."""
    calls = call_graph(program)
    shared = frozenset(program.globals)
    writes: dict[str, dict[Expr, None]] = {}
    fails: set[str] = set()
    for name, procedure in program.procedures.items():
        targets = (x for edge in procedure.edges for x in _targets(edge, program))
        writes[name] = dict.fromkeys(x for x in targets if x in shared)
        if any(at in program.error_locations for at in procedure.locations):
            fails.add(name)
    changed = True
    while changed:
        changed = False
        for name, callees in calls.items():
            for callee in callees:
                before = len(writes[name]), len(fails)
                writes[name].update(writes[callee])
                if callee in fails:
                    fails.add(name)
                changed |= before != (len(writes[name]), len(fails))
    cyclic = frozenset(name for group in recursive(program) for name in group)
    return Outline(cyclic, {name: tuple(targets) for name, targets in writes.items()}, frozenset(fails))


def _targets(edge: Edge, program: Program) -> Iterable[Expr]:
    procedure = program.procedures[edge.source.procedure]
    return (x for op in leaves(edge) for x in written(op, procedure))


def expand(
    program: Program, calls: Outline, root: str, summarised: frozenset[str], points: Iterable[Point]
) -> Expansion:
    """Return all places of `root` with their moves."""
    mentioned = {point.calls[:n] for point in points for n in range(1, len(point.calls) + 1)}
    entry = Place(program.procedures[root].entry, ())
    start = Place(entry.location, (), -1)
    expansion = Expansion(root, start, {start: [(Forget(()), entry)]})
    stack = [entry]
    while stack:
        place = stack.pop()
        if place in expansion.moves:
            continue
        if len(expansion.moves) > PLACES:
            raise Refused("proof-too-large", f"entering all calls of {root} gives more than {PLACES} places")
        moves = expansion.moves[place] = []
        procedure = program.procedures[place.location.procedure]
        if place.calls and place.location is procedure.exit:
            call = program.edge[place.calls[-1]]
            moves.append((Leave(call), Place(call.target, place.calls[:-1])))
        for edge in procedure.successors[place.location]:
            moves.append(_move(program, calls, place, edge, summarised, mentioned))
        stack.extend(target for _, target in reversed(moves))
    return expansion


def _move(
    program: Program,
    outline: Outline,
    place: Place,
    edge: Edge,
    summarised: frozenset[str],
    mentioned: set[tuple[int, ...]],
) -> tuple[Move, Place]:
    after = Place(edge.target, place.calls)
    if not isinstance(edge.op, Call):
        return Step(edge), after
    callee, calls = edge.op.procedure, (*place.calls, edge.index)
    if calls in mentioned or (callee not in summarised and callee not in outline.recursive):
        return Enter(edge), Place(program.procedures[callee].entry, calls)
    if callee in summarised:
        return Contract(edge), after
    if callee in outline.fails:
        message = f"the proof says nothing about the recursive procedure {callee}, which can reach an error"
        raise Refused("proof-incomplete", message)
    targets = (in_frame(x, place.depth) if x not in program.globals else x for x in edge.op.targets)
    return Forget((*outline.writes[callee], *targets)), after


def blur(expansion: Expansion, cuts: frozenset[Place], program: Program, outline: Outline) -> None:
    """Blur every cycle that passes no cut point, in place."""
    number = 0
    work: list[list[Place]] = [[p for p in expansion.moves if p not in cuts]]
    while work:
        region = work.pop()
        for cycle in components(region, lambda p: [target for _, target in expansion.moves[p]]):
            inside = set(cycle)
            if len(cycle) == 1 and cycle[0] not in {target for _, target in expansion.moves[cycle[0]]}:
                continue
            number += 1
            entries = _blur_cycle(
                expansion, cycle, inside, number, _written(expansion, cycle, inside, program, outline)
            )
            work.append([p for p in cycle if p not in entries])


def _blur_cycle(
    expansion: Expansion, cycle: list[Place], inside: set[Place], number: int, written: tuple[Expr, ...]
) -> set[Place]:
    """Redirect all edges into the cycle through `Forget`, remove the edges back to its entries, and return
    the entries."""
    entries: dict[Place, None] = {}
    for place, moves in expansion.moves.items():
        if place not in inside:
            entries.update((target, None) for _, target in moves if target in inside)
    ordered = [p for p in cycle if p in entries]
    before = Place(ordered[0].location, ordered[0].calls, number)
    for place, moves in expansion.moves.items():
        if place in inside:
            moves[:] = [(m, t) for m, t in moves if t not in entries]
        else:
            moves[:] = [(m, before if t in entries else t) for m, t in moves]
    expansion.moves[before] = [(Forget(written), target) for target in ordered]
    return set(ordered)


def _written(
    expansion: Expansion, cycle: list[Place], inside: set[Place], program: Program, outline: Outline
) -> tuple[Expr, ...]:
    """Return the variables that moves inside the cycle may write, named by frame."""
    variables: dict[Expr, None] = {}
    for place in cycle:
        for move, target in expansion.moves[place]:
            if target in inside:
                variables.update((x, None) for x in written_by(move, place, program, outline))
    return tuple(variables)


def written_by(move: Move, place: Place, program: Program, outline: Outline) -> Iterable[Expr]:
    """Yield the variables that a move from `place` may write, named by frame."""
    if isinstance(move, Forget):
        yield from move.variables
        return
    op = move.edge.op
    depth = place.depth - 1 if isinstance(move, Leave) else place.depth
    if isinstance(move, Enter):
        assert isinstance(op, Call)
        for x in program.procedures[op.procedure].variables:
            yield in_frame(x, depth + 1)
        return
    if isinstance(move, Contract):
        assert isinstance(op, Call)
        yield from outline.writes[op.procedure]
    for x in _targets(move.edge, program):
        yield x if x in program.globals else in_frame(x, depth)
