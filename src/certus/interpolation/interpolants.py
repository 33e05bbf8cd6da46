"""Compute interpolants of an infeasible path, also with calls, and invariants of a path with loops.

A path is a system of Horn clauses without cycles: one relation for each position, over the variables in scope
there, and one clause for each step. A call is a step with two premises: the position before it and the end of
the callee's own path. If the path is infeasible the system has a model. The formula of each relation is then
an interpolant in Craig's sense: the steps before the position imply it, the steps after it refute it, and it
ranges over the variables of the relation only. Nested interpolants at calls need no special treatment. If
positions at one location share their relation, the clauses have cycles, and a model is an invariant that
excludes all paths around them at once.

Where variables only hold constants, enumeration along the path finds interpolants (`constant_interpolants`).
Otherwise Spacer does, on mathematical integers if possible. Where Spacer fails (products, divisions, bits),
weakest preconditions may work, and finally Spacer on machine integers. Every result is checked, clause by
clause, before it is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr, Function, Kind
from certus.core.walk import postorder, variables
from certus.encoding.canonical_atoms import as_equalities, canonical, compares_only
from certus.encoding.integer_clauses import IntegerClauses, has_machine_integers
from certus.interpolation import affine
from certus.interpolation.constant_interpolants import by_values
from certus.interpolation.equations import with_affine_equations, with_equations
from certus.interpolation.phases import Phases
from certus.interpolation.weakest_preconditions import preconditions
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.spacer import Fact, horn_answer
from certus.solvers.z3.terms import Z3Terms

EFFORT = 4_000_000  # z3's `rlimit` for one query to Spacer: about two seconds
WIDE = 2 * affine.MOST  # affine equations are not tried for relations with more parameters
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
    """Return a model of clauses that may have cycles: for each relation its parameters and a formula over
    them; None if none is found with this `effort`."""
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
    """Return `invariants`, also for loops that run in phases, or facts that derive false if Spacer finds
    those instead."""
    search = _Search(system, effort, budget, statistics, terms)
    model = search.first([search.by_phases_alone, search.by_affine_equations, search.by_spacer])
    return model or search.refutation or search.first([search.by_phases])


def interpolants(
    system: HornSystem,
    *,
    favoured: Favoured = "equations",
    effort: int = EFFORT,
    budget: Budget,
    statistics: Statistics,
    terms: Z3Terms | None = None,
) -> Interpolants | None:
    """Return for each relation its parameters and an interpolant over them; None if none are found.
    `favoured` is tried first: equations between variables, comparisons with constants, or weakest
    preconditions."""
    search = _Search(system, effort, budget, statistics, terms)
    methods = [search.by_values, search.by_spacer]
    if favoured == "preconditions":
        methods = [search.by_preconditions, *methods]
    else:
        methods = [
            *([search.by_equations] if favoured == "equations" else []),
            *methods,
            search.by_preconditions,
        ]
    return search.first([*methods, search.by_bits])


class _Search:
    """A search for a model of a system, which some methods encode over Int."""

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
        self.refutation: list[Fact] | None = None  # facts that derive false, if Spacer has found any

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
        """Find a model by phases whose equations and bounds suffice."""
        return self._over_integers(lambda system: self._in_phases(system, lambda _: None))

    def _in_phases(self, system: HornSystem, find: Find) -> Model | None:
        if self.split is None:
            self.split = Phases(system, budget=self.budget, statistics=self.statistics, terms=self.terms)
        if self.split.system is None:
            return None
        model = self._with_affine_equations(self.split.system, find)
        return None if model is None else self.split.model(model)

    def by_preconditions(self) -> Model | None:
        return self._checked(
            self.system,
            preconditions(self.system, budget=self.budget, statistics=self.statistics, terms=self.terms),
        )

    def by_bits(self) -> Model | None:
        return None if self.encoded is None else self._checked(self.system, self._spacer(self.system))

    def _over_integers(self, find: Callable[[HornSystem], Model | None]) -> Model | None:
        system = self.system if self.encoded is None else self.encoded.system
        model = self._checked(system, find(system))
        if model is None:
            return None
        model = self._by_equalities(system, model) or model
        return model if self.encoded is None else self.encoded.decoded(model)

    def _by_equalities(self, system: HornSystem, model: Model) -> Model | None:
        """Return a model that only compares for equality if the clauses do so. Spacer splits inequality into
        less and greater: two predicates where one suffices."""
        constraints = [clause.constraint for clause in self.system.clauses]
        if not compares_only(*constraints):
            return None
        terms = postorder(*constraints, *(a for c in self.system.clauses if c.head for a in c.head.args))
        constants = {int(t.value) for t in terms if t.kind is Kind.CONST and t.sort is not BOOL}
        for equal in (True, False):
            relations = {
                relation: (names, as_equalities(canonical(formula), constants, equal=equal))
                for relation, (names, formula) in model.relations.items()
            }
            if relations == model.relations:
                return None
            checked = self._checked(system, Model(relations))
            if checked is not None:
                return checked
        return None

    def _spacer(self, system: HornSystem) -> Model | None:
        answer = horn_answer(
            system,
            budget=self.budget,
            statistics=self.statistics,
            purpose="interpolation",
            effort=self.effort,
        )
        if isinstance(answer, list) and system is self.system:
            self.refutation = answer
        return answer if isinstance(answer, Model) else None

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
    """Tell whether the model satisfies Craig's conditions: each step preserves it, it refutes the last step,
    and each formula contains only its parameters."""
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
    """Return the system of these clauses and the relations they contain."""
    relations: dict[Function, None] = {}
    for clause in clauses:
        for atom in clause.atoms:
            relations[atom.function] = None
    return HornSystem(tuple(relations), clauses)
