"""z3 as one incremental solver.

Formulas are translated once (`z3terms`); an assumption that is no literal gets a literal that implies
it, made once. So asking the same things in other combinations costs only the search.

Without levels and assumptions z3 solves by the tactics it knows for the logic at hand, which is
stronger but not incremental; the first `push` or assumption makes it incremental until `reset`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final

from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded, Inconsistent
from certus.core.evaluate import Datum
from certus.core.statistics import QueryRecorder, Statistics
from certus.core.terms import Expr, Kind
from certus.logic.solver import Answer
from certus.logic.z3api import Z3Context, pointers
from certus.logic.z3model import Z3Model
from certus.logic.z3terms import Z3Terms

Option = bool | int | float | str

_ANSWERS: Final = {1: Answer.SAT, -1: Answer.UNSAT, 0: Answer.UNKNOWN}
MOST_EFFORT: Final = (1 << 32) - 1
_UNLIMITED: Final = (1 << 32) - 1  # milliseconds, as z3 counts them
_INTERRUPTED: Final = b"interrupted from keyboard"
_ENDED: Final = (b"canceled", b"timeout", b"max. resource limit exceeded")


class Z3Solver:
    """The `Solver` protocol on z3. `options` are z3's solver parameters (`{"smt.relevancy": 0}`); `tactics`,
    one after the other, take the place of those that z3 has for the logic. Solvers with the same `terms`
    share one context: a new one costs a quarter, and no term is translated twice."""

    def __init__(
        self,
        statistics: Statistics,
        *,
        logic: str | None = None,
        tactics: Sequence[str] = (),
        log: QueryRecorder | None = None,
        options: Mapping[str, Option] | None = None,
        terms: Z3Terms | None = None,
    ) -> None:
        self._statistics: Final = statistics
        self._log: Final = log or statistics.queries
        self._terms: Final = Z3Terms(Z3Context()) if terms is None else terms
        self._owns_context: Final = terms is None
        self._context: Final = self._terms.context
        self._call: Final = self._context.call
        self._pointer: Final = self._context.pointer
        self._literals: Final[dict[Expr, int]] = {}  # assumption -> the literal that stands for it
        self._levels: list[list[Expr]] = [[]]  # the asserted formulas
        self._defined: list[dict[Expr, None]] = [{}]  # per level, the assumptions whose literals it defines
        self._answer: Answer | None = None  # of the last check, None once it is out of date
        self._model: Z3Model | None = None  # of the last check, once somebody has asked for it
        self._asked: Mapping[int, Expr] = {}  # the literals of the last check
        self._was_ended = False
        self._catches_interrupts = True  # whether z3 ends a check on SIGINT
        self._solver: Final = self._by_tactics(tactics) if tactics else self._new_solver(logic)
        self._configure(options or {})

    def _new_solver(self, logic: str | None) -> int:
        call, pointer = self._call, self._pointer
        made: int | None
        if logic is None:
            made = call["mk_solver"](pointer)
        else:
            made = call["mk_solver_for_logic"](pointer, call["mk_string_symbol"](pointer, logic.encode()))
        return self._counted("solver", made)

    def _by_tactics(self, names: Sequence[str]) -> int:
        call, pointer = self._call, self._pointer
        made: list[int] = []
        for name in names:
            made.append(self._counted("tactic", call["mk_tactic"](pointer, name.encode())))
        whole = made[-1]
        for tactic in reversed(made[:-1]):
            whole = self._counted("tactic", call["tactic_and_then"](pointer, tactic, whole))
            made.append(whole)
        solver = self._counted("solver", call["mk_solver_from_tactic"](pointer, whole))
        for tactic in made:
            call["tactic_dec_ref"](pointer, tactic)
        return solver

    def _counted(self, kind: str, made: int | None) -> int:
        """A new object of z3, kept by a reference to it."""
        if made is None:
            raise self._context.error()
        self._call[f"{kind}_inc_ref"](self._pointer, made)
        return made

    def close(self) -> None:
        """Give the memory back now; the solver must not be used any more."""
        if self._context.is_open:
            self._outdate()
            self._call["solver_dec_ref"](self._pointer, self._solver)
            if self._owns_context:
                self._context.close()

    def __del__(self) -> None:
        if hasattr(self, "_solver"):
            self.close()

    # --------------------------------------------------------------------------- the formulas

    def add(self, *formulas: Expr) -> None:
        self._outdate()
        for formula in formulas:
            self._assert(self._terms.ast(formula))
            self._levels[-1].append(formula)

    def push(self) -> None:
        self._outdate()
        self._call["solver_push"](self._pointer, self._solver)
        self._context.check()
        self._levels.append([])
        self._defined.append({})

    def pop(self) -> None:
        if len(self._levels) == 1:
            raise ValueError("pop without push")
        self._outdate()
        self._call["solver_pop"](self._pointer, self._solver, 1)
        self._context.check()
        self._levels.pop()
        self._defined.pop()

    def reset(self) -> None:
        """Forget all formulas and levels, but not how terms are translated."""
        self._outdate()
        self._call["solver_reset"](self._pointer, self._solver)
        self._context.check()
        self._levels = [[]]
        self._defined = [{}]

    @property
    def formulas(self) -> tuple[Expr, ...]:
        """The asserted formulas, the oldest first."""
        return tuple(formula for level in self._levels for formula in level)

    def _assert(self, ast: int) -> None:
        self._call["solver_assert"](self._pointer, self._solver, ast)
        self._context.check()

    def _literal(self, assumption: Expr) -> int:
        """A literal that implies the assumption in the present levels."""
        if assumption.kind is Kind.VAR or (
            assumption.kind is Kind.NOT and assumption.args[0].kind is Kind.VAR
        ):
            return self._terms.ast(assumption)
        literal = self._literals.get(assumption)
        if literal is None:
            literal = self._literals[assumption] = self._terms.fresh_literal()
        if not any(assumption in level for level in self._defined):
            formula = self._terms.ast(assumption)
            self._assert(self._context.keep(self._call["mk_implies"](self._pointer, literal, formula)))
            self._defined[-1][assumption] = None
        return literal

    # ------------------------------------------------------------------------------ the check

    def check(
        self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str, effort: int = 0
    ) -> Answer:
        """As the protocol says. `effort`, if not 0, limits the work as z3 counts it (its `rlimit`): unlike a
        limit on time it gives the same answer on a busy machine."""
        budget.check()
        self._outdate()
        asked: dict[int, Expr] = {}
        for assumption in assumptions:
            asked.setdefault(self._literal(assumption), assumption)
        path = None
        if self._log is not None:
            path = self._log.query((*self.formulas, *assumptions), purpose=purpose, solver="z3")
        self._limit(budget, effort)
        key = f"solver.{purpose}"
        self._statistics.count(key)
        start = time.perf_counter()
        with self._statistics.timed(key):
            answer = self._ask(asked)
        if self._log is not None and path is not None:
            self._log.answer(path, answer.value, time.perf_counter() - start)
        self._answer, self._asked = answer, asked
        return answer

    @property
    def was_ended(self) -> bool:
        """Whether a limit ended the last check."""
        return self._was_ended

    def _ask(self, asked: Mapping[int, Expr]) -> Answer:
        self._was_ended = False
        result = self._call["solver_check_assumptions"](
            self._pointer, self._solver, len(asked), pointers(list(asked))
        )
        answer = _ANSWERS[result]
        if answer is Answer.UNKNOWN:
            self._explain()
        return answer

    def _explain(self) -> None:
        """Raise unless z3 merely gave up. A SIGINT that z3 took is delivered again, to us."""
        reason: bytes = self._call["solver_get_reason_unknown"](self._pointer, self._solver) or b""
        if reason == _INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
        elif b"memory" in reason or b"memory" in reason or b"memout" in reason:
            raise BudgetExceeded("memory")
        elif reason in _ENDED:
            self._was_ended = True
        else:
            self._context.check()

    def _limit(self, budget: Budget, effort: int) -> None:
        """Give z3 what time is left, and let it end a check on SIGINT if that means anything to us."""
        left = budget.remaining()
        milliseconds = _UNLIMITED if left is None else max(1, min(ceil(left * 1000), _UNLIMITED - 1))
        self._call["update_param_value"](self._pointer, b"timeout", str(milliseconds).encode())
        self._call["update_param_value"](self._pointer, b"rlimit", str(effort).encode())
        catch = callable(signal.getsignal(signal.SIGINT))
        if catch is not self._catches_interrupts:
            self._configure({"ctrl_c": catch})
            self._catches_interrupts = catch

    def _configure(self, options: Mapping[str, Option]) -> None:
        if not options:
            return
        call, pointer = self._call, self._pointer
        parameters = call["mk_params"](pointer)
        call["params_inc_ref"](pointer, parameters)
        try:
            for name, value in options.items():
                symbol = call["mk_string_symbol"](pointer, name.encode())
                if isinstance(value, bool):
                    call["params_set_bool"](pointer, parameters, symbol, value)
                elif isinstance(value, int):
                    call["params_set_uint"](pointer, parameters, symbol, value)
                elif isinstance(value, float):
                    call["params_set_double"](pointer, parameters, symbol, value)
                else:
                    word = call["mk_string_symbol"](pointer, value.encode())
                    call["params_set_symbol"](pointer, parameters, symbol, word)
            self._validate(parameters)
            call["solver_set_params"](pointer, self._solver, parameters)
            self._context.check()
        finally:
            call["params_dec_ref"](pointer, parameters)

    def _validate(self, parameters: int) -> None:
        """Raise for a parameter z3 does not know; left to itself it would ignore it."""
        call, pointer = self._call, self._pointer
        known = call["solver_get_param_descrs"](pointer, self._solver)
        if known is None:
            raise self._context.error()
        call["param_descrs_inc_ref"](pointer, known)
        try:
            call["params_validate"](pointer, parameters, known)
            self._context.check()
        finally:
            call["param_descrs_dec_ref"](pointer, known)

    # -------------------------------------------------------------------------- what came out

    def value(self, term: Expr) -> Datum:
        if self._model is None:
            if self._answer is not Answer.SAT:
                raise ValueError("there is no model: the last check did not answer SAT, or is out of date")
            self._model = Z3Model(self._context, self._call["solver_get_model"](self._pointer, self._solver))
        return self._model.value(self._terms.ast(term), term.sort)

    def values(self, terms: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(self.value(term) for term in terms)

    def core(self) -> tuple[Expr, ...]:
        if self._answer is not Answer.UNSAT:
            raise ValueError("there is no core: the last check did not answer UNSAT, or is out of date")
        call, pointer = self._call, self._pointer
        vector = call["solver_get_unsat_core"](pointer, self._solver)
        if vector is None:
            raise self._context.error()
        call["ast_vector_inc_ref"](pointer, vector)
        try:
            size = call["ast_vector_size"](pointer, vector)
            found = {call["ast_vector_get"](pointer, vector, i) for i in range(size)}
        finally:
            call["ast_vector_dec_ref"](pointer, vector)
        if not found <= self._asked.keys():
            raise Inconsistent("z3's unsatisfiable core has a literal that was not assumed")
        return tuple(assumption for literal, assumption in self._asked.items() if literal in found)

    def _outdate(self) -> None:
        self._answer = None
        if self._model is not None:
            self._model.close()
            self._model = None
