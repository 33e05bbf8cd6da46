"""Follow the object that each address was derived from, in *twin* variables.

Where the start of an object does not follow from an address alone, each variable that holds an address `x` of
the region has a twin `x$base`: the start of the object that `x` was derived from, or 0. Fields that hold such
addresses have twin arrays, and procedures twin parameters and results (`encoding.memory`). The invariant:

    if the twin is not 0, the exact offset of `x` in that object, a mathematical integer, is
    `x - x$base` as a signed number, and its absolute value is below 2**(bits - 2).

Twins follow the terms. A number is derived from no object. A sum is derived from the object of its address,
unless its offset leaves the range above: then its twin is 0, and no access through it counts as valid, even
where the machine value has wrapped into an object again. So the answer may be "no" for an address that went
that far and came back, never "yes" for one that is out of bounds.
"""

from __future__ import annotations

from collections.abc import Iterable

from certus.core import build
from certus.core.build import monomial
from certus.core.memory import Partition
from certus.core.terms import INT, Expr, Kind, MachineSort, machine
from certus.core.walk import completed
from certus.encoding.address_terms import AddressTerms
from certus.encoding.addresses import AddressTypes
from certus.encoding.exact_arithmetic import Bounds, ExactArithmetic, converted


class Provenance:
    """The twins of one program. `regions` are those whose addresses have twins."""

    def __init__(self, partition: Partition, types: AddressTypes, terms: AddressTerms) -> None:
        self.regions: frozenset[int] = frozenset()
        self.arithmetic = ExactArithmetic(terms, partition.address)
        self._partition = partition
        self._types = types
        self._terms = terms
        self._address = partition.address
        self._reach = 1 << (partition.bits - 2)
        self._starts: dict[Expr, Expr] = {}
        self.none = build.constant(0, self._address)

    # ----------------------------------------------------------------------------------- variables

    def twin(self, x: Expr) -> Expr | None:
        """Return the twin of a variable; None if it has none."""
        pointer = self._partition.carriers.get(x)
        if pointer is None or pointer.region not in self.regions:
            return None
        return build.var(f"{x.name}$base", self._address)

    def twins(self, variables: Iterable[Expr]) -> list[Expr]:
        """Return the twins of variables, of those that have one."""
        return [twin for x in variables if (twin := self.twin(x)) is not None]

    def copied(self, targets: Iterable[Expr], values: Iterable[Expr]) -> list[tuple[Expr, Expr]]:
        """Return what an assignment of values to targets assigns to the twins."""
        pairs = zip(targets, values, strict=True)
        return [(twin, self.start(value)) for x, value in pairs if (twin := self.twin(x)) is not None]

    # --------------------------------------------------------------------------------------- terms

    def start(self, term: Expr) -> Expr:
        """Return the start of the object that an address of one of the `regions` was derived from, or 0."""
        return completed(term, self._starts, self._new_start)

    def _new_start(self, term: Expr) -> Expr:
        pointer = self._types.of(term) if term.sort is INT or isinstance(term.sort, MachineSort) else None
        if pointer is None or pointer.region not in self.regions:
            return self.none
        if term.kind is Kind.VAR:
            twin = self.twin(term)
            assert twin is not None
            return twin
        if term.kind is Kind.ITE:
            condition, then, otherwise = term.args
            return build.ite(self._terms.plain(condition), self._starts[then], self._starts[otherwise])
        if term.kind is Kind.ADD:
            return self._moved(term)
        assert term.kind in (Kind.TO_INT, Kind.WRAP), "no other operation gives an address"
        return self._starts[term.args[0]]

    def _moved(self, term: Expr) -> Expr:
        base, rest = self.split(term)
        start, bounds = self._starts[base], self.arithmetic.bounds(rest)
        offset = self.offset(base, rest)
        conditions = []
        if bounds is None or bounds[0] < 0:
            conditions.append(build.le(build.constant(-self._reach, offset.sort), offset))
        if bounds is None or bounds[1] > 0:
            conditions.append(build.lt(offset, build.constant(self._reach, offset.sort)))
        return build.ite(build.conjunction(conditions), start, self.none)

    def near(self, word: Expr, start: Expr) -> Expr:
        """Return the start of an object if an address is near it, else 0: for an address that may not
        be the one that the twin belongs to. Addresses in regions of bytes are arbitrary numbers, and whatever
        lies inside an object can be accessed."""
        reach = build.constant(self._reach, self._address)
        after = build.lt(build.sub(word, start), reach)
        before = build.lt(build.sub(start, word), reach)
        return build.ite(build.ite(build.le(start, word), after, before), start, self.none)

    def split(self, address: Expr) -> tuple[Expr, Expr]:
        """Split an address into the address that it was derived from and a number: their sum is `address`.
        The choice is that of the typing rules (`encoding.addresses`)."""
        if address.kind is not Kind.ADD or address.sort is not INT or self._types.of(address) is None:
            return address, build.integer(0)
        parts = [monomial(item) for item in address.args if item.kind is not Kind.CONST]
        typed = [(factor, base) for factor, base in parts if self._is_address(base)]
        pool = [(factor, base) for factor, base in typed if base.kind is not Kind.TO_INT] or typed
        (base,) = (base for factor, base in pool if factor == 1)
        return base, build.sub(address, base)

    def _is_address(self, term: Expr) -> bool:
        return self._types.of(term) is not None

    def offset(self, base: Expr, rest: Expr) -> Expr:
        """Return the exact offset of the address `base + rest` in the object that `base` was derived from.
        Its sort holds every value that it can have if the twin of `base` is not 0."""
        reach: Bounds = (-self._reach, self._reach)
        sort = self.arithmetic.sort(reach, self.arithmetic.bounds(rest))
        distance = build.sub(self.word(base), self.start(base))
        signed = build.wrap(distance, machine(self._address.width, signed=True))
        return build.add(converted(signed, sort), self.arithmetic.value(rest, sort))

    def word(self, address: Expr) -> Expr:
        """Return the machine value of an address."""
        if address.sort is INT:
            return self._terms.machine(address)
        return build.wrap(self._terms.plain(address), self._address)
