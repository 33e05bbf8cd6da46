"""Find new predicates that exclude an infeasible path (Wolff 2015, section 6).

The path, sliced to a core (see `paths`), becomes a system of Horn clauses: its items are relations, its steps
are clauses (see `interpolation.interpolants`). Variables that do not matter to the path are left out. A path
through a callee that returns starts at its entry with nothing assumed but old(x) = x, so the interpolant at
the exit is a summary for every call. Where the path ends inside a call, the callee's entry is reached from
the call, and formulas do not use `old`.

A path that visits a location twice is first *collapsed*: all items at one location share a relation. A model
of that is an invariant of the loops on the path, and excludes every number of iterations; so refinement does
not unroll loops. A recursive procedure needs a summary for every call, so a path through it is first
*completed* with all its steps. If there is no invariant, interpolants of the path itself are used.

The atoms of the formula at an item become predicates at its location; those of one conjunct are a group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypedDict

from certus.core.accounting import Budget, Statistics
from certus.core.horn import HornSystem
from certus.core.program import Location
from certus.core.terms import Kind
from certus.core.walk import substitute
from certus.encoding.canonical_atoms import canonical, predicates
from certus.engines.predicate.abstraction import Group
from certus.engines.predicate.clauses import PathClauses
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.paths import Kept
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.steps import Step, Steps
from certus.interpolation.interpolants import Favoured, Interpolants, interpolants, invariants
from certus.solvers.z3.terms import Z3Terms

Groups = list[tuple[Location, Group]]
QUICK = 1_000_000  # resource limit of z3 for the invariant of one path: about half a second


class Limits(TypedDict):
    """Arguments that every query to a solver needs."""

    budget: Budget
    statistics: Statistics
    terms: Z3Terms


@dataclass(slots=True, eq=False)
class Refinement:
    """The search for predicates that exclude paths. `collapses`: whether paths with loops are collapsed.
    `tried`: collapsed paths without an invariant; after each of these the next `waiting` refinements skip
    that attempt, four times as many each time."""

    steps: Steps
    limits: Limits
    states: Enumerations
    collapses: bool = True
    tried: dict[HornSystem, None] = field(default_factory=dict)
    failures: int = 0
    waiting: int = 0

    def new_predicates(self, error: Item, kept: Kept) -> Groups | None:
        """Return groups of predicates at locations that exclude the path to `error`; None if there are no
        interpolants. A group has the atoms of one conjunct of an interpolant."""
        for path, solution in self._attempts(error, kept):
            self.limits["budget"].check()
            if solution is not None:
                return _groups(path, solution)
        return None

    def _attempts(self, error: Item, kept: Kept) -> Iterator[tuple[PathClauses, Interpolants | None]]:
        sliced = PathClauses(error, self.steps, kept)
        if self.collapses and (sliced.has_cycles or sliced.is_recursive) and not self._waits():
            if sliced.is_recursive:
                completed = PathClauses(error, self.steps, None, collapsed=True, completed=True)
                yield completed, self._invariants(completed.system())
            for part in (
                (None, kept) if sliced.has_cycles else ()
            ):  # an invariant may need conjuncts that the core lacks
                collapsed = PathClauses(error, self.steps, part, collapsed=True)
                yield collapsed, self._invariants(collapsed.system())
            self.failures += 1
            self.waiting = 4**self.failures - 1
        yield sliced, interpolants(sliced.system(), favoured=self._favoured(sliced), **self.limits)
        full = PathClauses(error, self.steps, None)
        yield full, interpolants(full.system(), favoured="preconditions", **self.limits)

    def _favoured(self, path: PathClauses) -> Favoured:
        """Choose the kind of interpolants: for loops equations between variables, which are often invariant;
        but values for states of automata, as equations would relate variables that have nothing in common."""
        if not path.has_cycles:
            return "preconditions"
        names = [x for _, atom in path.relations() for x in atom.args]
        return "values" if self.states.include(names) else "equations"

    def _waits(self) -> bool:
        self.waiting -= 1
        return self.waiting >= 0

    def _invariants(self, system: HornSystem) -> Interpolants | None:
        if system in self.tried:
            return None
        self.tried[system] = None
        return invariants(system, effort=QUICK, **self.limits)


def _groups(path: PathClauses, solution: Interpolants) -> Groups:
    groups: dict[tuple[Location, Group], None] = {}
    for location, atom in path.relations():
        parameters, formula = solution[atom.function]
        meaning = canonical(substitute(formula, dict(zip(parameters, atom.args, strict=True))))
        for conjunct in meaning.args if meaning.kind is Kind.AND else (meaning,):
            group = predicates(conjunct)
            if group:
                groups[location, group] = None
    return list(groups)


def step_chain(error: Item) -> tuple[Step, ...]:
    """Return all steps an item depends on, each once."""
    items: dict[Item, None] = {}
    stack = [error]
    while stack:
        item = stack.pop()
        if item not in items:
            items[item] = None
            stack.extend(item.premises)
    return tuple(dict.fromkeys(item.step for item in items))
