"""Rebuild single statements over other terms and variables; `core.effects` has what they read and write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from certus.core import build
from certus.core.effects import terms
from certus.core.evidence import Unrolling
from certus.core.loops import loop_forest, recursive
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Choice,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    MarkBits,
    Op,
    Program,
    Return,
    Seq,
    Store,
)
from certus.core.terms import Expr
from certus.core.walk import Substitution

SKIP: Final = Assume(build.TRUE)


def with_terms(op: Op, new: Sequence[Expr]) -> Op:
    """Replace the terms of an operation by others, in the order of `terms`."""
    if isinstance(op, Assume):
        return Assume(new[0])
    if isinstance(op, Assign | Return):
        return replace(op, values=tuple(new))
    if isinstance(op, Call):
        return replace(op, arguments=tuple(new))
    if isinstance(op, Load | Free | InspectBits):
        return replace(op, address=new[0])
    if isinstance(op, Store):
        return Store(new[0], new[1])
    if isinstance(op, MarkBits):
        return MarkBits(new[0], new[1])
    if isinstance(op, Inspect):
        return replace(op, address=new[0], size=new[1])
    return replace(op, size=new[0]) if isinstance(op, Alloc) else op


def renamed(op: Op, names: Mapping[Expr, Expr], substitution: Substitution, results: Sequence[Expr]) -> Op:
    """Rename the variables of an operation; a `Return` becomes an assignment to `results`.

    `substitution` replaces variables as `names` does, with a cache of its own."""
    op = with_terms(op, substitution.apply_all(terms(op)))
    if isinstance(op, Assign | Havoc | Call):
        return replace(op, targets=tuple(names.get(x, x) for x in op.targets))
    if isinstance(op, Load | Alloc | Inspect | InspectHeap | InspectBits):
        return replace(op, target=names.get(op.target, op.target))
    return assignment(results, op.values) if isinstance(op, Return) else op


def assignment(targets: Sequence[Expr], values: Sequence[Expr]) -> Op:
    """Return the assignment of values to targets, or a step that does nothing if there are none."""
    return Assign(tuple(targets), tuple(values)) if targets else SKIP


def single_statements(program: Program) -> bool:
    """Tell whether every edge of a program is a single statement, not a block."""
    edges = (edge for procedure in program.procedures.values() for edge in procedure.edges)
    return not any(isinstance(edge.op, Seq | Choice) for edge in edges)


def ordered(variables: Iterable[Expr], wanted: Mapping[Expr, object] | frozenset[Expr]) -> tuple[Expr, ...]:
    """Return the wanted variables, in the order of `variables`."""
    return tuple(x for x in variables if x in wanted)


def unrolling_before(before: Program, after: Program, proof: Unrolling) -> Unrolling:
    """Turn a proof of the program `after` a pass into a proof of the program `before` it."""
    loops: dict[str, int] = {}
    for name, procedure in before.procedures.items():
        reduced = after.procedures.get(name)
        if reduced is None:
            continue  # never called
        forest, present = loop_forest(reduced), frozenset(reduced.locations)
        for loop in loop_forest(procedure).loops:
            visits = (
                prod(
                    proof.loops.get(new.head.name, 0) for new in forest.around(entry) if new.head in loop.body
                )
                for entry in loop.entries
                if entry in present
            )
            loops[loop.head.name] = sum(visits)
    still = frozenset(name for group in recursive(after) for name in group)
    once = {name: 1 for group in recursive(before) for name in group if name not in still}
    return Unrolling(loops, {**once, **proof.recursion})
