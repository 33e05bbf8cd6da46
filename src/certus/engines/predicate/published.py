"""Predicate abstraction as published: the loop of Wolff (RocketScience, 2015), Figure 1.

    repeat
        abstract the program to a Boolean program over the predicates found so far (section 3)
        search the states of the Boolean program, with procedure summaries (section 4)
        if no error is reached, its states are a proof
        execute the path to the error in the program: if that is possible, it is a counterexample (section 5)
        otherwise interpolants of the path are new predicates (section 6)

The engine's own loop computes abstract successors of large blocks where they are needed instead, and has
further sources of predicates. This one is for comparison: `--set predicate.via=boolean`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.analysis.boolean import reachability as boolean
from certus.analysis.boolean.states import States
from certus.analysis.ranges.control import without_blocks
from certus.core.accounting import Budget, Statistics
from certus.core.boolean import BooleanProgram, Predicate, ScopedPredicates
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Inductive, Point, Safe, Trace, Unknown, Unsafe, Verdict, old
from certus.core.loops import callees_of, loop_forest
from certus.core.program import Location, Procedure, Program
from certus.core.solver import Answer
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.paths import PathFormula, flatten
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.refinement import Limits, Refinement
from certus.engines.predicate.steps import Step, Steps, steps_of
from certus.passes.boolean.abstraction import abstract_program
from certus.passes.boolean.program import AsProgram, as_program
from certus.solvers.bdd import Region
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.terms import Z3Terms


def search(program: Program, most: int, budget: Budget, statistics: Statistics) -> Verdict:
    """Decide a program statement by statement; give up after `most` refinements (0: never)."""
    return _Published(without_blocks(program), most, budget, statistics).verdict()


@dataclass(slots=True, eq=False)
class _Published:
    """The loop, and the predicates by their scope: shared by all procedures, or of one procedure."""

    program: Program
    most: int
    budget: Budget
    statistics: Statistics
    shared: dict[Expr, Predicate] = field(default_factory=dict)
    own: dict[str, dict[Expr, Predicate]] = field(default_factory=dict)
    steps: Steps = field(init=False)
    refinement: Refinement = field(init=False)

    def __post_init__(self) -> None:
        self.steps = steps_of(self.program)
        limits = Limits(budget=self.budget, statistics=self.statistics, terms=Z3Terms(Z3Context()))
        self.refinement = Refinement(self.steps, limits, Enumerations(self.program), collapses=False)

    def verdict(self) -> Verdict:
        while True:
            abstraction = self.abstract()
            lifted = as_program(abstraction)
            reached = boolean.Reachability(States(lifted.program), self.budget)
            error = reached.error()
            if error is None:
                return Safe(_Proof(self.program, abstraction, reached).inductive())
            path = _Lift(self.steps, lifted).path(error)
            formula = PathFormula(self.program, flatten(path, self.budget))
            execution = formula.trace(self.budget, self.statistics)
            if isinstance(execution, Trace):
                return Unsafe(execution)
            obstacle = "solver-gave-up" if execution is not Answer.UNSAT else self.refine(path, formula)
            if obstacle is not None:
                number = self.statistics.counters["predicate.refinements"]
                message = f"the path to an error after {number} refinements gives no new predicates"
                return Unknown(Diagnostic(obstacle, message, Severity.NOTE, hint="try another engine"))

    def abstract(self) -> BooleanProgram:
        own = {name: tuple(predicates.values()) for name, predicates in self.own.items()}
        predicates = ScopedPredicates(tuple(self.shared.values()), own)
        return abstract_program(self.program, predicates, budget=self.budget, statistics=self.statistics)

    def refine(self, path: Item, formula: PathFormula) -> str | None:
        """Add the predicates of interpolants; return the cause if that is impossible."""
        if self.most and self.statistics.counters["predicate.refinements"] == self.most:
            return "refinements-reached"
        self.statistics.count("predicate.refinements")
        groups = self.refinement.new_predicates(path, formula.core(self.budget, self.statistics))
        if groups is None:
            return "no-interpolants"
        added = False
        for location, group in groups:
            for predicate in group:
                added = self._add(location, predicate) or added
        return None if added else "abstraction-too-coarse"

    def _add(self, location: Location, predicate: Expr) -> bool:
        scope = self.shared
        if not set(self.program.globals).issuperset(variables(predicate)):
            scope = self.own.setdefault(location.procedure, {})
        if predicate in scope:
            return False
        number = len(self.shared) + sum(map(len, self.own.values()))
        scope[predicate] = Predicate(predicate, f"p{number + 1}")
        return True


class _Lift:
    """Turns a path of the Boolean program into the path of the program that it abstracts."""

    def __init__(self, steps: Steps, lifted: AsProgram) -> None:
        self._steps = steps
        self._origin = lifted.origin
        self._of: dict[tuple[str, int], Step] = {}
        for each in steps.before.values():
            self._of.update(((s.kind, s.edge.index), s) for s in each if s.edge is not None)
        self._items: dict[boolean.Item, Item] = {}

    def path(self, error: boolean.Item) -> Item:
        stack = [error]
        while stack:
            item = stack[-1]
            missing = [each for each in item.premises if each not in self._items]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if item not in self._items:
                self._items[item] = self._lifted(item)
        return self._items[error]

    def _lifted(self, item: boolean.Item) -> Item:
        """Return the item of the program. The edges at entries and around calls are no steps of it."""
        if item.kind == "start":
            return Item(0, self._steps.start.target, item.region, self._steps.start, ())
        premises = tuple(self._items[each] for each in item.premises)
        assert item.edge is not None
        origin = self._origin.get(item.edge.index)
        step = None if origin is None else self._of.get((item.kind, origin.index))
        if step is None:
            return premises[0]
        return Item(len(self._items), step.target, item.region, step, premises)


@dataclass(frozen=True, slots=True)
class _Proof:
    """The states of a Boolean program without errors, as formulas about the program."""

    program: Program
    abstraction: BooleanProgram
    reached: boolean.Reachability

    def inductive(self) -> Inductive:
        invariants: dict[Point, Expr] = {}
        summaries: dict[str, Expr] = {}
        callees = callees_of(self.program)
        for name, procedure in self.program.procedures.items():
            heads = loop_forest(procedure).heads
            entry = (procedure.entry,) if name in callees else ()
            for at in (*heads, *entry):
                invariants[Point(at)] = self._formula(at, procedure)
            if name in callees:
                summaries[name] = self._formula(procedure.exit, procedure, results_only=True)
        return Inductive(invariants, summaries)

    def _formula(self, at: Location, procedure: Procedure, *, results_only: bool = False) -> Expr:
        """Return the states at a location over the predicates whose variables may be used there."""
        regions = self.reached.states.regions
        inputs = (*self.program.globals, *procedure.parameters)
        own = procedure.results if results_only else procedure.variables
        usable = {*self.program.globals, *own, *map(old, inputs)}
        meanings = self._meanings(procedure, {x: old(x) for x in inputs})
        here = self.reached.states.program.procedures[procedure.name]
        names = (*map(old, self.reached.states.remembered(here)), *self.reached.states.present(here))
        hidden = [x for x in names if x not in meanings or not usable.issuperset(variables(meanings[x]))]
        region: Region = self.reached.regions.get(at, regions.nothing)
        return substitute(regions.formula(regions.without(region, hidden)), meanings)

    def _meanings(self, procedure: Procedure, olds: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """Return what Boolean variables mean: a predicate, now or at the entry."""
        known = {**self.abstraction.predicates, **self.abstraction.procedures[procedure.name].predicates}
        now = {x: predicate.term for x, predicate in known.items()}
        return {**now, **{old(x): substitute(term, olds) for x, term in now.items()}}
