"""Terms about addresses as terms of machine integers (see `logic.memory`).

Every Int term has a *machine* value: the term modulo 2**bits, computed in unsigned integers of that width. A
term that depends on no address also stays as it is. Where an Int that depends on addresses is needed as
such, it is the value of its machine value: unsigned for an address, signed for a distance.
"""

from __future__ import annotations

from certus.core import build
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.core.walk import rebuild
from certus.logic.addresses import AddressTypes

_DIVISIONS = (Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD)
_COMPARISONS = {Kind.EQ: build.eq, Kind.LE: build.le, Kind.LT: build.lt}


class AddressTerms:
    """Rewrites terms of a program, each subterm once."""

    def __init__(self, types: AddressTypes) -> None:
        self._types = types
        self._sort: MachineSort = types.partition.address
        self._signed = machine(self._sort.width, signed=True)
        self._variables: dict[Expr, Expr] = {
            x: build.var(x.name, self._sort) for x in types.partition.carriers if x.sort is INT
        }
        self._plain: dict[Expr, Expr] = {}  # the term of the same sort
        self._machine: dict[Expr, Expr] = {}  # Int terms only
        self._touched: dict[Expr, bool] = {}  # Int terms: whether an address is in it

    def variable(self, x: Expr) -> Expr:
        """The variable that stands for `x` where addresses are machine integers."""
        return self._variables.get(x, x)

    def value(self, term: Expr, target: Expr) -> Expr:
        """What is assigned when `term` is assigned to `target`."""
        return self.machine(term) if target in self._variables else self.plain(term)

    def plain(self, term: Expr) -> Expr:
        """The term with the same sort and value."""
        self._rewrite(term)
        return self._plain[term]

    def machine(self, term: Expr) -> Expr:
        """The machine value of an Int term."""
        self._rewrite(term)
        return self._machine[term]

    def _rewrite(self, root: Expr) -> None:
        done, stack = self._plain, [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            missing = [a for a in term.args if a not in done]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if term.sort is INT:
                self._integer(term)
            else:
                done[term] = self._other(term)

    def _integer(self, term: Expr) -> None:
        touched = self._touched[term] = self._depends(term)
        self._machine[term] = self._modular(term)
        if touched:
            sort = self._signed if self._types.of(term) is None else self._sort
            self._plain[term] = build.to_int(build.wrap(self._machine[term], sort))
        else:
            self._plain[term] = rebuild(term, [self._plain[a] for a in term.args]) if term.args else term

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
        """A distance divided by a number: as signed integers if the number is a positive constant."""
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
        """Whether Int terms are compared as addresses rather than as distances or numbers."""
        others = [a for a in term.args if self._types.of(a) is None]
        if len(others) == len(term.args):
            return False
        return all(
            a.kind is Kind.CONST and (term.kind is Kind.EQ or 0 <= a.value <= self._sort.high) for a in others
        )
