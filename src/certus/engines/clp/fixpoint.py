"""Compute the least fixpoint of abstract Horn clauses as BDDs (Flanagan 2004, section 3.2).

A *fact* is a valuation of a relation's interface predicates, with the clause and the facts that first derived
it. Facts are derived one at a time: a propositional solver returns a new valuation that a clause derives from
the regions of its body. This order gives facts small derivations.

The `manner` is how the fixpoint excludes impossible steps:

    proofs      only by the formulas that refinements have explicated
    cores       also by an unsatisfiable core, explicated once, if the theory refutes a step
    exhaustive  the theory decides every step: predicate abstraction without explication
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import BudgetExceeded
from certus.core.horn import HornSystem, Model
from certus.core.solver import Answer
from certus.core.terms import Expr, Function, Kind
from certus.engines.clp.abstraction import AbstractClause, Abstraction, Skeletons, abstract_clause, formals
from certus.solvers.bdd import Region, Regions
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

Manner = Literal["proofs", "cores", "exhaustive"]


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A valuation of a relation's predicates; `relation` None stands for false."""

    relation: Function | None
    valuation: tuple[bool, ...]
    clause: int
    premises: tuple[Fact, ...]


@dataclass(slots=True, eq=False)
class Prover:
    """Data that all fixpoints share: translated terms, skeletons, and how often one formula for all variants
    was tried, by the clauses of the trace."""

    budget: Budget
    statistics: Statistics
    terms: Z3Terms = field(default_factory=lambda: Z3Terms(Z3Context()))
    skeletons: Skeletons = field(default_factory=Skeletons)
    tried: dict[tuple[int, ...], int] = field(default_factory=dict)

    def solver(self) -> Z3Solver:
        return Z3Solver(self.statistics, terms=self.terms)

    def refute(self, formula: Expr) -> Answer:
        """Decide whether the formula can be false in the theory: UNSAT means that it is valid."""
        solver = self.solver()
        solver.add(build.not_(formula))
        return solver.check(budget=self.budget, purpose="clp.prover")


@dataclass(slots=True, eq=False)
class Fixpoint:
    """The facts of the clauses under an abstraction."""

    system: HornSystem
    abstraction: Abstraction
    manner: Manner
    prover: Prover
    regions: Regions = field(default_factory=Regions)
    reached: dict[Function, Region] = field(default_factory=dict)
    facts: dict[tuple[Function, tuple[bool, ...]], Fact] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)  # clauses that derive nothing new from the present facts

    def keep(self, earlier: Fixpoint, finer: Collection[Function], changed: Collection[int]) -> None:
        """Take over the facts of an earlier fixpoint that a refinement did not touch: facts of relations that
        are not `finer`, derived from such facts by clauses that are not `changed`. A clause stays settled if
        no fact that it may have derived is lost."""
        kept: set[Fact] = set()
        lost = set(finer)
        for (relation, _), fact in earlier.facts.items():
            if relation in finer or fact.clause in changed or any(p not in kept for p in fact.premises):
                lost.add(relation)
                continue
            kept.add(fact)
            self._insert(relation, fact)
        heads = {n: self.system.clauses[n].head for n in sorted(earlier.settled)}
        self.settled = {n for n, head in heads.items() if head is None or head.function not in lost}
        self.prover.statistics.count("clp.kept", len(kept))

    def error(self) -> Fact | None:
        """Compute the fixpoint; stop at a derivation of false and return it."""
        users: dict[Function, list[int]] = {}
        for number, clause in enumerate(self.system.clauses):
            for relation in dict.fromkeys(a.function for a in clause.body):
                users.setdefault(relation, []).append(number)
        clauses = [(n, c) for n, c in enumerate(self.system.clauses) if n not in self.settled]
        waiting = deque(n for n, c in clauses if all(a.function in self.reached for a in c.body))
        queued = set(waiting)
        while waiting:
            number = waiting.popleft()
            queued.discard(number)
            grown = False
            for fact in self._new(number):
                if fact.relation is None:
                    return fact
                grown = True
            self.settled.add(number)
            head = self.system.clauses[number].head
            if grown and head is not None:
                for user in self._first_errors(users.get(head.function, ())):
                    self.settled.discard(user)
                    if user not in queued:
                        queued.add(user)
                        waiting.append(user)
        return None

    def _first_errors(self, numbers: Sequence[int]) -> list[int]:
        return sorted(numbers, key=lambda n: self.system.clauses[n].head is not None)

    # ------------------------------------------------------------------------ one clause

    def _new(self, number: int) -> Iterator[Fact]:
        """Yield the new facts that a clause derives."""
        clause = self.system.clauses[number]
        if any(atom.function not in self.reached for atom in clause.body):
            return
        abstract = abstract_clause(self.system, number, self.abstraction)
        solver = self.prover.solver()
        solver.add(*map(self._read, abstract.formulas))
        for atom, instances in abstract.atoms[: len(clause.body)]:
            read = {p: self._read(i) for p, i in instances}
            solver.add(self.regions.formula(self.reached[atom.function], lambda p, r=read: r[p]))  # type: ignore[misc]
        head = clause.head
        exits = {p: self._read(i) for p, i in abstract.atoms[-1][1]} if head is not None else {}
        if head is not None:
            reached = self.reached.get(head.function, self.regions.nothing)
            solver.add(build.not_(self.regions.formula(reached, lambda p: exits[p])))
        purpose = "clp.prover" if self.manner == "exhaustive" else "clp.boolean"
        while True:
            answer = solver.check(budget=self.prover.budget, purpose=purpose)
            if answer is Answer.UNKNOWN:
                raise BudgetExceeded("time")
            if answer is Answer.UNSAT:
                return
            valuations = [
                tuple(bool(solver.value(self._read(i))) for _, i in instances)
                for _, instances in abstract.atoms
            ]
            core = self._refuted(abstract, valuations) if self.manner == "cores" else None
            if core is not None:
                self.abstraction.explicated.setdefault(number, {})[core] = None
                self.prover.statistics.count("clp.cores")
                solver.add(self._read(core))
                continue
            fact = self._add(abstract, valuations)
            yield fact
            if fact.relation is None:
                return
            solver.add(
                build.not_(
                    build.conjunction(
                        e if v else build.not_(e) for e, v in zip(exits.values(), fact.valuation, strict=True)
                    )
                )
            )

    def _read(self, formula: Expr) -> Expr:
        return formula if self.manner == "exhaustive" else self.prover.skeletons.of(formula)

    def _add(self, abstract: AbstractClause, valuations: list[tuple[bool, ...]]) -> Fact:
        clause = abstract.clause
        premises = tuple(
            self.facts[atom.function, valuation]
            for atom, valuation in zip(clause.body, valuations, strict=False)
        )
        if clause.head is None:
            return Fact(None, (), abstract.number, premises)
        relation, valuation = clause.head.function, valuations[-1]
        fact = Fact(relation, valuation, abstract.number, premises)
        self._insert(relation, fact)
        self.prover.statistics.count("clp.facts")
        return fact

    def _insert(self, relation: Function, fact: Fact) -> None:
        valuation = fact.valuation
        self.facts[relation, valuation] = fact
        minterm = self.regions.minterm(
            dict(zip(self.abstraction.predicates(relation), valuation, strict=True))
        )
        reached = self.reached.get(relation, self.regions.nothing)
        self.reached[relation] = self.regions.either(reached, minterm)

    def _refuted(self, abstract: AbstractClause, valuations: list[tuple[bool, ...]]) -> Expr | None:
        """Return a valid formula that excludes the step, if the theory refutes it."""
        literals: dict[Expr, None] = dict.fromkeys(_conjuncts(abstract.clause.constraint))
        for (_, instances), valuation in zip(abstract.atoms, valuations, strict=True):
            for (_, inst), holds in zip(instances, valuation, strict=True):
                literals[inst if holds else build.not_(inst)] = None
        assumptions = [x for x in literals if x is not build.TRUE]
        solver = self.prover.solver()
        if solver.check(assumptions, budget=self.prover.budget, purpose="clp.prover") is not Answer.UNSAT:
            return None
        return build.not_(build.conjunction(solver.core()))

    # ------------------------------------------------------------------------------- a model

    def model(self) -> Model:
        """Return the regions as an interpretation of the relations."""
        interpretation = {}
        for relation in self.system.relations:
            region = self.reached.get(relation, self.regions.nothing)
            interpretation[relation] = (formals(relation.parameters), self.regions.formula(region))
        return Model(interpretation)


def _conjuncts(formula: Expr) -> tuple[Expr, ...]:
    return formula.args if formula.kind is Kind.AND else (formula,)
