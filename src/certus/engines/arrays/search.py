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
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.effects import SKIP
from certus.core.program import Edge, Location, Program
from certus.core.solver import Answer, Solver
from certus.core.terms import BOOL, ArraySort, Expr
from certus.core.walk import Substitution
from certus.encoding.block_formula import edge_formula
from certus.encoding.integers import eliminate_machine
from certus.engines.arrays.claims import Claim, Guesses, Step
from certus.engines.arrays.objects import mentioned
from certus.solvers.portfolio import SolverPortfolio
from certus.solvers.z3.solver import Z3Solver

SHRUNK: Final = 40  # most claims of a core that is reduced


@dataclass(slots=True, eq=False)
class _StepQuery:
    """The solver of one step. `before` has a literal for each claim that it holds before the step, `after`
    one that it does not hold after it."""

    edge: Edge
    solver: Solver = field(init=False)
    before: dict[Claim, Expr] = field(default_factory=dict)
    after: dict[Claim, Expr] = field(default_factory=dict)


class Search:
    """The Houdini loop. `kept`: the claims at heads that have not been dropped. `objects`: the variables that
    are numbers of objects."""

    def __init__(
        self,
        program: Program,
        steps: Iterable[Step],
        guesses: Guesses,
        facts: Mapping[Location, Expr],
        candidates: Mapping[Location, Sequence[Claim]],
        budget: Budget,
        statistics: Statistics,
        objects: frozenset[Expr] = frozenset(),
    ) -> None:
        self.errors = program.error_locations
        self.initial = [
            build.eq(x, value) for x, value in program.initial.items() if not isinstance(x.sort, ArraySort)
        ]
        self.guesses = guesses
        self.facts = facts
        self.budget = budget
        self.statistics = statistics
        self.kept: dict[Location, dict[Claim, None]] = {at: dict.fromkeys(c) for at, c in candidates.items()}
        self._with_objects = any(c.objects for each in candidates.values() for c in each)
        self._objects = objects
        self._numbers = count()
        self._pruned: dict[Edge, _StepQuery] = {}
        self._start = program.entry
        self._steps = list(steps)
        if self._start in self.kept:  # a loop begins there: its claims must also hold at the start
            self._start = Location(-1, program.main)
            edge = Edge(-1, self._start, SKIP, program.entry)
            formula = edge_formula(edge, program)
            self._steps += [] if formula is None else [(edge, formula)]

    def _query(self, step: Step, *, cores: bool) -> _StepQuery:
        edge, formula = step
        query = _StepQuery(edge)
        formulas = [self.facts.get(edge.source, build.TRUE), formula.guard, *formula.definitions]
        formulas += self.initial if edge.source is self._start else ()
        later = Substitution(formula.values)
        followed = (value for x, value in formula.values.items() if x in self._objects)
        numbers = list(dict.fromkeys((*mentioned(formula), *followed)))
        for claim in self.kept.get(edge.source, ()):
            literal = query.before[claim] = self._literal()
            formulas.append(build.implies(literal, self._assumed(claim, numbers)))
        for claim in self.kept.get(edge.target, ()):
            literal = query.after[claim] = self._literal()
            formulas.append(build.eq(literal, build.not_(later.apply(claim.some()))))
        query.solver = self._solver(formulas, cores=cores)
        return query

    def _query_with_cores(self, step: Step) -> _StepQuery:
        """Return a query that names the claims it needs: that of `prune` if it does."""
        query = self._pruned.get(step[0])
        if query is not None and isinstance(query.solver, Z3Solver):
            return query
        return self._query(step, cores=True)

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
        self._pruned = {query.edge: query for query in queries}
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
        answer = self._ask(query, self._violation(query, kept))
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
        used: dict[Location, dict[Claim, None]] = {at: {} for at in self.kept}
        waiting: dict[Location, list[Claim]] = {}
        for at, regions in tracked.items():
            for region in regions:
                claim = next((c for c in self.kept[at] if c.kept == region), None)
                if claim is None:
                    return None
                used[at][claim] = None
                waiting.setdefault(at, []).append(claim)
        queries = [self._query_with_cores(step) for step in self._steps]
        obligations: list[tuple[_StepQuery, tuple[Expr, ...]]]
        obligations = [(query, ()) for query in queries if query.edge.target in self.errors]
        while obligations or waiting:
            for query, also in obligations:
                source = query.edge.source
                claims = self._enough(query, used.get(source, {}), also)
                if claims is None:
                    return None
                if claims:
                    used.setdefault(source, {}).update(dict.fromkeys(claims))
                    waiting.setdefault(source, []).extend(claims)
            obligations = []
            if waiting:
                at, pending = waiting.popitem()
                here = (query for query in queries if query.edge.target is at)
                obligations = [(query, (self._violation(query, pending),)) for query in here]
        return used

    def _violation(self, query: _StepQuery, claims: Iterable[Claim]) -> Expr:
        """Return a literal that implies that the step violates one of the claims."""
        literal = self._literal()
        query.solver.add(build.disjunction((build.not_(literal), *(query.after[c] for c in claims))))
        return literal

    def _enough(
        self, query: _StepQuery, used: Mapping[Claim, None], also: Sequence[Expr]
    ) -> list[Claim] | None:
        """Return the claims that a step needs beyond those `used` already; None if all are not enough."""
        if self._holds(query, used, also):
            return []
        if not self._holds(query, self.kept.get(query.edge.source, ()), also):
            return None
        core = frozenset(query.solver.core())
        new = [c for c in self.kept.get(query.edge.source, ()) if query.before[c] in core and c not in used]
        for claim in reversed(new) if len(new) <= SHRUNK else ():
            fewer = [c for c in new if c is not claim]
            if self._holds(query, (*used, *fewer), also):
                new = fewer
        return new

    def _holds(self, query: _StepQuery, claims: Iterable[Claim], also: Sequence[Expr]) -> bool:
        """Return whether some claims before a step exclude it together with other formulas."""
        self.budget.check()
        before = [query.before[c] for c in claims]
        answer = query.solver.check([*before, *also], budget=self.budget, purpose="arrays")
        return answer is Answer.UNSAT
