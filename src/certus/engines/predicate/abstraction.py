"""Boolean abstraction of steps (Wolff 2015, section 3; Mertens 2014 for blocks).

The abstract successors of regions under a step are the valuations of the target's predicates that hold after
some concrete step from states in the regions: the strongest region that contains all these steps. Each step
has one incremental solver, with a literal for every predicate, before and after.

First the solver decides each predicate separately. This is Cartesian abstraction (Mertens 2014, 2.2.1),
and the option `cartesian` stops here. Boolean abstraction (2.2.2) continues with groups of the predicates
that can have both values: it enumerates their joint valuations up to a limit; beyond the limit those of
smaller groups, or none. A group has predicates that share variables, or the predicates of one conjunct of an
interpolant with all others on their variables, which is enough for the abstraction to imply that interpolant.
Groups, the limit and Cartesian abstraction can only make regions larger, which is sound; `exact` loses
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr
from certus.core.walk import substitute, variables
from certus.engines.predicate.steps import Step
from certus.solvers.bdd import Region, Regions
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.integer_solver import IntegerSolver
from certus.solvers.z3.terms import Z3Terms

Manner = Literal["boolean", "cartesian"]
Valuation = dict[Expr, bool]
Group = tuple[Expr, ...]
SECONDS = "predicate.abstraction"  # key of the time spent here
_PURPOSE = "abstraction"
UNASKED = 64  # limit for predicates that share variables but occur in no interpolant together
_EFFORT = 5_000_000  # resource limit of z3 for one query: a few seconds


@dataclass(frozen=True, slots=True)
class Precision:
    """The predicates at a location, and groups of them to abstract jointly."""

    predicates: tuple[Expr, ...] = ()
    groups: tuple[Group, ...] = ()

    def with_group(self, group: Group) -> Precision:
        predicates = tuple(dict.fromkeys((*self.predicates, *group)))
        groups = self.groups if group in self.groups or len(group) < 2 else (*self.groups, group)
        return Precision(predicates, groups)


@dataclass(slots=True, eq=False)
class Abstraction:
    """The abstract successors computed so far, one for each step, regions and precision."""

    regions: Regions
    minterms: int  # limit of valuations to enumerate for a group of predicates
    budget: Budget
    statistics: Statistics
    manner: Manner = "boolean"
    terms: Z3Terms = field(default_factory=lambda: Z3Terms(Z3Context()))
    exact: dict[Step, None] = field(default_factory=dict)  # steps to abstract without loss
    _solvers: dict[Step, _StepSolver] = field(default_factory=dict)
    _computed: dict[tuple[object, ...], Region] = field(default_factory=dict)

    def successors(self, step: Step, sources: Sequence[Region], precision: Precision) -> Region:
        """Return the abstract states under `precision` after `step` from states in `sources`."""
        key = (step, tuple(sources), precision, step in self.exact)
        region = self._computed.get(key)
        if region is None:
            self.statistics.count("predicate.abstractions")
            with self.statistics.timed(SECONDS):
                solver = self._solvers.get(step)
                if solver is None:
                    solver = self._solvers[step] = _StepSolver(step, self)
                region = self._computed[key] = solver.successors(sources, precision)
        return region

    def origins(
        self, step: Step, sources: Sequence[Region], predicates: Sequence[Sequence[Expr]], target: Region
    ) -> list[Region] | None:
        """Return one abstract state of each source, over its predicates, from which `step` is possible to a
        state in `target`; None if the solver finds no such step, so that the abstraction is coarse."""
        with self.statistics.timed(SECONDS):
            return self._solvers[step].origins(sources, predicates, target)


class _StepSolver:
    """The incremental solver of one step."""

    def __init__(self, step: Step, abstraction: Abstraction) -> None:
        self.step = step
        self.regions = abstraction.regions
        self.abstraction = abstraction
        self.solver = IntegerSolver(
            abstraction.statistics, options={"rlimit": _EFFORT}, terms=abstraction.terms
        )
        self.solver.add(*step.definitions, step.condition, step.ensured)
        self._literals: dict[tuple[int, Expr], Expr] = {}  # by (premise, or -1 for the target; predicate)
        self._large: list[Group] = []  # groups with too many valuations
        self._numbers = count()

    def successors(self, sources: Sequence[Region], precision: Precision) -> Region:
        assumptions = self._assumptions(sources)
        after = {p: self._after(p) for p in precision.predicates}
        seen: list[Valuation] = []
        if self._ask(assumptions, after, seen) is Answer.UNSAT:
            return self.regions.nothing
        region, open_ = self._cartesian(assumptions, after, seen)
        region = self.regions.both(region, self._frame(sources, open_))
        exact = self.step in self.abstraction.exact
        if self.abstraction.manner == "cartesian" and not exact:
            return region
        if exact:
            valuations = self._enumerate(assumptions, _of(after, open_), seen)
            return region if valuations is None else self.regions.both(region, valuations)
        asked = {_about(group, open_) for group in precision.groups}
        waiting = joint(open_, precision.groups)
        while waiting:
            group = waiting.pop()
            valuations = None
            if not self._too_many(group):
                limit = (
                    self.abstraction.minterms if group in asked else min(self.abstraction.minterms, UNASKED)
                )
                valuations = self._enumerate(assumptions, _of(after, group), seen, limit=limit)
            if valuations is None:
                waiting.extend(within(group, precision.groups))
            else:
                region = self.regions.both(region, valuations)
        return region

    def origins(
        self, sources: Sequence[Region], predicates: Sequence[Sequence[Expr]], target: Region
    ) -> list[Region] | None:
        assumptions = [*self._assumptions(sources), self.regions.formula(target, self._after)]
        before = [{p: self._before(n, p) for p in names} for n, names in enumerate(predicates)]
        if self._ask([a for a in assumptions if a is not build.TRUE], {}, []) is not Answer.SAT:
            return None
        return [
            self.regions.minterm({p: bool(self.solver.value(literal)) for p, literal in literals.items()})
            for literals in before
        ]

    def _frame(self, sources: Sequence[Region], predicates: Sequence[Expr]) -> Region:
        """Return what holds of the predicates that the step does not change: the same as before."""
        if self.step.kind not in ("block", "call"):
            return self.regions.everything
        changed = {x for x, value in self.step.values.items() if value is not x}
        return self.regions.onto(sources[0], [p for p in predicates if changed.isdisjoint(variables(p))])

    def _assumptions(self, sources: Sequence[Region]) -> list[Expr]:
        """Return the formulas of the regions before the step."""
        formulas = [
            self.regions.formula(region, lambda p, n=n: self._before(n, p))  # type: ignore[misc]
            for n, region in enumerate(sources)
        ]
        return [formula for formula in formulas if formula is not build.TRUE]

    def _too_many(self, group: Group) -> bool:
        """Return whether the group, or part of it, had too many valuations before."""
        return any(set(group).issuperset(other) for other in self._large)

    def _cartesian(
        self, assumptions: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]
    ) -> tuple[Region, list[Expr]]:
        """Return the region of the predicates that have only one value, and the other predicates."""
        fixed = dict(seen[0]) if seen else {}  # the same in all valuations seen
        while fixed:
            self.solver.push()
            try:
                self.solver.add(build.not_(_agrees(after, fixed)))
                answer = self._ask(assumptions, after, seen)
            finally:
                self.solver.pop()
            if answer is not Answer.SAT:
                break
            fixed = {p: holds for p, holds in fixed.items() if seen[-1][p] is holds}
        if not seen or (fixed and answer is Answer.UNKNOWN):
            fixed = self._one_by_one(assumptions, after, seen)
        return self.regions.minterm(fixed), [p for p in after if p not in fixed]

    def _one_by_one(
        self, assumptions: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]
    ) -> Valuation:
        """Return the predicates that have only one value, with a query for each value."""
        fixed: Valuation = {}
        for predicate, literal in after.items():
            possible = []
            for holds in (True, False):
                value = literal if holds else build.not_(literal)
                if (
                    any(valuation[predicate] is holds for valuation in seen)
                    or self._ask([*assumptions, value], after, seen) is not Answer.UNSAT
                ):
                    possible.append(holds)
            if len(possible) == 1:
                fixed[predicate] = possible[0]
        return fixed

    def _enumerate(
        self,
        assumptions: list[Expr],
        after: Mapping[Expr, Expr],
        seen: list[Valuation],
        *,
        limit: int | None = None,
    ) -> Region | None:
        """Return all possible valuations of a group of predicates; None if there are more than `limit`, or if
        the solver gives up."""
        region = self.regions.nothing
        counted: dict[tuple[bool, ...], None] = {}
        new = [{p: valuation[p] for p in after} for valuation in seen]
        self.solver.push()
        try:
            while new:
                for valuation in new:
                    key = tuple(valuation.values())
                    if key not in counted:
                        counted[key] = None
                        region = self.regions.either(region, self.regions.minterm(valuation))
                        self.solver.add(build.not_(_agrees(after, valuation)))
                if limit is not None and len(counted) > limit:
                    self.abstraction.statistics.count("predicate.coarse")
                    self._large.append(tuple(after))
                    return None
                new = []
                if self._ask(assumptions, after, new) is Answer.UNKNOWN:
                    return None
        finally:
            self.solver.pop()
        return region

    def _ask(self, assumptions: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]) -> Answer:
        """Decide whether the step is possible under assumptions; add the valuation it reaches to `seen`."""
        answer = self.solver.check(assumptions, budget=self.abstraction.budget, purpose=_PURPOSE)
        if answer is Answer.SAT:
            seen.append({p: bool(self.solver.value(literal)) for p, literal in after.items()})
        elif answer is Answer.UNKNOWN:
            self.abstraction.budget.check()
            self.abstraction.statistics.count("predicate.undecided")
        return answer

    def _before(self, premise: int, predicate: Expr) -> Expr:
        return self._literal(premise, predicate, self.step.readings[premise])

    def _after(self, predicate: Expr) -> Expr:
        return self._literal(-1, predicate, self.step.values)

    def _literal(self, place: int, predicate: Expr, reading: Mapping[Expr, Expr]) -> Expr:
        literal = self._literals.get((place, predicate))
        if literal is None:
            literal = build.var(f"@predicate.{next(self._numbers)}", BOOL)
            self._literals[place, predicate] = literal
            self.solver.add(build.eq(literal, substitute(predicate, reading)))
        return literal


def _of(after: Mapping[Expr, Expr], group: Iterable[Expr]) -> dict[Expr, Expr]:
    return {p: after[p] for p in group}


def _agrees(after: Mapping[Expr, Expr], valuation: Valuation) -> Expr:
    """Return the formula that the literals have the values of the valuation."""
    return build.conjunction(after[p] if holds else build.not_(after[p]) for p, holds in valuation.items())


def joint(predicates: Sequence[Expr], groups: Sequence[Group]) -> list[Group]:
    """Return the groups of `predicates` to abstract jointly, none part of another."""
    relevant = [_about(group, predicates) for group in groups]
    return _largest([*map(tuple, sharing(predicates)), *relevant])


def within(predicates: Group, groups: Sequence[Group]) -> list[Group]:
    """Return the smaller groups to abstract jointly if `predicates` have too many valuations."""
    relevant = [_about(group, predicates) for group in groups]
    return _largest([group for group in relevant if len(group) < len(predicates)])


def _largest(groups: Sequence[Group]) -> list[Group]:
    """Return the groups of several predicates that are not part of another."""
    largest: list[Group] = []
    for group in sorted(dict.fromkeys(groups), key=len, reverse=True):
        if len(group) > 1 and not any(set(group) <= set(other) for other in largest):
            largest.append(group)
    return largest


def _about(group: Group, predicates: Sequence[Expr]) -> Group:
    """Return the predicates whose variables all occur in the group."""
    names = set(variables(*group))
    return tuple(p for p in predicates if names.issuperset(variables(p)))


def sharing(predicates: Sequence[Expr]) -> list[list[Expr]]:
    """Partition the predicates into groups that share no variable with each other."""
    groups: list[tuple[set[Expr], list[Expr]]] = []
    for predicate in predicates:
        own, members = set(variables(predicate)), [predicate]
        disjoint = []
        for names, others in groups:
            if own.isdisjoint(names):
                disjoint.append((names, others))
            else:
                own |= names
                members = others + members
        groups = [*disjoint, (own, members)]
    return [members for _, members in groups]
