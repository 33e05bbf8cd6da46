"""Check satisfiability with cvc5, as a second opinion: one fresh solver for each query, in SMT-LIB text.

The SMT-LIB printer writes the text and cvc5's own parser reads it. It shares nothing with the translation to
z3, so a defect in either one shows as a disagreement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final

from certus.codec.smtlib import script
from certus.core.accounting import Budget, QueryRecorder, Statistics
from certus.core.errors import Inconsistent
from certus.core.solver import Answer
from certus.core.terms import Expr

if TYPE_CHECKING:
    import cvc5

_OPTIONS: Final = {"arrays-exp": "true"}  # without it cvc5 refuses constant arrays
_EXPERIMENTAL: Final = "--fp-exp"  # cvc5 names this option where a float is neither of 32 nor of 64 bits
_ANSWERS: Final = {"sat": Answer.SAT, "unsat": Answer.UNSAT, "unknown": Answer.UNKNOWN}


class Cvc5Solver:
    """A cvc5 solver. cvc5 holds the interpreter lock, so a hard time limit needs a child process."""

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
        """Check whether the conjunction of the formulas is satisfiable; UNKNOWN if the budget runs out."""
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
        """Return the answer to the first `(check-sat)` of a script."""
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
                raise Inconsistent("a script for cvc5 has no (check-sat)")
            if command.getCommandName() == "check-sat":
                _limit(solver, budget)
                return self._answer(str(command.invoke(solver, symbols)))
            output = str(command.invoke(solver, symbols)).strip()
            if _EXPERIMENTAL in output:
                self._statistics.count("solver.cvc5.refused")
                return Answer.UNKNOWN
            if output not in ("", "success"):
                raise Inconsistent(f"cvc5 refuses {str(command)[:200]} in a generated script: {output}")
        return Answer.UNKNOWN

    def _answer(self, output: str) -> Answer:
        """Return UNKNOWN for what cvc5 does not support, such as some equalities of constant arrays."""
        answer = _ANSWERS.get(output.split(maxsplit=1)[0] if output.strip() else "")
        if answer is None:
            self._statistics.count("solver.cvc5.refused")
            return Answer.UNKNOWN
        return answer


def _limit(solver: cvc5.Solver, budget: Budget) -> None:
    left = budget.remaining()
    if left is not None:
        solver.setOption("tlimit-per", str(max(1, ceil(left * 1000))))


def _next_command(parser: cvc5.InputParser) -> cvc5.Command:
    try:
        return parser.nextCommand()
    except RuntimeError as problem:  # the only error class of cvc5's parser
        raise Inconsistent(f"cvc5 cannot read a generated script: {problem}") from problem
