"""What statements and procedures read and write: the one definition for passes, analyses and encodings.

Memory is not a variable here: `Load` reads its address, `Store` its address and its value, `Inspect` its
address and its size. `check` computes what a procedure may write by its own code (`check.proofs.expansion`),
because it must not repeat a mistake made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from certus.core.loops import call_graph, components
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    MarkBits,
    Op,
    Procedure,
    Program,
    Return,
    Store,
    leaves,
)
from certus.core.terms import FLOATS, Expr
from certus.core.walk import postorder, variables


def has_floats(program: Program) -> bool:
    """Return whether a statement computes with floating-point numbers."""
    operands = (t for edge in program.edge.values() for op in leaves(edge.op) for t in terms(op))
    return any(term.kind in FLOATS for term in postorder(*operands))


# ----------------------------------------------------------------------------- single statements


def targets(op: Op) -> tuple[Expr, ...]:
    """Return the variables that an op names and gives a value."""
    if isinstance(op, Assign | Havoc | Call):
        return op.targets
    return (op.target,) if isinstance(op, Load | Alloc | Inspect | InspectHeap | InspectBits) else ()


def written(op: Op, procedure: Procedure) -> tuple[Expr, ...]:
    """Return the variables that an op of `procedure` writes itself, without the writes of a callee."""
    return procedure.results if isinstance(op, Return) else targets(op)


def terms(op: Op) -> tuple[Expr, ...]:
    """Return the terms that an op evaluates."""
    if isinstance(op, Assume):
        return (op.condition,)
    if isinstance(op, Assign | Return):
        return op.values
    if isinstance(op, Call):
        return op.arguments
    if isinstance(op, Load | Free | InspectBits):
        return (op.address,)
    if isinstance(op, MarkBits):
        return (op.address, op.bits)
    if isinstance(op, Store):
        return (op.address, op.value)
    if isinstance(op, Inspect):
        return (op.address, op.size)
    return (op.size,) if isinstance(op, Alloc) else ()


def copies(op: Op, procedure: Procedure, program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Yield each variable that gets the value of a term, with the term. A call of a procedure gives values to
    its parameters, and its results to the targets of the call."""
    if isinstance(op, Assign | Return):
        yield from zip(written(op, procedure), op.values, strict=True)
    elif isinstance(op, Call):
        callee = program.procedures[op.procedure]
        yield from zip(callee.parameters, op.arguments, strict=True)
        yield from zip(op.targets, callee.results, strict=False)


# ------------------------------------------------------------------------------ whole procedures


def with_callees(program: Program, own: Callable[[Procedure], Iterable[Expr]]) -> dict[str, dict[Expr, None]]:
    """Return, by procedure, the globals among its `own` variables and those of the procedures it calls, in a
    fixed order. Mutually recursive procedures have the same ones."""
    shared = frozenset(program.globals)
    calls = call_graph(program)
    result: dict[str, dict[Expr, None]] = {}
    for group in components(tuple(calls), calls.__getitem__):  # callees first
        together: dict[Expr, None] = {}
        for name in group:
            together.update((x, None) for x in own(program.procedures[name]) if x in shared)
            for callee in calls[name]:
                together.update(result.get(callee, {}))
        result.update(dict.fromkeys(group, together))
    return result


def global_writes(program: Program) -> dict[str, dict[Expr, None]]:
    """Return, by procedure, the globals that it or a procedure it calls may write."""
    return with_callees(program, _own_writes)


def global_reads(program: Program) -> dict[str, dict[Expr, None]]:
    """Return, by procedure, the globals that it or a procedure it calls may read."""
    return with_callees(
        program, lambda p: (x for edge in p.edges for op in leaves(edge) for x in variables(*terms(op)))
    )


def procedure_writes(program: Program) -> dict[str, tuple[Expr, ...]]:
    """Return, by procedure, the globals and its own variables that an activation may write, those that
    callees write included. Results count as written."""
    shared = global_writes(program)
    return {
        name: tuple(dict.fromkeys((*procedure.results, *_own_writes(procedure), *shared[name])))
        for name, procedure in program.procedures.items()
    }


def _own_writes(procedure: Procedure) -> Iterator[Expr]:
    return (x for edge in procedure.edges for op in leaves(edge) for x in written(op, procedure))


def assigned_variables(program: Program) -> frozenset[Expr]:
    """Return the variables that get a value in another way than by `Alloc` or `Havoc`."""
    result: list[Expr] = []
    for procedure in program.procedures.values():
        result += (*procedure.parameters, *procedure.results)
        for edge in procedure.edges:
            if isinstance(edge.op, Assign | Call | Load | Inspect | InspectHeap | InspectBits):
                result += targets(edge.op)
    return frozenset(result)
