"""Numbers of which only bounds are known: for a run that is to be the only one, whatever a library returns
where C says only that it is positive, or not zero.

What follows from the bounds is computed; everything else raises `Nondeterministic`.
"""

from __future__ import annotations

from typing import NoReturn

from certus.validate.inputs import Nondeterministic


class Between:
    """A number from `low` to `high`."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def __pos__(self) -> Between:
        return self

    def __neg__(self) -> Between:
        return Between(-self.high, -self.low)

    def __add__(self, other: object) -> Between:
        number = _number(other)
        return Between(self.low + number, self.high + number)

    def __sub__(self, other: object) -> Between:
        return self + -_number(other)

    def __rsub__(self, other: object) -> Between:
        return -self + other

    def __and__(self, mask: object) -> Between:
        """Numbers that fit the mask of a width are unchanged."""
        number = _number(mask)
        if self.low < 0 or self.high > number or number & (number + 1):
            self._refuse()
        return self

    __radd__, __rand__ = __add__, __and__

    def __eq__(self, other: object) -> bool:
        number = _number(other)
        if self.low <= number <= self.high:
            self._refuse()
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._below(_number(other))

    def __le__(self, other: object) -> bool:
        return self._below(_number(other) + 1)

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


def _number(value: object) -> int:
    """The number `value` is; other objects that stand for numbers refuse, by exceptions of their own."""
    return value.__index__()  # type: ignore[attr-defined,no-any-return]
