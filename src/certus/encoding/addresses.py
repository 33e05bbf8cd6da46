"""Decide which terms are addresses under a partition: the typing rules of `core.memory` for terms.

A variable has the type the partition gives it. The type passes through conversions between Int and machine
integers of the pointers' width, through choices, and through sums: of the parts with factor 1, an Int one
takes precedence over a converted one, and the rest must be a constant plus multiples of the stride. Every
other operation computes a plain number. If an argument of it is an address, or an address is compared, its
region is recorded:

- `leaks`: a number depends on the addresses of these regions;
- `distances`: a number depends on distances or the order of addresses inside these regions;
- `equations`: addresses of these types are compared for equality;
- `intruders`: plain numbers may be used as addresses of these regions.

A pointer with a nondeterministic value (`Havoc`) opens its region: a comparison can make it equal to what it
is compared with. If that is of another type, or a number, it enters the region as if it were assigned; and if
numbers depend on addresses of the region, these may be compared with any value (`intruded`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from certus.core.build import monomial
from certus.core.errors import CertusError
from certus.core.memory import Field, Partition, Pointer, Region
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.walk import completed

MARGIN = 1 << 16  # bytes at the end of the address space without objects


class Mistyped(CertusError):
    """A term or an operation does not fit the partition."""


def no_object(constant: int, bits: int) -> bool:
    """Return whether a constant pointer is not the address of an object: null, a function, an error code."""
    return constant <= 0 or constant >= (1 << bits) - MARGIN


@dataclass(slots=True, eq=False)
class AddressTypes:
    """The types of terms, each computed once."""

    partition: Partition
    leaks: dict[int, None] = field(default_factory=dict)
    distances: dict[int, None] = field(default_factory=dict)
    equations: dict[tuple[Pointer, Pointer], None] = field(default_factory=dict)
    intruders: dict[int, None] = field(default_factory=dict)
    _open: dict[int, None] = field(default_factory=dict)  # regions with nondeterministic pointers
    _compared: dict[int, None] = field(default_factory=dict)  # regions compared with another type
    _types: dict[Expr, Pointer | None] = field(default_factory=dict)
    _scaled: dict[Expr, Expr] = field(default_factory=dict)  # multiples of addresses, with the address

    def of(self, root: Expr) -> Pointer | None:
        """Return the type of a term that is an address; None for a number, a truth value or an array."""
        pointer = completed(root, self._types, self._type)
        if root in self._scaled:
            self._leak(self._scaled[root])
        return pointer

    def _type(self, term: Expr) -> Pointer | None:
        kind, args = term.kind, term.args
        if kind is Kind.VAR:
            return self.partition.carriers.get(term)
        scaled = [self._scaled[a] for a in args if a in self._scaled]
        if not scaled and not any(self._types[a] is not None for a in args):
            return None
        if kind is Kind.ADD and term.sort is INT:
            return self._sum(term)
        self._leak(*scaled)
        if kind in (Kind.TO_INT, Kind.WRAP) and self._keeps_width(term):
            return self._types[args[0]]
        if kind is Kind.ITE:
            return self._choice(args[1], args[2])
        if kind is Kind.MUL and term.sort is INT and self._types.get(monomial(term)[1]) is not None:
            self._scaled[term] = monomial(term)[1]
        elif kind in (Kind.EQ, Kind.LE, Kind.LT):
            self._comparison(term)
        else:
            self._leak(*args)
        return None

    def _keeps_width(self, term: Expr) -> bool:
        """Return whether a conversion keeps every address."""
        inner = term.args[0].sort
        if term.kind is Kind.TO_INT and isinstance(inner, MachineSort) and inner.signed:
            return False
        widths = [t.sort.width for t in (term, *term.args) if isinstance(t.sort, MachineSort)]
        return all(width == self.partition.bits for width in widths)

    def _sum(self, term: Expr) -> Pointer | None:
        parts = [monomial(item) for item in term.args if item.kind is not Kind.CONST]
        typed = [(factor, base) for factor, base in parts if self._types.get(base) is not None]
        if not typed:
            return None
        pool = [(f, b) for f, b in typed if b.kind is not Kind.TO_INT] or typed
        addresses = [base for factor, base in pool if factor == 1]
        if len(addresses) != 1:
            self._leak(*(base for _, base in typed))
            return None
        base = addresses[0]
        others = [(factor, other) for factor, other in typed if other is not base]
        for _, other in others:
            self._meet(base, other)
        if len(others) == 1 and others[0][0] == -1 and self._region(others[0][1]) == self._region(base):
            self.distances[self._region(base)] = None
            return None
        self._leak(*(other for _, other in others))
        constant = sum(int(item.value) for item in term.args if item.kind is Kind.CONST)
        return self._moved(base, constant, [int(factor) for factor, other in parts if other is not base])

    def _moved(self, base: Expr, constant: int, multiples: list[int]) -> Pointer:
        pointer = self._types[base]
        assert pointer is not None
        stride = self.partition.regions[pointer.region].stride
        if any(multiple % stride if stride else True for multiple in multiples):
            raise Mistyped(f"an address of region {pointer.region} is not moved by multiples of {stride}")
        return self.shifted(pointer, constant)

    def shifted(self, pointer: Pointer, constant: int) -> Pointer:
        """Return the type of an address moved by a constant."""
        stride = self.partition.regions[pointer.region].stride
        phase = pointer.phase + constant
        return Pointer(pointer.region, phase % stride if stride else phase)

    def _choice(self, then: Expr, otherwise: Expr) -> Pointer | None:
        """Return the type of both alternatives. A constant that is not the address of an object fits any
        type."""
        pointers = [p for p in (self._types[then], self._types[otherwise]) if p is not None]
        if not pointers:
            return None
        if len(pointers) == 2 and pointers[0] != pointers[1]:
            raise Mistyped(f"a choice between {pointers[0]} and {pointers[1]}")
        for term in (then, otherwise):
            self.enters(term, pointers[0])
        return pointers[0]

    def _comparison(self, term: Expr) -> None:
        one, other = (self._types[a] for a in term.args)
        self._meet(*term.args)
        if one is not None and other is not None and one.region == other.region:
            if term.kind is Kind.EQ:
                self.equations[one, other] = None
            else:
                self.distances[one.region] = None
            return
        for side, opposite in (term.args, term.args[::-1]):
            if self._types[side] is not None and not (term.kind is Kind.EQ and self._is_no_object(opposite)):
                self._leak(side)

    def _meet(self, *terms: Expr) -> None:
        """Record the regions of two terms that are compared, unless both are of one type."""
        if self._types[terms[0]] != self._types[terms[1]] and not any(map(self._is_no_object, terms)):
            pointers = [pointer for pointer in (self._types[t] for t in terms) if pointer is not None]
            self._compared.update((pointer.region, None) for pointer in pointers)
            self._admit(pointers)

    def _admit(self, pointers: Iterable[Pointer]) -> None:
        """Record that a value compared with a nondeterministic pointer of these types may replace it."""
        for pointer in pointers:
            if pointer.region in self._open and pointer.region in self._compared:
                self.intruders[pointer.region] = None

    def _is_no_object(self, term: Expr) -> bool:
        return term.kind is Kind.CONST and no_object(int(term.value), self.partition.bits)

    def _leak(self, *terms: Expr) -> None:
        self.leaks.update((self._region(t), None) for t in terms if self._types[t] is not None)

    def _region(self, term: Expr) -> int:
        pointer = self._types[term]
        assert pointer is not None
        return pointer.region

    @property
    def pointers(self) -> dict[Pointer, None]:
        """The types of all addresses seen so far."""
        seen = (*self.partition.carriers.values(), *self._types.values())
        return {pointer: None for pointer in seen if pointer is not None}

    @property
    def intruded(self) -> dict[int, None]:
        """The regions whose addresses plain numbers may be used as, or be made equal to."""
        return {**self.intruders, **{region: None for region in self.leaks if region in self._open}}

    # ------------------------------------------------------------------------------------ flows

    def enters(self, term: Expr, target: Pointer | None) -> None:
        """Record that a term is assigned to a place of type `target`; raise `Mistyped` if it does not fit."""
        own = self.of(term)
        if own is None:
            if target is not None and not self._is_no_object(term):
                self.intruders[target.region] = None
        elif target is None:
            self.leaks[own.region] = None
        elif own != target:
            raise Mistyped(f"an address of type {own} where {target} is expected")

    def anything(self, targets: Iterable[Expr]) -> None:
        """Record that the variables get nondeterministic values."""
        pointers = [p for p in (self.partition.carriers.get(target) for target in targets) if p is not None]
        self._open.update((pointer.region, None) for pointer in pointers)
        self._admit(pointers)

    def field(self, pointer: Pointer, width: int) -> Field | None:
        """Return the field that an access of `width` bytes touches; None if the region consists of bytes."""
        fields = self.partition.regions[pointer.region].fields
        if fields is None:
            return None
        for each in fields:
            if each.offset == pointer.phase and each.width == width:
                return each
        raise Mistyped(f"region {pointer.region} has no field of {width} bytes at {pointer.phase}")


def cell_offsets(region: Region, field: Field, size: Expr) -> range:
    """Return the offsets of the cells of a field in an object of a `size`, which must be constant if there
    are several."""
    if not region.stride:
        return range(field.offset, field.offset + 1)
    if size.kind is not Kind.CONST:
        raise Mistyped("the cells of an object of unknown size cannot be variables")
    return range(field.offset, int(size.value) - field.width + 1, region.stride)
