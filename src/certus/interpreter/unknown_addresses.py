"""Symbolic addresses, for runs that must not depend on the layout of memory.

An `Address` is a linear sum of the unknown base addresses of objects plus an integer offset. The only facts
about bases are that they are positive and that objects that exist at the same time do not overlap. Operations
whose result follows from these facts are computed. Every other one raises `Nondeterministic`: the order of
objects, the bits of an address, whether the end of one object is the start of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, Protocol

from certus.interpreter.indeterminate import number
from certus.interpreter.inputs import Nondeterministic, UnknownValue


class Extent(Protocol):
    """The part of a memory object that addresses use."""

    extent: int  # the size in bytes
    live: bool

    @property
    def name(self) -> str:
        """The name for messages."""


class Address:
    """The sum of `offset` and the `bases` (objects with non-zero factors), for pointers of `bits` bits."""

    __slots__ = ("bases", "bits", "offset")

    def __init__(self, bases: Mapping[Extent, int], offset: int, bits: int) -> None:
        self.bases = bases
        self.offset = offset
        self.bits = bits

    @property
    def target(self) -> Extent | None:
        """The object whose base is the only one here, with factor 1; None if this is not a pointer."""
        return next(iter(self.bases)) if list(self.bases.values()) == [1] else None

    # -- linear arithmetic

    def __add__(self, other: object) -> Address | int:
        if other.__class__ is int:
            return Address(self.bases, self.offset + other, self.bits)
        if not isinstance(other, Address):
            return Address(self.bases, self.offset + number(other), self.bits)
        bases = dict(self.bases)
        for base, factor in other.bases.items():
            bases[base] = bases.get(base, 0) + factor
        nonzero = {base: factor for base, factor in bases.items() if factor}
        offset = self.offset + other.offset
        return Address(nonzero, offset, self.bits) if nonzero else offset

    def __mul__(self, factor: object) -> Address | int:
        scale = number(factor)
        bases = {base: scale * f for base, f in self.bases.items()}
        return Address(bases, scale * self.offset, self.bits) if scale else 0

    def __pos__(self) -> Address:
        return self

    def __neg__(self) -> Address:
        return Address({base: -f for base, f in self.bases.items()}, -self.offset, self.bits)

    def __sub__(self, other: object) -> Address | int:
        if isinstance(other, Start):
            return self.offset - other.offset if self.bases == other.bases else -1
        return self + (-other if isinstance(other, Address) else -number(other))

    def __rsub__(self, other: object) -> Address | int:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __and__(self, mask: object) -> Address:
        """Apply a mask that keeps all bits of a pointer, which changes nothing; refuse any other."""
        target, bits, pointer = self.target, number(mask), (1 << self.bits) - 1
        inside = target is not None and 0 <= self.offset <= target.extent
        if not inside or bits < 0 or bits & pointer != pointer:
            self._refuse()
        return self

    __rand__ = __and__

    # -- comparisons

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Address) and self._cannot_equal(other):
            return False
        return self._sign(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._sign(other) < 0

    def __le__(self, other: object) -> bool:
        return self._sign(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._sign(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._sign(other) >= 0

    def _sign(self, other: object) -> int:
        """Return a number with the sign of `self - other`. It follows if the difference has no base, or from
        the bases being positive."""
        difference = self - other
        if not isinstance(difference, Address):
            return difference
        if difference.offset >= 0 and all(f > 0 for f in difference.bases.values()):
            return 1
        if difference.offset <= 0 and all(f < 0 for f in difference.bases.values()):
            return -1
        return difference._refuse()

    def _cannot_equal(self, other: Address) -> bool:
        """Return whether both point into, or one past the end of, different live objects and must differ.
        An object that has ended may have been at the same place as the other one."""
        one, two = self.target, other.target
        if one is None or two is None or one is two or not one.extent or not two.extent:
            return False
        if not (one.live and two.live):
            return False
        if not (0 <= self.offset <= one.extent and 0 <= other.offset <= two.extent):
            return False
        one_ends, two_ends = self.offset == one.extent, other.offset == two.extent
        return not (one_ends and not other.offset) and not (two_ends and not self.offset)

    # -- all other operations

    def _refuse(self, *_: object) -> NoReturn:
        names = " and ".join(f"`{base.name}`" for base in self.bases)
        raise Nondeterministic(f"the run depends on the address of {names}, which nothing determines")

    def __hash__(self) -> int:
        return self._refuse()

    __bool__ = __index__ = __getattr__ = __getitem__ = _refuse
    __invert__ = __abs__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse


class Start:
    """The start of an object, or of a part of it, for use by memory only. An address minus this is the
    offset, or -1 if the address is not in this object."""

    __slots__ = ("bases", "offset")

    def __init__(self, bases: Mapping[Extent, int], offset: int) -> None:
        self.bases = bases
        self.offset = offset

    def __add__(self, distance: int) -> Start:
        return Start(self.bases, self.offset + distance)

    def __rsub__(self, address: int) -> int:
        return -1

    def __index__(self) -> int:
        """Let values that are not addresses raise their own exception when this is subtracted."""
        return 0


class AddressBytes(UnknownValue):
    """Some bytes of an address, from byte `first` on of `width` bytes. They may only be copied: where all
    bytes are written side by side again, memory contains the address."""

    __slots__ = ("address", "first", "width")

    def __init__(self, address: Address, width: int, first: int) -> None:
        super().__init__("a part of an address")
        self.address = address
        self.width = width
        self.first = first
