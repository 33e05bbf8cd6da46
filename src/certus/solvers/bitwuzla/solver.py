"""Check formulas over machine integers with one incremental Bitwuzla solver.

Bitwuzla bit-blasts and uses CaDiCaL, which is much faster on bit-vectors than z3 (docs/adr/0008). While an
asserted formula has no translation (`solvers.bitwuzla.terms`), every answer is UNKNOWN.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Final

from certus.core.accounting import Budget, QueryRecorder, Statistics
from certus.core.errors import Inconsistent
from certus.core.solver import Answer
from certus.core.terms import ArraySort, Expr, Kind, MachineSort, Sort
from certus.core.values import ArrayValue, Datum, default_value, evaluate
from certus.core.walk import variables
from certus.solvers.bitwuzla.terms import BitwuzlaTerms, Term, Unfit, load_bitwuzla
from certus.solvers.float_definitions import Visited, missing_definitions

SELDOM: Final = 32  # Bitwuzla polls up to a million times a second; the limit is checked at every 32nd poll


class BitwuzlaSolver:
    """A `Solver` on Bitwuzla. Solvers with the same `terms` share translations. `cores`: whether `core` will
    be called, which disables most preprocessing."""

    def __init__(
        self,
        statistics: Statistics,
        *,
        log: QueryRecorder | None = None,
        terms: BitwuzlaTerms | None = None,
        cores: bool = False,
    ) -> None:
        package = load_bitwuzla()
        self._statistics: Final = statistics
        self._log: Final = log or statistics.queries
        self._terms: Final = BitwuzlaTerms() if terms is None else terms
        self._cores: Final = cores
        options = package.Options()
        options.set(package.Option.PRODUCE_MODELS, True)
        options.set(package.Option.PRODUCE_UNSAT_ASSUMPTIONS, cores)
        self._solver: Final = package.Bitwuzla(self._terms.manager, options)
        self._results: Final = package.Result
        self._levels: list[list[Expr]] = [[]]  # the asserted formulas
        self._facts = [0]  # per level, how many of the terms' facts are asserted
        self._defined: list[Visited] = [set()]  # per level, terms whose floating-point results are defined
        self._unfit: list[bool] = [False]  # per level, whether one of its formulas does not fit
        self._answer: Answer | None = None  # of the last check; None once formulas have changed
        self._asked: dict[Term, Expr] = {}  # the assumptions of the last check
        self._was_ended = False

    @property
    def fits(self) -> bool:
        """Tell whether all asserted formulas have a translation."""
        return not any(self._unfit)

    def fits_with(self, assumptions: Sequence[Expr]) -> bool:
        """Tell whether all asserted formulas and these assumptions have a translation."""
        try:
            for assumption in assumptions:
                self._terms.term(assumption)
        except Unfit:
            return False
        return self.fits

    @property
    def exact(self) -> bool:
        """Tell whether SAT can be trusted; UNSAT always can."""
        return self._terms.exact

    @property
    def formulas(self) -> tuple[Expr, ...]:
        """Return the asserted formulas, oldest first."""
        return tuple(formula for level in self._levels for formula in level)

    def add(self, *formulas: Expr) -> None:
        self._answer = None
        for formula in formulas:
            self._levels[-1].append(formula)
            try:
                self._solver.assert_formula(self._terms.term(formula))
            except Unfit:
                self._unfit[-1] = True
            else:
                self._define(formula)

    def _define(self, formula: Expr) -> None:
        """Assert the definitions of the floating-point results in a formula."""
        if self._terms.floats is None:
            return
        operations, visited = missing_definitions(formula, self._defined)
        self._defined[-1] |= visited
        for operation in operations:
            self._solver.assert_formula(self._terms.floats.definitions[operation])

    def push(self) -> None:
        self._answer = None
        self._solver.push(1)
        self._levels.append([])
        self._unfit.append(False)
        self._facts.append(self._facts[-1])
        self._defined.append(set())

    def pop(self) -> None:
        if len(self._levels) == 1:
            raise ValueError("pop without push")
        self._answer = None
        self._solver.pop(1)
        self._levels.pop()
        self._unfit.pop()
        self._facts.pop()
        self._defined.pop()

    def check(
        self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str, seconds: float = inf
    ) -> Answer:
        """Check as `Solver` demands. `seconds` limits CPU time, so the load of the machine does not
        matter."""
        budget.check()
        self._answer = None
        if not self.fits_with(assumptions):
            return Answer.UNKNOWN
        asked: dict[Term, Expr] = {}
        for assumption in assumptions:
            asked.setdefault(self._terms.term(assumption), assumption)
            self._define(assumption)
        for fact in self._terms.facts[self._facts[-1] :]:
            self._solver.assert_formula(fact)
        self._facts[-1] = len(self._terms.facts)
        path = None
        if self._log is not None:
            path = self._log.query((*self.formulas, *assumptions), purpose=purpose, solver="bitwuzla")
        key = f"solver.{purpose}"
        self._statistics.count(key)
        start = time.perf_counter()
        with self._statistics.timed(key):
            answer = self._ask(asked, budget, seconds)
        if self._log is not None and path is not None:
            self._log.answer(path, answer.value, time.perf_counter() - start)
        self._answer, self._asked = answer, asked
        return answer

    def _ask(self, asked: dict[Term, Expr], budget: Budget, seconds: float) -> Answer:
        limit = _Limit(budget, seconds)
        self._solver.configure_terminator(limit)
        result = self._solver.check_sat(*asked)
        self._was_ended = limit.reached
        if result == self._results.SAT:
            return Answer.SAT
        return Answer.UNSAT if result == self._results.UNSAT else Answer.UNKNOWN

    @property
    def was_ended(self) -> bool:
        """Tell whether a limit ended the last check."""
        return self._was_ended

    # -------------------------------------------------------------------------------- answers

    def value(self, term: Expr) -> Datum:
        if self._answer is not Answer.SAT:
            raise ValueError("there is no model: the last check did not answer SAT, or is out of date")
        before = len(self._terms.facts)
        try:
            translated = self._terms.number(term)
        except Unfit:  # no formula contains it
            if term.kind is Kind.VAR:
                return default_value(term.sort)
        else:
            known = self._terms.floats is None or not missing_definitions(term, self._defined)[0]
            if known and len(self._terms.facts) == before:  # otherwise facts about the term are missing
                return self._read(self._solver.get_value(translated), term.sort)
        return evaluate(term, {x: self.value(x) for x in variables(term)})

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(self.value(term) for term in terms)

    def _read(self, translated: Term, sort: Sort) -> Datum:
        if isinstance(sort, ArraySort):
            return self._read_array(translated, sort)
        value = translated.value(10) if translated.sort().is_bv() else translated.value()
        if isinstance(value, bool):
            return value
        if isinstance(sort, MachineSort):
            return sort.wrap(int(value))
        number, width = int(value), translated.sort().bv_size()
        return number - (1 << width) if number >> (width - 1) else number

    def _read_array(self, translated: Term, sort: ArraySort) -> ArrayValue:
        kinds = load_bitwuzla().Kind
        entries: dict[Datum, Datum] = {}
        while translated.kind() == kinds.ARRAY_STORE:
            translated, index, element = translated.children()
            entries.setdefault(self._read(index, sort.index), self._read(element, sort.element))
        if translated.kind() != kinds.CONST_ARRAY:
            raise Inconsistent("Bitwuzla's model has an array that is not a constant array with writes")
        return ArrayValue(sort, self._read(translated.children()[0], sort.element), entries)

    def core(self) -> tuple[Expr, ...]:
        if self._answer is not Answer.UNSAT:
            raise ValueError("there is no core: the last check did not answer UNSAT, or is out of date")
        if not self._cores:
            raise ValueError("there is no core: create the solver with cores=True")
        unsatisfiable = set(self._solver.get_unsat_assumptions())
        return tuple(assumption for term, assumption in self._asked.items() if term in unsatisfiable)


class _Limit:
    """A callback that tells Bitwuzla to stop. An exception would be lost there, so `reached` is set."""

    def __init__(self, budget: Budget, seconds: float) -> None:
        self.reached = False
        self._budget = budget
        self._end = time.process_time() + seconds
        self._asked = 0

    def __call__(self) -> bool:
        self._asked += 1
        if self._asked % SELDOM == 1:
            self.reached = self._budget.remaining() == 0.0 or time.process_time() > self._end
        return self.reached
