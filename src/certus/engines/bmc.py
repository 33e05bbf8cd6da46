"""Bounded model checking (seed 004, section 2.3).

The program is unrolled block by block, with growing bounds on how often a loop head is entered and how
deep a recursive procedure is active. For each bound a solver is asked for an execution that
reaches an error. The first found is made the shortest: with the least bound, and among those with
the fewest statements. If no execution goes beyond the bound, the program is safe, and the bounds are
the proof; where that is hard to tell, it is not asked for every bound. Loops that are known to count go to
their end at once (`logic.pace`).

Invariant: no execution within `clear` reaches an error. Sound because the unrolled formula holds
exactly the executions within the bound; both answers are checked again by `validate`.
Says Unknown at the bound asked for, at a limit, or where the solver gives up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace, Unrolling
from certus.core.loops import LoopBound
from certus.core.program import Location, Program
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.logic.narrowing import Narrowing
from certus.logic.pace import Pace
from certus.logic.solver import Answer
from certus.logic.unrolling import Limits, UnrolledProgram, Visit

if TYPE_CHECKING:
    from certus.logic.patient import PatientSolver

SHORTENING = 5.0  # seconds that the search for a shorter counterexample may take in any case
SELDOM = 3  # bounds in a row for which it is not asked whether they are enough, where that is hard to tell


@dataclass(frozen=True, slots=True)
class Options:
    """`bound`: the most entries of a loop head or simultaneous activations of a recursive procedure
    to look at; 0 means without end. `shortest`: whether to look for the fewest statements. `narrow`: whether
    to look for executions with small numbers first (`logic.narrowing`). `within`: whether to tell the solver
    the ranges of executions within each bound (`analysis.ranges.bounded`). `facts`: whether to get the
    ranges of all executions, which take longer to find than most short counterexamples. `vectors`: whether
    values go on from there in as many bits as these ranges take."""

    bound: int = 0
    shortest: bool = True
    narrow: bool = False
    within: bool = False
    facts: bool = False
    vectors: bool = False


class BoundedModelChecking:
    """The engine `bmc`."""

    name = "bmc"
    summary = "bounded model checking of large blocks, shortest counterexample first"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "bmc treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.logic.patient import PatientSolver, Pause

        assert isinstance(task.subject, Program)
        solver = PatientSolver(statistics, cores=options.narrow)
        unrolled = UnrolledProgram(task.subject, solver, task.bounds)
        unrolled.known = {point.location: fact for point, fact in task.facts.items() if not point.calls}
        unrolled.narrows = options.vectors
        narrowing = Narrowing(solver) if options.narrow else None
        search = _Search(unrolled, solver, budget, narrowing)
        pace = Pace(task.subject, task.bounds, options.bound)
        within = _Within(task, budget) if options.within else None
        clear, bound, pause = 0, 1, Pause(most=SELDOM)
        statistics.progress("unrolling to bound 1")
        while True:
            unrolled.expand(pace.limits(bound), budget)
            if within is not None:
                unrolled.tell_within(within.known(pace.limits(bound)))
            statistics.counters["bmc.bound"] = bound
            answer = search.errors()
            if answer is Answer.SAT:
                return Unsafe(
                    search.shortest(clear, pace.reach(bound)) if options.shortest else search.trace()
                )
            if answer is Answer.UNKNOWN:
                budget.check()
                return _gave_up(clear, bound)
            clear = bound
            if clear == options.bound or pause.is_over():
                beyond = search.beyond()
                if not beyond:
                    return Safe(search.bounds())
                pause.after(solver.was_easy)
                if clear == options.bound:
                    return _bound_reached(clear, beyond, task.bounds)
                place = _place(beyond[0], task.bounds)
            bound = pace.next(clear)
            statistics.progress(f"no error within bound {clear}; unrolling {place} to bound {bound}")


class _Within:
    """Ranges at loop heads in executions within a bound."""

    def __init__(self, task: Task, budget: Budget) -> None:
        from certus.analysis.ranges.result import analyse

        assert isinstance(task.subject, Program)
        self.ranges = analyse(task.subject, budget=budget)
        self.budget = budget

    def known(self, limits: Limits) -> dict[Location, Expr]:
        from certus.analysis.ranges.bounded import bounded_ranges
        from certus.analysis.ranges.facts import heads, range_formula

        bound = max(limits.bound, *limits.further.values(), 1)
        found = bounded_ranges(self.ranges, bound, budget=self.budget)
        return {
            at: build.conjunction(range_formula(x, r) for x, r in found.at(at).items())
            for at in heads(self.ranges.program)
            if at in found.version.at and found.reaches(at)
        }


@dataclass(slots=True)
class _Search:
    """Questions to the unrolled program."""

    unrolled: UnrolledProgram
    solver: PatientSolver
    budget: Budget
    narrowing: Narrowing | None = None
    begun: float = field(default_factory=time.monotonic)

    def errors(self, *also: Expr) -> Answer:
        """Whether an execution unrolled so far reaches an error (and satisfies `also`)."""
        unrolled = self.unrolled
        if not unrolled.errors:
            return Answer.UNSAT
        literals = [unrolled.some([e.selector for e in unrolled.errors]), *also, *unrolled.closed()]
        if self.narrowing is None or also:
            return self.solver.check(literals, budget=self.budget, purpose="bmc")
        self.narrowing.cover(unrolled.symbols)
        return self.narrowing.check(literals, budget=self.budget, purpose="bmc.narrow")

    def beyond(self) -> list[Visit]:
        """Visits beyond the bound, one of which some execution may come to; none if the bound is enough."""
        waiting = self.unrolled.waiting
        if not waiting:
            return []
        some = self.unrolled.some([visit.literal for visit in waiting])
        answer = self.solver.check(
            [some, *self.unrolled.closed()], budget=self.budget, purpose="bmc.complete"
        )
        if answer is Answer.SAT:
            return [visit for visit in waiting if self.solver.value(visit.literal)]
        return [] if answer is Answer.UNSAT else waiting

    def bounds(self) -> Unrolling:
        loops = {loop.head.name: times for loop, times in self.unrolled.entered.items()}
        return Unrolling(loops, dict(self.unrolled.activated))

    def trace(self) -> Trace:
        return self.unrolled.trace(self._scalar)

    def _scalar(self, term: Expr) -> Value:
        value = self.solver.value(term)
        assert not isinstance(value, ArrayValue), "inputs are scalars"
        return value

    def shortest(self, clear: int, bound: int) -> Trace:
        """The execution to an error with the least bound above `clear`, then the fewest statements.

        The last query found one within `bound`. The effort of each further one is limited, and all together
        have a third of the time that is left, and at most as long as it took so far or `SHORTENING`: what a
        limit leaves unfinished is not minimal."""
        self.solver.turns = 1
        self.budget = self.budget.part(1 / 3, at_most=max(time.monotonic() - self.begun, SHORTENING))
        found = self.trace()
        try:
            for trace in self._shorter(clear, bound):
                found = trace
        except BudgetExceeded as limit:
            if limit.limit == "interrupt":
                raise
        return found

    def _shorter(self, clear: int, bound: int) -> Iterator[Trace]:
        """Executions to an error, each at least as good as the one before."""
        within: list[Expr] = []
        least = clear + 1
        while least < bound:
            middle = (least + bound) // 2
            closer = [build.not_(gate.literal) for gate in self.unrolled.gates() if gate.measure > middle]
            if self._there_is(*closer):
                yield self.trace()
                within, bound = closer, middle
            else:
                least = middle + 1
        self.solver.push()
        length = self.unrolled.lengths()
        least, most = 0, 0
        if self._there_is(*within):
            yield self.trace()
            most = int(self._scalar(length))
        while least < most:
            middle = (least + most) // 2
            if self._there_is(*within, build.le(length, build.constant(middle, length.sort))):
                yield self.trace()
                most = int(self._scalar(length))
            else:
                least = middle + 1

    def _there_is(self, *also: Expr) -> bool:
        """Whether there is such an execution to an error. The first question that is too hard is the last."""
        answer = self.errors(*also)
        if answer is Answer.UNKNOWN:
            raise BudgetExceeded("effort")
        return answer is Answer.SAT


def _place(visit: Visit, bounds: Mapping[str, LoopBound]) -> str:
    """What a visit enters again, for people."""
    if visit.location is visit.frame.procedure.entry:
        return f"the recursion of {visit.frame.procedure.name}"
    span = visit.location.loop or visit.location.span
    place = f"the loop at {visit.location.name}" if span is None else f"the loop at line {span.line}"
    known = bounds.get(visit.location.name)
    return place if known is None else f"{place} (entered {_times(known)})"


def _times(known: LoopBound) -> str:
    return f"{known.entries} times" if known.exact else f"at most {known.entries} times"


def _bound_reached(bound: int, beyond: list[Visit], bounds: Mapping[str, LoopBound]) -> Unknown:
    visit = beyond[0]
    recursive = visit.location is visit.frame.procedure.entry
    what = f"call {visit.frame.procedure.name} deeper" if recursive else "enter this loop more often"
    message, hint = f"no execution within bound {bound} fails, but some {what}", "try a larger --bound"
    known = bounds.get(visit.location.name)
    if known is not None:
        message, hint = f"{message}, {_times(known)}", f"try --bound {known.entries}"
    span = visit.location.loop or visit.location.span
    return Unknown(Diagnostic("bound-reached", message, Severity.NOTE, span, hint))


def _gave_up(clear: int, bound: int) -> Unknown:
    message = f"no execution within bound {clear} fails; the solver gave no answer for bound {bound}"
    return Unknown(Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine"))
