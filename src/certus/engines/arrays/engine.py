"""Invariants about all elements of arrays: guess claims from the program, keep the inductive ones.

All claims (`claims`) are candidates at all loop heads. Claims that do not hold when a head is reached,
assuming the others, are dropped until the rest is inductive (Flanagan and Leino, "Houdini, an annotation
assistant for ESC/Java", FME 2001). A claim is about all indices; a step assumes it for an arbitrary index,
for the counters and for their initial values (Skolem constants as in Flanagan and Qadeer, "Predicate
abstraction for software verification", POPL 2002), so that no query has quantifiers. If the remaining claims
rule out every error, those needed for that are the proof, with the facts of the task.

Invariant: a dropped claim is in no inductive set of claims, as far as the solver can decide. Soundness:
`check` checks the proof, quantifiers included. Answers Unknown if calls are left that were not inlined, and
if the claims are not enough; it never reports a violation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import NoOptions, Task
from certus.core.evidence import Inductive, Point, Safe, Unknown, Verdict
from certus.core.loops import loop_forest
from certus.core.program import Edge, Location, Program, called
from certus.core.solver import Answer
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import Substitution
from certus.encoding.block_formula import edge_formula
from certus.engines.arrays.claims import Claim, Guesses, Step, guess
from certus.solvers.portfolio import SolverPortfolio


def run(task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
    program = task.subject
    assert isinstance(program, Program)
    main = program.procedures[program.main]
    if any(True for edge in main.edges for _ in called(edge.op)):
        return _unknown("calls-left", "calls are left that were not inlined")
    steps = list(_steps(program))
    guesses = guess(program, steps)
    if not guesses.claims:
        return _unknown("no-claims", "no loop writes or reads elements of an array")
    statistics.counters["arrays.claims"] = len(guesses.claims)
    statistics.progress(f"{len(guesses.claims)} claims about elements of arrays")
    facts = {p.location: f for p, f in task.facts.items() if not p.calls}
    heads = loop_forest(main).heads
    search = _Search(program, steps, guesses, facts, heads, budget, statistics)
    search.prune()
    needed = search.needed()
    if needed is None:
        return _unknown("claims-not-enough", "the claims that hold do not rule out every error")
    return Safe(
        Inductive(
            {
                Point(at): build.and_(facts.get(at, build.TRUE), *(c.formula for c in needed.get(at, ())))
                for at in heads
            }
        )
    )


def _steps(program: Program) -> Iterable[Step]:
    for edge in program.procedures[program.main].edges:
        formula = edge_formula(edge, program)
        if formula is not None:
            yield edge, formula


@dataclass(slots=True, eq=False)
class _StepQuery:
    """The solver of one step. `before` has a literal for each claim that it holds before the step, `after`
    one that it does not hold after it."""

    edge: Edge
    solver: SolverPortfolio
    before: dict[Claim, Expr] = field(default_factory=dict)
    after: dict[Claim, Expr] = field(default_factory=dict)


class _Search:
    """The Houdini loop. `kept`: the claims at heads that have not been dropped."""

    def __init__(
        self,
        program: Program,
        steps: Iterable[Step],
        guesses: Guesses,
        facts: Mapping[Location, Expr],
        heads: Iterable[Location],
        budget: Budget,
        statistics: Statistics,
    ) -> None:
        self.errors = program.error_locations
        self.guesses = guesses
        self.facts = facts
        self.budget = budget
        self.statistics = statistics
        self.kept: dict[Location, dict[Claim, None]] = {at: dict.fromkeys(guesses.claims) for at in heads}
        self._numbers = count()
        self._steps = list(steps)

    def _query(self, step: Step, *, cores: bool) -> _StepQuery:
        edge, formula = step
        query = _StepQuery(edge, SolverPortfolio(self.statistics, cores=cores))
        query.solver.add(self.facts.get(edge.source, build.TRUE), formula.guard, *formula.definitions)
        later = Substitution(formula.values)
        for claim in self.kept.get(edge.source, ()):
            some = build.var("@some", claim.each.sort)
            places = dict.fromkeys((some, *self.guesses.places(claim.each.sort)))
            literal = query.before[claim] = self._literal()
            query.solver.add(build.implies(literal, build.and_(*map(claim.of, places))))
        for claim in self.kept.get(edge.target, ()):
            some = build.var("@some", claim.each.sort)
            literal = query.after[claim] = self._literal()
            query.solver.add(build.eq(literal, build.not_(later.apply(claim.of(some)))))
        return query

    def _literal(self) -> Expr:
        return build.var(f"@{next(self._numbers)}", BOOL)

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

    def needed(self) -> dict[Location, dict[Claim, None]] | None:
        """Return the claims that rule out all errors, with those they need; None if they are not enough."""
        queries = [self._query(step, cores=True) for step in self._steps]
        used: dict[Location, dict[Claim, None]] = {at: {} for at in self.kept}
        waiting: list[tuple[Location, Claim]] = []

        def use(query: _StepQuery) -> None:
            core, source = set(query.solver.core()), query.edge.source
            for claim in self.kept.get(source, ()):
                if query.before[claim] in core and claim not in used[source]:
                    used[source][claim] = None
                    waiting.append((source, claim))

        for query in queries:
            if query.edge.target in self.errors:
                if self._ask(query) is not Answer.UNSAT:
                    return None
                use(query)
        while waiting:
            at, claim = waiting.pop()
            for query in queries:
                if query.edge.target is at:
                    if self._ask(query, query.after[claim]) is not Answer.UNSAT:
                        return None
                    use(query)
        return used


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
