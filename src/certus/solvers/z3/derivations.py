"""Turn facts into a derivation: find the clause of each step and the values of its variables.

Spacer states facts and their premises, but neither clauses nor values. For each fact, z3 searches for a
clause whose head is the fact and whose body atoms are among the premises (or, failing that, among all earlier
facts), and for values of the clause's variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import CertusError, Undefined, Unsupported
from certus.core.horn import Clause, Derivation, HornSystem, Step
from certus.core.solver import Answer
from certus.core.terms import ArraySort, Expr, Function, Sort
from certus.core.values import ArrayValue, Datum, evaluate
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.spacer import Fact
from certus.solvers.z3.terms import Z3Terms


class Unexplained(CertusError):
    """No clause derives a fact."""


def derive(
    system: HornSystem, facts: Sequence[Fact], *, budget: Budget, statistics: Statistics
) -> Derivation:
    """Return the derivation that the facts describe; the last fact stands for false."""
    search = _Search(system, facts, budget, statistics)
    return _without_unused([search.step(number) for number in range(len(facts))])


def forward(system: HornSystem, *, facts: int, budget: Budget, statistics: Statistics) -> Derivation | None:
    """Derive false by applying clauses forward, with at most this number of facts; None if that fails. Finds
    short derivations where no facts are available."""
    search = _Search(system, [], budget, statistics)
    derived: list[Fact] = []
    steps: list[Step] = []
    order = sorted(range(len(system.clauses)), key=lambda n: system.clauses[n].head is not None)
    while len(derived) < facts:
        before = len(derived)
        for number in order:
            result = search.new(number, derived)
            if result is None:
                continue
            step, fact = result
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
                applied = self._apply(clause, fact, premises)
                if applied is not None:
                    return applied
        raise Unexplained(f"no clause derives the fact about {fact.relation.name}")

    def new(self, number: int, derived: Sequence[Fact]) -> tuple[Step, Fact | None] | None:
        """Derive a new fact by the clause, with None for false; return None if there is none."""
        clause = self._system.clauses[number]
        self._facts = derived
        choices = [[p for p, f in enumerate(derived) if f.relation is a.function] for a in clause.body]
        if not all(choices):
            return None
        head = clause.head
        same = [] if head is None else [f for f in derived if f.relation is head.function]
        other = build.TRUE if head is None else build.conjunction(build.not_(_equal(head, f)) for f in same)
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
        """Return the clause as a step from some of the premises to the fact, if it is one."""
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
    """Return the derivation with one step for each distinct fact. Raises the exceptions of `evaluate`."""
    first: dict[tuple[Function, tuple[Datum, ...]], int] = {}  # the first step that derives a fact
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
    """Return a value as a term."""
    if not isinstance(value, ArrayValue):
        return build.constant(value, sort)
    assert isinstance(sort, ArraySort)
    term = build.const_array(sort.index, as_term(value.default, sort.element))
    for index, element in value.entries.items():
        term = build.store(term, as_term(index, sort.index), as_term(element, sort.element))
    return term


def _equal(atom: Expr, fact: Fact) -> Expr:
    return build.conjunction(build.eq(a, v) for a, v in zip(atom.args, fact.values, strict=True))


def _without_unused(steps: Sequence[Step]) -> Derivation:
    """Keep only the steps that the last one needs."""
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
