"""Integers with unknown bits, read from uninitialised memory or standing for a value that is not modelled.

An `Indeterminate` takes the place of an integer. Copying it is allowed, and so are operations that only move
bits (a bit-field is written by masking and shifting the whole unit): these track each bit, and a result
without unknown bits is an integer again. Every operation that needs the number raises `Fault`, so no run can
depend on an unknown bit unnoticed. Bits are those of the infinite two's complement, as in Python's integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final, NoReturn, cast

from certus.core.errors import CertusError

# Return an operand as an integer; other objects that stand for integers raise their own exceptions.
number: Final = cast(Callable[[object], int], operator.index)


class Fault(CertusError):
    """Undefined behaviour of a run; the message is a noun phrase that describes it."""


class Unmodelled(Fault):
    """A use of a value that is not modelled."""


class Indeterminate:
    """An integer whose bits in `unknown` are arbitrary (and 0 in `bits`). A use of them raises `fault`."""

    __slots__ = ("bits", "fault", "unknown")

    def __init__(self, bits: int, unknown: int, fault: Fault) -> None:
        self.bits = bits
        self.unknown = unknown
        self.fault = fault

    @staticmethod
    def uninitialised(bits: int, unknown: int, origin: str) -> Indeterminate:
        """Return a value read at `origin` whose bits in `unknown` were never written."""
        return Indeterminate(bits, unknown, Fault(f"the use of an uninitialised value ({origin})"))

    @staticmethod
    def unmodelled(what: str) -> Indeterminate:
        """Return a value without any known bit, which stands for `what`."""
        return Indeterminate(0, -1, Unmodelled(f"the use of {what}"))

    def _result(self, bits: int, unknown: int) -> Indeterminate | int:
        return Indeterminate(bits & ~unknown, unknown, self.fault) if unknown else bits

    # -- operations that move bits

    def __pos__(self) -> Indeterminate:
        return self

    def __invert__(self) -> Indeterminate | int:
        return self._result(~self.bits, self.unknown)

    def __and__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        either = self.unknown | unknown
        return self._result(self.bits & bits, either & (self.bits | self.unknown) & (bits | unknown))

    def __or__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        return self._result(self.bits | bits, (self.unknown | unknown) & ~(self.bits | bits))

    def __xor__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        return self._result(self.bits ^ bits, self.unknown | unknown)

    def __lshift__(self, amount: object) -> Indeterminate | int:
        return self._result(self.bits << number(amount), self.unknown << number(amount))

    def __rshift__(self, amount: object) -> Indeterminate | int:
        return self._result(self.bits >> number(amount), self.unknown >> number(amount))

    def __add__(self, other: object) -> Indeterminate | int:
        """Add. Bits below the lowest set bit of `other` stay as they are; carries make every bit from the
        lowest unknown one above that unknown."""
        number, unknown = _parts(other)
        low = 0 if unknown else (number & -number) - 1
        either = self.unknown | unknown
        above = either & ~low
        return self._result(self.bits + number, (either & low) | -(above & -above))

    def __sub__(self, other: object) -> Indeterminate | int:
        return self + -number(other)

    __rand__, __ror__, __rxor__, __radd__ = __and__, __or__, __xor__, __add__

    # -- operations that need the number

    def _refuse(self, *_: object) -> NoReturn:
        raise type(self.fault)(*self.fault.args)  # a new one: an exception keeps its traceback

    __bool__ = __eq__ = __ne__ = __hash__ = __index__ = __getattr__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse
    __rlshift__ = __rrshift__ = __getitem__ = _refuse


def _parts(value: object) -> tuple[int, int]:
    if isinstance(value, Indeterminate):
        return value.bits, value.unknown
    return number(value), 0
