"""Bounded model checking (Mertens 2014, section 2.3).

The program is unrolled block by block, with growing bounds on the entries of a loop head and the simultaneous
activations of a recursive procedure. For each bound a solver searches for an execution that reaches an error.
The first one is minimised: the least bound, then the fewest statements. If no execution exceeds the bound,
the program is safe and the bounds are the proof; where this query is hard, it is skipped for some bounds.

A small counting loop is unrolled completely at the first bound: then the code after it is reachable at once,
and there is only one exit to continue from. A large counting loop is unrolled completely at the second bound
if it contains no error, as unrolling a part of it would show nothing. All other loops are unrolled to the
bound.

Invariant: no execution within the bound `clear` reaches an error. Soundness: the unrolled formula represents
exactly the executions within the bound. `check` checks both answers again.
Answers Unknown at the given bound, at a limit, or if the solver gives up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Task
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Safe, Trace, Unknown, Unrolling, Unsafe, Verdict
from certus.core.loops import Loop, LoopBound
from certus.core.program import Call, Program
from certus.core.solver import Answer
from certus.core.terms import Expr, Value
from certus.core.values import ArrayValue
from certus.encoding.narrowing import Narrowing
from certus.encoding.unroller import Limits, UnrolledProgram, Visit
from certus.encoding.unrolling import Shape, shapes
from certus.engines.bmc import Options
from certus.solvers.portfolio import Backoff, SolverPortfolio

SMALL: Final = 200  # unrolled edges of a loop that is unrolled completely at the first bound
LARGE: Final = 20_000  # likewise at the second bound, without an error in the loop
SHORTENING = 5.0  # seconds that the search for a shorter counterexample may always take
SELDOM = 3  # bounds in a row without the query whether an execution exceeds them, if that is hard


class BoundSchedule:
    """The limits of all loops for each bound. `most`: limit for every loop (0: none)."""

    def __init__(self, program: Program, bounds: Mapping[str, LoopBound], most: int) -> None:
        self._bounds = bounds
        self._most = most
        self._small: dict[str, int] = {}
        self._large: dict[str, int] = {}
        for shape in shapes(program).values():
            self._classify(shape)

    def limits(self, bound: int) -> Limits:
        return Limits(bound, self._small if bound == 1 else {**self._small, **self._large})

    def next(self, bound: int) -> int:
        """Return the bound after this one."""
        following = bound + max(1, bound // 4)
        return min(following, self._most or following)

    def reach(self, bound: int) -> int:
        """Return the maximal number of entries of any loop at a bound."""
        return max((bound, *self.limits(bound).further.values()))

    def _classify(self, shape: Shape) -> None:
        """Choose the loops of a procedure to unroll completely, by their cost."""
        cost: dict[Loop | None, int] = dict.fromkeys((*shape.forest.loops, None), 0)
        with_calls: set[Loop | None] = set()  # loops that contain a call
        for edge in shape.procedure.edges:
            loop = shape.forest.innermost(edge.source)
            cost[loop] += 1
            if isinstance(edge.op, Call):
                with_calls.add(loop)
        for loop in reversed(shape.forest.loops):  # inner ones first
            bound = self._bounds.get(loop.head.name)
            if bound is not None and loop not in with_calls:
                cost[loop] *= self._iterations(loop, bound, cost[loop])
            cost[loop.parent] += cost[loop]
            if loop in with_calls:
                with_calls.add(loop.parent)

    def _iterations(self, loop: Loop, bound: LoopBound, edges: int) -> int:
        """Return how often to unroll a loop whose iterations have `edges` edges; 1 if it stays a loop."""
        entries = min(bound.entries, self._most or bound.entries)
        if entries * edges <= SMALL:
            self._small[loop.head.name] = entries
        elif bound.exact and not bound.fails and entries * edges <= LARGE:
            self._large[loop.head.name] = entries
        else:
            return 1
        return entries


def run(task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    """For growing bounds: unroll, search for an error within the bound, and for an execution beyond it."""
    assert isinstance(task.subject, Program)
    solver = SolverPortfolio(statistics, cores=options.narrow)
    unrolled = UnrolledProgram(task.subject, solver, task.bounds)
    narrowing = Narrowing(solver) if options.narrow else None
    search = _Search(unrolled, solver, budget, narrowing)
    schedule = BoundSchedule(task.subject, task.bounds, options.bound)
    clear, bound, backoff = 0, 1, Backoff(most=SELDOM)
    statistics.progress("unrolling to bound 1")
    while True:
        unrolled.expand(schedule.limits(bound), budget)
        statistics.counters["bmc.bound"] = bound
        answer = search.errors()
        if answer is Answer.SAT:
            return Unsafe(
                search.shortest(clear, schedule.reach(bound)) if options.shortest else search.trace()
            )
        if answer is Answer.UNKNOWN:
            budget.check()
            return _gave_up(clear, bound)
        clear = bound
        if clear == options.bound or backoff.is_over():
            beyond = search.beyond()
            if not beyond:
                return Safe(search.bounds())
            backoff.record(solver.was_easy)
            if clear == options.bound:
                return _bound_reached(clear, beyond, task.bounds)
            place = _place(beyond[0], task.bounds)
        bound = schedule.next(clear)
        statistics.progress(f"no error within bound {clear}; unrolling {place} to bound {bound}")


@dataclass(slots=True)
class _Search:
    """Queries about the unrolled program."""

    unrolled: UnrolledProgram
    solver: SolverPortfolio
    budget: Budget
    narrowing: Narrowing | None = None
    begun: float = field(default_factory=time.monotonic)

    def errors(self, *also: Expr) -> Answer:
        """Decide whether an execution unrolled so far reaches an error (and satisfies `also`)."""
        unrolled = self.unrolled
        if not unrolled.errors:
            return Answer.UNSAT
        literals = [unrolled.some([e.selector for e in unrolled.errors]), *also, *unrolled.closed()]
        if self.narrowing is None or also:
            return self.solver.check(literals, budget=self.budget, purpose="bmc")
        self.narrowing.cover(unrolled.symbols)
        return self.narrowing.check(literals, budget=self.budget, purpose="bmc.narrow")

    def beyond(self) -> list[Visit]:
        """Return visits beyond the bound, one of which an execution may reach; none if the bound is
        enough."""
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
        """Return the execution to an error with the least bound above `clear`, then the fewest statements.

        The last query had one within `bound`. The effort of each further query is limited. All together take
        at most a third of the remaining time, and at most the time so far or `SHORTENING`; if a limit stops
        them, the execution may not be minimal."""
        self.solver.turns = 1
        self.budget = self.budget.part(1 / 3, at_most=max(time.monotonic() - self.begun, SHORTENING))
        best = self.trace()
        try:
            for trace in self._shorter(clear, bound):
                best = trace
        except BudgetExceeded as limit:
            if limit.limit == "interrupt":
                raise
        return best

    def _shorter(self, clear: int, bound: int) -> Iterator[Trace]:
        """Yield executions to an error, each at least as good as the one before."""
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
        """Decide whether there is such an execution. Raises `BudgetExceeded` if the solver gives up."""
        answer = self.errors(*also)
        if answer is Answer.UNKNOWN:
            raise BudgetExceeded("effort")
        return answer is Answer.SAT


def _place(visit: Visit, bounds: Mapping[str, LoopBound]) -> str:
    """Describe the loop or recursion that a visit enters again."""
    if visit.location is visit.frame.procedure.entry:
        return f"the recursion of {visit.frame.procedure.name}"
    span = visit.location.loop or visit.location.span
    place = "a loop that begins the program" if span is None else f"the loop at line {span.line}"
    known_bound = bounds.get(visit.location.name)
    return place if known_bound is None else f"{place} (entered {_times(known_bound)})"


def _times(known_bound: LoopBound) -> str:
    return f"{known_bound.entries} times" if known_bound.exact else f"at most {known_bound.entries} times"


def _bound_reached(bound: int, beyond: list[Visit], bounds: Mapping[str, LoopBound]) -> Unknown:
    visit = beyond[0]
    recursive = visit.location is visit.frame.procedure.entry
    what = f"call {visit.frame.procedure.name} deeper" if recursive else "enter this loop more often"
    message, hint = f"no execution within bound {bound} fails, but some {what}", "try a larger --bound"
    known_bound = bounds.get(visit.location.name)
    if known_bound is not None:
        message, hint = f"{message}, {_times(known_bound)}", f"try --bound {known_bound.entries}"
    span = visit.location.loop or visit.location.span
    return Unknown(Diagnostic("bound-reached", message, Severity.NOTE, span, hint))


def _gave_up(clear: int, bound: int) -> Unknown:
    message = f"no execution within bound {clear} fails; the solver gave no answer for bound {bound}"
    return Unknown(Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine"))
