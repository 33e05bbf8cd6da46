"""New predicates from an infeasible path (seed 001, section 6).

The path, sliced to a core (see `paths`), becomes a system of Horn clauses: its items are relations, its
steps clauses (see `logic.interpolation`). Variables that do not matter to the path are left out. The path
through a callee that returns starts at its entry with nothing known but old(x) = x, so what is found
there is a summary, good for every call. Where the path ends inside a call, the callee's entry is reached
from the call, and `old` is not spoken of.

A path that comes to a location again is first *collapsed*: the items at one location share a relation.
A model of that is an invariant of the loops the path goes round, and excludes all paths around them; so
loops are not unrolled one round per refinement. A recursive procedure needs a summary that is good for every
call: a path through one is first *completed* by all that the procedure does. If there is no invariant,
interpolants of the path itself serve.

The atoms of the formula at an item become predicates at its location only, those of one conjunct
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypedDict

from certus.core.budget import Budget
from certus.core.horn import HornSystem
from certus.core.program import Location
from certus.core.statistics import Statistics
from certus.core.terms import Kind
from certus.core.walk import substitute
from certus.engines.predicate.abstraction import Group
from certus.engines.predicate.clauses import PathClauses
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.paths import Kept
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.steps import Step, Steps
from certus.logic.canonical import canonical, predicates
from certus.logic.interpolation import Favoured, Interpolants, interpolants, invariants
from certus.logic.z3terms import Z3Terms

Found = list[tuple[Location, Group]]
QUICK = 1_000_000  # z3's unit of work, for the invariant of one path: about half a second


class Limits(TypedDict):
    """What every question to a solver comes with."""

    budget: Budget
    statistics: Statistics
    terms: Z3Terms


@dataclass(slots=True, eq=False)
class Refinement:
    """Finds predicates for one path after another. `tried`: collapsed paths without an invariant; after each
    of these the next `waiting` refinements do without that attempt, several times as many each time."""

    steps: Steps
    limits: Limits
    states: Enumerations
    tried: dict[HornSystem, None] = field(default_factory=dict)
    failures: int = 0
    waiting: int = 0

    def new_predicates(self, error: Item, kept: Kept) -> Found | None:
        """Groups of predicates at locations that exclude the path to `error`; None if no interpolants were
        found. A group has the atoms of one conjunct of an interpolant."""
        for path, found in self._attempts(error, kept):
            self.limits["budget"].check()
            if found is not None:
                return _groups(path, found)
        return None

    def _attempts(self, error: Item, kept: Kept) -> Iterator[tuple[PathClauses, Interpolants | None]]:
        sliced = PathClauses(error, self.steps, kept)
        if (sliced.has_cycles or sliced.is_recursive) and not self._waits():
            if sliced.is_recursive:
                completed = PathClauses(error, self.steps, None, collapsed=True, completed=True)
                yield completed, self._invariants(completed.system())
            for part in (None, kept) if sliced.has_cycles else ():  # what no round needs, an invariant may
                collapsed = PathClauses(error, self.steps, part, collapsed=True)
                yield collapsed, self._invariants(collapsed.system())
            self.failures += 1
            self.waiting = 4**self.failures - 1
        yield sliced, interpolants(sliced.system(), favoured=self._favoured(sliced), **self.limits)
        full = PathClauses(error, self.steps, None)
        yield full, interpolants(full.system(), favoured="preconditions", **self.limits)

    def _favoured(self, path: PathClauses) -> Favoured:
        """Round a loop equations between variables are what lasts; but states of automata are told by their
        values: that two of them are equal says little, and relates predicates that have nothing in common."""
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


def _groups(path: PathClauses, found: Interpolants) -> Found:
    result: dict[tuple[Location, Group], None] = {}
    for location, atom in path.relations():
        parameters, formula = found[atom.function]
        meaning = canonical(substitute(formula, dict(zip(parameters, atom.args, strict=True))))
        for conjunct in meaning.args if meaning.kind is Kind.AND else (meaning,):
            group = predicates(conjunct)
            if group:
                result[location, group] = None
    return list(result)


def step_chain(error: Item) -> tuple[Step, ...]:
    """All steps an item depends on, each once."""
    found: dict[Item, None] = {}
    stack = [error]
    while stack:
        item = stack.pop()
        if item not in found:
            found[item] = None
            stack.extend(item.premises)
    return tuple(dict.fromkeys(item.step for item in found))
