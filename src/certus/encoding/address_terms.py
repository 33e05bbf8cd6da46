"""Rewrite terms about addresses as terms of machine integers (see `encoding.memory`).

Every Int term has a *machine* value: the term modulo 2**bits, computed in unsigned integers of that width. A
term that depends on no address is also kept unchanged. Where a term that depends on addresses is needed as an
Int, its machine value is converted: as unsigned for an address, as signed for a distance.
"""

from __future__ import annotations

from certus.core import build
from certus.core.terms import INT, Expr, Kind, MachineSort, machine
from certus.core.walk import completed, rebuild
from certus.encoding.addresses import AddressTypes

_DIVISIONS = (Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD)
_COMPARISONS = {Kind.EQ: build.eq, Kind.LE: build.le, Kind.LT: build.lt}


class AddressTerms:
    """A rewriting of the terms of a program, each subterm once."""

    def __init__(self, types: AddressTypes) -> None:
        self._types = types
        self._sort: MachineSort = types.partition.address
        self._signed = machine(self._sort.width, signed=True)
        self._variables: dict[Expr, Expr] = {
            x: build.var(x.name, self._sort) for x in types.partition.carriers if x.sort is INT
        }
        self._plain: dict[Expr, Expr] = {}  # the rewritten term of the same sort
        self._machine: dict[Expr, Expr] = {}  # Int terms only
        self._touched: dict[Expr, bool] = {}  # Int terms: whether the term depends on an address

    def variable(self, x: Expr) -> Expr:
        """Return the variable in place of `x` where addresses are machine integers."""
        return self._variables.get(x, x)

    def value(self, term: Expr, target: Expr) -> Expr:
        """Return the term to assign to the variable in place of `target` for an assignment of `term`."""
        return self.machine(term) if target in self._variables else self.plain(term)

    def plain(self, term: Expr) -> Expr:
        """Return the rewritten term of the same sort and value."""
        return completed(term, self._plain, self._rewritten)

    def machine(self, term: Expr) -> Expr:
        """Return the machine value of an Int term."""
        self.plain(term)
        return self._machine[term]

    def _rewritten(self, term: Expr) -> Expr:
        """Return the rewritten term of the same sort; for an Int term, also compute its machine value."""
        if term.sort is not INT:
            return self._other(term)
        touched = self._touched[term] = self._depends(term)
        self._machine[term] = self._modular(term)
        if touched:
            sort = self._signed if self._types.of(term) is None else self._sort
            return build.to_int(build.wrap(self._machine[term], sort))
        return rebuild(term, [self._plain[a] for a in term.args]) if term.args else term

    def _depends(self, term: Expr) -> bool:
        if term in self._variables:
            return True
        parts = term.args[1:] if term.kind is Kind.ITE else term.args
        return any(self._touched.get(a, False) for a in parts)

    def _modular(self, term: Expr) -> Expr:
        sort, kind = self._sort, term.kind
        if term in self._variables:
            return self._variables[term]
        if kind is Kind.CONST:
            return build.wrap(term, sort)
        if kind is Kind.TO_INT:
            return build.wrap(self._plain[term.args[0]], sort)
        if kind is Kind.ADD:
            return build.add(*(self._machine[a] for a in term.args))
        if kind is Kind.MUL:
            total = self._machine[term.args[0]]
            for factor in term.args[1:]:
                total = build.mul(total, self._machine[factor])
            return total
        if kind is Kind.ITE:
            return build.ite(self._plain[term.args[0]], *(self._machine[a] for a in term.args[1:]))
        if kind in _DIVISIONS and self._touched[term]:
            return build.wrap(self._division(term), sort)
        return build.wrap(rebuild(term, [self._plain[a] for a in term.args]) if term.args else term, sort)

    def _division(self, term: Expr) -> Expr:
        """Divide a distance by a number: as signed integers if the number is a positive constant."""
        over, by = term.args
        if by.kind is not Kind.CONST or not 0 < by.value <= self._signed.high:
            return rebuild(term, [self._plain[a] for a in term.args])
        value = build.wrap(self._machine[over], self._signed)
        number = build.constant(by.value, self._signed)
        if term.kind is Kind.QUOT:
            return build.quot(value, number)
        if term.kind is Kind.REM:
            return build.rem(value, number)
        zero = build.constant(0, self._signed)
        rest = build.rem(value, number)
        negative = build.lt(rest, zero)
        if term.kind is Kind.MOD:
            return build.ite(negative, build.add(rest, number), rest)
        quotient = build.quot(value, number)
        return build.ite(negative, build.sub(quotient, build.constant(1, self._signed)), quotient)

    def _other(self, term: Expr) -> Expr:
        args, plain = term.args, self._plain
        if not any(a.sort is INT for a in args):
            return rebuild(term, [plain[a] for a in args]) if args else term
        if term.kind is Kind.WRAP and self._touched[args[0]]:
            assert isinstance(term.sort, MachineSort)
            if term.sort.width <= self._sort.width or self._types.of(args[0]) is not None:
                return build.wrap(self._machine[args[0]], term.sort)
        if term.kind in _COMPARISONS and self._about_addresses(term):
            return _COMPARISONS[term.kind](self._machine[args[0]], self._machine[args[1]])
        return rebuild(term, [plain[a] for a in args])

    def _about_addresses(self, term: Expr) -> bool:
        """Return whether Int terms are compared as addresses rather than as distances or numbers."""
        others = [a for a in term.args if self._types.of(a) is None]
        if len(others) == len(term.args):
            return False
        return all(
            a.kind is Kind.CONST and (term.kind is Kind.EQ or 0 <= a.value <= self._sort.high) for a in others
        )


def composed(parts: list[Expr]) -> Expr:
    """Return the number with these little-endian bytes."""
    sort = machine(8 * len(parts), signed=False)
    total = build.wrap(parts[0], sort)
    for n, byte in enumerate(parts[1:], 1):
        total = build.bit_or(total, build.shl(build.wrap(byte, sort), build.constant(8 * n, sort)))
    return total


def decomposed(value: Expr, width: int) -> list[Expr]:
    """Return the little-endian bytes of an unsigned number."""
    byte = machine(8, signed=False)
    return [build.wrap(build.shr(value, build.constant(8 * n, value.sort)), byte) for n in range(width)]
