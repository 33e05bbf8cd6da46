"""Where a program may have objects on the heap. `check` needs it to accept proofs that no object is lost, and
`passes` to offer formulas that help."""

from __future__ import annotations

from certus.core.loops import call_graph
from certus.core.program import Alloc, Call, Location, Program, leaves
from certus.core.vocabulary import LEAK


def endangered(program: Program) -> frozenset[Location]:
    """Return the locations where an object may be lost already: those that control may come to after an
    allocation on the heap. None if the program is not asked about lost objects."""
    if not any(site.kind == LEAK for site in program.errors):
        return frozenset()
    allocating = _allocating(program)
    work: list[Location] = []
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            for op in leaves(edge):
                heap = isinstance(op, Alloc) and op.storage == "heap"
                if heap or (isinstance(op, Call) and op.procedure in allocating):
                    work.append(edge.target)
    reached = set(work)
    while work:
        at = work.pop()
        for edge in program.procedures[at.procedure].successors[at]:
            calls = [op.procedure for op in leaves(edge) if isinstance(op, Call)]
            for target in (edge.target, *(program.procedures[name].entry for name in calls)):
                if target not in reached:
                    reached.add(target)
                    work.append(target)
    return frozenset(reached)


def _allocating(program: Program) -> frozenset[str]:
    """Return the procedures that may allocate objects on the heap, themselves or by a call."""
    result = {
        name
        for name, procedure in program.procedures.items()
        for edge in procedure.edges
        for op in leaves(edge)
        if isinstance(op, Alloc) and op.storage == "heap"
    }
    callers: dict[str, list[str]] = {name: [] for name in program.procedures}
    for name, callees in call_graph(program).items():
        for callee in callees:
            callers[callee].append(name)
    work = sorted(result)
    while work:
        for caller in callers[work.pop()]:
            if caller not in result:
                result.add(caller)
                work.append(caller)
    return frozenset(result)
