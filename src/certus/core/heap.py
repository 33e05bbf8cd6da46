"""Objects on the heap: the variables that describe them where memory operations have been replaced, and where
a program may have lost some. `check` needs the latter to accept proofs that no object is lost, and `passes`
to offer formulas that help."""

from __future__ import annotations

from dataclasses import dataclass

from certus.core import build
from certus.core.loops import call_graph
from certus.core.program import Alloc, Call, Location, Program, leaves
from certus.core.terms import Expr
from certus.core.vocabulary import LEAK


@dataclass(frozen=True, slots=True)
class Link:
    """A field that holds addresses of numbered objects. `memory` has its contents by object; an address is
    the number of an object of the region `target` plus `phase`. `holder[b]` is the object whose field was
    last set to an address of the object b, or 0 (`encoding.watching`)."""

    memory: Expr
    target: int
    phase: Expr
    holder: Expr

    def object_of(self, holder: Expr) -> Expr:
        """Return the number of the object whose address another holds."""
        return build.sub(build.select(self.memory, holder), self.phase)


@dataclass(frozen=True, slots=True)
class NumberedObjects:
    """The objects of a region that have the numbers from `first` to `end`, without `end`. `dead` has 1 for
    those that have ended; None if none ever does. `fields` has the contents of fields without addresses."""

    first: Expr
    end: Expr
    dead: Expr | None
    links: tuple[Link, ...] = ()
    fields: tuple[Expr, ...] = ()

    @property
    def arrays(self) -> tuple[Expr, ...]:
        """All arrays by number."""
        links = (array for link in self.links for array in (link.memory, link.holder))
        return (*links, *self.fields, *(() if self.dead is None else (self.dead,)))

    def live(self, number: Expr) -> Expr:
        """Return whether a number is that of a live object."""
        conditions = [build.le(self.first, number), build.lt(number, self.end)]
        if self.dead is not None:
            flag = build.select(self.dead, number)
            conditions.append(build.eq(flag, build.constant(0, flag.sort)))
        return build.conjunction(conditions)


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
