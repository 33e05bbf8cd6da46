"""Split the relations of loops that run in phases, one relation for each phase.

A condition such as `x >= 5000` inside a clause from a relation to itself separates phases of a loop, which
may have different invariants. Split the relation by up to four such conditions, and every clause by the
phases of its atoms. Equations and bounds, which cannot express cases, may suffice for the phases (Sharma,
Dillig, Dillig and Aiken 2011: splitter predicates).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, clause_of, parameters
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, Function, Kind
from certus.core.walk import postorder, size, substitute, substitute_all, variables
from certus.encoding.canonical_atoms import canonical
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

MOST = 4  # conditions that split one relation
CLAUSES = 200  # most clauses of the split system
SIZE = 100_000  # most terms in all feasibility queries
_COMPARISONS = (Kind.LE, Kind.LT, Kind.EQ)
Signs = tuple[bool, ...]  # whether each of a relation's conditions is true


class Phases:
    """A system with its relations split by phases; `system` is None if there are no phases, or too many."""

    def __init__(
        self,
        original: HornSystem,
        *,
        budget: Budget,
        statistics: Statistics,
        terms: Z3Terms | None = None,
    ) -> None:
        self._original = original
        self._conditions = {r: _conditions(original, r) for r in original.relations}
        self._solver = Z3Solver(statistics, terms=terms)
        self._budget = budget
        self.system: HornSystem | None = None
        self._asked = 0  # terms in queries so far
        if any(self._conditions.values()):
            clauses = tuple(islice(self._copies(), CLAUSES + 1))
            relations = tuple(self._phase(r, s) for r in original.relations for s in self._signs(r))
            if len(clauses) <= CLAUSES and self._asked <= SIZE:
                self.system = HornSystem(relations, clauses)

    def _copies(self) -> Iterator[Clause]:
        for clause in self._original.clauses:
            for chosen in self._feasible(clause):
                if self._asked > SIZE:
                    return
                yield self._copy(clause, chosen)

    def _signs(self, relation: Function) -> Iterator[Signs]:
        return product((True, False), repeat=len(self._conditions[relation]))

    def _phase(self, relation: Function, signs: Signs) -> Function:
        word = "".join("+" if sign else "-" for sign in signs)
        return Function(f"{relation.name}{word}", relation.parameters, relation.result)

    def _feasible(self, clause: Clause) -> list[tuple[Signs, ...]]:
        """Return the combinations of phases, one for each atom, in which a clause may apply."""
        self._solver.reset()
        self._solver.add(clause.constraint)
        cost = size(clause.constraint)
        combinations: list[tuple[Signs, ...]] = [()]
        for atom in clause.atoms:
            longer = []
            for chosen, signs in product(combinations, self._signs(atom.function)):
                literals = self._assumed(clause, (*chosen, signs))
                self._asked += cost
                if self._asked > SIZE:
                    return []
                answer = self._solver.check(literals, budget=self._budget, purpose="interpolation.phases")
                if answer is not Answer.UNSAT:
                    longer.append((*chosen, signs))
            combinations = longer
        return combinations

    def _assumed(self, clause: Clause, chosen: Sequence[Signs]) -> list[Expr]:
        pairs = zip(clause.atoms, chosen, strict=False)
        return [x for atom, signs in pairs for x in self._literals(atom.function, signs, atom.args)]

    def _copy(self, clause: Clause, chosen: Sequence[Signs]) -> Clause:
        """Return the clause between these phases of its atoms."""
        assumed = self._assumed(clause, chosen)
        pairs = zip(clause.atoms, chosen, strict=True)
        named = [build.apply(self._phase(atom.function, signs), atom.args) for atom, signs in pairs]
        constraint, *applied = substitute_all((clause.constraint, *named), _decided(clause, assumed))
        body = applied[: len(clause.body)]
        head = None if clause.head is None else applied[-1]
        return clause_of(body, build.and_(constraint, *assumed), head)

    def _literals(self, relation: Function, signs: Signs, arguments: Sequence[Expr]) -> list[Expr]:
        read = dict(zip(parameters(relation), arguments, strict=True))
        now = substitute_all(self._conditions[relation], read)
        return [c if sign else build.not_(c) for c, sign in zip(now, signs, strict=True)]

    def model(self, split: Model) -> Model:
        """Return a model of the original clauses: the disjunction over the phases."""
        whole: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation in self._original.relations:
            names = parameters(relation)
            cases = [
                build.and_(
                    *self._literals(relation, signs, names),
                    split.meaning(build.apply(self._phase(relation, signs), names)),
                )
                for signs in self._signs(relation)
            ]
            whole[relation] = (names, build.disjunction(cases))
        return Model(whole)


def _conditions(system: HornSystem, relation: Function) -> tuple[Expr, ...]:
    """Return the conditions inside clauses from a relation to itself, over its parameters."""
    conditions: dict[Expr, None] = {}
    names = parameters(relation)
    for clause in system.clauses:
        if clause.head is None or clause.head.function is not relation:
            continue
        for atom in clause.body:
            if atom.function is relation and all(a.kind is Kind.VAR for a in atom.args):
                reading = dict(zip(atom.args, names, strict=True))
                for condition in _inside(clause):
                    if reading.keys() >= set(variables(condition)):
                        literal = canonical(substitute(condition, reading))
                        positive = literal.args[0] if literal.kind is Kind.NOT else literal
                        if positive.kind in _COMPARISONS:
                            conditions[positive] = None
    return tuple(conditions)[:MOST]


def _inside(clause: Clause) -> Iterator[Expr]:
    """Yield the comparisons inside conditions and disjunctions of a clause."""
    assert clause.head is not None
    for term in postorder(clause.constraint, clause.head):
        parts = (term.args[0],) if term.kind is Kind.ITE else (term,) if term.kind is Kind.OR else ()
        for inner in postorder(*parts):
            if inner.kind in _COMPARISONS and inner.args[0].sort is INT:
                yield inner


def _decided(clause: Clause, literals: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return the truth of comparisons in a clause that the literals decide."""
    truth = {canonical(literal): build.TRUE for literal in literals}
    truth |= {canonical(build.not_(literal)): build.FALSE for literal in literals}
    atoms = (t for t in postorder(clause.constraint, *clause.atoms) if t.kind in _COMPARISONS)
    return {t: truth[canonical(t)] for t in atoms if t.args[0].sort is INT and canonical(t) in truth}
