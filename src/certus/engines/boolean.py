"""The engine `boolean`: reachability of Boolean programs by BDDs with procedure summaries.

It decides programs whose variables are all Boolean, such as those that `certus abstract` prints (Wolff,
RocketScience, 2015, section 4). The search always ends: there are finitely many states. The reachable states
at loop heads, and the summaries at exits, are the proof; an execution to an error is the refutation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Engine, NoOptions, ProgramForm, ProgramKind, Slot, Task
from certus.core.evidence import Inductive, Point, Safe, Trace, Unsafe, Verdict
from certus.core.program import Location, Program
from certus.core.terms import Expr

if TYPE_CHECKING:
    from certus.analysis.boolean.reachability import Reachability


class BooleanReachability(Engine[NoOptions]):
    """The engine `boolean`."""

    name = "boolean"
    summary = "reachability of Boolean programs by BDDs with procedure summaries"
    evidence = (Inductive, Trace)
    form = ProgramForm.PROCEDURES
    explicit_proofs = True
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {ProgramKind.BOOLEAN: Slot(10)}

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program) and not task.subject.is_boolean:
            message = f"{self.name} decides programs whose variables are all Boolean"
            return Diagnostic("not-boolean", message, Severity.NOTE, hint="try --engine auto")
        return super().unsupported(task)

    def run(self, task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.analysis.boolean.reachability import Reachability
        from certus.analysis.boolean.states import States

        program = task.subject
        assert isinstance(program, Program)
        reached = Reachability(States(program), budget)
        error = reached.error()
        statistics.counters["boolean.items"] = sum(map(len, reached.items.values()))
        return Safe(proof(program, reached)) if error is None else Unsafe(reached.trace(error))


def proof(program: Program, reached: Reachability) -> Inductive:
    """Return the states at loop heads and entries, and the summaries, as formulas."""
    from certus.core.loops import callees_of, loop_forest

    regions = reached.states.regions

    def states_at(location: Location) -> Expr:
        return regions.formula(reached.regions.get(location, regions.nothing))

    heads = (at for p in program.procedures.values() for at in loop_forest(p).heads)
    invariants = {Point(at): states_at(at) for at in heads}
    summaries: dict[str, Expr] = {}
    for name in callees_of(program):
        procedure = program.procedures[name]
        invariants[Point(procedure.entry)] = states_at(procedure.entry)
        local = [x for x in procedure.variables if x not in procedure.results]
        exits = regions.without(reached.regions.get(procedure.exit, regions.nothing), local)
        summaries[name] = regions.formula(exits)
    return Inductive(invariants, summaries)
