"""Derivations from facts: which clause gives each fact, and with which values of its variables.

Somebody, such as Spacer, says what follows from what. For each fact a solver looks for a clause whose
head is the fact and whose body atoms are among the facts it follows from (or, failing that, among all facts
before it), and for values of the clause's variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from certus.core import build
from certus.core.budget import Budget
from certus.core.errors import CertusError, Undefined, Unsupported
from certus.core.evaluate import evaluate
from certus.core.horn import Clause, Derivation, HornSystem, Step
from certus.core.sorts import ArraySort, Sort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function
from certus.core.values import ArrayValue, Datum
from certus.logic.solver import Answer
from certus.logic.spacer import Fact
from certus.logic.z3api import Z3Context
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms


class Unexplained(CertusError):
    """A fact that no clause gives."""


def derive(
    system: HornSystem, facts: Sequence[Fact], *, budget: Budget, statistics: Statistics
) -> Derivation:
    """The derivation that the facts describe; the last of them stands for false."""
    search = _Search(system, facts, budget, statistics)
    return _without_unused([search.step(number) for number in range(len(facts))])


def forward(system: HornSystem, *, facts: int, budget: Budget, statistics: Statistics) -> Derivation | None:
    """A derivation found by applying clauses to what is derived, up to a number of facts; None if there is
    none within it. Where nobody says what follows from what, this finds what is near."""
    search = _Search(system, [], budget, statistics)
    derived: list[Fact] = []
    steps: list[Step] = []
    order = sorted(range(len(system.clauses)), key=lambda n: system.clauses[n].head is not None)
    while len(derived) < facts:
        before = len(derived)
        for number in order:
            found = search.new(number, derived)
            if found is None:
                continue
            step, fact = found
            steps.append(step)
            if fact is None:
                return _without_unused(steps)
            derived.append(fact)
        if len(derived) == before:
            return None
    return None


class _Search:
    def __init__(
        self, system: HornSystem, facts: Sequence[Fact], budget: Budget, statistics: Statistics
    ) -> None:
        self._system = system
        self._facts = facts
        self._budget = budget
        self._statistics = statistics
        self._terms = Z3Terms(Z3Context())
        self._by_head: dict[Function | None, list[int]] = {}
        for number, clause in enumerate(system.clauses):
            head = None if clause.head is None else clause.head.function
            self._by_head.setdefault(head, []).append(number)

    def step(self, number: int) -> Step:
        fact = self._facts[number]
        is_last = number == len(self._facts) - 1
        wider = range(number) if fact.premises else ()
        for premises in (fact.premises, wider):
            for clause in self._by_head.get(None if is_last else fact.relation, ()):
                found = self._apply(clause, fact, premises)
                if found is not None:
                    return found
        raise Unexplained(f"no clause gives the fact about {fact.relation.name}")

    def new(self, number: int, derived: Sequence[Fact]) -> tuple[Step, Fact | None] | None:
        """A fact that the clause gives and that is not derived yet; None in its place stands for false."""
        clause = self._system.clauses[number]
        self._facts = derived
        choices = [[p for p, f in enumerate(derived) if f.relation is a.function] for a in clause.body]
        if not all(choices):
            return None
        head = clause.head
        known = [] if head is None else [f for f in derived if f.relation is head.function]
        other = build.TRUE if head is None else build.conjunction(build.not_(_equal(head, f)) for f in known)
        step = self._solved(number, clause, choices, other)
        if step is None or head is None:
            return None if step is None else (step, None)
        env = dict(zip(clause.variables, step.values, strict=True))
        try:
            values = tuple(as_term(evaluate(a, env), a.sort) for a in head.args)
        except (Undefined, KeyError):
            return None
        return step, Fact(head.function, values, ())

    def _apply(self, number: int, fact: Fact, premises: Iterable[int]) -> Step | None:
        """The clause as a step to the fact from some of the premises, if it can be one."""
        clause = self._system.clauses[number]
        self._budget.check()
        choices = [[p for p in premises if self._facts[p].relation is a.function] for a in clause.body]
        if not all(choices):
            return None
        return self._solved(
            number, clause, choices, build.TRUE if clause.head is None else _equal(clause.head, fact)
        )

    def _solved(self, number: int, clause: Clause, choices: list[list[int]], condition: Expr) -> Step | None:
        solver = Z3Solver(self._statistics, terms=self._terms)
        solver.add(clause.constraint, condition)
        for atom, possible in zip(clause.body, choices, strict=True):
            solver.add(build.disjunction(_equal(atom, self._facts[p]) for p in possible))
        if solver.check(budget=self._budget, purpose="derivation") is not Answer.SAT:
            return None
        try:
            return self._read(solver, number, clause, choices)
        except Unsupported:
            return None

    def _read(self, solver: Z3Solver, number: int, clause: Clause, choices: list[list[int]]) -> Step:
        values: tuple[Datum, ...] = solver.values(clause.variables)
        used = [
            next(p for p in possible if solver.value(_equal(atom, self._facts[p])))
            for atom, possible in zip(clause.body, choices, strict=True)
        ]
        return Step(number, values, tuple(used))


def shared(system: HornSystem, derivation: Derivation) -> Derivation:
    """The derivation with one step for each fact: what is derived twice is derived once. Raises as `evaluate`
    does."""
    first: dict[tuple[Function, tuple[Datum, ...]], int] = {}  # by what a step concludes
    places: list[int] = []
    steps: list[Step] = []
    for step in derivation.steps:
        clause = system.clauses[step.clause]
        values = dict(zip(clause.variables, step.values, strict=True))
        place = len(steps)
        if clause.head is not None:
            fact = clause.head.function, tuple(evaluate(a, values) for a in clause.head.args)
            place = first.setdefault(fact, place)
        places.append(place)
        if place == len(steps):
            steps.append(Step(step.clause, step.values, tuple(places[p] for p in step.premises)))
    return _without_unused(steps)


def as_term(value: Datum, sort: Sort) -> Expr:
    """A value as a term."""
    if not isinstance(value, ArrayValue):
        return build.constant(value, sort)
    assert isinstance(sort, ArraySort)
    made = build.const_array(sort.index, as_term(value.default, sort.element))
    for index, element in value.entries.items():
        made = build.store(made, as_term(index, sort.index), as_term(element, sort.element))
    return made


def _equal(atom: Expr, fact: Fact) -> Expr:
    return build.conjunction(build.eq(a, v) for a, v in zip(atom.args, fact.values, strict=True))


def _without_unused(steps: Sequence[Step]) -> Derivation:
    """Only the steps that the last one needs."""
    needed = {len(steps) - 1}
    for number in range(len(steps) - 1, -1, -1):
        if number in needed:
            needed.update(steps[number].premises)
    kept = sorted(needed)
    places = {old: new for new, old in enumerate(kept)}
    return Derivation(
        tuple(
            Step(steps[n].clause, steps[n].values, tuple(places[p] for p in steps[n].premises)) for n in kept
        )
    )
