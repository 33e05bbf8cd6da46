"""The engine `predicate`: counterexample-guided abstraction refinement (seed 001, Figure 1).

States are abstracted to the truth of predicates, which belong to locations. The abstract states that
steps (large blocks, seed 004; calls by procedure summaries) can reach are computed as BDDs. If none is at an
error, the regions at loop heads and the summaries at exits are an inductive proof. Otherwise a
shortest path to an error is tried on the program: an execution along it is a counterexample; if there
is none, interpolants along the path give predicates that exclude it, and the search goes on.

Invariant: the regions cover all states reached by executions whose steps have been followed. Sound
because abstract successors cover all concrete ones, and because a counterexample is executed;
both answers are checked again by `validate`.
Says Unknown at the number of refinements asked for, where a loop is unrolled round by round without end,
and where a solver finds no interpolants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Inconsistent
from certus.core.evidence import Inductive, Point, Trace
from certus.core.loops import loop_forest
from certus.core.program import Location, Program
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.core.walk import variables
from certus.engines.predicate.abstraction import SECONDS, Abstraction, Group, Manner, Precision
from certus.engines.predicate.copies import Copies
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.findings import SHOWN, findings, refinement
from certus.engines.predicate.paths import Executed, PathFormula, flatten
from certus.engines.predicate.ranged import Ranged
from certus.engines.predicate.reachability import Item, Reachability
from certus.engines.predicate.refinement import Limits, Refinement, step_chain
from certus.engines.predicate.steps import Steps, steps_of
from certus.engines.predicate.unrolled import Unrolled
from certus.logic.bdd import Regions
from certus.logic.solver import Answer

_MANY = 10**15  # abstract states are not counted beyond this


@dataclass(frozen=True, slots=True)
class Options:
    """`refinements`: the most paths to exclude; 0 means without end. `abstraction`: whether predicates are
    abstracted jointly (boolean), or each alone until a path comes up again (cartesian). `minterms`: the
    most valuations to enumerate for a group of predicates in one abstraction. `rounds`: of a loop, each
    with new predicates, after which the search counts as diverging; 0 means never."""

    refinements: int = 0
    minterms: int = 512
    abstraction: Manner = "boolean"
    rounds: int = 40


class PredicateAbstraction:
    """The engine `predicate`."""

    name = "predicate"
    summary = "predicate abstraction of large blocks, summaries, refinement by interpolants"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "predicate treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        precision: dict[Location, Precision] = {}
        try:
            return self.search(task, options, budget, statistics, precision)
        finally:
            assert isinstance(task.subject, Program)
            statistics.findings += findings(task.subject, precision)

    def search(
        self,
        task: Task,
        options: Options,
        budget: Budget,
        statistics: Statistics,
        precision: dict[Location, Precision],
    ) -> Verdict:
        """Like `run`, from the predicates in `precision`, where those found are kept, whatever the end."""
        assert isinstance(task.subject, Program)
        search = _Search(task.subject, options, budget, statistics, usable(task), precision)
        while True:
            error = search.reach()
            if error is None:
                return Safe(search.proof())
            path = search.path(error)
            if isinstance(path, Trace):
                return Unsafe(path)
            if isinstance(path, Diagnostic):
                return Unknown(path)
            refused = search.refine(error, path)
            if refused is not None:
                return Unknown(refused)


@dataclass(slots=True, eq=False)
class _Search:
    """The phases of the loop, and what lasts from one round to the next."""

    program: Program
    options: Options
    budget: Budget
    statistics: Statistics
    facts: Mapping[Point, Expr]  # invariants that were checked
    precision: dict[Location, Precision] = field(default_factory=dict)
    steps: Steps = field(init=False)
    abstraction: Abstraction = field(init=False)
    copies: Copies = field(init=False)
    values: Enumerations = field(init=False)
    ranged: Ranged = field(init=False)
    reached: Reachability = field(init=False)
    executed: Executed = field(default_factory=Executed)  # what all questions about paths have in common
    said: dict[Location, dict[Expr, None]] = field(default_factory=dict)  # predicates as they were found
    aside: list[tuple[Location, Group]] = field(default_factory=list)  # found, and said in other words
    refinement: Refinement = field(init=False)
    unrolled: Unrolled = field(init=False)
    met: dict[tuple[tuple[str, int], ...], None] = field(default_factory=dict)  # the paths excluded

    def __post_init__(self) -> None:
        with self.statistics.timed("predicate.blocks"):
            self.steps = steps_of(self.program, {p.location: fact for p, fact in self.facts.items()})
        self.copies = Copies(self.program)
        self.values = Enumerations(self.program)
        self.ranged = Ranged(self.program, self.facts)
        limits = Limits(budget=self.budget, statistics=self.statistics, terms=self.executed.terms)
        self.refinement = Refinement(self.steps, limits, self.values)
        self.unrolled = Unrolled(self.program.source_names)
        self.abstraction = Abstraction(
            Regions(), self.options.minterms, self.budget, self.statistics, self.options.abstraction
        )

    def reach(self) -> Item | None:
        """Reachability under the present precision: an error, if one is reached."""
        self.reached = Reachability(self.steps, self.abstraction, self.precision)
        seconds = self.statistics.seconds
        before = seconds.get(SECONDS, 0.0)
        try:
            with self.statistics.timed("predicate.reachability"):
                error = self.reached.error()
            self.statistics.counters["predicate.states"] = self._states()
            return error
        finally:  # the phases apart: what reachability costs beside abstraction
            seconds["predicate.reachability"] -= seconds.get(SECONDS, 0.0) - before

    def _states(self) -> int:
        """The abstract states reached: valuations of predicates, at locations that have any."""
        regions = self.abstraction.regions
        found = ((at, self.reached.regions.get(at, regions.nothing)) for at in self.precision)
        return min(sum(regions.count(region, self.precision[at].predicates) for at, region in found), _MANY)

    def proof(self) -> Inductive:
        """The regions at loop heads and entries of callees, and the summaries."""
        invariants = {Point(at): self._formula(at) for at in self._heads()}
        summaries: dict[str, Expr] = {}
        for exit_ in self.steps.over:
            procedure = self.steps.procedure(exit_)
            invariants[Point(procedure.entry)] = self._formula(procedure.entry)
            summaries[procedure.name] = self._formula(exit_)
        for point, fact in self.facts.items():
            invariants[point] = build.and_(self._formula(point.location), fact)
        return Inductive(invariants, summaries)

    def _heads(self) -> tuple[Location, ...]:
        return tuple(at for p in self.program.procedures.values() for at in loop_forest(p).heads)

    def _formula(self, location: Location) -> Expr:
        region = self.reached.regions.get(location)
        return build.FALSE if region is None else self.abstraction.regions.formula(region)

    def path(self, error: Item) -> Trace | PathFormula | Diagnostic:
        """An execution along the path to `error`; without one the path itself."""
        with self.statistics.timed("predicate.trace"):
            actions = flatten(error, self.budget)
            path = PathFormula(self.program, actions, self.executed)
            found = path.trace(self.budget, self.statistics)
        if isinstance(found, Trace):
            return found
        if found is Answer.UNSAT:
            return path
        self.budget.check()
        message = f"the solver cannot tell whether a path of {len(actions)} blocks to an error is feasible"
        return Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine")

    def refine(self, error: Item, path: PathFormula) -> Diagnostic | None:
        """Exclude the path from the abstraction; what stands in the way, if so."""
        number = self.statistics.counters["predicate.refinements"]
        if number and number == self.options.refinements:
            return self._gave_up("refinements-reached", f"no proof after {number} refinements")
        self.statistics.count("predicate.refinements")
        key = tuple((a.what, -1 if a.step.edge is None else a.step.edge.index) for a in path.actions)
        if key in self.met:
            return self._repeated(error)
        self.met[key] = None
        with self.statistics.timed("predicate.refinement"):
            kept = path.core(self.budget, self.statistics)
            found = self.refinement.new_predicates(error, kept)
        if found is None:
            return self._gave_up(
                "no-interpolants", f"no interpolants for a path of {len(path.actions)} blocks"
            )
        passed, new = [action.node[0].location for action in path.actions], self._add(found)
        self.unrolled.note(passed, new)
        if len(self.statistics.refinements) < SHOWN:
            self.statistics.refinements.append(refinement(self.program, passed, new))
        self.statistics.progress(self._newest())
        message = self.unrolled.message(self.options.rounds)
        if message is None:
            return None
        return replace(self._gave_up("diverging", message), span=self.unrolled.span())

    def _repeated(self, error: Item) -> Diagnostic | None:
        """A path that came up again was abstracted too coarsely: from now on exactly."""
        if self.aside:  # it may need what was said by the values of variables
            for location, group in self.aside:
                self.precision[location] = self.precision[location].with_group(group)
            self.aside.clear()
            return None
        coarse = [step for step in step_chain(error) if step not in self.abstraction.exact]
        if not coarse and self.statistics.counters["predicate.undecided"]:
            return self._gave_up("solver-gave-up", "the solver cannot tell what some blocks do")
        if not coarse:
            raise Inconsistent("a path was found again that its interpolants exclude")
        self.abstraction.exact.update(dict.fromkeys(coarse))
        self.statistics.count("predicate.repeated")
        return None

    def _add(self, found: list[tuple[Location, Group]]) -> dict[Location, list[Expr]]:
        """Add predicates; those that were not there, by location."""
        new: dict[Location, list[Expr]] = {}
        for location, group in found:
            for copy in self.copies.of(location, group):
                before = self.precision.get(copy, Precision())
                self.said.setdefault(copy, {}).update(dict.fromkeys(group))
                narrowed = self.ranged.spelled(copy, group)
                spelled = self.ranged.spelled(copy, self.values.spelled(narrowed))
                self.abstraction.regions.beside(spelled)
                if any(p not in spelled for p in narrowed):
                    self.aside.append((copy, narrowed))
                further = self.ranged.spelled(copy, self.values.completed(tuple(self.said[copy])))
                after = self.precision[copy] = before.with_group(spelled).with_group(further)
                if len(after.predicates) > len(before.predicates):
                    new.setdefault(copy, []).extend(after.predicates[len(before.predicates) :])
        total = sum(len(precision.predicates) for precision in self.precision.values())
        self.statistics.counters["predicate.predicates"] = total
        return new

    def _newest(self) -> str:
        number, total = (self.statistics.counters[f"predicate.{n}"] for n in ("refinements", "predicates"))
        return f"refinement {number}: {total} predicates, newest {self.unrolled.newest()}"

    def _gave_up(self, code: str, message: str) -> Diagnostic:
        known = f"; {self.statistics.latest}" if self.statistics.latest else ""
        return Diagnostic(code, message + known, Severity.NOTE, hint="try another engine")


def usable(task: Task) -> dict[Point, Expr]:
    """The facts at locations of the program that speak of present values, without calls around them."""
    program = task.subject
    assert isinstance(program, Program)
    found: dict[Point, Expr] = {}
    for point, fact in task.facts.items():
        location = program.location.get(point.location.name)
        if location is None or point.calls:
            continue
        present = {*program.globals, *program.procedures[location.procedure].variables}
        if present.issuperset(variables(fact)):
            found[Point(location)] = fact
    return found
