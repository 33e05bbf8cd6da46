"""Values of which some bits are not known: they were read from uninitialised memory, or stand for what
is not modelled.

An `Indeterminate` stands where an integer would. Copying it is harmless, and so are the operations that
move bits around (bit-fields are written by masking and shifting the whole unit): they keep track of each
bit, and a result all of whose bits are known is an integer again. Whatever needs the number raises
`Fault`. Bits are those of the infinite two's complement, as in Python's own integers.
"""

from __future__ import annotations

from typing import NoReturn

from certus.core.errors import CertusError


class Fault(CertusError):
    """What a run does here is undefined; the message is a noun phrase for it."""


class Unmodelled(Fault):
    """What a run does here depends on a value that is not modelled."""


class Indeterminate:
    """The bits set in `unknown` may be anything and are 0 in `bits`; `fault` is raised where they matter."""

    __slots__ = ("bits", "fault", "unknown")

    def __init__(self, bits: int, unknown: int, fault: Fault) -> None:
        self.bits = bits
        self.unknown = unknown
        self.fault = fault

    @staticmethod
    def uninitialised(bits: int, unknown: int, origin: str) -> Indeterminate:
        return Indeterminate(bits, unknown, Fault(f"the use of an uninitialised value ({origin})"))

    @staticmethod
    def unmodelled(what: str) -> Indeterminate:
        """A value nothing is known of, since `what` it stands for is not modelled."""
        return Indeterminate(0, -1, Unmodelled(f"the use of {what}"))

    def _made(self, bits: int, unknown: int) -> Indeterminate | int:
        return Indeterminate(bits & ~unknown, unknown, self.fault) if unknown else bits

    # -- what moves bits

    def __pos__(self) -> Indeterminate:
        return self

    def __invert__(self) -> Indeterminate | int:
        return self._made(~self.bits, self.unknown)

    def __and__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        either = self.unknown | unknown
        return self._made(self.bits & bits, either & (self.bits | self.unknown) & (bits | unknown))

    def __or__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        return self._made(self.bits | bits, (self.unknown | unknown) & ~(self.bits | bits))

    def __xor__(self, other: object) -> Indeterminate | int:
        bits, unknown = _parts(other)
        return self._made(self.bits ^ bits, self.unknown | unknown)

    def __lshift__(self, amount: object) -> Indeterminate | int:
        return self._made(self.bits << _known(amount), self.unknown << _known(amount))

    def __rshift__(self, amount: object) -> Indeterminate | int:
        return self._made(self.bits >> _known(amount), self.unknown >> _known(amount))

    def __add__(self, other: object) -> Indeterminate | int:
        """Below its lowest set bit the other number changes nothing; from the lowest unknown bit above
        that on, carries may change everything."""
        number, unknown = _parts(other)
        low = 0 if unknown else (number & -number) - 1
        either = self.unknown | unknown
        above = either & ~low
        return self._made(self.bits + number, (either & low) | -(above & -above))

    def __sub__(self, other: object) -> Indeterminate | int:
        return self + -_known(other)

    __rand__, __ror__, __rxor__, __radd__ = __and__, __or__, __xor__, __add__

    # -- what needs the number

    def _refuse(self, *_: object) -> NoReturn:
        raise type(self.fault)(*self.fault.args)  # anew: an exception collects where it was raised

    __bool__ = __eq__ = __ne__ = __hash__ = __index__ = __getattr__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse
    __rlshift__ = __rrshift__ = __getitem__ = _refuse


def _parts(value: object) -> tuple[int, int]:
    if isinstance(value, Indeterminate):
        return value.bits, value.unknown
    return _known(value), 0


def _known(value: object) -> int:
    """The number `value` is; other objects that stand for numbers refuse, by exceptions of their own."""
    return value.__index__()  # type: ignore[attr-defined,no-any-return]
