"""The engine `predicate`: counterexample-guided abstraction refinement (Wolff 2015, Figure 1).

Each location has predicates, and a state is abstracted to their truth values. The abstract states reachable
by steps (large blocks, Mertens 2014; calls by procedure summaries) are computed as BDDs. If none is at an
error, the regions at loop heads and the summaries at exits are an inductive proof. Otherwise the engine
executes a shortest path to an error symbolically: an execution along it is a counterexample; if there is
none, interpolants along the path give predicates that exclude it, and the loop starts again.

Invariant: the regions contain all states reached by executions whose steps have been followed.
Soundness: abstract successors contain all concrete ones, and a counterexample is an execution. `check` checks
both answers again.
Answers Unknown after the given number of refinements, when refinement only unrolls a loop, and when a solver
finds no interpolants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from certus.core import build
from certus.core.accounting import Budget, Statistics, phase
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Task
from certus.core.errors import Inconsistent
from certus.core.evidence import Inductive, Point, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.loops import loop_forest
from certus.core.program import Location, Program
from certus.core.solver import Answer
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.engines.predicate import Options
from certus.engines.predicate.abstraction import SECONDS, Abstraction, Precision
from certus.engines.predicate.boolean_variables import boolean_variables
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.paths import Executed, PathFormula, flatten
from certus.engines.predicate.reachability import Item, Reachability
from certus.engines.predicate.refinement import Groups, Limits, Refinement, step_chain
from certus.engines.predicate.report import Report, predicate_findings
from certus.engines.predicate.steps import Steps, steps_of
from certus.engines.predicate.vocabulary import Copies, KnownRanges, Vocabulary
from certus.solvers.bdd import Regions

_MANY = 10**15  # abstract states are not counted beyond this


def run(task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    precision: dict[Location, Precision] = {}
    try:
        return search(task, options, budget, statistics, precision)
    finally:
        assert isinstance(task.subject, Program)
        statistics.findings += predicate_findings(task.subject, precision)


def search(
    task: Task,
    options: Options,
    budget: Budget,
    statistics: Statistics,
    precision: dict[Location, Precision],
) -> Verdict:
    """Decide the task from `precision` on, to which new predicates are added even if this raises."""
    assert isinstance(task.subject, Program)
    if options.via == "boolean":
        from certus.engines.predicate import published

        return published.search(task.subject, options.refinements, budget, statistics)
    facts = usable_facts(task) if options.invariants else {}
    return _Search(task.subject, options, budget, statistics, facts, precision).verdict()


@dataclass(slots=True, eq=False)
class _Search:
    """The loop of Wolff 2015, Figure 1, its phases, and the data that all its rounds share."""

    program: Program
    options: Options
    budget: Budget
    statistics: Statistics
    facts: Mapping[Point, Expr]  # checked invariants
    precision: dict[Location, Precision]
    steps: Steps = field(init=False)
    abstraction: Abstraction = field(init=False)
    vocabulary: Vocabulary = field(init=False)
    refinement: Refinement = field(init=False)
    report: Report = field(init=False)
    reached: Reachability = field(init=False)
    executed: Executed = field(default_factory=Executed)  # blocks that paths have in common
    excluded: dict[tuple[tuple[str, int], ...], None] = field(default_factory=dict)  # paths

    def __post_init__(self) -> None:
        with self.statistics.timed("predicate.blocks"):
            self.steps = steps_of(self.program, {p.location: fact for p, fact in self.facts.items()})
        enumerations = Enumerations(self.program)
        self.abstraction = Abstraction(
            Regions(), self.options.minterms, self.budget, self.statistics, self.options.abstraction
        )
        self.vocabulary = Vocabulary(
            self.precision,
            self.abstraction.regions,
            enumerations,
            Copies(self.program),
            KnownRanges(self.program, self.facts),
        )
        self.vocabulary.add([*boolean_variables(self.steps)])
        limits = Limits(budget=self.budget, statistics=self.statistics, terms=self.executed.terms)
        self.refinement = Refinement(self.steps, limits, enumerations, collapses=self.options.invariants)
        self.report = Report(self.program, self.statistics)

    def verdict(self) -> Verdict:
        """Figure 1: model checking of the abstraction, simulation of the path, refinement."""
        while True:
            error = self.reach()
            if error is None:
                return Safe(self.proof())
            path = self.path(error)
            if isinstance(path, Trace):
                return Unsafe(path)
            obstacle = path if isinstance(path, Diagnostic) else self.refine(error, path)
            if obstacle is not None:
                return Unknown(obstacle)

    @phase("predicate.reachability", without=SECONDS)
    def reach(self) -> Item | None:
        """Compute the abstract states reachable under the present precision, up to the first at an error."""
        self.reached = Reachability(self.steps, self.abstraction, self.precision)
        error = self.reached.error()
        self.statistics.counters["predicate.states"] = self._states()
        return error

    def _states(self) -> int:
        """Return the number of abstract states: valuations of predicates at locations that have any."""
        regions = self.abstraction.regions
        reached = ((at, self.reached.regions.get(at, regions.nothing)) for at in self.precision)
        return min(sum(regions.count(region, self.precision[at].predicates) for at, region in reached), _MANY)

    def proof(self) -> Inductive:
        """Return the regions at loop heads and entries of callees, and the summaries."""
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

    @phase("predicate.trace")
    def path(self, error: Item) -> Trace | PathFormula | Diagnostic:
        """Return an execution along the path to `error`; the path itself if it is infeasible."""
        actions = flatten(error, self.budget)
        path = PathFormula(self.program, actions, self.executed)
        result = path.trace(self.budget, self.statistics)
        if isinstance(result, Trace):
            return result
        if result is Answer.UNSAT:
            return path
        self.budget.check()
        message = f"the solver cannot decide whether a path of {len(actions)} blocks to an error is feasible"
        return Diagnostic("solver-gave-up", message, Severity.NOTE, hint="try another engine")

    def refine(self, error: Item, path: PathFormula) -> Diagnostic | None:
        """Exclude the path by new predicates; return the reason if that is impossible."""
        number = self.statistics.counters["predicate.refinements"]
        if number and number == self.options.refinements:
            return self._gave_up("refinements-reached", f"no proof after {number} refinements")
        self.statistics.count("predicate.refinements")
        key = tuple((a.what, -1 if a.step.edge is None else a.step.edge.index) for a in path.actions)
        if key in self.excluded:
            return self._refine_repeated(error)
        self.excluded[key] = None
        groups = self._interpolate(error, path)
        if groups is None:
            return self._gave_up(
                "no-interpolants", f"no interpolants for a path of {len(path.actions)} blocks"
            )
        added = self.vocabulary.add(groups)
        self.report.refined([action.node[0].location for action in path.actions], added, self.precision)
        divergence = self.report.divergence(self.options.rounds)
        if divergence is None:
            return None
        message, loop = divergence
        return replace(self._gave_up("diverging", message), span=loop)

    @phase("predicate.refinement")
    def _interpolate(self, error: Item, path: PathFormula) -> Groups | None:
        core = path.core(self.budget, self.statistics)
        return self.refinement.new_predicates(error, core)

    def _refine_repeated(self, error: Item) -> Diagnostic | None:
        """Refine for a path that was excluded before but came up again, so its abstraction was too coarse:
        use its predicates in their original form, then abstract its steps exactly."""
        if self.vocabulary.restore():
            return None
        coarse = [step for step in step_chain(error) if step not in self.abstraction.exact]
        if not coarse and self.statistics.counters["predicate.undecided"]:
            return self._gave_up("solver-gave-up", "the solver cannot decide the effect of some blocks")
        if not coarse:
            raise Inconsistent("a path came up again that its interpolants exclude")
        self.abstraction.exact.update(dict.fromkeys(coarse))
        self.statistics.count("predicate.repeated")
        return None

    def _gave_up(self, code: str, message: str) -> Diagnostic:
        progress = f"; {self.statistics.latest}" if self.statistics.latest else ""
        return Diagnostic(code, message + progress, Severity.NOTE, hint="try another engine")


def usable_facts(task: Task) -> dict[Point, Expr]:
    """Return the facts without a call string that are about present values at locations of the program."""
    program = task.subject
    assert isinstance(program, Program)
    facts: dict[Point, Expr] = {}
    for point, fact in task.facts.items():
        location = program.location.get(point.location.name)
        if location is None or point.calls:
            continue
        present = {*program.globals, *program.procedures[location.procedure].variables}
        if present.issuperset(variables(fact)):
            facts[Point(location)] = fact
    return facts
