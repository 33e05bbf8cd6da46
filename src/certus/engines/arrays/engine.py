"""Invariants about all elements of arrays: claims guessed from the text, the inductive ones kept.

Guesses (`claims`) are made for all loop heads. Those that do not hold when a head is reached, given the
others, are dropped until the rest is inductive (Flanagan and Leino, "Houdini, an annotation assistant for
ESC/Java", FME 2001). A claim is about all indices; a step relies on it for an arbitrary one, for the
variables that count, and for what they start with (Skolem constants as in Flanagan and Qadeer, "Predicate
abstraction for software verification", POPL 2002), so that no question has quantifiers. If what is left rules
out every error, the claims that were needed for that are the proof, with the facts that came with the task.

Invariant: what has been dropped is not part of any inductive set of claims, as far as the solver can tell.
Sound because the proof, quantifiers included, is checked. Says Unknown where calls are left, and where the
claims are not enough; it never finds an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Inductive, Point
from certus.core.loops import loop_forest
from certus.core.program import Choice, Edge, Location, Program, Seq, called
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr
from certus.core.verdict import Safe, Unknown, Verdict
from certus.core.walk import Substitution
from certus.engines.arrays.claims import Claim, Guesses, Step, guess
from certus.logic.blocks import block_formula
from certus.logic.solver import Answer

if TYPE_CHECKING:
    from certus.logic.patient import PatientSolver


@dataclass(frozen=True, slots=True)
class Options:
    """There is nothing to choose."""


class ArrayClaims:
    """The engine `arrays`."""

    name = "arrays"
    summary = "invariants about all elements of arrays, guessed from the text and pruned"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "arrays treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
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
            return _unknown("claims-not-enough", "what holds of elements does not rule out every error")
        return Safe(
            Inductive(
                {
                    Point(at): build.and_(facts.get(at, build.TRUE), *(c.formula for c in needed.get(at, ())))
                    for at in heads
                }
            )
        )


def _steps(program: Program) -> Iterable[Step]:
    main = program.procedures[program.main]
    for edge in main.edges:
        live = () if edge.target in program.error_locations else None
        block = edge.op if isinstance(edge.op, Seq | Choice) else edge
        formula = block_formula(block, main, live=live)
        if formula is not None:
            yield edge, formula


@dataclass(slots=True, eq=False)
class _Question:
    """One step as formulas: `before` and `after` have a literal for each claim, that it holds before the step
    and that it does not after it."""

    edge: Edge
    solver: PatientSolver
    before: dict[Claim, Expr] = field(default_factory=dict)
    after: dict[Claim, Expr] = field(default_factory=dict)


class _Search:
    """`kept`: the claims at heads that have not been dropped."""

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

    def _question(self, step: Step, *, cores: bool) -> _Question:
        from certus.logic.patient import PatientSolver

        edge, formula = step
        made = _Question(edge, PatientSolver(self.statistics, cores=cores))
        made.solver.add(self.facts.get(edge.source, build.TRUE), formula.guard, *formula.definitions)
        later = Substitution(formula.values)
        for claim in self.kept.get(edge.source, ()):
            some = build.var("@some", claim.each.sort)
            places = dict.fromkeys((some, *self.guesses.places(claim.each.sort)))
            literal = made.before[claim] = self._literal()
            made.solver.add(build.implies(literal, build.and_(*map(claim.of, places))))
        for claim in self.kept.get(edge.target, ()):
            some = build.var("@some", claim.each.sort)
            literal = made.after[claim] = self._literal()
            made.solver.add(build.eq(literal, build.not_(later.apply(claim.of(some)))))
        return made

    def _literal(self) -> Expr:
        return build.var(f"@{next(self._numbers)}", BOOL)

    def prune(self) -> None:
        """Drop claims until the rest is inductive."""
        questions = [self._question(step, cores=False) for step in self._steps if step[0].target in self.kept]
        waiting = dict.fromkeys(questions)
        while waiting:
            question = next(iter(waiting))
            del waiting[question]
            if self._drop(question):
                target = question.edge.target
                waiting.update((q, None) for q in questions if q.edge.source is target)

    def _drop(self, question: _Question) -> bool:
        """Drop the claims that a step does not keep; whether there were any."""
        kept = self.kept[question.edge.target]
        dropped = False
        while kept:
            broken = self._broken(question, kept)
            if not broken:
                return dropped
            dropped = True
            for claim in broken:
                del kept[claim]
            self.statistics.progress(f"{sum(map(len, self.kept.values()))} claims left")
        return dropped

    def _broken(self, question: _Question, kept: Iterable[Claim]) -> list[Claim]:
        """Claims that some execution of the step breaks, none if it keeps all."""
        one = self._literal()
        question.solver.add(build.disjunction((build.not_(one), *(question.after[c] for c in kept))))
        answer = self._ask(question, one)
        if answer is Answer.UNSAT:
            return []
        if answer is Answer.SAT:
            return [c for c in kept if question.solver.value(question.after[c])]
        return [c for c in kept if self._ask(question, question.after[c]) is not Answer.UNSAT]

    def _ask(self, question: _Question, *also: Expr) -> Answer:
        self.budget.check()
        known = [question.before[c] for c in self.kept.get(question.edge.source, ())]
        return question.solver.check([*known, *also], budget=self.budget, purpose="arrays")

    def needed(self) -> dict[Location, dict[Claim, None]] | None:
        """The claims that rule out all errors, and those that they rest on; None if there are not enough."""
        questions = [self._question(step, cores=True) for step in self._steps]
        found: dict[Location, dict[Claim, None]] = {at: {} for at in self.kept}
        waiting: list[tuple[Location, Claim]] = []

        def use(question: _Question) -> None:
            core, source = set(question.solver.core()), question.edge.source
            for claim in self.kept.get(source, ()):
                if question.before[claim] in core and claim not in found[source]:
                    found[source][claim] = None
                    waiting.append((source, claim))

        for question in questions:
            if question.edge.target in self.errors:
                if self._ask(question) is not Answer.UNSAT:
                    return None
                use(question)
        while waiting:
            at, claim = waiting.pop()
            for question in questions:
                if question.edge.target is at:
                    if self._ask(question, question.after[claim]) is not Answer.UNSAT:
                        return None
                    use(question)
        return found


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
