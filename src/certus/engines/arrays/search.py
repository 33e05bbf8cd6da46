"""Find the largest inductive set of claims (Flanagan and Leino, "Houdini, an annotation assistant for
ESC/Java", FME 2001).

A claim is about all indices or objects; a step assumes it for an arbitrary one, and for those that the step
mentions (Skolem constants as in Flanagan and Qadeer, "Predicate abstraction for software verification",
POPL 2002), so that no query has quantifiers.

Invariant: a dropped claim is in no inductive set of claims, as far as the solver can decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.program import Edge, Location, Program
from certus.core.solver import Answer, Solver
from certus.core.terms import BOOL, ArraySort, Expr
from certus.core.walk import Substitution
from certus.encoding.integers import eliminate_machine
from certus.engines.arrays.claims import Claim, Guesses, Step
from certus.engines.arrays.objects import mentioned
from certus.solvers.portfolio import SolverPortfolio
from certus.solvers.z3.solver import Z3Solver


@dataclass(slots=True, eq=False)
class _StepQuery:
    """The solver of one step. `before` has a literal for each claim that it holds before the step, `after`
    one that it does not hold after it."""

    edge: Edge
    solver: Solver = field(init=False)
    before: dict[Claim, Expr] = field(default_factory=dict)
    after: dict[Claim, Expr] = field(default_factory=dict)


class Search:
    """The Houdini loop. `kept`: the claims at heads that have not been dropped."""

    def __init__(
        self,
        program: Program,
        steps: Iterable[Step],
        guesses: Guesses,
        facts: Mapping[Location, Expr],
        candidates: Mapping[Location, Sequence[Claim]],
        budget: Budget,
        statistics: Statistics,
    ) -> None:
        self.errors = program.error_locations
        self.entry = program.entry
        self.initial = [
            build.eq(x, value) for x, value in program.initial.items() if not isinstance(x.sort, ArraySort)
        ]
        self.guesses = guesses
        self.facts = facts
        self.budget = budget
        self.statistics = statistics
        self.kept: dict[Location, dict[Claim, None]] = {at: dict.fromkeys(c) for at, c in candidates.items()}
        self._with_objects = any(c.objects for each in candidates.values() for c in each)
        self._numbers = count()
        self._steps = list(steps)

    def _query(self, step: Step, *, cores: bool) -> _StepQuery:
        edge, formula = step
        query = _StepQuery(edge)
        formulas = [self.facts.get(edge.source, build.TRUE), formula.guard, *formula.definitions]
        if edge.source is self.entry and self.entry not in self.kept:
            formulas += self.initial
        later = Substitution(formula.values)
        numbers = mentioned(formula)
        for claim in self.kept.get(edge.source, ()):
            literal = query.before[claim] = self._literal()
            formulas.append(build.implies(literal, self._assumed(claim, numbers)))
        for claim in self.kept.get(edge.target, ()):
            literal = query.after[claim] = self._literal()
            formulas.append(build.eq(literal, build.not_(later.apply(claim.some()))))
        query.solver = self._solver(formulas, cores=cores)
        return query

    def _solver(self, formulas: Sequence[Expr], *, cores: bool) -> Solver:
        """Return a solver with these formulas. Numbers of objects are only compared and counted, which is
        easier with mathematical integers than with bits, if these are exact."""
        encoded = eliminate_machine(formulas, budget=self.budget)
        solver: Solver
        if encoded.exact and self._with_objects:
            solver = Z3Solver(self.statistics)
            solver.add(*encoded.formulas, *encoded.ranges)
        else:
            solver = SolverPortfolio(self.statistics, cores=cores)
            solver.add(*formulas)
        return solver

    def _assumed(self, claim: Claim, numbers: Iterable[Expr]) -> Expr:
        """Return what a step assumes of a claim: `numbers` are the objects that it mentions."""
        if claim.each is None:
            return claim.body
        sort = claim.each.sort
        places = numbers if claim.objects else self.guesses.places(sort)
        fitting = (place for place in places if place.sort is sort)
        return build.and_(claim.some(), *map(claim.of, dict.fromkeys(fitting)))

    def _literal(self) -> Expr:
        return build.var(f"@claim{next(self._numbers)}", BOOL)

    def prune(self) -> None:
        """Drop claims until the rest is inductive."""
        queries = [self._query(step, cores=False) for step in self._steps if step[0].target in self.kept]
        waiting = dict.fromkeys(queries)
        while waiting:
            query = next(iter(waiting))
            del waiting[query]
            if self._drop(query):
                target = query.edge.target
                waiting.update((q, None) for q in queries if q.edge.source is target)

    def _drop(self, query: _StepQuery) -> bool:
        """Drop the claims that a step does not preserve; return whether there were any."""
        kept = self.kept[query.edge.target]
        dropped = False
        while kept:
            violated = self._violated(query, kept)
            if not violated:
                return dropped
            dropped = True
            for claim in violated:
                del kept[claim]
            self.statistics.progress(f"{sum(map(len, self.kept.values()))} claims left")
        return dropped

    def _violated(self, query: _StepQuery, kept: Iterable[Claim]) -> list[Claim]:
        """Return claims that some execution of the step violates, none if it preserves all."""
        literal = self._literal()
        query.solver.add(build.disjunction((build.not_(literal), *(query.after[c] for c in kept))))
        answer = self._ask(query, literal)
        if answer is Answer.UNSAT:
            return []
        if answer is Answer.SAT:
            return [c for c in kept if query.solver.value(query.after[c])]
        return [c for c in kept if self._ask(query, query.after[c]) is not Answer.UNSAT]

    def _ask(self, query: _StepQuery, *also: Expr) -> Answer:
        self.budget.check()
        claims = [query.before[c] for c in self.kept.get(query.edge.source, ())]
        return query.solver.check([*claims, *also], budget=self.budget, purpose="arrays")

    def needed(self, tracked: Mapping[Location, Iterable[int]]) -> dict[Location, dict[Claim, None]] | None:
        """Return the claims that rule out all errors, and those that no object of the regions `tracked` at a
        location is lost there, with the claims they need; None if they are not enough."""
        queries = [self._query(step, cores=True) for step in self._steps]
        used: dict[Location, dict[Claim, None]] = {at: {} for at in self.kept}
        waiting: dict[Location, list[Claim]] = {}

        def use(query: _StepQuery) -> None:
            core, source = set(query.solver.core()), query.edge.source
            for claim in self.kept.get(source, ()):
                if query.before[claim] in core and claim not in used[source]:
                    used[source][claim] = None
                    waiting.setdefault(source, []).append(claim)

        for at, regions in tracked.items():
            for region in regions:
                claim = next((c for c in self.kept[at] if c.kept == region), None)
                if claim is None:
                    return None
                used[at][claim] = None
                waiting.setdefault(at, []).append(claim)
        for query in queries:
            if query.edge.target in self.errors:
                if self._ask(query) is not Answer.UNSAT:
                    return None
                use(query)
        while waiting:
            at, claims = waiting.popitem()
            for query in queries:
                if query.edge.target is at:
                    literal = self._literal()
                    violated = build.disjunction(query.after[c] for c in claims)
                    query.solver.add(build.implies(literal, violated))
                    if self._ask(query, literal) is not Answer.UNSAT:
                        return None
                    use(query)
        return used
