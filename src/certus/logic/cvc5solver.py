"""cvc5 as a second opinion: one question, one fresh solver, asked in SMT-LIB text.

The text comes from core's printer and is read by cvc5's own parser: nothing is shared with the
translation for z3, so a defect in either shows as a disagreement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

from certus.core.budget import Budget
from certus.core.errors import Inconsistent
from certus.core.smtlib import script
from certus.core.statistics import QueryRecorder, Statistics
from certus.core.terms import Expr
from certus.logic.solver import Answer

_OPTIONS: Final = {"arrays-exp": "true"}  # without it cvc5 refuses constant arrays
_ANSWERS: Final = {"sat": Answer.SAT, "unsat": Answer.UNSAT, "unknown": Answer.UNKNOWN}


class Cvc5Solver:
    """Asks cvc5. It holds Python's lock while it works: a hard limit needs a process of its own."""

    def __init__(
        self,
        statistics: Statistics,
        *,
        log: QueryRecorder | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._statistics: Final = statistics
        self._log: Final = log or statistics.queries
        self._options: Final = {**_OPTIONS, **(options or {})}

    def check_formulas(self, formulas: Sequence[Expr], *, budget: Budget, purpose: str) -> Answer:
        """Are the formulas satisfiable together? UNKNOWN when the budget runs out meanwhile."""
        budget.check()
        path = None
        if self._log is not None:
            path = self._log.query(formulas, purpose=purpose, solver="cvc5")
        key = f"solver.cvc5.{purpose}"
        self._statistics.count(key)
        start = time.perf_counter()
        with self._statistics.timed(key):
            answer = self.check_text(script(formulas), budget=budget)
        if self._log is not None and path is not None:
            self._log.answer(path, answer.value, time.perf_counter() - start)
        return answer

    def check_text(self, text: str, *, budget: Budget) -> Answer:
        """The answer to the first `(check-sat)` of a script."""
        import cvc5

        solver = cvc5.Solver(cvc5.TermManager())
        for name, value in self._options.items():
            solver.setOption(name, value)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
        symbols = parser.getSymbolManager()
        while budget.remaining() != 0.0:
            command = _next_command(parser)
            if command.isNull():
                raise Inconsistent("a script for cvc5 does not ask anything")
            if command.getCommandName() == "check-sat":
                _limit(solver, budget)
                return self._answer(str(command.invoke(solver, symbols)))
            output = str(command.invoke(solver, symbols)).strip()
            if output not in ("", "success"):
                raise Inconsistent(f"cvc5 refuses {str(command)[:200]} in a script of ours: {output}")
        return Answer.UNKNOWN

    def _answer(self, output: str) -> Answer:
        """What cvc5 has read but cannot treat, such as some equations of constant arrays, is UNKNOWN."""
        answer = _ANSWERS.get(output.split(maxsplit=1)[0] if output.strip() else "")
        if answer is None:
            self._statistics.count("solver.cvc5.refused")
            return Answer.UNKNOWN
        return answer


def _limit(solver: Any, budget: Budget) -> None:
    left = budget.remaining()
    if left is not None:
        solver.setOption("tlimit-per", str(max(1, ceil(left * 1000))))


def _next_command(parser: Any) -> Any:
    try:
        return parser.nextCommand()
    except RuntimeError as problem:  # the only class of error cvc5's parser has
        raise Inconsistent(f"cvc5 cannot read a script of ours: {problem}") from problem
