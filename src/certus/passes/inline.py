"""Inline small procedures and those that are called once.

A procedure is inlined at all its calls or at none; inlined procedures disappear. Recursive procedures stay.
Candidates have one call or at most `small` edges (including inlined callees). While the program would grow
more than `growth`-fold, the most expensive candidate is dropped.

Each copy has a call string: the calls of the original program that lead from its host procedure to the copied
one. Each copy has its own locations and locals. Parameters are assigned before the copy, the call's targets
after it, and a `Return` becomes an assignment.

The back map: a copied edge has the original's index as its `origin`, and traces use it as key. The inputs of
all copies, in order of execution, are the inputs of the original edge. A point of a copy is the original
location under the call string, and its locals belong to the frames of the string. A formula may also contain
locals of other copies; they have no value in the original program, so they are quantified existentially. The
bound of a loop head is the greatest bound of its copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from certus.core import build
from certus.core.effects import assignment, renamed, single_statements
from certus.core.engine import BackMap, Frames, Task
from certus.core.evidence import (
    Inductive,
    KInductive,
    Point,
    Proof,
    Refutation,
    Trace,
    Unrolling,
    in_frame,
    stands_for,
)
from certus.core.loops import call_graph, components, recursive
from certus.core.program import Call, Edge, ErrorSite, Location, Procedure, Program
from certus.core.terms import Expr, Kind
from certus.core.walk import QUANTIFIERS, Substitution, postorder, substitute, variables

SMALL = 200  # most edges of a procedure that is inlined at several calls
GROWTH = 20  # largest factor by which the program may grow


@dataclass(frozen=True, slots=True)
class Inline:
    """The inlining pass."""

    small: int = SMALL
    growth: int = GROWTH

    @property
    def name(self) -> str:
        return "inline"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        chosen = choose(program, small=self.small, growth=self.growth)
        if not chosen:
            return task, BackMap.identity()
        inlined, copies = inline(program, chosen)
        facts = {
            point: fact
            for point, fact in task.facts.items()
            if point.location.procedure in inlined.procedures and not point.calls
        }
        back = _Back(program, copies)
        frames = Frames(
            {at: calls for at, (calls, _) in copies.locations.items()},
            {x: calls for x, (calls, _) in copies.variables.items()},
        )
        inner = replace(task, subject=inlined, facts=facts, frames=frames)
        return inner, BackMap(back.proof, back.refutation)


# ------------------------------------------------------------------------------------------ choice


def choose(program: Program, *, small: int = SMALL, growth: int = GROWTH) -> frozenset[str]:
    """Choose the procedures to inline."""
    calls = _call_sites(program)
    callers: dict[str, int] = dict.fromkeys(program.procedures, 0)
    for callees in calls.values():
        for callee in callees:
            callers[callee] += 1
    looping = frozenset(name for group in recursive(program) for name in group)
    order = _callees_first(program)
    chosen: dict[str, None] = {}
    size: dict[str, int] = {}
    for name in order:  # callees before callers
        inside = sum(1 + size[callee] for callee in calls[name] if callee in chosen)
        size[name] = len(program.procedures[name].edges) + inside
        possible = name not in looping and name != program.main and callers[name] > 0
        if possible and (callers[name] == 1 or size[name] <= small):
            chosen[name] = None
    limit = growth * sum(len(p.edges) for p in program.procedures.values())
    while chosen:
        sizes = _sizes(program, order, calls, chosen)
        if sum(sizes[name] for name in order if name not in chosen) <= limit:
            break
        copies = _copies(order, calls, chosen)
        del chosen[max(chosen, key=lambda name: (copies[name] - 1) * sizes[name])]
    return frozenset(chosen)


def _call_sites(program: Program) -> dict[str, list[str]]:
    return {
        name: [e.op.procedure for e in procedure.edges if isinstance(e.op, Call)]
        for name, procedure in program.procedures.items()
    }


def _callees_first(program: Program) -> list[str]:
    calls = call_graph(program)
    return [name for group in components(tuple(calls), calls.__getitem__) for name in group]


def _sizes(
    program: Program, order: Sequence[str], calls: Mapping[str, list[str]], chosen: Mapping[str, None]
) -> dict[str, int]:
    """Count the edges of each procedure after inlining: a call becomes two edges and a copy."""
    sizes: dict[str, int] = {}
    for name in order:
        inside = sum(1 + sizes[callee] for callee in calls[name] if callee in chosen)
        sizes[name] = len(program.procedures[name].edges) + inside
    return sizes


def _copies(
    order: Sequence[str], calls: Mapping[str, list[str]], chosen: Mapping[str, None]
) -> dict[str, int]:
    """Count the copies of each procedure's body after inlining."""
    copies = {name: 0 if name in chosen else 1 for name in order}
    for name in reversed(order):
        for callee in calls[name]:
            if callee in chosen:
                copies[callee] += copies[name]
    return copies


# ------------------------------------------------------------------------------------ transformation


@dataclass(slots=True)
class Copies:
    """The origins of the new program: for each location, edge (by index) and local, the call string within
    its host procedure and the original."""

    locations: dict[Location, tuple[tuple[int, ...], Location]] = field(default_factory=dict)
    edges: dict[int, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    variables: dict[Expr, tuple[tuple[int, ...], Expr]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One copy of a procedure's body: its call string, and the new locals and locations."""

    calls: tuple[int, ...]
    procedure: Procedure
    names: Mapping[Expr, Expr]
    places: Mapping[Location, Location]


def inline(program: Program, chosen: frozenset[str]) -> tuple[Program, Copies]:
    """Inline the chosen procedures; a recursive one must not be among them."""
    work = _Inlining(program, chosen)
    procedures = {
        name: work.host(procedure) for name, procedure in program.procedures.items() if name not in chosen
    }
    sources, originals = program.source_names, work.copies.variables
    names = {x: sources[original] for x, (_, original) in originals.items() if original in sources}
    formats = {x: program.formats[y] for x, (_, y) in originals.items() if y in program.formats}
    inlined = replace(
        program,
        procedures=procedures,
        errors=tuple(work.errors),
        source_names={**sources, **names},
        formats={**program.formats, **formats},
    )
    return inlined, work.copies


class _Inlining:
    def __init__(self, program: Program, chosen: frozenset[str]) -> None:
        self.program = program
        self.chosen = chosen
        self.copies = Copies()
        self.errors: list[ErrorSite] = []
        self._sites = {site.location: site for site in program.errors}
        self._edge_numbers = count(1 + max(program.edge, default=-1))
        last = max((at.index for p in program.procedures.values() for at in p.locations), default=-1)
        self._location_numbers = count(1 + last)
        self._copy_numbers = count(1)

    def host(self, procedure: Procedure) -> Procedure:
        """Return a procedure with the chosen callees inlined in it."""
        edges: list[Edge] = []
        local: list[Expr] = []
        pieces = [self._itself(procedure)]
        while pieces:
            piece = pieces.pop()
            local.extend(piece.names.values())
            pieces.extend(reversed([*self._paste(piece, procedure.name, edges)]))
        return replace(procedure, variables=tuple(local), edges=tuple(edges))

    def _itself(self, procedure: Procedure) -> _Piece:
        for at in procedure.locations:
            self._place(at, (), at)
        for x in procedure.variables:
            self.copies.variables[x] = ((), x)
        return _Piece(
            (), procedure, {x: x for x in procedure.variables}, {at: at for at in procedure.locations}
        )

    def _copy(self, procedure: Procedure, calls: tuple[int, ...], host: str) -> _Piece:
        number = next(self._copy_numbers)
        names = {x: build.var(f"{host}.{x.name}${number}", x.sort) for x in procedure.variables}
        places = {
            at: replace(at, index=next(self._location_numbers), procedure=host) for at in procedure.locations
        }
        for x, new in names.items():
            self.copies.variables[new] = (calls, x)
        for at, place in places.items():
            self._place(place, calls, at)
        return _Piece(calls, procedure, names, places)

    def _place(self, new: Location, calls: tuple[int, ...], original: Location) -> None:
        self.copies.locations[new] = (calls, original)
        site = self._sites.get(original)
        if site is not None:
            self.errors.append(site if new is original else replace(site, location=new))

    def _paste(self, piece: _Piece, host: str, edges: list[Edge]) -> Iterator[_Piece]:
        """Put the edges of a piece into `edges`; gives the pieces that go in place of its calls."""
        substitution = Substitution(piece.names)
        results = [piece.names[r] for r in piece.procedure.results]
        for edge in sorted(piece.procedure.edges, key=lambda e: e.index):
            source, target = piece.places[edge.source], piece.places[edge.target]
            original = not piece.calls
            op = edge.op if original else renamed(edge.op, piece.names, substitution, results)
            if isinstance(op, Call) and op.procedure in self.chosen:
                callee = self.program.procedures[op.procedure]
                inner = self._copy(callee, (*piece.calls, edge.index), host)
                parameters = [inner.names[x] for x in callee.parameters]
                ends = [inner.names[r] for r in callee.results[: len(op.targets)]]
                entry, exit = inner.places[callee.entry], inner.places[callee.exit]
                bind = replace(edge, source=source, op=assignment(parameters, op.arguments), target=entry)
                unbind = replace(edge, source=exit, op=assignment(op.targets, ends), target=target)
                edges.append(self._numbered(bind, piece.calls))
                edges.append(self._numbered(unbind, piece.calls))
                yield inner
            elif original:
                self.copies.edges[edge.index] = ((), edge.index)
                edges.append(edge)
            else:
                copied = replace(edge, source=source, op=op, target=target)
                edges.append(self._numbered(copied, piece.calls))

    def _numbered(self, edge: Edge, calls: tuple[int, ...]) -> Edge:
        index = next(self._edge_numbers)
        self.copies.edges[index] = (calls, edge.index)
        return replace(edge, index=index, origin=edge.key)


# --------------------------------------------------------------------------------------------- evidence


class _Back:
    def __init__(self, before: Program, copies: Copies) -> None:
        self.before = before
        self.copies = copies
        self.names = {x.name: x for x in copies.variables}

    def refutation(self, refutation: Refutation) -> Refutation:
        if not isinstance(refutation, Trace):
            return refutation
        errors = {new.name: original.name for new, (_, original) in self.copies.locations.items()}
        return replace(refutation, error=errors.get(refutation.error, refutation.error))

    def proof(self, proof: Proof) -> Proof:
        if isinstance(proof, Unrolling):
            heads = {new.name: original.name for new, (_, original) in self.copies.locations.items()}
            loops: dict[str, int] = {}
            for name, bound in proof.loops.items():
                head = heads.get(name, name)
                loops[head] = max(bound, loops.get(head, 0))
            return replace(proof, loops=loops)
        if isinstance(proof, Inductive | KInductive):
            return replace(proof, invariants=self._formulas(proof.invariants))
        return proof

    def _formulas(self, invariants: Mapping[Point, Expr]) -> dict[Point, Expr]:
        formulas: dict[Point, Expr] = {}
        for point, formula in invariants.items():
            strings = [(*calls, call) for calls, call in (self.copies.edges[c] for c in point.calls)]
            inside, location = self.copies.locations[point.location]
            strings.append(inside)
            calls = tuple(call for string in strings for call in string)
            formulas[Point(location, calls)] = self._formula(formula, strings)
        return formulas

    def _formula(self, formula: Expr, strings: Sequence[tuple[int, ...]]) -> Expr:
        """Rename the locals in the formula of a point to those of the original frames; `strings` are the
        parts of its call string in each host procedure."""
        renamed: dict[Expr, Expr] = {}
        unnamed: list[Expr] = []
        for x in variables(formula):
            copy = stands_for(x, self.names)
            if copy is None or copy.is_old:
                continue  # a global, or an old value
            host = copy.depth
            inside, original = self.copies.variables[copy.variable]
            if inside == strings[host][: len(inside)]:
                renamed[x] = in_frame(original, sum(map(len, strings[:host])) + len(inside))
            else:
                unnamed.append(x)
        return substitute(projected(formula, unnamed), renamed)


def projected(formula: Expr, unknown: Sequence[Expr]) -> Expr:
    """Quantify the `unknown` variables existentially. Conjuncts that contain both them and quantifiers are
    dropped."""
    if not unknown:
        return formula
    hidden = frozenset(unknown)
    parts = formula.args if formula.kind is Kind.AND else (formula,)
    about = [part for part in parts if not hidden.isdisjoint(variables(part))]
    rest = [part for part in parts if hidden.isdisjoint(variables(part))]
    if not any(term.kind in QUANTIFIERS for term in postorder(*about)):
        bound = {x: build.bound(n, x.sort) for n, x in enumerate(reversed(unknown))}
        body = substitute(build.conjunction(about), bound)
        rest.append(build.exists(tuple(x.sort for x in unknown), body))
    return build.conjunction(rest)
