"""Interpolants along an infeasible path, or a tree of paths with calls; invariants of a path with loops.

A path is a system of Horn clauses without cycles: one relation per position on it, over the variables
in scope there, and one clause per step; a call is a step with two premises, the position before it
and the end of the callee's own path. If the path is infeasible the system has a model, and what it gives
each relation is an interpolant: implied by what leads to the position, refuted by what
follows (Craig), over the variables of the relation only, so nested ones at calls come out alike.
If positions at one location share their relation, the clauses have cycles, and a model is an invariant that
excludes all paths around them at once.

Where variables only hold constants, enumeration along the path finds it (see `values`). Otherwise
Spacer does, on mathematical integers if it can be; where it has no answer (products, divisions,
bits), weakest preconditions may serve, and at last Spacer on the machine integers.
Nothing is taken on trust: every sequence is checked, clause by clause, before it is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import postorder, variables
from certus.logic import affine
from certus.logic.canonical import as_equalities, canonical, compares_only
from certus.logic.equations import with_affine_equations, with_equations
from certus.logic.integer_clauses import IntegerClauses, has_machine_integers
from certus.logic.phases import Phases
from certus.logic.solver import Answer
from certus.logic.spacer import Fact, horn_answer
from certus.logic.values import by_values
from certus.logic.weakest import preconditions
from certus.logic.z3solver import Z3Solver
from certus.logic.z3terms import Z3Terms

EFFORT = 4_000_000  # z3's unit of work, for one answer of Spacer's: about two seconds
WIDE = 2 * affine.MOST  # parameters, of which affine equations leave out so many that they are not tried
Find = Callable[[HornSystem], Model | None]
Interpolants = Mapping[Function, tuple[tuple[Expr, ...], Expr]]
Favoured = Literal["equations", "values", "preconditions"]


def invariants(
    system: HornSystem,
    *,
    effort: int = EFFORT,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Interpolants | None:
    """For each relation its parameters and a formula over them, together a model of clauses that may
    have cycles; None if Spacer finds none with that `effort`."""
    search = _Search(system, effort, budget, statistics, terms)
    wide = any(len(relation.parameters) > WIDE for relation in system.relations)
    return search.first([*([] if wide else [search.by_affine_equations]), search.by_spacer])


def invariants_or_facts(
    system: HornSystem,
    *,
    effort: int = EFFORT,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Interpolants | list[Fact] | None:
    """As `invariants`, for loops that run in phases too; or facts that derive false, if Spacer finds them
    in their place."""
    search = _Search(system, effort, budget, statistics, terms)
    found = search.first([search.by_phases_alone, search.by_affine_equations, search.by_spacer])
    return found or search.refutation or search.first([search.by_phases])


def interpolants(
    system: HornSystem,
    *,
    favoured: Favoured = "equations",
    effort: int = EFFORT,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Interpolants | None:
    """For each relation its parameters and an interpolant over them; None if none were found. `favoured` is
    tried first: equations between variables, comparisons with constants, or weakest preconditions."""
    search = _Search(system, effort, budget, statistics, terms)
    ways = [search.by_values, search.by_spacer]
    if favoured == "preconditions":
        ways = [search.by_preconditions, *ways]
    else:
        ways = [*([search.by_equations] if favoured == "equations" else []), *ways, search.by_preconditions]
    return search.first([*ways, search.by_bits])


class _Search:
    """Ways to a model of a system, which may be encoded over Int for it."""

    def __init__(
        self,
        system: HornSystem,
        effort: int,
        budget: Budget,
        statistics: Statistics,
        terms: Z3Terms | None,
    ) -> None:
        self.system = system
        self.effort = effort
        self.budget = budget
        self.statistics = statistics
        self.terms = terms
        self.encoded = IntegerClauses(system) if has_machine_integers(system) else None
        self.split: Phases | None = None
        self.refutation: list[Fact] | None = None  # facts that derive false, if that is what was found

    def first(self, attempts: list[Callable[[], Model | None]]) -> Interpolants | None:
        for attempt in attempts:
            model = attempt()
            if model is not None:
                return model.relations
            self.budget.check()
        return None

    def by_spacer(self) -> Model | None:
        return self._over_integers(self._spacer)

    def by_equations(self) -> Model | None:
        def find(system: HornSystem) -> Model | None:
            return with_equations(
                system, self._spacer, budget=self.budget, statistics=self.statistics, terms=self.terms
            )

        return self._over_integers(find)

    def by_values(self) -> Model | None:
        def find(system: HornSystem) -> Model | None:
            return by_values(system, budget=self.budget, statistics=self.statistics, terms=self.terms)

        return self._over_integers(find)

    def by_affine_equations(self) -> Model | None:
        return self._over_integers(lambda system: self._with_affine_equations(system, self._spacer))

    def _with_affine_equations(self, system: HornSystem, find: Find) -> Model | None:
        return with_affine_equations(
            system, find, budget=self.budget, statistics=self.statistics, terms=self.terms
        )

    def by_phases(self) -> Model | None:
        return self._over_integers(lambda system: self._in_phases(system, self._spacer))

    def by_phases_alone(self) -> Model | None:
        """Phases where equations and bounds suffice."""
        return self._over_integers(lambda system: self._in_phases(system, lambda _: None))

    def _in_phases(self, system: HornSystem, find: Find) -> Model | None:
        if self.split is None:
            self.split = Phases(system, budget=self.budget, statistics=self.statistics, terms=self.terms)
        if self.split.system is None:
            return None
        found = self._with_affine_equations(self.split.system, find)
        return None if found is None else self.split.model(found)

    def by_preconditions(self) -> Model | None:
        return self._checked(
            self.system,
            preconditions(self.system, budget=self.budget, statistics=self.statistics, terms=self.terms),
        )

    def by_bits(self) -> Model | None:
        return None if self.encoded is None else self._checked(self.system, self._spacer(self.system))

    def _over_integers(self, find: Callable[[HornSystem], Model | None]) -> Model | None:
        system = self.system if self.encoded is None else self.encoded.system
        found = self._checked(system, find(system))
        if found is None:
            return None
        model = self._by_equalities(system, found) or found
        return model if self.encoded is None else self.encoded.decoded(model)

    def _by_equalities(self, system: HornSystem, model: Model) -> Model | None:
        """If the clauses only compare for equality, a model that does so too: Spacer splits what is not equal
        into less and greater, which are two predicates where one would do."""
        constraints = [clause.constraint for clause in self.system.clauses]
        if not compares_only(*constraints):
            return None
        terms = postorder(*constraints, *(a for c in self.system.clauses if c.head for a in c.head.args))
        known = {int(t.value) for t in terms if t.kind is Kind.CONST and t.sort is not BOOL}
        for equal in (True, False):
            relations = {
                relation: (names, as_equalities(canonical(formula), known, equal=equal))
                for relation, (names, formula) in model.relations.items()
            }
            if relations == model.relations:
                return None
            found = self._checked(system, Model(relations))
            if found is not None:
                return found
        return None

    def _spacer(self, system: HornSystem) -> Model | None:
        found = horn_answer(
            system,
            budget=self.budget,
            statistics=self.statistics,
            purpose="interpolation",
            effort=self.effort,
        )
        if isinstance(found, list) and system is self.system:
            self.refutation = found
        return found if isinstance(found, Model) else None

    def _checked(self, system: HornSystem, model: Model | None) -> Model | None:
        if model is None:
            return None
        sound = are_interpolants(
            system, model, budget=self.budget, statistics=self.statistics, terms=self.terms
        )
        return model if sound else None


def are_interpolants(
    system: HornSystem,
    model: Model,
    *,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> bool:
    """Whether the model satisfies Craig's conditions: each step preserves it, the last one is
    impossible, and no formula speaks of more than its parameters."""
    for parameters, formula in model.relations.values():
        if not set(variables(formula)) <= set(parameters):
            return False
    solver = Z3Solver(statistics, terms=terms)
    for clause in system.clauses:
        solver.reset()
        solver.add(clause.constraint, *(model.meaning(atom) for atom in clause.body))
        if clause.head is not None:
            solver.add(build.not_(model.meaning(clause.head)))
        if solver.check(budget=budget, purpose="interpolation.check") is not Answer.UNSAT:
            return False
    return True


def path_system(clauses: tuple[Clause, ...]) -> HornSystem:
    """The system of these clauses; its relations are those they derive or use."""
    found: dict[Function, None] = {}
    for clause in clauses:
        for atom in clause.atoms:
            found[atom.function] = None
    return HornSystem(tuple(found), clauses)
