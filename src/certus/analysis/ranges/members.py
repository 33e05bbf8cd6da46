"""The numbers a quantity can be, where these are few: status codes and states need no interval around them.

A solution of the constraint system says what has a value and which joins count. Under it, sets of constants
go along the definitions from below: a join unites, a sum moves, a conditional excludes, and only what lies in
its range is a value of a quantity. A set with more than `MOST` members, or of an input, is given up (None).
So every set holds all values that the quantity has in any execution for which the solution is sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Final

from certus.analysis.ranges.operations import INFINITE, operate
from certus.analysis.ranges.system import Definition, Fixed, Gate, Join, Meet, Sum, System, Values
from certus.core.budget import Budget

MOST: Final = 16  # members of a set
Members = frozenset[int] | None
_Result = Callable[[tuple[int, ...]], int | None]
_NONE: Final[frozenset[int]] = frozenset()


class FewValues:
    """The sets of all quantities of a system under one of its solutions."""

    def __init__(self, system: System, values: Values, budget: Budget) -> None:
        self.system, self.values = system, values
        self.sets: list[Members] = [_NONE] * len(system)
        users: list[list[int]] = [[] for _ in range(len(system))]
        for quantity, used in enumerate(system.uses()):
            for each in used:
                users[each].append(quantity)
        pending = [q for q in range(len(system) - 1, -1, -1) if values.has(q)]
        waiting = set(pending)
        while pending:
            budget.check()
            quantity = pending.pop()
            waiting.discard(quantity)
            found = _united((self.sets[quantity], self._in_range(quantity)))
            if found != self.sets[quantity]:
                self.sets[quantity] = found
                for user in users[quantity]:
                    if user not in waiting and values.has(user):
                        waiting.add(user)
                        pending.append(user)

    def of(self, quantities: Iterable[int]) -> tuple[int, ...] | None:
        """All values of some quantities, ordered; None if they are many."""
        found = _united(self.sets[q] for q in quantities if self.values.has(q))
        return None if found is None else tuple(sorted(found))

    def _in_range(self, quantity: int) -> Members:
        found = self._evaluate(quantity, self.system.definitions[quantity])
        low, high = self.values[quantity]
        return None if found is None else frozenset(v for v in found if low <= v <= high)

    def _evaluate(self, quantity: int, definition: Definition) -> Members:
        if isinstance(definition, Join):
            pairs = zip(definition.operands, definition.gates, strict=True)
            return _united(self.sets[o] for o, gate in pairs if self.values.has(gate) and self.values.has(o))
        if isinstance(definition, Fixed | Gate):
            low, high = self.values[quantity]
            return frozenset((low,)) if low == high else None
        if isinstance(definition, Meet):
            given = self.sets[definition.of]
            excluded = (self.values.exactly(bound) for bound in definition.excluded)
            return None if given is None else given - set(excluded)
        if isinstance(definition, Sum):
            return self._combined([q for _, q in definition.terms], lambda given: _sum(definition, given))
        limits = (definition.least, definition.greatest)

        def result(given: tuple[int, ...]) -> int | None:
            low, high = operate(definition.kind, [(v, v) for v in given], limits, definition.width)
            return low if low == high else None

        return self._combined(definition.arguments, result)

    def _combined(self, used: Iterable[int], result: _Result) -> Members:
        """The results for all choices of members, if these are few and each result is one number."""
        sets = [self.sets[q] for q in used]
        known = [each for each in sets if each is not None]
        if len(known) < len(sets) or prod(map(len, known)) > MOST:
            return None
        found = [result(given) for given in product(*map(sorted, known))]
        numbers = [each for each in found if each is not None]
        return frozenset(numbers) if len(numbers) == len(found) else None


def _sum(definition: Sum, given: tuple[int, ...]) -> int:
    total = definition.constant + sum(c * v for (c, _), v in zip(definition.terms, given, strict=True))
    if definition.greatest >= INFINITE:
        return total
    return (total - definition.least) % (definition.greatest - definition.least + 1) + definition.least


def _united(sets: Iterable[Members]) -> Members:
    found: frozenset[int] = _NONE
    for each in sets:
        if each is None:
            return None
        found |= each
    return found if len(found) <= MOST else None
