"""Who runs, when, and for how long: the table behind `auto`.

`bmc` comes first and keeps a processor: it finds short counterexamples and small proofs, and can use all the
time there is. Then comes the search among inputs, which is no engine and over within a second, unless it has
an answer that has to be checked. The others take turns on the other processors, each for a share of the time
left by then, in an order that depends on what the program is like; those that answer quickly or not at all
come first, also for what they find out for those after them. On one processor `bmc` rests while the others
have their turns. `docs/benchmarks.md` has the figures.

Horn clauses are for two engines that solve different ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from certus.core.budget import Budget
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.pipeline.features import Features, features
from certus.pipeline.settings import AUTO, Settings

FIRST: Final = "bmc"
FIRST_SHARE: Final = 0.2  # where it has to take turns: before it rests
MOST: Final = 0.6  # of the time left, where `bmc` goes on later
SEARCH: Final = "search"
SEARCH_SHARE: Final = 0.7
LARGE: Final = 300  # edges


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an engine for a share of the time left. `rests`: it goes on after that, at its next turn."""

    engine: str
    share: float
    rests: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The turns for programs of one kind, after `first`."""

    kind: str
    applies: Callable[[Features], bool]
    turns: tuple[Turn, ...]
    first: tuple[str, ...] = (FIRST,)


def order(text: str) -> tuple[Turn, ...]:
    """Engines between commas, each with its share of the time left; without one it has all of it."""
    words = [part.split() for part in text.split(",")]
    return tuple(Turn(name, float(share[0]) if share else 1.0) for name, *share in words)


PLANS: Final = (  # the first that applies; who comes after all of the time is given steps in for who gives up
    Plan("without loops", lambda f: f.acyclic, order("predicate, spacer")),
    Plan("recursive", lambda f: f.recursion, order("linear 0.4, spacer 0.3, predicate, clp")),
    Plan("large", lambda f: f.size >= LARGE, order("kind 0.15, predicate, spacer")),
    Plan("linear", lambda f: f.linear, order("linear 0.25, spacer 0.2, kind 0.2, predicate, clp")),
    Plan("arrays", lambda f: f.arrays, order("arrays 0.3, linear 0.2, kind 0.25, spacer 0.2, predicate")),
    Plan("other", lambda _: True, order("linear 0.2, kind 0.25, spacer 0.2, predicate, clp")),
)
CLAUSES: Final = Plan("Horn clauses", lambda _: False, order("spacer 0.5, clp"), first=())


def plan_for(subject: Program | HornSystem, budget: Budget | None = None) -> Plan:
    """The plan for programs like this one. Raises `BudgetExceeded`."""
    if isinstance(subject, HornSystem):
        return CLAUSES
    known = features(subject, budget)
    return next(plan for plan in PLANS if plan.applies(known))


def turns(settings: Settings, cores: int, plan: Plan) -> deque[Turn]:
    """Who runs, in order."""
    found = _engines(settings, cores, plan)
    if len(found) > 1 and plan.first:
        found.insert(1, Turn(SEARCH, SEARCH_SHARE))
    return found


def _engines(settings: Settings, cores: int, plan: Plan) -> deque[Turn]:
    if settings.engine != AUTO:
        return deque([Turn(settings.engine, 1.0)])
    if settings.bound is not None and not settings.engines and plan.first:
        return deque([Turn(FIRST, 1.0)])
    shares = {turn.engine: turn.share for turn in plan.turns}
    chosen = settings.engines or (*plan.first, *shares)
    if len(chosen) <= cores:
        return deque(Turn(name, 1.0) for name in chosen)
    if FIRST in chosen and cores == 1:
        others = [Turn(name, min(shares.get(name, 0.5), MOST)) for name in chosen if name != FIRST]
        late = next((n for n, turn in enumerate(others, 1) if turn.share == MOST), len(others))
        return deque([Turn(FIRST, FIRST_SHARE, rests=True), *others[:late], Turn(FIRST, 1.0), *others[late:]])
    *earlier, last = [Turn(name, 1.0 if name == FIRST else shares.get(name, 0.5)) for name in chosen]
    return deque([*earlier, replace(last, share=1.0)])
