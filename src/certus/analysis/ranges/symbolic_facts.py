"""Turn symbolic bounds into formulas at loop heads, and into proofs.

The symbols of a procedure are the parameters that it does not assign, and the variables that it assigns once,
outside of all loops. Each procedure is analysed by itself. A formula says for each case of the symbols'
signs: if the symbols are in the ranges of this case, then its bounds hold. Machine integers are converted to
a wider type, so that no bound wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import lcm
from typing import Final

from certus.analysis.ranges.control import without_blocks
from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.symbolic import Affine, Case, Symbol, alone, cases, in_range
from certus.core import build
from certus.core.accounting import Budget
from certus.core.effects import terms, written
from certus.core.loops import loop_forest
from certus.core.program import Assign, Location, Op, Procedure, Program
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort, machine
from certus.core.walk import variables

MOST: Final = 2  # symbols of a procedure, so at most four cases
LARGEST: Final = 400  # statements of a procedure; larger ones have numeric ranges only
WIDTHS: Final = (64, 128)


def symbols(procedure: Procedure) -> list[Symbol]:
    """Return the variables that keep their value and that a loop reads."""
    forest = loop_forest(procedure)
    writes: dict[Expr, list[Symbol | None]] = {}
    read: dict[Expr, None] = {}
    for edge in procedure.edges:
        inside = forest.innermost(edge.source) is not None and forest.innermost(edge.target) is not None
        for x in written(edge.op, procedure):
            writes.setdefault(x, []).append(None if inside or _is_constant(edge.op) else Symbol(x, edge))
        if forest.innermost(edge.source) is not None:
            read.update(dict.fromkeys(x for term in terms(edge.op) for x in variables(term)))
    fixed = [Symbol(x) for x in procedure.parameters if x not in writes]
    fixed += [only[0] for only in writes.values() if len(only) == 1 and only[0] is not None]
    return [s for s in fixed if s.variable in read][:MOST]


def _is_constant(op: Op) -> bool:
    return isinstance(op, Assign) and all(value.kind is Kind.CONST for value in op.values)


def symbolic_cases(program: Program, name: str, assumption: Expr, budget: Budget) -> list[Case] | None:
    """Return the cases of a procedure that is entered with values that satisfy the assumption; None if it has
    no symbols, or is too large."""
    procedure = program.procedures[name]
    chosen = symbols(procedure) if len(procedure.edges) <= LARGEST else []
    if not chosen:
        return None
    entered = alone(program, name, assumption)
    if name == program.main:
        entered = replace(entered, initial=program.initial)
    scope = Scope(everywhere=True, elements=False, separate=True, alone=True)
    return cases(entered, chosen, scope, budget)


def symbolic_facts(program: Program, budget: Budget) -> Mapping[Location, Expr]:
    """Return the symbolic bounds at the loop heads of all procedures, entered with any values."""
    program = without_blocks(program)
    formulas: dict[Location, Expr] = {}
    for name, procedure in program.procedures.items():
        heads = loop_forest(procedure).heads
        by_case = symbolic_cases(program, name, build.TRUE, budget) if heads else None
        formulas.update({at: formula(by_case, at) for at in heads if by_case})
    return {at: each for at, each in formulas.items() if each is not build.TRUE}


def formula(by_case: Sequence[Case], at: Location) -> Expr:
    """Return the bounds of all cases at a location. A single case needs no condition."""
    if len(by_case) == 1:
        return _of_case(by_case[0], at)
    return build.conjunction(build.implies(_condition(case), _of_case(case, at)) for case in by_case)


def _condition(case: Case) -> Expr:
    return build.conjunction(in_range(x, range_) for x, range_ in case.parameters.items())


def _of_case(case: Case, at: Location) -> Expr:
    """Return the bounds at a location that mention only live symbols; false if control does not reach it."""
    ranges = case.at.get(at)
    if ranges is None:
        return build.FALSE
    parts = []
    for x, range_ in ranges.items():
        for bound, sign in ((range_.low, -1), (range_.high, 1)):
            usable = bound is not None and all(symbol in ranges for _, symbol in bound.terms)
            if bound is not None and usable and x not in case.parameters:
                parts.append(_at_most(x, bound, sign))
    return build.conjunction(parts)


def _at_most(x: Expr, bound: Affine, sign: int) -> Expr:
    """Return `x <= bound`, or `x >= bound` if the sign is -1; true if there is no type for it."""
    scale = lcm(bound.constant.denominator, *(c.denominator for c, _ in bound.terms))
    constant = int(bound.constant * scale)
    factors = [(int(c * scale), symbol) for c, symbol in bound.terms]
    if scale == 1 and (plain := _plain(x, factors, constant)) is not None:
        return build.le(x, plain) if sign > 0 else build.le(plain, x)
    sort = _wide([(scale, x), *factors], constant)
    if sort is None:
        return build.TRUE
    left = _scaled(scale, x, sort)
    right = build.constant(constant, sort)
    for factor, symbol in factors:
        right = build.add(right, _scaled(factor, symbol, sort))
    return build.le(left, right) if sign > 0 else build.le(right, left)


def _plain(x: Expr, factors: Sequence[tuple[int, Expr]], constant: int) -> Expr | None:
    """Return a bound that is a number or a symbol of the same sort."""
    if not factors:
        return build.constant(constant, x.sort)
    (factor, symbol), *more = factors
    return symbol if factor == 1 and not more and constant == 0 and symbol.sort is x.sort else None


def _wide(parts: Sequence[tuple[int, Expr]], constant: int) -> Sort | None:
    """Return a sort in which the sum of all parts does not wrap."""
    if all(x.sort is INT for _, x in parts):
        return INT
    size = abs(constant)
    for factor, x in parts:
        if not isinstance(x.sort, MachineSort):
            return None
        size += abs(factor) * max(abs(x.sort.low), x.sort.high)
    return next((machine(width, signed=True) for width in WIDTHS if size < 2 ** (width - 1)), None)


def _scaled(factor: int, x: Expr, sort: Sort) -> Expr:
    wide = build.wrap(x, sort) if isinstance(sort, MachineSort) else x
    return wide if factor == 1 else build.mul(build.constant(factor, sort), wide)
