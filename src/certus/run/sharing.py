"""Checked facts for engines: ranges of variables, and invariants that engines running before have found.

Neither the range analysis nor another engine is trusted. The clauses that make the facts an inductive
invariant are derived by `check` and must be discharged before an engine gets the facts; otherwise it gets
none. Engines that use facts repeat them in their proofs.

Facts travel as text through the parent process, which does not read them. Locations go by their names: passes
are deterministic, so engines that get the same passes see the same program. Formulas at locations that a
program does not have, or over variables that are not in scope there, are left out. Ranges were checked by the
process that sent them, on the same program; invariants of engines are checked by the process that receives
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from certus.codec.terms import decode_terms, encode_terms
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.effects import has_floats
from certus.core.engine import BackMap, LateFacts, Task
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, Point
from certus.core.loops import loop_forest
from certus.core.program import Program, called
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.run.schedule import EARLIER

RANGES: Final = {True: "ranges", False: "ranges of procedures"}  # by whether calls were inlined
SHARE, SECONDS = 0.25, 5.0  # of the time that is left, for the analysis and the check together
SYMBOLIC: Final = 1.0  # seconds for symbolic bounds, within that time


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """The pass `ranges`: give the task facts. `compute` returns checked facts; with `late` they are computed
    when the engine first reads them."""

    budget: Budget
    statistics: Statistics
    compute: Callable[[Program, Budget, Statistics], Mapping[Point, Expr]] = field(
        default_factory=lambda: checked_ranges
    )
    late: bool = False

    @property
    def name(self) -> str:
        return "ranges"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not _has_loops(program):
            return task, BackMap.identity()
        if self.late:
            late = LateFacts(lambda: {**task.facts, **self._facts(program)})
            return replace(task, facts=late), BackMap.identity()
        return replace(task, facts={**task.facts, **self._facts(program)}), BackMap.identity()

    def _facts(self, program: Program) -> Mapping[Point, Expr]:
        left = self.budget.remaining()
        limit = Budget(SECONDS if left is None else min(SECONDS, SHARE * left))
        with self.statistics.timed("ranges"):
            facts = self.compute(program, limit, self.statistics)
        self.statistics.count("ranges.facts", len(facts))
        return facts


def _has_loops(program: Program) -> bool:
    return any(loop_forest(procedure).loops for procedure in program.procedures.values())


def checked_ranges(program: Program, budget: Budget, statistics: Statistics) -> Mapping[Point, Expr]:
    """Return the ranges of variables at loop heads, with those of floating-point numbers and symbolic bounds
    if these can be checked in time; nothing if not even the ranges of integers can."""
    from certus.analysis.ranges.facts import facts
    from certus.analysis.ranges.symbolic_facts import symbolic_facts

    try:
        ranges = facts(program, floats=False, budget=budget)
        if ranges and not are_inductive(program, ranges, budget, statistics):
            return {}
    except BudgetExceeded:
        return {}
    try:
        if has_floats(program):
            more = facts(program, budget=budget)
            ranges = _strengthened(program, ranges, more, budget, statistics)
        left = budget.remaining()
        limit = Budget(SYMBOLIC if left is None else min(SYMBOLIC, left))
        symbolic = {Point(at): each for at, each in symbolic_facts(program, limit).items()}
    except BudgetExceeded:
        return ranges
    statistics.count("ranges.symbolic", len(symbolic))
    return _strengthened(program, ranges, symbolic, limit, statistics)


def are_inductive(
    program: Program, formulas: Mapping[Point, Expr], budget: Budget, statistics: Statistics
) -> bool:
    """Return whether formulas at points without calls hold whenever control reaches these points, whatever
    the arguments that procedures are called with."""
    from certus.check.proofs.clauses import proof_clauses
    from certus.check.proofs.discharge import discharged_once
    from certus.check.proofs.expansion import Refused

    callees = {call.procedure for p in program.procedures.values() for e in p.edges for call in called(e.op)}
    summaries = {name: build.TRUE for name in program.procedures if name in callees}
    try:
        clauses = proof_clauses(replace(program, errors=()), Inductive(formulas, summaries))
        return all(discharged_once(clause, budget=budget, statistics=statistics) for clause in clauses)
    except Refused:
        return False


# ------------------------------------------------------------------------------ between processes


@dataclass(frozen=True, slots=True)
class Exchange:
    """The facts that other processes have sent, by their source, and the way to send some. `inlined`: whether
    calls are inlined in the program of this process."""

    received: Mapping[str, bytes] = field(default_factory=dict)
    send: Callable[[bytes], None] | None = None
    inlined: bool = True

    def ranges(self, program: Program, budget: Budget, statistics: Statistics) -> Mapping[Point, Expr]:
        """Return checked ranges at loop heads, strengthened by the invariants of other engines."""
        source = RANGES[self.inlined]
        if source in self.received:
            facts: Mapping[Point, Expr] = decode_facts(self.received[source], program)
            statistics.count("facts.received", len(facts))
        else:
            facts = self._earlier_ranges(source, program, budget, statistics)
            facts = facts or checked_ranges(program, budget, statistics)
            self.send_facts(source, facts)
        for engine, data in self.received.items():
            if engine.removeprefix(EARLIER) not in RANGES.values():
                facts = _strengthened(program, facts, decode_facts(data, program), budget, statistics)
        return facts

    def _earlier_ranges(
        self, source: str, program: Program, budget: Budget, statistics: Statistics
    ) -> Mapping[Point, Expr]:
        """Return the ranges that an earlier question found, if they are inductive in this program, too: it
        may be sliced differently."""
        data = self.received.get(f"{EARLIER}{source}")
        try:
            facts = {} if data is None else decode_facts(data, program)
            if facts and are_inductive(program, facts, budget, statistics):
                statistics.count("facts.received", len(facts))
                return facts
        except BudgetExceeded:
            pass
        return {}

    def send_facts(self, source: str, facts: Mapping[Point, Expr]) -> None:
        if self.send is not None:
            self.send(encode_facts(source, facts))


def _strengthened(
    program: Program,
    facts: Mapping[Point, Expr],
    more: Mapping[Point, Expr],
    budget: Budget,
    statistics: Statistics,
) -> Mapping[Point, Expr]:
    """Return both, if together they are inductive."""
    points = dict.fromkeys((*facts, *more))
    both = {p: build.and_(facts.get(p, build.TRUE), more.get(p, build.TRUE)) for p in points}
    try:
        if more and are_inductive(program, both, budget, statistics):
            statistics.count("facts.received", len(more))
            return both
    except BudgetExceeded:
        pass
    return facts


def encode_facts(source: str, facts: Mapping[Point, Expr]) -> bytes:
    places = [point.location.name for point in facts]
    data = {"source": source, "places": places, "terms": encode_terms(list(facts.values()))}
    return json.dumps(data).encode()


def source_of(data: bytes) -> str:
    """Return the source of encoded facts: an engine, or the range analysis."""
    source = json.loads(data)["source"]
    assert isinstance(source, str)
    return source


def decode_facts(data: bytes, program: Program) -> dict[Point, Expr]:
    """Return the facts that this program has locations and variables for."""
    return dict(_fitting(data, program))


def _fitting(data: bytes, program: Program) -> Iterator[tuple[Point, Expr]]:
    message = json.loads(data)
    for name, formula in zip(message["places"], decode_terms(message["terms"]), strict=True):
        location = program.location.get(name)
        if location is not None:
            procedure = program.procedures[location.procedure]
            if all(x in program.globals or x in procedure.variables for x in variables(formula)):
                yield Point(location), formula
