"""Refine a Linear Program where a path is spurious (Armando et al. 2004, section 1, step 3).

First the nonlinear expressions on the path become columns (`precision`). If there is no new one, the
variables in nonlinear terms are split into cases: all their numbers, if the facts bound them closely, and
otherwise the constants that they are compared with. Without a path, all edges of the program count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from certus.core.accounting import Statistics
from certus.core.intervals import bounds, conjuncts
from certus.core.program import Call, Edge
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder, variables
from certus.engines.linear.blocks import modelled
from certus.engines.linear.lifting import Step
from certus.engines.linear.precision import (
    CASES,
    Precision,
    base_name,
    candidates,
    deciding,
    is_nonlinear,
    nonlinear_terms,
)
from certus.engines.linear.transitions import Transitions

COMPARISONS = (Kind.EQ, Kind.LE, Kind.LT)


def refined(transitions: Transitions, steps: Sequence[Step] | None) -> Precision | None:
    """Return a finer precision that may exclude a path; None if there is nothing to refine."""
    program, before = transitions.program, transitions.precision
    every = [edge for p in program.procedures.values() for edge in p.edges]
    edges = every if steps is None else [step for step in dict.fromkeys(steps) if isinstance(step, Edge)]
    edges = [edge for edge in edges if not isinstance(edge.op, Call)]
    for refine in (_with_expressions, _with_cases):
        after = refine(transitions, edges)
        if after.size != before.size:
            return after
    return None


def count_refinement(statistics: Statistics, precision: Precision) -> None:
    """Count a refinement, and what the precision has by now."""
    statistics.count("linear.refinements")
    expressions, cases = precision.size
    statistics.counters["linear.expressions"] = expressions
    statistics.counters["linear.cases"] = cases
    statistics.progress(f"{expressions} expressions and {cases} cases of nonlinear terms")


def _with_expressions(transitions: Transitions, edges: Iterable[Edge]) -> Precision:
    precision = transitions.precision
    for edge in edges:
        name = edge.source.procedure
        state = [x for x in transitions.frames[name].state if x not in precision.of(name)]
        for path in transitions.pieces(edge):
            expressions = candidates(transitions.formulas(path, name), state)
            precision = precision.with_expressions(name, expressions)
    return precision


def _with_cases(transitions: Transitions, edges: Sequence[Edge]) -> Precision:
    precision = transitions.precision
    for edge in edges:
        for path in transitions.pieces(edge):
            for term in nonlinear_terms([*path.conditions, *path.values.values()]):
                for variable in _operands(term):
                    precision = precision.with_cases(base_name(variable), _numbers(variable, transitions))
    return precision


def _operands(term: Expr) -> Iterator[Expr]:
    """Yield the variables whose value would make a nonlinear term linear."""
    for operand in deciding(term):
        if not any(is_nonlinear(part) for part in postorder(operand)):
            yield from (x for x in variables(operand) if modelled(x.sort))


def _numbers(variable: Expr, transitions: Transitions) -> list[int]:
    """Return the numbers to split a variable by."""
    name = base_name(variable)
    for fact in transitions.facts.values():
        for x, interval in bounds(conjuncts(fact)).items():
            low, high = interval.low, interval.high
            if x.name == name and low is not None and high is not None and high - low < CASES:
                return list(range(low, high + 1))
    compared = sorted(dict.fromkeys(_compared(name, transitions)))
    if compared and compared[-1] - compared[0] < CASES:
        return list(range(compared[0], compared[-1] + 1))
    return compared[:CASES]


def _compared(name: str, transitions: Transitions) -> Iterator[int]:
    """Yield the constants that a variable is compared with or gets, and their neighbours."""
    for procedure in transitions.program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                continue
            for path in transitions.pieces(edge):
                for x, value in path.values.items():
                    if x.name == name and value.kind is Kind.CONST:
                        yield int(value.value)
                for term in postorder(*path.conditions):
                    if term.kind in COMPARISONS:
                        yield from _constants(term, name)


def _constants(comparison: Expr, name: str) -> Iterator[int]:
    for one, other in (comparison.args, comparison.args[::-1]):
        plain = one.args[0] if one.kind is Kind.TO_INT else one
        if plain.kind is Kind.VAR and base_name(plain) == name and other.kind is Kind.CONST:
            number = int(other.value)
            yield from (number,) if comparison.kind is Kind.EQ else (number, number + 1, number - 1)
