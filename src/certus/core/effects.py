"""What statements and procedures read and write, statements over other terms and variables, and whether
statements fit their operands: the one definition for passes, analyses and encodings.

Memory is not a variable here: `Load` reads its address, `Store` its address and its value, `Inspect` its
address and its size. `check` computes what a procedure may write by its own code (`check.proofs.expansion`),
because it must not repeat a mistake made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from certus.core import build
from certus.core.errors import Inconsistent
from certus.core.loops import call_graph, components
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Choice,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    MarkBits,
    MemoryOp,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
    Store,
    leaves,
)
from certus.core.terms import BOOL, FLOATS, INT, Expr, MachineSort
from certus.core.walk import Substitution, postorder, variables

SKIP: Final = Assume(build.TRUE)


def has_floats(program: Program) -> bool:
    """Return whether a statement computes with floating-point numbers."""
    operands = (t for edge in program.edge.values() for op in leaves(edge.op) for t in terms(op))
    return any(term.kind in FLOATS for term in postorder(*operands))


def uses_memory(program: Program) -> bool:
    """Return whether the program has a memory operation."""
    return any(
        isinstance(op, MemoryOp)
        for procedure in program.procedures.values()
        for edge in procedure.edges
        for op in leaves(edge)
    )


def single_statements(program: Program) -> bool:
    """Tell whether every edge of a program is a single statement, not a block."""
    edges = (edge for procedure in program.procedures.values() for edge in procedure.edges)
    return not any(isinstance(edge.op, Seq | Choice) for edge in edges)


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


def ordered(variables: Iterable[Expr], wanted: Mapping[Expr, object] | frozenset[Expr]) -> tuple[Expr, ...]:
    """Return the wanted variables, in the order of `variables`."""
    return tuple(x for x in variables if x in wanted)


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


def expect_basic(edge: Edge, program: Program) -> None:
    """Raise `Inconsistent` for operations that no run can execute."""
    op = edge.op
    procedure = program.procedures[edge.source.procedure]
    if isinstance(op, Call):
        callee = program.procedures.get(op.procedure)
        if callee is None:
            raise Inconsistent(f"{edge!r} calls a procedure that does not exist")
        fits = len(op.arguments) == len(callee.parameters)
        fits = fits and len(op.targets) in (0, len(callee.results))
    elif isinstance(op, Return):
        fits = len(op.values) == len(procedure.results) and edge.target is procedure.exit
    elif isinstance(op, Assign):
        fits = len(op.targets) == len(op.values)
    elif isinstance(op, (Assume, Havoc)):
        fits = True
    elif isinstance(op, (Load, Store)):
        accessed = op.target.sort if isinstance(op, Load) else op.value.sort
        fits = isinstance(accessed, MachineSort) and accessed.width % 8 == 0 and op.address.sort is INT
    elif isinstance(op, (Alloc, Free)):
        fits = isinstance(op, Free) or (op.target.sort is INT and op.size.sort is INT and op.align > 0)
    elif isinstance(op, (InspectBits, MarkBits)):
        bits = op.target.sort if isinstance(op, InspectBits) else op.bits.sort
        fits = isinstance(bits, MachineSort) and not bits.width % 8 and not bits.signed
        fits = fits and op.address.sort is INT
    elif isinstance(op, (Inspect, InspectHeap)):
        asked = (op.address, op.size) if isinstance(op, Inspect) else ()
        fits = op.target.sort is BOOL and all(term.sort is INT for term in asked)
    else:
        raise Inconsistent(f"{edge!r} is a block; only single operations can be run")
    if not fits:
        raise Inconsistent(f"{edge!r} does not fit its operands, or the procedure it calls or returns from")
    if not isinstance(op, Assume) and len(procedure.successors[edge.source]) > 1:
        raise Inconsistent(f"{edge!r} is one of several edges, but is not a condition")
