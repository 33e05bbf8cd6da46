"""Compute the set of values of a quantity where it is small, as for status codes and states of automata.

In a solution of the constraint system some quantities have a value, and some operands of joins are open.
Under it, sets of constants are propagated along the definitions from below: a join unites them, a sum shifts
them, a conditional excludes members, and only members in its range are values of a quantity. A set with more
than `MOST` members, or of an input, becomes None. So every set contains all values that the quantity has in
any execution for which the solution is sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Final

from certus.analysis.ranges.float_constraints import Compared
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.system import Definition, Fixed, Gate, Join, Meet, Sum, System, Values
from certus.core.accounting import Budget

MOST: Final = 16  # limit of members of a set
Members = frozenset[int] | None
_Result = Callable[[tuple[int, ...]], int | None]
_NONE: Final[frozenset[int]] = frozenset()


class FewValues:
    """The sets of values of all quantities of a system under one of its solutions."""

    def __init__(self, system: System, values: Values, budget: Budget) -> None:
        self.system, self.values = system, values
        self.sets: list[Members] = [_NONE] * len(system)
        users = system.users()
        pending = [q for q in range(len(system) - 1, -1, -1) if values.has(q)]
        waiting = set(pending)
        while pending:
            budget.check()
            quantity = pending.pop()
            waiting.discard(quantity)
            members = _united((self.sets[quantity], self._in_range(quantity)))
            if members != self.sets[quantity]:
                self.sets[quantity] = members
                for user in users[quantity]:
                    if user not in waiting and values.has(user):
                        waiting.add(user)
                        pending.append(user)

    def of(self, quantities: Iterable[int]) -> tuple[int, ...] | None:
        """Return all values of some quantities, ordered; None if there are too many."""
        members = _united(self.sets[q] for q in quantities if self.values.has(q))
        return None if members is None else tuple(sorted(members))

    def _in_range(self, quantity: int) -> Members:
        members = self._evaluate(quantity, self.system.definitions[quantity])
        low, high = self.values[quantity]
        return None if members is None else frozenset(v for v in members if low <= v <= high)

    def _evaluate(self, quantity: int, definition: Definition) -> Members:
        if isinstance(definition, Join):
            pairs = zip(definition.operands, definition.gates, strict=True)
            return _united(self.sets[o] for o, gate in pairs if self.values.has(gate) and self.values.has(o))
        if isinstance(definition, Fixed | Gate):
            low, high = self.values[quantity]
            return frozenset((low,)) if low == high else None
        if isinstance(definition, Meet):
            members = self.sets[definition.of]
            excluded = (self.values.exactly(bound) for bound in definition.excluded)
            return None if members is None else members - set(excluded)
        if isinstance(definition, Sum):
            return self._combined([q for _, q in definition.terms], lambda members: _sum(definition, members))
        if isinstance(definition, Compared):
            return self.sets[definition.of]

        def result(members: tuple[int, ...]) -> int | None:
            low, high = definition.apply([(v, v) for v in members])
            return low if low == high else None

        return self._combined(definition.arguments, result)

    def _combined(self, used: Iterable[int], result: _Result) -> Members:
        """Return the results for all choices of members, if these are few and each result is one number."""
        sets = [self.sets[q] for q in used]
        small = [each for each in sets if each is not None]
        if len(small) < len(sets) or prod(map(len, small)) > MOST:
            return None
        results = [result(choice) for choice in product(*map(sorted, small))]
        numbers = [each for each in results if each is not None]
        return frozenset(numbers) if len(numbers) == len(results) else None


def _sum(definition: Sum, choice: tuple[int, ...]) -> int:
    total = definition.constant + sum(c * v for (c, _), v in zip(definition.terms, choice, strict=True))
    if definition.greatest >= INFINITE:
        return total
    return (total - definition.least) % (definition.greatest - definition.least + 1) + definition.least


def _united(sets: Iterable[Members]) -> Members:
    union: frozenset[int] = _NONE
    for each in sets:
        if each is None:
            return None
        union |= each
    return union if len(union) <= MOST else None
