"""Addresses nobody knows: for a run that is to be the only one, whatever the layout of memory is.

An `Address` is a sum of unknown bases of objects, times integers, and a known offset. The bases are
positive and objects that exist at the same time disjoint; nothing more is known of them. What follows from
that is computed, everything else raises `Nondeterministic`: an order between objects, the bits of an address,
whether the end of one object is the start of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, Protocol

from certus.validate.inputs import Nondeterministic


class Extent(Protocol):
    """What an address needs to know of an object."""

    name: str
    extent: int  # its size in bytes
    live: bool


class Address:
    """The sum of `bases` (objects with non-zero factors) and `offset`, for pointers of `bits` bits."""

    __slots__ = ("bases", "bits", "offset")

    def __init__(self, bases: Mapping[Extent, int], offset: int, bits: int) -> None:
        self.bases = bases
        self.offset = offset
        self.bits = bits

    @property
    def aim(self) -> Extent | None:
        """The object this is a pointer into, or somewhere near: None if it is no pointer."""
        return next(iter(self.bases)) if list(self.bases.values()) == [1] else None

    # -- linear arithmetic

    def __add__(self, other: object) -> Address | int:
        if other.__class__ is int:
            return Address(self.bases, self.offset + other, self.bits)
        if not isinstance(other, Address):
            return Address(self.bases, self.offset + _number(other), self.bits)
        bases = dict(self.bases)
        for base, factor in other.bases.items():
            bases[base] = bases.get(base, 0) + factor
        kept = {base: factor for base, factor in bases.items() if factor}
        offset = self.offset + other.offset
        return Address(kept, offset, self.bits) if kept else offset

    def __mul__(self, factor: object) -> Address | int:
        by = _number(factor)
        scaled = {base: by * f for base, f in self.bases.items()}
        return Address(scaled, by * self.offset, self.bits) if by else 0

    def __pos__(self) -> Address:
        return self

    def __neg__(self) -> Address:
        return Address({base: -f for base, f in self.bases.items()}, -self.offset, self.bits)

    def __sub__(self, other: object) -> Address | int:
        if isinstance(other, Start):
            return self.offset - other.offset if self.bases == other.bases else -1
        return self + (-other if isinstance(other, Address) else -_number(other))

    def __rsub__(self, other: object) -> Address | int:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __and__(self, mask: object) -> Address:
        """An address fits the bits of a pointer, so a mask of at least as many changes nothing."""
        into, number, every = self.aim, _number(mask), (1 << self.bits) - 1
        inside = into is not None and 0 <= self.offset <= into.extent
        if not inside or number < 0 or number & every != every:
            self._refuse()
        return self

    __rand__ = __and__

    # -- comparisons

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Address) and self._apart(other):
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
        """Of the difference: an integer, or decided by the bases being positive."""
        left = self - other
        if not isinstance(left, Address):
            return left
        if left.offset >= 0 and all(f > 0 for f in left.bases.values()):
            return 1
        if left.offset <= 0 and all(f < 0 for f in left.bases.values()):
            return -1
        return left._refuse()

    def _apart(self, other: Address) -> bool:
        """Whether these are pointers into, or just behind, different objects that cannot be equal. An object
        that has ended may have been where the other one is."""
        one, two = self.aim, other.aim
        if one is None or two is None or one is two or not one.extent or not two.extent:
            return False
        if not (one.live and two.live):
            return False
        if not (0 <= self.offset <= one.extent and 0 <= other.offset <= two.extent):
            return False
        behind, ahead = (self.offset == one.extent, other.offset == two.extent)
        return not (behind and not other.offset) and not (ahead and not self.offset)

    # -- all else

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
    """Where an object, or a part of one, starts: known to memory only. An address minus this is the offset,
    or -1 if the address is not in this object."""

    __slots__ = ("bases", "offset")

    def __init__(self, bases: Mapping[Extent, int], offset: int) -> None:
        self.bases = bases
        self.offset = offset

    def __add__(self, distance: int) -> Start:
        return Start(self.bases, self.offset + distance)

    def __rsub__(self, address: int) -> int:
        return -1

    def __index__(self) -> int:
        """For what is no address and refuses, whatever the number."""
        return 0


def _number(value: object) -> int:
    """The number `value` is; other objects that stand for numbers refuse, by exceptions of their own."""
    return value.__index__()  # type: ignore[attr-defined,no-any-return]
