"""Guess claims without quantifiers that claims about all elements or objects rely on.

- *safe*: the condition of an error does not hold now (as in 1-induction);
- *defined*: a variable has the value that a step gave it, in terms of other variables: `size == n`;
- *fixed*: an element has the constant that a step wrote there: `s[n - 1] == 0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from certus.core import build
from certus.core.program import Program
from certus.core.terms import ArraySort, Expr, Kind
from certus.core.walk import substitute, variables
from certus.encoding.block_formula import BlockFormula
from certus.engines.arrays.claims import Claim, Step, written_elements

MOST: Final = 100  # limit of claims


def state_claims(program: Program, steps: Sequence[Step]) -> list[Claim]:
    """Return claims about single variables and elements."""
    formulas = dict.fromkeys(f for step in steps for f in _formulas(program, step))
    return [Claim(None, formula) for formula in islice(formulas, MOST)]


def _formulas(program: Program, step: Step) -> Iterator[Expr]:
    edge, formula = step
    symbols = frozenset(formula.symbols)
    if edge.target in program.error_locations:
        if symbols.isdisjoint(variables(formula.guard)):
            yield build.not_(formula.guard)
        return
    for element, value in written_elements(formula):
        if value.kind is Kind.CONST and symbols.isdisjoint(variables(element)):
            yield build.eq(element, value)
    yield from _definitions(formula, symbols)


def _definitions(formula: BlockFormula, symbols: frozenset[Expr]) -> Iterator[Expr]:
    """Yield equations that hold after a step, of variables that it writes."""
    names = {value: x for x, value in formula.values.items() if value in symbols}
    for x, value in formula.values.items():
        if isinstance(x.sort, ArraySort) or value in symbols:
            continue
        term = substitute(value, names)
        about = variables(term)
        unchanged = all(y in names.values() or y not in formula.values for y in about)
        if unchanged and symbols.isdisjoint(about) and x not in about:
            yield build.eq(x, term)
