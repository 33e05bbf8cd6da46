"""Integers with known bounds only, for runs that must not depend on values C leaves open.

C says of some library results only that they are positive, or not zero. Operations whose result follows from
the bounds are computed; every other one raises `Nondeterministic`.
"""

from __future__ import annotations

from typing import NoReturn

from certus.interpreter.indeterminate import number
from certus.interpreter.inputs import Nondeterministic


class BoundedInteger:
    """An unknown integer from `low` to `high`."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def __pos__(self) -> BoundedInteger:
        return self

    def __neg__(self) -> BoundedInteger:
        return BoundedInteger(-self.high, -self.low)

    def __add__(self, other: object) -> BoundedInteger:
        amount = number(other)
        return BoundedInteger(self.low + amount, self.high + amount)

    def __sub__(self, other: object) -> BoundedInteger:
        return self + -number(other)

    def __rsub__(self, other: object) -> BoundedInteger:
        return -self + other

    def __and__(self, mask: object) -> BoundedInteger:
        """Apply the mask of an integer type; defined if every value within the bounds fits the type."""
        bits = number(mask)
        if self.low < 0 or self.high > bits or bits & (bits + 1):
            self._refuse()
        return self

    __radd__, __rand__ = __add__, __and__

    def __eq__(self, other: object) -> bool:
        if self.low <= number(other) <= self.high:
            self._refuse()
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._below(number(other))

    def __le__(self, other: object) -> bool:
        return self._below(number(other) + 1)

    def __gt__(self, other: object) -> bool:
        return not self <= other

    def __ge__(self, other: object) -> bool:
        return not self < other

    def _below(self, limit: int) -> bool:
        if self.low < limit <= self.high:
            self._refuse()
        return self.high < limit

    def _refuse(self, *_: object) -> NoReturn:
        raise Nondeterministic("the run depends on a number that C leaves to the library")

    def __hash__(self) -> int:
        return self._refuse()

    __bool__ = __index__ = __getattr__ = __getitem__ = _refuse
    __invert__ = __abs__ = __or__ = __ror__ = __xor__ = __rxor__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
