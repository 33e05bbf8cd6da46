"""Evidence about a program with probes (`core.witness.probe_kind`), carried back to the program without them.

Both come from one source, so outside of probes their automata are alike: they are walked side by side, and
edges that come from the same place of the source are each other's images. Where the program with probes has
steps of its own (those of probes, and inputs of variables that only probes read), it goes on alone.
Temporaries are numbered differently; each is the image of the one that the same step writes.

Nothing here is believed: whatever is carried back is checked on the program without probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from certus.core import build
from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Trace,
    Unrolling,
    stands_for,
)
from certus.core.memory import Partition
from certus.core.program import Alloc, Assign, Call, Edge, Havoc, Load, Location, Program
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.core.witness import is_of_witness
from certus.transform.inline import projected

_TEMPORARY: Final = re.compile(r"\.\$\d+$")


@dataclass(slots=True)
class Likeness:
    """`locations`, `edges` and `variables` of the program with probes, with their images."""

    probed: Program
    plain: Program
    locations: dict[Location, Location] = field(default_factory=dict)
    edges: dict[int, int] = field(default_factory=dict)
    variables: dict[Expr, Expr] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------- evidence

    def trace(self, trace: Trace) -> Trace | None:
        """The same inputs; None if the error is not one of the program without probes."""
        error = self.locations.get(self.probed.location[trace.error])
        if error is None:
            return None
        initial = {self.variables.get(x, x): value for x, value in trace.initial.items()}
        inputs = {self.edges[e]: values for e, values in trace.inputs.items() if e in self.edges}
        return Trace(error.name, {x: v for x, v in initial.items() if x in self.plain.globals}, inputs)

    def proof(self, proof: Proof, known: Mapping[Point, Expr]) -> Proof | None:
        """The same proof, with formulas that are `known` to be claimed of the program without probes."""
        if isinstance(proof, Partitioned):
            inner = self.proof(proof.proof, known)
            return None if inner is None else Partitioned(self.partition(proof.partition), inner)
        if isinstance(proof, Execution):
            return proof
        if isinstance(proof, Unrolling):
            loops: dict[str, int] = {}
            for name, count in proof.loops.items():
                image = self.locations.get(self.probed.location[name])
                if image is not None:
                    loops[image.name] = max(count, loops.get(image.name, 0))
            return Unrolling(loops, proof.recursion)
        if isinstance(proof, Inductive):
            summaries = {name: self.formula(f) for name, f in proof.summaries.items()}
            return Inductive(self._points(proof.invariants, known), summaries)
        if isinstance(proof, KInductive):
            return KInductive(proof.k, self._points(proof.invariants, known))
        return None

    def partition(self, partition: Partition) -> Partition:
        given = partition.carriers
        carriers = {self.variables[x]: pointer for x, pointer in given.items() if x in self.variables}
        return replace(partition, carriers=carriers)

    def _points(self, formulas: Mapping[Point, Expr], known: Mapping[Point, Expr]) -> dict[Point, Expr]:
        found: dict[Point, list[Expr]] = {}
        for point, formula in formulas.items():
            location = self.locations.get(point.location)
            if location is not None and all(call in self.edges for call in point.calls):
                image = Point(location, tuple(self.edges[call] for call in point.calls))
                found.setdefault(image, []).append(self.formula(formula))
        return {
            point: build.conjunction((*parts, known.get(point, build.TRUE))) for point, parts in found.items()
        }

    def formula(self, formula: Expr) -> Expr:
        """About the images of variables; of those that only probes have, nothing is said. Addresses keep the
        sort that they have where a partition has replaced memory."""
        images: dict[Expr, Expr] = {}
        unknown: list[Expr] = []
        by_name = {x.name: x for x in _all_variables(self.probed)}
        for x in variables(formula):
            found = stands_for(x, by_name)
            if found is None:
                continue  # not of the program: made by its partition
            image = self.variables.get(found.variable)
            if image is None:
                unknown.append(x)
            else:
                images[x] = build.var(found.of(image).name, x.sort)
        return substitute(projected(formula, unknown), images)


# --------------------------------------------------------------------------------------- side by side


def likeness(probed: Program, plain: Program) -> Likeness:
    """Walk both programs, procedure by procedure."""
    found = Likeness(probed, plain)
    for name, procedure in probed.procedures.items():
        other = plain.procedures.get(name)
        if other is None:
            continue
        found.variables.update(zip(procedure.parameters, other.parameters, strict=False))
        found.variables.update(zip(procedure.results, other.results, strict=False))
        stack = [(procedure.entry, other.entry)]
        while stack:
            at, image = stack.pop()
            if at in found.locations:
                continue
            found.locations[at] = image
            mine, theirs = procedure.successors[at], list(other.successors[image])
            for edge in mine:
                match = next((e for e in theirs if _alike(edge, e)), None)
                if match is not None:
                    theirs.remove(match)
                    found.edges[edge.index] = match.index
                    found.variables.update(zip(_targets(edge), _targets(match), strict=False))
                    stack.append((edge.target, match.target))
                elif _is_own(edge) and edge.target not in probed.error_locations:
                    stack.append((edge.target, image))
    same = frozenset(_all_variables(plain))
    for x in _all_variables(probed):
        if x in same and _TEMPORARY.search(x.name) is None:
            found.variables.setdefault(x, x)
    return found


def _all_variables(program: Program) -> Iterator[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def _is_own(edge: Edge) -> bool:
    """Whether only the program with probes has this step."""
    return is_of_witness(edge.text) or isinstance(edge.op, Havoc)


def _alike(a: Edge, b: Edge) -> bool:
    same = type(a.op) is type(b.op) and a.branch is b.branch and a.text == b.text
    if not same or _start(a) != _start(b) or len(_targets(a)) != len(_targets(b)):
        return False
    return not isinstance(a.op, Call) or (isinstance(b.op, Call) and a.op.procedure == b.op.procedure)


def _start(edge: Edge) -> tuple[int, int] | None:
    """Where it stands; with a probe inside, the end may be another."""
    return None if edge.span is None else (edge.span.line, edge.span.column)


def _targets(edge: Edge) -> tuple[Expr, ...]:
    if isinstance(edge.op, Assign | Havoc | Call):
        return edge.op.targets
    return (edge.op.target,) if isinstance(edge.op, Load | Alloc) else ()
