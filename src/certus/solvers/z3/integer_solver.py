"""Check formulas over machine integers with z3's integers as long as that is exact.

Each formula is encoded when it is added (`encoding.integers`). As long as all encodings are exact, z3 decides
queries over Int, where its incremental core is strong. The first formula without an exact encoding switches
to bit-vectors for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from certus.core.accounting import Budget, Statistics
from certus.core.solver import Answer
from certus.core.terms import Expr, Kind
from certus.core.values import Datum
from certus.encoding.integers import Encoded, eliminate_machine, encoded_variable
from certus.solvers.z3.solver import Option, Z3Solver
from certus.solvers.z3.terms import Z3Terms

Encodings = dict[tuple[Expr, ...], Encoded]


class IntegerSolver:
    """A `Solver` whose assumptions must be Boolean combinations of Boolean variables. Values are available
    for variables of asserted formulas and for such combinations. Solvers that add the same tuples of formulas
    can share their `encodings`."""

    def __init__(
        self,
        statistics: Statistics,
        *,
        options: Mapping[str, Option] | None = None,
        terms: Z3Terms | None = None,
        encodings: Encodings | None = None,
    ) -> None:
        self._statistics: Final = statistics
        self._options: Final = options
        self._terms: Final = terms
        self._encodings: Final = encodings
        self._solver = Z3Solver(statistics, options=options, terms=terms)
        self._levels: Final[list[list[Expr]]] = [[]]  # the asserted formulas
        self._ranges: Final[list[dict[Expr, None]]] = [{}]
        self.is_exact = True

    def add(self, *formulas: Expr) -> None:
        self._levels[-1].extend(formulas)
        if not self.is_exact:
            self._solver.add(*formulas)
            return
        encoded = self._encoded(formulas)
        if not encoded.exact:
            self._switch_to_bits()
            return
        new = [r for r in encoded.ranges if not any(r in level for level in self._ranges)]
        self._ranges[-1].update(dict.fromkeys(new))
        self._solver.add(*encoded.formulas, *new)

    def _encoded(self, formulas: tuple[Expr, ...]) -> Encoded:
        if self._encodings is None:
            return eliminate_machine(formulas, "ite")
        encoded = self._encodings.get(formulas)
        if encoded is None:
            encoded = self._encodings[formulas] = eliminate_machine(formulas, "ite")
        return encoded

    def _switch_to_bits(self) -> None:
        self.is_exact = False
        self._solver = Z3Solver(self._statistics, options=self._options, terms=self._terms)
        for number, level in enumerate(self._levels):
            if number:
                self._solver.push()
            self._solver.add(*level)

    def push(self) -> None:
        self._solver.push()
        self._levels.append([])
        self._ranges.append({})

    def pop(self) -> None:
        self._solver.pop()
        self._levels.pop()
        self._ranges.pop()

    def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
        return self._solver.check(assumptions, budget=budget, purpose=purpose)

    def value(self, term: Expr) -> Datum:
        if self.is_exact and term.kind is Kind.VAR:
            term, _ = encoded_variable(term)
        return self._solver.value(term)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(self.value(term) for term in terms)

    def core(self) -> tuple[Expr, ...]:
        return self._solver.core()
