"""Follow the object that each address was derived from, in *twin* variables.

Where the start of an object does not follow from an address alone, each variable that holds an address `x` of
the region has a twin `x$base`: the start of the object that `x` was derived from, or 0. Fields that hold such
addresses have twin arrays, and procedures twin parameters and results (`encoding.memory`). The invariant:

    if the twin is not 0, the exact offset of `x` in that object, a mathematical integer, is congruent to
    `x - x$base` modulo 2**bits, at least -MARGIN, and less than 2**bits - MARGIN.

So machine values determine exact offsets. Every offset in an object, and that of its end, is in this range,
since no object has more than 2**bits - 1 - MARGIN bytes (`Lifetimes.promise`).

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
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.walk import completed
from certus.encoding.address_terms import AddressTerms
from certus.encoding.addresses import MARGIN, AddressTypes
from certus.encoding.exact_arithmetic import ExactArithmetic, converted


class Provenance:
    """The twins of one program. `regions` are those whose addresses have twins."""

    def __init__(self, partition: Partition, types: AddressTypes, terms: AddressTerms) -> None:
        self.regions: frozenset[int] = frozenset()
        self.arithmetic = ExactArithmetic(terms, partition.address)
        self._partition = partition
        self._types = types
        self._terms = terms
        self._address = partition.address
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
        """Return the twins of the variables that have one."""
        return [twin for x in variables if (twin := self.twin(x)) is not None]

    def copied(self, targets: Iterable[Expr], values: Iterable[Expr]) -> list[tuple[Expr, Expr]]:
        """Return the assignments to twins that accompany an assignment of values to targets."""
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
        shifted, bounds = self._shifted(base), self.arithmetic.bounds(rest)
        low, high = 0, self._address.high  # of `shifted`, before and afterwards
        if rest.kind is Kind.CONST and -high <= (change := int(rest.value)) <= high:
            low, high = max(low, low - change), min(high, high - change)
        else:
            sort = self.arithmetic.sort((low, high), bounds)
            shifted = build.add(converted(shifted, sort), self.arithmetic.value(rest, sort))
        conditions = []
        if bounds is None or bounds[0] < 0:
            conditions.append(build.le(build.constant(low, shifted.sort), shifted))
        if bounds is None or bounds[1] > 0:
            conditions.append(build.le(shifted, build.constant(high, shifted.sort)))
        return build.ite(build.conjunction(conditions), self._starts[base], self.none)

    def _shifted(self, base: Expr) -> Expr:
        """Return the exact offset of an address plus `MARGIN`, a machine integer if its twin is not 0."""
        return build.add(self.distance(base), build.constant(MARGIN, self._address))

    def distance(self, address: Expr) -> Expr:
        """Return the offset of an address modulo 2**bits."""
        return build.sub(self.word(address), self.start(address))

    def near(self, word: Expr, start: Expr) -> Expr:
        """Return the start of an object if an address is near it, else 0: for an address that may not
        be the one that the twin belongs to. Addresses in regions of bytes are arbitrary numbers, and whatever
        lies inside an object can be accessed."""
        margin = build.constant(MARGIN, self._address)
        after = build.lt(build.sub(word, start), build.sub(self.none, margin))
        before = build.le(build.sub(start, word), margin)
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
        """Return the exact offset of the address `base + rest` in the object that `base` was derived from,
        if the twin of `base` is not 0. An offset as a machine integer of the sort of addresses is only known
        modulo 2**bits: it is at most m if and only if the exact offset is in 0..m, for each m up to the size
        of an object. (The exact offset is at least -MARGIN, and less than 2**bits.)"""
        if rest.kind is Kind.CONST and 0 <= int(rest.value) <= MARGIN:
            return build.add(self.distance(base), build.wrap(rest, self._address))
        sort = self.arithmetic.sort((-MARGIN, self._address.high), self.arithmetic.bounds(rest))
        exact = build.sub(converted(self._shifted(base), sort), build.constant(MARGIN, sort))
        return build.add(exact, self.arithmetic.value(rest, sort))

    def word(self, address: Expr) -> Expr:
        """Return the machine value of an address."""
        if address.sort is INT:
            return self._terms.machine(address)
        return build.wrap(self._terms.plain(address), self._address)
