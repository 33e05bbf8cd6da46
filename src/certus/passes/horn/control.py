"""Split a relation by the values of its control arguments.

Clauses of a transition system often have one relation, whose arguments include the control state: a round
number, or Boolean variables that encode a location. A *control argument* changes and has few values. For
every *state*, a combination of their values that clauses can derive, the result has a relation of its own
over the other arguments. So the control flow becomes visible to the other stages: a system without loops can
be inlined completely, and a loop that stays in one state is a relation by itself.

A solver computes the states by a search from the clauses that do not use the relation. So the clauses of the
result derive the same facts: a derivation needs no change, and the formulas of the states together are a
model of the old relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, clause_of, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, ArraySort, Expr, Function, Kind
from certus.core.walk import postorder, substitute
from certus.passes.horn.stages import DerivedClause, Stage, expanded, plain_use, simplified
from certus.solvers.z3.derivations import as_term
from certus.solvers.z3.solver import Z3Solver

STATES: Final = 40  # most states of a relation
SPARSE: Final = 4  # most steps between states, for each of them
CANDIDATES: Final = 24  # most arguments to consider
EFFORT: Final = 300_000  # z3's `rlimit` for one query
_PURPOSE: Final = "horn.control"

State = tuple[Expr, ...]  # the values of the control arguments


def by_control(system: HornSystem, budget: Budget, statistics: Statistics) -> Stage | None:
    """Return the stage that splits a relation; None if there is none to split."""
    for relation in system.relations:
        clauses = [c for c in system.clauses if any(a.function is relation for a in c.atoms)]
        if any(sum(a.function is relation for a in c.body) > 1 for c in clauses):
            continue
        numbers, flags = _candidates(relation, clauses)
        for places in dict.fromkeys(((*numbers, *flags), numbers, flags)):
            if 0 < len(places) <= CANDIDATES:
                search = _Search(relation, clauses, budget, statistics)
                if search.run(places):
                    return _stage(system, search)
    return None


def _candidates(relation: Function, clauses: Sequence[Clause]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the arguments that may be control: those equated with constants before and after a step, and
    Boolean ones."""
    before: set[int] = set()
    after: set[int] = set()
    for clause in clauses:
        fixed = set(_equated(clause.constraint))
        for atom, places in (*((a, before) for a in clause.body), (clause.head, after)):
            if atom is not None and atom.function is relation:
                places.update(n for n, a in enumerate(atom.args) if a in fixed or a.kind is Kind.CONST)
    numbered = [*enumerate(relation.parameters)]
    flags = tuple(n for n, sort in numbered if sort is BOOL)
    scalars = (n for n, sort in numbered if sort is not BOOL and not isinstance(sort, ArraySort))
    return tuple(n for n in scalars if n in before and n in after), flags


def _equated(constraint: Expr) -> Iterator[Expr]:
    """Yield the terms that an equation in the constraint compares with a constant."""
    for term in postorder(constraint):
        if term.kind is Kind.EQ:
            for one, other in (term.args, term.args[::-1]):
                if other.kind is Kind.CONST:
                    yield one


@dataclass(slots=True, eq=False)
class _Search:
    """The states of a relation, and for each clause the states before and after it."""

    relation: Function
    clauses: Sequence[Clause]
    budget: Budget
    statistics: Statistics
    places: tuple[int, ...] = ()
    states: dict[State, Function] = field(default_factory=dict)
    steps: dict[Clause, list[tuple[State | None, State | None]]] = field(default_factory=dict)

    def run(self, places: tuple[int, ...]) -> bool:
        """Compute the states of the control arguments among `places`; return whether it pays to split
        the relation."""
        self.places = tuple(n for n in places if self._changes(n))
        if not self.places:
            return False
        waiting: list[State | None] = [None]
        while waiting:
            before = waiting.pop()
            for clause in self.clauses:
                if (self._atom(clause) is None) is not (before is None):
                    continue
                after = self._after(clause, before)
                if after is None:
                    return False
                for state in after:
                    self.steps.setdefault(clause, []).append((before, state))
                    if state is not None and state not in self.states:
                        self.states[state] = self._relation(len(self.states))
                        waiting.append(state)
                if len(self.states) > STATES:
                    return False
        return len(self.states) > 1 and self._is_sparse()

    def _is_sparse(self) -> bool:
        """Return whether few steps lead from state to state. Data of synchronous programs go from
        everywhere to everywhere: splitting it only multiplies the clauses."""
        steps = sum(after is not None for each in self.steps.values() for _, after in each)
        return steps <= SPARSE * len(self.states)

    def _relation(self, number: int) -> Function:
        others = (s for n, s in enumerate(self.relation.parameters) if n not in self.places)
        return Function(f"{self.relation.name}@{number}", tuple(others), self.relation.result)

    def _atom(self, clause: Clause) -> Expr | None:
        return next((a for a in clause.body if a.function is self.relation), None)

    def _head(self, clause: Clause) -> Expr | None:
        derives = clause.head is not None and clause.head.function is self.relation
        return clause.head if derives else None

    def _changes(self, place: int) -> bool:
        """Return whether some clause may change the argument."""
        for clause in self.clauses:
            atom, head = self._atom(clause), self._head(clause)
            if atom is not None and head is not None and atom.args[place] is not head.args[place]:
                solver = self._solver(clause)
                solver.add(build.ne(atom.args[place], head.args[place]))
                if solver.check(budget=self.budget, purpose=_PURPOSE) is not Answer.UNSAT:
                    return True
        return False

    def _after(self, clause: Clause, before: State | None) -> list[State | None] | None:
        """Return the states after a clause (None for another relation or false); None if there are too
        many."""
        atom = self._atom(clause)
        if atom is not None and before is not None:
            constraint = build.and_(clause.constraint, *self._in(atom, before))
            simpler = simplified(clause_of(clause.body, constraint, clause.head))
            if simpler is None:
                return []
            clause = simpler[0]
        head = self._head(clause)
        if head is not None and all(head.args[n].kind is Kind.CONST for n in self.places):
            return [tuple(head.args[n] for n in self.places)]
        solver = self._solver(clause)
        after: list[State | None] = []
        answer = solver.check(budget=self.budget, purpose=_PURPOSE)
        if head is None:
            return [] if answer is Answer.UNSAT else [None]
        while answer is Answer.SAT:
            values = solver.values([head.args[n] for n in self.places])
            sorts = [self.relation.parameters[n] for n in self.places]
            state = tuple(as_term(v, s) for v, s in zip(values, sorts, strict=True))
            after.append(state)
            if len(after) > STATES:
                return None
            solver.add(build.not_(build.conjunction(self._in(head, state))))
            answer = solver.check(budget=self.budget, purpose=_PURPOSE)
        return after if answer is Answer.UNSAT else None

    def _in(self, atom: Expr, state: State) -> list[Expr]:
        """Return the equations that the control arguments of an atom have the values of a state."""
        return [build.eq(atom.args[n], value) for n, value in zip(self.places, state, strict=True)]

    def _solver(self, clause: Clause) -> Z3Solver:
        solver = Z3Solver(self.statistics, options={"rlimit": EFFORT})
        solver.add(clause.constraint)
        return solver

    def split(self, clause: Clause) -> Iterator[Clause]:
        """Yield the clause for each of its states before and after."""
        for before, after in self.steps.get(clause, ()):
            atom, head = self._atom(clause), clause.head
            equations: list[Expr] = []
            body = clause.body
            if atom is not None and before is not None:
                equations += self._in(atom, before)
                body = tuple(self._instance(a, before) if a is atom else a for a in body)
            if head is not None and after is not None:
                equations += self._in(head, after)
                head = self._instance(head, after)
            yield clause_of(body, build.and_(clause.constraint, *equations), head)

    def _instance(self, atom: Expr, state: State) -> Expr:
        others = [a for n, a in enumerate(atom.args) if n not in self.places]
        return build.apply(self.states[state], others)

    def meaning(self, model: Model) -> tuple[tuple[Expr, ...], Expr]:
        """Return the formula of the old relation: that of the state which its control arguments have."""
        names = parameters(self.relation)
        others = [x for n, x in enumerate(names) if n not in self.places]
        cases: list[Expr] = []
        for state, relation in self.states.items():
            own, formula = model.relations[relation]
            same = [build.eq(names[n], value) for n, value in zip(self.places, state, strict=True)]
            cases.append(build.and_(*same, substitute(formula, dict(zip(own, others, strict=True)))))
        return names, build.disjunction(cases)


def _stage(system: HornSystem, search: _Search) -> Stage:
    derived: list[DerivedClause] = []
    for number, clause in enumerate(system.clauses):
        uses = (plain_use(number, clause),)
        if all(a.function is not search.relation for a in clause.atoms):
            derived.append(DerivedClause(clause, uses))
        else:
            derived += [DerivedClause(new, uses) for new in search.split(clause)]
    others = tuple(r for r in system.relations if r is not search.relation)
    relations = (*others, *search.states.values())
    after = HornSystem(relations, tuple(d.clause for d in derived), system.source, system.file)

    def model_back(model: Model) -> Model:
        kept = {r: model.relations[r] for r in others}
        return Model({**kept, search.relation: search.meaning(model)})

    return Stage("control", system, after, model_back, lambda derivation: expanded(derived, derivation))
