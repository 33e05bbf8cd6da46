"""Single statements: made anew over other terms and variables, and what whole procedures write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from certus.core import build
from certus.core.effects import terms, written
from certus.core.loops import call_graph, components
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Choice,
    Free,
    Havoc,
    Load,
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
    """The op with other terms, given in the order of `terms`."""
    if isinstance(op, Assume):
        return Assume(new[0])
    if isinstance(op, Assign | Return):
        return replace(op, values=tuple(new))
    if isinstance(op, Call):
        return replace(op, arguments=tuple(new))
    if isinstance(op, Load | Free):
        return replace(op, address=new[0])
    if isinstance(op, Store):
        return Store(new[0], new[1])
    return replace(op, size=new[0]) if isinstance(op, Alloc) else op


def renamed(op: Op, names: Mapping[Expr, Expr], substitution: Substitution, results: Sequence[Expr]) -> Op:
    """The op over other variables; a `Return` becomes an assignment to `results`.

    `substitution` replaces variables as `names` does: it remembers terms between calls."""
    op = with_terms(op, substitution.apply_all(terms(op)))
    if isinstance(op, Assign | Havoc | Call):
        return replace(op, targets=tuple(names.get(x, x) for x in op.targets))
    if isinstance(op, Load | Alloc):
        return replace(op, target=names.get(op.target, op.target))
    return assignment(results, op.values) if isinstance(op, Return) else op


def assignment(targets: Sequence[Expr], values: Sequence[Expr]) -> Op:
    """The assignment of values to targets, or a step that does nothing."""
    return Assign(tuple(targets), tuple(values)) if targets else SKIP


def is_single(op: Op) -> bool:
    """Whether an op is a statement and no block."""
    return not isinstance(op, Seq | Choice)


def single_statements(program: Program) -> bool:
    return all(is_single(edge.op) for p in program.procedures.values() for edge in p.edges)


def global_writes(program: Program) -> dict[str, dict[Expr, None]]:
    """The globals a procedure or what it calls may write, in a fixed order."""
    shared = frozenset(program.globals)
    calls = call_graph(program)
    found: dict[str, dict[Expr, None]] = {}
    for group in components(tuple(calls), calls.__getitem__):  # callees first
        writes: dict[Expr, None] = {}
        for name in group:
            procedure = program.procedures[name]
            for edge in procedure.edges:
                writes.update((x, None) for x in written(edge.op, procedure) if x in shared)
            for callee in calls[name]:
                writes.update(found.get(callee, {}))
        for name in group:
            found[name] = writes
    return found


def ordered(variables: Iterable[Expr], wanted: Mapping[Expr, object] | frozenset[Expr]) -> tuple[Expr, ...]:
    """Those of the variables that are wanted, in their order."""
    return tuple(x for x in variables if x in wanted)
