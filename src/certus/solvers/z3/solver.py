"""Check formulas with one incremental z3 solver.

Each formula is translated once (`solvers.z3.terms`). An assumption that is not a literal gets one literal
that implies it. So checking the same formulas in other combinations costs only the search.

Without levels and assumptions z3 uses its tactics for the logic at hand, which are stronger but not
incremental. The first `push` or assumption makes it incremental until `reset`.
"""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Final

from certus.core.accounting import Budget, QueryRecorder, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded, Inconsistent, Unsupported
from certus.core.solver import Answer
from certus.core.terms import BOOL, REAL, ArraySort, Expr, Kind, MachineSort, Sort
from certus.core.values import ArrayValue, Datum, evaluate
from certus.core.walk import variables
from certus.solvers.float_definitions import Visited, missing_definitions
from certus.solvers.z3.api import Z3Context, pointers
from certus.solvers.z3.terms import Z3Terms, from_decimal

Option = bool | int | float | str

_ANSWERS: Final = {1: Answer.SAT, -1: Answer.UNSAT, 0: Answer.UNKNOWN}
MOST_EFFORT: Final = (1 << 32) - 1
_UNLIMITED: Final = (1 << 32) - 1  # z3's value for no limit on milliseconds
_INTERRUPTED: Final = b"interrupted from keyboard"
_ENDED: Final = (b"canceled", b"timeout", b"max. resource limit exceeded")


@dataclass(slots=True)
class _Level:
    """The asserted formulas of a level, the assumptions that have a literal there, and the terms whose
    floating-point results are defined."""

    formulas: list[Expr] = field(default_factory=list)
    assumptions: dict[Expr, None] = field(default_factory=dict)
    defined: Visited = field(default_factory=set)


class Z3Solver:
    """A `Solver` on z3. `options` are z3's solver parameters (`{"smt.relevancy": 0}`); `tactics`, applied in
    sequence, replace z3's own for the logic. Solvers with the same `terms` share one context: a further one
    costs a quarter, and no term is translated twice."""

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
        self._literals: Final[dict[Expr, int]] = {}  # from an assumption to its literal
        self._levels = [_Level()]
        self._answer: Answer | None = None  # of the last check; None once formulas have changed
        self._model: Z3Model | None = None  # of the last check, created at the first use
        self._asked: Mapping[int, Expr] = {}  # the assumptions of the last check, by their literals
        self._was_ended = False
        self._catches_interrupts = True  # whether z3 ends a check on SIGINT
        self._solver: Final = self._by_tactics(tactics) if tactics else self._new_solver(logic)
        self._configure(options or {})

    def _new_solver(self, logic: str | None) -> int:
        call, pointer = self._call, self._pointer
        solver: int | None
        if logic is None:
            solver = call["mk_solver"](pointer)
        else:
            solver = call["mk_solver_for_logic"](pointer, call["mk_string_symbol"](pointer, logic.encode()))
        return self._counted("solver", solver)

    def _by_tactics(self, names: Sequence[str]) -> int:
        call, pointer = self._call, self._pointer
        tactics: list[int] = []
        for name in names:
            tactics.append(self._counted("tactic", call["mk_tactic"](pointer, name.encode())))
        whole = tactics[-1]
        for tactic in reversed(tactics[:-1]):
            whole = self._counted("tactic", call["tactic_and_then"](pointer, tactic, whole))
            tactics.append(whole)
        solver = self._counted("solver", call["mk_solver_from_tactic"](pointer, whole))
        for tactic in tactics:
            call["tactic_dec_ref"](pointer, tactic)
        return solver

    def _counted(self, kind: str, new: int | None) -> int:
        """Take a reference to a new z3 object."""
        if new is None:
            raise self._context.error()
        self._call[f"{kind}_inc_ref"](self._pointer, new)
        return new

    def close(self) -> None:
        """Free the memory. The solver must not be used afterwards."""
        if self._context.is_open:
            self._outdate()
            self._call["solver_dec_ref"](self._pointer, self._solver)
            if self._owns_context:
                self._context.close()

    def __del__(self) -> None:
        if hasattr(self, "_solver"):
            self.close()

    # ------------------------------------------------------------------------------- formulas

    def add(self, *formulas: Expr) -> None:
        self._outdate()
        for formula in formulas:
            self._assert(self._terms.ast(formula))
            self._define(formula)
            self._levels[-1].formulas.append(formula)

    def _define(self, formula: Expr) -> None:
        """Assert the definitions of the floating-point results in a formula."""
        if self._terms.floats is None:
            return
        operations, visited = missing_definitions(formula, [level.defined for level in self._levels])
        self._levels[-1].defined |= visited
        for operation in operations:
            for definition in self._terms.floats.definitions[operation]:
                self._assert(definition)

    def push(self) -> None:
        self._outdate()
        self._call["solver_push"](self._pointer, self._solver)
        self._context.check()
        self._levels.append(_Level())

    def pop(self) -> None:
        if len(self._levels) == 1:
            raise ValueError("pop without push")
        self._outdate()
        self._call["solver_pop"](self._pointer, self._solver, 1)
        self._context.check()
        self._levels.pop()

    def reset(self) -> None:
        """Remove all formulas and levels, but keep the translated terms."""
        self._outdate()
        self._call["solver_reset"](self._pointer, self._solver)
        self._context.check()
        self._levels = [_Level()]

    @property
    def formulas(self) -> tuple[Expr, ...]:
        """Return the asserted formulas, oldest first."""
        return tuple(formula for level in self._levels for formula in level.formulas)

    def _assert(self, ast: int) -> None:
        self._call["solver_assert"](self._pointer, self._solver, ast)
        self._context.check()

    def _literal(self, assumption: Expr) -> int:
        """Return a literal that implies the assumption in the current levels."""
        if assumption.kind is Kind.VAR or (
            assumption.kind is Kind.NOT and assumption.args[0].kind is Kind.VAR
        ):
            return self._terms.ast(assumption)
        literal = self._literals.get(assumption)
        if literal is None:
            literal = self._literals[assumption] = self._terms.fresh_literal()
        if not any(assumption in level.assumptions for level in self._levels):
            formula = self._terms.ast(assumption)
            self._assert(self._context.keep(self._call["mk_implies"](self._pointer, literal, formula)))
            self._define(assumption)
            self._levels[-1].assumptions[assumption] = None
        return literal

    # --------------------------------------------------------------------------------- checks

    def check(
        self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str, effort: int = 0
    ) -> Answer:
        """Check as `Solver` demands. `effort`, if not 0, is z3's `rlimit`: unlike a time limit, it gives the
        same answer on a busy machine."""
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
        """Tell whether a limit ended the last check."""
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
        """Raise unless z3 merely gave up. A SIGINT that z3 caught is raised again in Python."""
        reason: bytes = self._call["solver_get_reason_unknown"](self._pointer, self._solver) or b""
        if reason == _INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
        elif b"memory" in reason or b"memout" in reason:
            raise BudgetExceeded("memory")
        elif reason in _ENDED:
            self._was_ended = True
        else:
            self._context.check()

    def _limit(self, budget: Budget, effort: int) -> None:
        """Pass z3 the limits, and let it end a check on SIGINT if Python has a handler for it."""
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
        """Raise for a parameter that z3 does not have; z3 itself would ignore it."""
        call, pointer = self._call, self._pointer
        descriptions = call["solver_get_param_descrs"](pointer, self._solver)
        if descriptions is None:
            raise self._context.error()
        call["param_descrs_inc_ref"](pointer, descriptions)
        try:
            call["params_validate"](pointer, parameters, descriptions)
            self._context.check()
        finally:
            call["param_descrs_dec_ref"](pointer, descriptions)

    # -------------------------------------------------------------------------------- answers

    def value(self, term: Expr) -> Datum:
        if self._model is None:
            if self._answer is not Answer.SAT:
                raise ValueError("there is no model: the last check did not answer SAT, or is out of date")
            self._model = Z3Model(self._context, self._call["solver_get_model"](self._pointer, self._solver))
        translated = self._terms.ast(term)
        defined = [level.defined for level in self._levels]
        if self._terms.floats is not None and missing_definitions(term, defined)[0]:
            return evaluate(term, {x: self.value(x) for x in variables(term)})
        return self._model.value(translated, term.sort)

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
            unsatisfiable = {call["ast_vector_get"](pointer, vector, i) for i in range(size)}
        finally:
            call["ast_vector_dec_ref"](pointer, vector)
        if not unsatisfiable <= self._asked.keys():
            raise Inconsistent("z3's unsatisfiable core has a literal that was not assumed")
        return tuple(assumption for literal, assumption in self._asked.items() if literal in unsatisfiable)

    def _outdate(self) -> None:
        self._answer = None
        if self._model is not None:
            self._model.close()
            self._model = None


_NUMERAL, _APPLICATION = 0, 1  # kinds of syntax trees
_EQ, _ITE, _STORE, _CONST_ARRAY, _AS_ARRAY = 0x102, 0x104, 0x300, 0x302, 0x30A  # kinds of operators


class Z3Model:
    """A model of a z3 context."""

    def __init__(self, context: Z3Context, model: int | None) -> None:
        if model is None:
            raise context.error()
        self._context: Final = context
        self._call: Final = context.call
        self._pointer: Final = context.pointer
        self._model: Final = model
        self._call["model_inc_ref"](self._pointer, model)

    def close(self) -> None:
        self._call["model_dec_ref"](self._pointer, self._model)

    def value(self, ast: int, sort: Sort) -> Datum:
        """Return the value of the term `ast` of `sort`, with z3's completion where the model is partial."""
        result = ctypes.c_void_p()
        if not self._call["model_eval"](self._pointer, self._model, ast, True, ctypes.byref(result)):
            raise self._context.error()
        value = result.value
        assert value is not None
        self._call["inc_ref"](self._pointer, value)
        try:
            return self._read(value, sort)
        finally:
            self._call["dec_ref"](self._pointer, value)

    def _read(self, value: int, sort: Sort) -> Datum:
        if isinstance(sort, ArraySort):
            return self._array(value, sort)
        if sort is BOOL:
            truth = self._call["get_bool_value"](self._pointer, value)
            if truth == 0:
                raise _indescribable(sort)
            return bool(truth == 1)
        if self._call["get_ast_kind"](self._pointer, value) != _NUMERAL:
            raise _indescribable(sort)  # an irrational number
        if sort is REAL:
            numerator, _, denominator = self._numeral(value).partition("/")
            return Fraction(from_decimal(numerator), from_decimal(denominator or "1"))
        small = ctypes.c_int64()
        if self._call["get_numeral_int64"](self._pointer, value, ctypes.byref(small)):
            number = small.value
        else:
            number = from_decimal(self._numeral(value))
        return sort.wrap(number) if isinstance(sort, MachineSort) else number

    def _numeral(self, value: int) -> str:
        text: bytes = self._call["get_numeral_string"](self._pointer, value)
        return text.decode()

    def _array(self, value: int, sort: ArraySort) -> ArrayValue:
        """Read an array as stores into a constant array or a function table."""
        entries: dict[Datum, Datum] = {}
        while True:
            kind = self._operator(value)
            if kind == _STORE:
                base, index, element = (self._argument(value, i) for i in range(3))
                entries.setdefault(self._read(index, sort.index), self._read(element, sort.element))
                value = base
            elif kind == _CONST_ARRAY:
                return ArrayValue(sort, self._read(self._argument(value, 0), sort.element), entries)
            elif kind == _AS_ARRAY:
                return self._table(value, sort, entries)
            else:
                raise _indescribable(sort)

    def _table(self, value: int, sort: ArraySort, entries: dict[Datum, Datum]) -> ArrayValue:
        call, pointer = self._call, self._pointer
        declaration = call["get_as_array_func_decl"](pointer, value)
        table = call["model_get_func_interp"](pointer, self._model, declaration)
        if table is None:
            raise _indescribable(sort)
        call["func_interp_inc_ref"](pointer, table)
        try:
            for position in range(call["func_interp_get_num_entries"](pointer, table)):
                entry = call["func_interp_get_entry"](pointer, table, position)
                call["func_entry_inc_ref"](pointer, entry)
                try:
                    index = self._read(call["func_entry_get_arg"](pointer, entry, 0), sort.index)
                    element = self._read(call["func_entry_get_value"](pointer, entry), sort.element)
                finally:
                    call["func_entry_dec_ref"](pointer, entry)
                entries.setdefault(index, element)
            default = self._read(call["func_interp_get_else"](pointer, table), sort.element)
        finally:
            call["func_interp_dec_ref"](pointer, table)
        return ArrayValue(sort, default, entries)

    def _operator(self, value: int) -> int | None:
        if self._call["get_ast_kind"](self._pointer, value) != _APPLICATION:
            return None
        declaration = self._call["get_app_decl"](self._pointer, value)
        kind: int = self._call["get_decl_kind"](self._pointer, declaration)
        return kind

    def _argument(self, value: int, position: int) -> int:
        argument: int = self._call["get_app_arg"](self._pointer, value, position)
        return argument


def _indescribable(sort: Sort) -> Unsupported:
    return Unsupported(
        Diagnostic(
            code="unsupported-model-value",
            message=f"z3's model has a value of sort {sort} without a finite representation",
        )
    )
