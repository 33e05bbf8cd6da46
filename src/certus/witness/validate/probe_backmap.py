"""Carry evidence about a program with probes (`core.witness.probe_kind`) back to the program without them.

Both programs come from one source, so outside of probes their automata have the same shape. They are
traversed side by side, and edges from the same place of the source are matched. Where the program with probes
has additional steps (those of probes, and inputs of variables that only probes read), only it advances.
Temporaries are numbered differently; those that matched steps write are matched.

Nothing here is trusted: all evidence carried back is checked on the program without probes.
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
from certus.passes.inline import projected

_TEMPORARY: Final = re.compile(r"\.\$\d+$")


@dataclass(slots=True)
class ProbeBackMap:
    """Maps `locations`, `edges` and `variables` of the program with probes to those of the plain program."""

    probed: Program
    plain: Program
    locations: dict[Location, Location] = field(default_factory=dict)
    edges: dict[int, int] = field(default_factory=dict)
    variables: dict[Expr, Expr] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------- evidence

    def trace(self, trace: Trace) -> Trace | None:
        """Return the trace with the same inputs; None if the plain program does not have its error."""
        error = self.locations.get(self.probed.location[trace.error])
        if error is None:
            return None
        initial = {self.variables.get(x, x): value for x, value in trace.initial.items()}
        inputs = {self.edges[e]: values for e, values in trace.inputs.items() if e in self.edges}
        return Trace(error.name, {x: v for x, v in initial.items() if x in self.plain.globals}, inputs)

    def proof(self, proof: Proof, claims: Mapping[Point, Expr]) -> Proof | None:
        """Return the proof for the plain program, strengthened by the `claims` of the witness about it."""
        if isinstance(proof, Partitioned):
            inner = self.proof(proof.proof, claims)
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
            return Inductive(self._points(proof.invariants, claims), summaries)
        if isinstance(proof, KInductive):
            return KInductive(proof.k, self._points(proof.invariants, claims))
        return None

    def partition(self, partition: Partition) -> Partition:
        """Return the partition of memory with the variables of the plain program."""
        pointers = partition.carriers.items()
        carriers = {self.variables[x]: pointer for x, pointer in pointers if x in self.variables}
        return replace(partition, carriers=carriers)

    def _points(self, formulas: Mapping[Point, Expr], claims: Mapping[Point, Expr]) -> dict[Point, Expr]:
        conjuncts: dict[Point, list[Expr]] = {}
        for point, formula in formulas.items():
            location = self.locations.get(point.location)
            if location is not None and all(call in self.edges for call in point.calls):
                image = Point(location, tuple(self.edges[call] for call in point.calls))
                conjuncts.setdefault(image, []).append(self.formula(formula))
        return {
            point: build.conjunction((*parts, claims.get(point, build.TRUE)))
            for point, parts in conjuncts.items()
        }

    def formula(self, formula: Expr) -> Expr:
        """Rewrite a formula over the variables of the plain program and project those away that only probes
        have. Addresses keep the sort that they have where a partition replaces memory."""
        images: dict[Expr, Expr] = {}
        only_in_probes: list[Expr] = []
        by_name = {x.name: x for x in _all_variables(self.probed)}
        for x in variables(formula):
            standing = stands_for(x, by_name)
            if standing is None:
                continue  # not a variable of the program: its partition introduced it
            image = self.variables.get(standing.variable)
            if image is None:
                only_in_probes.append(x)
            else:
                images[x] = build.var(standing.of(image).name, x.sort)
        return substitute(projected(formula, only_in_probes), images)


# --------------------------------------------------------------------------------------------- matching


def match_programs(probed: Program, plain: Program) -> ProbeBackMap:
    """Match the programs, procedure by procedure."""
    back_map = ProbeBackMap(probed, plain)
    for name, procedure in probed.procedures.items():
        other = plain.procedures.get(name)
        if other is None:
            continue
        back_map.variables.update(zip(procedure.parameters, other.parameters, strict=False))
        back_map.variables.update(zip(procedure.results, other.results, strict=False))
        stack = [(procedure.entry, other.entry)]
        while stack:
            at, image = stack.pop()
            if at in back_map.locations:
                continue
            back_map.locations[at] = image
            unmatched = list(other.successors[image])
            for edge in procedure.successors[at]:
                match = next((e for e in unmatched if _matches(edge, e)), None)
                if match is not None:
                    unmatched.remove(match)
                    back_map.edges[edge.index] = match.index
                    back_map.variables.update(zip(_targets(edge), _targets(match), strict=False))
                    stack.append((edge.target, match.target))
                elif _is_additional(edge) and edge.target not in probed.error_locations:
                    stack.append((edge.target, image))
    same = frozenset(_all_variables(plain))
    for x in _all_variables(probed):
        if x in same and _TEMPORARY.search(x.name) is None:
            back_map.variables.setdefault(x, x)
    return back_map


def _all_variables(program: Program) -> Iterator[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def _is_additional(edge: Edge) -> bool:
    """Say whether a step without a match may be one that only the program with probes has."""
    return is_of_witness(edge.text) or isinstance(edge.op, Havoc)


def _matches(a: Edge, b: Edge) -> bool:
    same = type(a.op) is type(b.op) and a.branch is b.branch and a.text == b.text
    if not same or _start(a) != _start(b) or len(_targets(a)) != len(_targets(b)):
        return False
    return not isinstance(a.op, Call) or (isinstance(b.op, Call) and a.op.procedure == b.op.procedure)


def _start(edge: Edge) -> tuple[int, int] | None:
    """Return the place where an edge starts; its end may differ if there is a probe inside."""
    return None if edge.span is None else (edge.span.line, edge.span.column)


def _targets(edge: Edge) -> tuple[Expr, ...]:
    if isinstance(edge.op, Assign | Havoc | Call):
        return edge.op.targets
    return (edge.op.target,) if isinstance(edge.op, Load | Alloc) else ()
