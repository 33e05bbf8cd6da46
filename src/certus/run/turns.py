"""Decide which engines run for a program, in which order and for which share of the time.

Each engine says when it wants to run for which kind of program (`core.engine.Slot`); the kind comes from one
walk over the program. ADR 11 has the measurements that the slots rest on.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, Final

from certus.core.budget import Budget
from certus.core.effects import has_floats, terms, uses_memory
from certus.core.engine import Engine, ProgramKind, Role, Slot
from certus.core.horn import HornSystem
from certus.core.loops import recursive
from certus.core.program import Location, Procedure, Program
from certus.core.sorts import ArraySort
from certus.core.terms import BITS, is_product
from certus.core.walk import postorder
from certus.engines.registry import ENGINES
from certus.run.settings import AUTO, Settings

STEADY_SHARE: Final = 0.2  # of the time, before a steady engine pauses on a single core
MOST: Final = 0.6  # of the time left, for an engine after which the steady one continues
UNSCHEDULED: Final = Slot(100, 0.5)  # of an engine that the user named and that has no slot of its own
LARGE: Final = 300  # edges


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an engine for a share of the time left, after the `quick` engines in the same process.
    `pauses`: it is suspended after its share and continues at its next turn."""

    engine: str
    share: float = 1.0
    pauses: bool = False
    quick: tuple[str, ...] = ()


def turns(settings: Settings, cores: int, kind: ProgramKind) -> deque[Turn]:
    """Return the turns of engines in their order."""
    if settings.engine != AUTO:
        return deque([Turn(settings.engine)])
    chosen = [ENGINES[name] for name in settings.engines] or _scheduled(kind)
    if settings.bound is not None and not settings.engines and kind is not ProgramKind.CLAUSES:
        chosen = [engine for engine in chosen if _is_quick(engine) or _has_bound(engine)]
    quick = tuple(engine.name for engine in chosen if _is_quick(engine))
    members = [engine for engine in chosen if not _is_quick(engine)]
    if not members:  # only quick engines: the last of them has the process
        return deque([Turn(quick[-1], quick=quick[:-1])])
    first, *others = _shared(members, cores, kind)
    return deque([replace(first, quick=quick), *others])


def _shared(members: list[Engine[Any]], cores: int, kind: ProgramKind) -> list[Turn]:
    """Return the turns of engines that have processes of their own."""
    slots = {engine.name: engine.schedule.get(kind, UNSCHEDULED) for engine in members}
    if len(members) <= cores:
        return [Turn(name) for name in slots]
    steady = next((engine.name for engine in members if engine.role is Role.STEADY), None)
    if steady is not None and cores == 1:
        others = [name for name in slots if name != steady]
        late = next((n for n, name in enumerate(others, 1) if slots[name].share == 1.0), len(others))
        parts = [Turn(name, MOST if slots[name].share == 1.0 else slots[name].share) for name in others]
        return [Turn(steady, STEADY_SHARE, pauses=True), *parts[:late], Turn(steady), *parts[late:]]
    *earlier, last = [Turn(name, 1.0 if name == steady else slot.share) for name, slot in slots.items()]
    return [*earlier, replace(last, share=1.0)]


def _scheduled(kind: ProgramKind) -> list[Engine[Any]]:
    """Return the engines that have a slot for programs of a kind, in the order of their ranks."""
    slotted = [engine for engine in ENGINES.values() if kind in engine.schedule]
    return sorted(slotted, key=lambda engine: engine.schedule[kind].rank)


def _is_quick(engine: Engine[Any]) -> bool:
    return engine.role is Role.QUICK


def _has_bound(engine: Engine[Any]) -> bool:
    return any(option.name == "bound" for option in dataclasses.fields(engine.options))


# ------------------------------------------------------------------------------- kinds of programs


def kind_of(subject: Program | HornSystem, budget: Budget | None = None) -> ProgramKind:
    """Return the kind of a program. Raises `BudgetExceeded`."""
    if isinstance(subject, HornSystem):
        return ProgramKind.CLAUSES
    budget = budget or Budget()
    if subject.is_boolean:
        return ProgramKind.BOOLEAN
    recursion = bool(recursive(subject))
    if not recursion and not any(_has_cycle(p, budget) for p in subject.procedures.values()):
        return ProgramKind.ACYCLIC
    if recursion:
        return ProgramKind.RECURSIVE
    if has_floats(subject):
        return ProgramKind.FLOATS
    if len(subject.edge) >= LARGE:
        return ProgramKind.LARGE
    arrays = uses_memory(subject) or any(isinstance(x.sort, ArraySort) for x in subject.globals)
    linear = True
    for term in postorder(*(t for edge in subject.edge.values() for t in terms(edge.op))):
        budget.check()
        arrays = arrays or isinstance(term.sort, ArraySort)
        linear = linear and term.kind not in BITS and not is_product(term)
    if arrays:
        return ProgramKind.ARRAYS
    return ProgramKind.LINEAR if linear else ProgramKind.OTHER


def _has_cycle(procedure: Procedure, budget: Budget) -> bool:
    """Return whether the control flow has a cycle: then removing locations without predecessors, one after
    the other, does not remove all."""
    predecessors = {procedure.entry: 0}
    targets: dict[Location, list[Location]] = {}
    for edge in procedure.edges:
        budget.check()
        predecessors.setdefault(edge.source, 0)
        predecessors[edge.target] = predecessors.get(edge.target, 0) + 1
        targets.setdefault(edge.source, []).append(edge.target)
    free = [location for location, number in predecessors.items() if number == 0]
    removed = 0
    while free:
        budget.check()
        removed += 1
        for target in targets.get(free.pop(), ()):
            predecessors[target] -= 1
            if predecessors[target] == 0:
                free.append(target)
    return removed < len(predecessors)
