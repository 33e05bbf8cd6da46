"""Verdicts agree with brute force over all inputs of a random program, with any blocks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from tests.laws.lp_programs import DOMAIN, programs

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.core.terms import BOOL, Expr
from certus.core.values import Datum
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run
from certus.passes.large_blocks import MODES, LargeBlocks, Mode
from certus.run.publish import examine


class Guess:
    """Inputs in lexicographic order: after each run `advance` moves to the next combination."""

    def __init__(self) -> None:
        self.choices: list[int] = []  # positions in the domains, for the inputs met so far
        self.sizes: list[int] = []
        self.met = 0

    def _next(self, variable: Expr) -> Datum:
        values: Sequence[Datum] = (False, True) if variable.sort is BOOL else DOMAIN
        if self.met == len(self.choices):
            self.choices.append(0)
            self.sizes.append(len(values))
        value = values[self.choices[self.met]]
        self.met += 1
        return value

    def initial(self, variable: Expr) -> Datum:
        return self._next(variable)

    def local(self, variable: Expr) -> Datum:
        return False if variable.sort is BOOL else 0

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(self._next(x) for x in targets)

    def advance(self) -> bool:
        del self.choices[self.met :], self.sizes[self.met :]
        self.met = 0
        while self.choices and self.choices[-1] + 1 == self.sizes[-1]:
            self.choices.pop()
            self.sizes.pop()
        if not self.choices:
            return False
        self.choices[-1] += 1
        return True


def fails(program: Program) -> bool:
    """Return whether some execution, with inputs from the domain, reaches an error."""
    compiled, guess = compile_program(program), Guess()
    while True:
        end = run(compiled, guess, step_limit=100_000, budget=Budget(60))
        assert end.ending is not Ending.LIMIT
        if end.ending is Ending.ERROR:
            return True
        if not guess.advance():
            return False


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(tree=programs())
def test_bmc_agrees_with_brute_force(mode: Mode, tree: ast.ProgramText) -> None:
    program = load_lp(print_lp(tree), "random.lp").program
    task, back = LargeBlocks(mode).apply(Task(program))
    verdict = back.verdict(BoundedModelChecking().run(task, Options(), Budget(60), Statistics()))
    assert isinstance(verdict, Unsafe if fails(program) else Safe)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Replay if isinstance(verdict, Unsafe) else ProofCheck), check
