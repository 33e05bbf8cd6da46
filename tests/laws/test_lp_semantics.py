"""The control-flow automata of random programs behave as a naive interpreter of their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.lp_programs import DOMAIN, programs
from tests.laws.lp_reference import Outcome, outcome

from certus.core.accounting import Budget
from certus.core.program import Program
from certus.core.terms import BOOL, Expr
from certus.core.values import Datum
from certus.frontend.lp import ast, load_lp, parse, print_lp
from certus.frontend.source import Source
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run

LAW = settings(derandomize=True, deadline=None, max_examples=80)
INPUTS = st.lists(st.tuples(st.sampled_from(DOMAIN), st.booleans()), min_size=1, max_size=6)


class InOrder:
    """The next input for each nondeterministic value, in the order of execution."""

    def __init__(self, inputs: Iterator[tuple[int, bool]]) -> None:
        self._inputs = inputs

    def initial(self, variable: Expr) -> Datum:
        raise AssertionError(f"{variable.name} has no initial value")

    def local(self, variable: Expr) -> Datum:
        return variable.sort is BOOL

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(next(self._inputs)[target.sort is BOOL] for target in targets)


def interpreted(program: Program, inputs: Iterator[tuple[int, bool]], source: Source) -> Outcome:
    ran = run(compile_program(program), InOrder(inputs), step_limit=1_000_000, budget=Budget())
    assert ran.ending in (Ending.ERROR, Ending.EXIT, Ending.BLOCKED)
    if ran.ending is not Ending.ERROR:
        return "end"
    span = program.error_at(ran.location).span
    assert span is not None
    lines = source.text.splitlines(keepends=True)
    before = [0]
    for line in lines:
        before.append(before[-1] + len(line))
    return before[span.line - 1] + span.column - 1, before[span.end_line - 1] + span.end_column - 1


@pytest.mark.parametrize("property_name", ["unreach-call", "no-div-zero"])
@LAW
@given(programs(), INPUTS)
def test_lowering_keeps_the_meaning(
    property_name: str, tree: ast.ProgramText, inputs: list[tuple[int, bool]]
) -> None:
    source = Source(print_lp(tree), "x.lp")
    program = load_lp(source.text, source.file, property_name).program
    expected = outcome(parse(source), cycle(inputs), property_name)
    assert interpreted(program, cycle(inputs), source) == expected
