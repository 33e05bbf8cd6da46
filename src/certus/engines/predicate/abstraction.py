"""Boolean abstraction of steps (seed 001, section 3; seed 004 for blocks).

The abstract successors of regions under a step are the valuations of the target's predicates that some
concrete step from states in the regions gives: the strongest region that covers all of them. Each step has
one incremental solver, in which a literal stands for every predicate, before and after.

First each predicate is asked for alone. This is Cartesian abstraction (seed 004, 2.2.1), and all that is done
if so chosen. Boolean abstraction (2.2.2) goes on: for groups of predicates that can be either way, the joint
valuations are enumerated, up to a budget; beyond it those of smaller groups, or what is known of each
alone. Groups are predicates that share variables, and the predicates of one conjunct of an interpolant, with
all others on their variables, which is enough for the abstraction to imply that interpolant. What grouping,
the budget or Cartesian abstraction loses only makes regions larger; `exact` loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from certus.core import build
from certus.core.budget import Budget
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.engines.predicate.steps import Step
from certus.logic.bdd import Region, Regions
from certus.logic.integer_solver import IntegerSolver
from certus.logic.solver import Answer
from certus.logic.z3api import Z3Context
from certus.logic.z3terms import Z3Terms

Manner = Literal["boolean", "cartesian"]
Valuation = dict[Expr, bool]
Group = tuple[Expr, ...]
SECONDS = "predicate.abstraction"  # the time spent here
_PURPOSE = "abstraction"
UNASKED = 64  # valuations of predicates that share variables, but stand in no interpolant together
_EFFORT = 5_000_000  # z3's unit of work, for one question: a few seconds


@dataclass(frozen=True, slots=True)
class Precision:
    """The predicates at a location, and groups of them to be abstracted jointly."""

    predicates: tuple[Expr, ...] = ()
    groups: tuple[Group, ...] = ()

    def with_group(self, group: Group) -> Precision:
        predicates = tuple(dict.fromkeys((*self.predicates, *group)))
        groups = self.groups if group in self.groups or len(group) < 2 else (*self.groups, group)
        return Precision(predicates, groups)


@dataclass(slots=True, eq=False)
class Abstraction:
    """Computes abstract successors and remembers them: a step is abstracted again only for regions or
    predicates not seen with it before."""

    regions: Regions
    minterms: int  # the most valuations to enumerate for a group of predicates
    budget: Budget
    statistics: Statistics
    manner: Manner = "boolean"
    terms: Z3Terms = field(default_factory=lambda: Z3Terms(Z3Context()))
    exact: dict[Step, None] = field(default_factory=dict)  # steps to be abstracted without loss
    _solvers: dict[Step, _StepSolver] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Region] = field(default_factory=dict)

    def successors(self, step: Step, sources: Sequence[Region], precision: Precision) -> Region:
        """The abstract states under `precision` after `step` from states in `sources`."""
        key = (step, tuple(sources), precision, step in self.exact)
        found = self._known.get(key)
        if found is None:
            self.statistics.count("predicate.abstractions")
            with self.statistics.timed(SECONDS):
                solver = self._solvers.get(step)
                if solver is None:
                    solver = self._solvers[step] = _StepSolver(step, self)
                found = self._known[key] = solver.successors(sources, precision)
        return found


class _StepSolver:
    """One step in a solver of its own."""

    def __init__(self, step: Step, abstraction: Abstraction) -> None:
        self.step = step
        self.regions = abstraction.regions
        self.limits = abstraction
        self.solver = IntegerSolver(
            abstraction.statistics, options={"rlimit": _EFFORT}, terms=abstraction.terms
        )
        self.solver.add(*step.definitions, step.condition, step.known)
        self._literals: dict[tuple[int, Expr], Expr] = {}  # (premise, or -1 for the target; predicate)
        self._large: list[Group] = []  # groups of predicates with too many valuations
        self._numbers = count()

    def successors(self, sources: Sequence[Region], precision: Precision) -> Region:
        given = [
            self.regions.formula(region, lambda p, n=n: self._before(n, p))  # type: ignore[misc]
            for n, region in enumerate(sources)
        ]
        given = [g for g in given if g is not build.TRUE]
        after = {p: self._after(p) for p in precision.predicates}
        seen: list[Valuation] = []
        if self._ask(given, after, seen) is Answer.UNSAT:
            return self.regions.nothing
        region, open_ = self._cartesian(given, after, seen)
        exact = self.step in self.limits.exact
        if self.limits.manner == "cartesian" and not exact:
            return region
        if exact:
            found = self._enumerate(given, _of(after, open_), seen)
            return region if found is None else self.regions.both(region, found)
        asked = {_about(group, open_) for group in precision.groups}
        waiting = joint(open_, precision.groups)
        while waiting:
            group = waiting.pop()
            found = None
            if not self._too_many(group):
                most = self.limits.minterms if group in asked else min(self.limits.minterms, UNASKED)
                found = self._enumerate(given, _of(after, group), seen, most=most)
            if found is None:
                waiting.extend(within(group, precision.groups))
            else:
                region = self.regions.both(region, found)
        return region

    def _too_many(self, group: Group) -> bool:
        """Whether the group, or part of it, has had too many valuations."""
        return any(set(group).issuperset(other) for other in self._large)

    def _cartesian(
        self, given: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]
    ) -> tuple[Region, list[Expr]]:
        """What each predicate alone must be, and the predicates that can be either way."""
        fixed = dict(seen[0]) if seen else {}  # the value in all valuations seen
        while fixed:
            self.solver.push()
            try:
                self.solver.add(build.not_(_agrees(after, fixed)))
                answer = self._ask(given, after, seen)
            finally:
                self.solver.pop()
            if answer is not Answer.SAT:
                break
            fixed = {p: holds for p, holds in fixed.items() if seen[-1][p] is holds}
        if not seen or (fixed and answer is Answer.UNKNOWN):
            fixed = self._one_by_one(given, after, seen)
        return self.regions.minterm(fixed), [p for p in after if p not in fixed]

    def _one_by_one(self, given: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]) -> Valuation:
        """The predicates that can have one value only, each asked for by itself."""
        fixed: Valuation = {}
        for predicate, literal in after.items():
            possible = []
            for holds in (True, False):
                asked = literal if holds else build.not_(literal)
                if (
                    any(valuation[predicate] is holds for valuation in seen)
                    or self._ask([*given, asked], after, seen) is not Answer.UNSAT
                ):
                    possible.append(holds)
            if len(possible) == 1:
                fixed[predicate] = possible[0]
        return fixed

    def _enumerate(
        self,
        given: list[Expr],
        after: Mapping[Expr, Expr],
        seen: list[Valuation],
        *,
        most: int | None = None,
    ) -> Region | None:
        """The valuations of a group of predicates that are possible; None if there are more than `most`, or
        the solver cannot tell."""
        region = self.regions.nothing
        found: dict[tuple[bool, ...], None] = {}
        fresh = [{p: valuation[p] for p in after} for valuation in seen]
        self.solver.push()
        try:
            while fresh:
                for valuation in fresh:
                    key = tuple(valuation.values())
                    if key not in found:
                        found[key] = None
                        region = self.regions.either(region, self.regions.minterm(valuation))
                        self.solver.add(build.not_(_agrees(after, valuation)))
                if most is not None and len(found) > most:
                    self.limits.statistics.count("predicate.coarse")
                    self._large.append(tuple(after))
                    return None
                fresh = []
                if self._ask(given, after, fresh) is Answer.UNKNOWN:
                    return None
        finally:
            self.solver.pop()
        return region

    def _ask(self, given: list[Expr], after: Mapping[Expr, Expr], seen: list[Valuation]) -> Answer:
        """Whether the step can be taken so; the valuation reached goes to `seen`."""
        answer = self.solver.check(given, budget=self.limits.budget, purpose=_PURPOSE)
        if answer is Answer.SAT:
            seen.append({p: bool(self.solver.value(literal)) for p, literal in after.items()})
        elif answer is Answer.UNKNOWN:
            self.limits.budget.check()
            self.limits.statistics.count("predicate.undecided")
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
    """That the literals have the values of the valuation."""
    return build.conjunction(after[p] if holds else build.not_(after[p]) for p, holds in valuation.items())


def joint(predicates: Sequence[Expr], groups: Sequence[Group]) -> list[Group]:
    """The groups of `predicates` to be abstracted jointly, none part of another."""
    known = [_about(group, predicates) for group in groups]
    return _largest([*map(tuple, sharing(predicates)), *known])


def within(predicates: Group, groups: Sequence[Group]) -> list[Group]:
    """The groups to be abstracted jointly if all of `predicates` are too many."""
    known = [_about(group, predicates) for group in groups]
    return _largest([group for group in known if len(group) < len(predicates)])


def _largest(groups: Sequence[Group]) -> list[Group]:
    """The groups of several predicates that are no part of another."""
    found: list[Group] = []
    for group in sorted(dict.fromkeys(groups), key=len, reverse=True):
        if len(group) > 1 and not any(set(group) <= set(other) for other in found):
            found.append(group)
    return found


def _about(group: Group, predicates: Sequence[Expr]) -> Group:
    """Those of the predicates that speak only of variables of the group."""
    names = set(variables(*group))
    return tuple(p for p in predicates if names.issuperset(variables(p)))


def sharing(predicates: Sequence[Expr]) -> list[list[Expr]]:
    """The predicates in groups such that those of different groups share no variable."""
    groups: list[tuple[set[Expr], list[Expr]]] = []
    for predicate in predicates:
        mine, members = set(variables(predicate)), [predicate]
        apart = []
        for names, others in groups:
            if mine.isdisjoint(names):
                apart.append((names, others))
            else:
                mine |= names
                members = others + members
        groups = [*apart, (mine, members)]
    return [members for _, members in groups]
