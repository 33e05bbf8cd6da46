"""Turn ranges into formulas: facts for engines, and a proof if they rule out every error.

Facts are about single procedures that may be entered with any values (`Scope.alone`), and not about arrays.
So the formulas at loop heads are inductive by themselves, without summaries and quantifiers. A proof of a
whole program also has formulas at entries and summaries of all procedures, and quantifies over elements of
arrays if it needs their ranges. Both use ranges of all executions:
ranges of bounded executions (`BoundedRanges`) have no formulas here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from certus.analysis.ranges import float_order
from certus.analysis.ranges.control import mentioned
from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.operations import Bounds
from certus.analysis.ranges.result import Ranges, Solution, SystemSolver, analyse, by_strategy, interval
from certus.analysis.ranges.system import limits
from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Inductive, Point
from certus.core.intervals import Interval
from certus.core.loops import callees_of, loop_forest
from certus.core.program import Location, Program
from certus.core.terms import BOOL, INT, ArraySort, Expr, MachineSort, Sort


def range_formula(term: Expr, range_: Interval) -> Expr:
    """Return the formula that a term is in a range; true if the term is not a number."""
    sort = term.sort
    if sort is BOOL:
        if range_.low != range_.high:
            return build.TRUE
        return term if range_.low else build.not_(term)
    if not (sort is INT or isinstance(sort, MachineSort)):
        return build.TRUE
    if range_.low is not None and range_.low == range_.high:
        return build.eq(term, build.constant(range_.low, sort))
    parts = []
    if range_.low is not None:
        parts.append(build.le(build.constant(range_.low, sort), term))
    if range_.high is not None:
        parts.append(build.le(term, build.constant(range_.high, sort)))
    return build.conjunction(parts)


def facts(program: Program, *, floats: bool = True, budget: Budget | None = None) -> Mapping[Point, Expr]:
    """Return the ranges at the loop heads of a program as formulas, except trivial ones; with those of
    floating-point numbers, or as if these could have any value."""
    ranges = analyse(program, Scope(elements=False, separate=True, alone=True, floats=floats), budget=budget)
    at_heads = {Point(at): formula(ranges, at) for at in heads(ranges.program)}
    return {point: each for point, each in at_heads.items() if each is not build.TRUE}


def heads(program: Program) -> list[Location]:
    return [at for procedure in program.procedures.values() for at in loop_forest(procedure).heads]


def formula(ranges: Ranges, location: Location) -> Expr:
    """Return the ranges at a location as a formula; false if control never reaches it."""
    if location not in ranges.essa.at or not ranges.reaches(location):
        return build.FALSE
    numbers = (each for _, each in formulas(ranges, location))
    return build.conjunction((*numbers, *(each for _, each in _elements(ranges, location))))


def formulas(ranges: Solution, location: Location) -> Iterator[tuple[Expr, Expr]]:
    """Yield terms that have a range at a location, each with that range as a formula."""
    for term, range_ in ranges.at(location).items():
        yield term, range_formula(term, range_)
    for x, (order, bounds) in ranges.floats_at(location).items():
        if not isinstance(x.sort, ArraySort):
            yield x, float_order.range_formula(x, order, bounds)


def _elements(ranges: Ranges, location: Location) -> Iterator[tuple[Expr, Expr]]:
    """Yield the arrays whose elements have a range at a location, each with that range as a formula."""
    for x, quantity in ranges.essa.at[location].environment.items():
        if isinstance(x.sort, ArraySort) and ranges.values.has(quantity):
            sort, indices = ranges.quantity_sort(x), index_sorts(x.sort)
            bounds = ranges.values[quantity]
            if bounds != limits(sort):
                cell = x
                for n, each in enumerate(reversed(indices)):
                    cell = build.select(cell, build.bound(len(indices) - 1 - n, each))
                yield x, build.forall(indices, _element_formula(cell, sort, bounds))


def _element_formula(cell: Expr, sort: Sort | FloatOrder, bounds: Bounds) -> Expr:
    if isinstance(sort, FloatOrder):
        return float_order.range_formula(cell, sort, bounds)
    return range_formula(build.wrap(cell, sort) if isinstance(sort, MachineSort) else cell, interval(bounds))


def index_sorts(sort: Sort) -> tuple[Sort, ...]:
    """Return the sorts of the indices of an array, outermost first."""
    indices = []
    while isinstance(sort, ArraySort):
        indices.append(sort.index)
        sort = sort.element
    return tuple(indices)


def proof(
    program: Program, *, budget: Budget | None = None, solver: SystemSolver = by_strategy
) -> Inductive | Ranges:
    """Return an inductive proof that no error is reached, or the ranges if they do not rule it out: by ranges
    of variables if these suffice, then with symbolic bounds, then with ranges of all elements of arrays."""
    budget = budget or Budget()
    ranges = analyse(program, Scope(elements=False, separate=True), budget=budget, solver=solver)
    errors = _open(ranges)
    symbolic = _without(ranges, errors, budget) if errors else {}
    if symbolic is None and _has_arrays(ranges.program):
        ranges = analyse(program, Scope(separate=True), budget=budget, solver=solver)
        symbolic = {} if not _open(ranges) else None
    return ranges if symbolic is None else _inductive(ranges, symbolic)


def _inductive(ranges: Ranges, symbolic: Mapping[Location, Expr]) -> Inductive:
    program = ranges.program
    called = [program.procedures[name] for name in callees_of(program)]
    points = [*heads(program), *(p.entry for p in called)]
    summaries = {p.name: _summary(ranges, p.exit, (*program.globals, *p.results)) for p in called}
    invariants = {at: build.and_(formula(ranges, at), symbolic.get(at, build.TRUE)) for at in points}
    return Inductive({Point(at): each for at, each in invariants.items()}, summaries)


def _open(ranges: Ranges) -> list[Location]:
    """Return the errors within the ranges."""
    locations = (site.location for site in ranges.program.errors)
    return [at for at in locations if at in ranges.essa.at and ranges.reaches(at)]


def _has_arrays(program: Program) -> bool:
    owners = (program.globals, *(p.variables for p in program.procedures.values()))
    return any(isinstance(x.sort, ArraySort) for names in owners for x in names)


def _without(ranges: Ranges, errors: Sequence[Location], budget: Budget) -> Mapping[Location, Expr] | None:
    """Return symbolic bounds at loop heads that rule out these errors; None if they do not. Each procedure is
    entered with its numeric ranges."""
    from certus.analysis.ranges import symbolic_facts

    program = ranges.program
    result: dict[Location, Expr] = {}
    for name in dict.fromkeys(at.procedure for at in errors):
        procedure = program.procedures[name]
        assumption = build.TRUE if name == program.main else formula(ranges, procedure.entry)
        cases = symbolic_facts.symbolic_cases(program, name, assumption, budget)
        if cases is None:
            return None
        own = [at for at in errors if at.procedure == name]
        if not all(at in case.unreached for case in cases for at in own):
            return None
        result.update({at: symbolic_facts.formula(cases, at) for at in loop_forest(procedure).heads})
    return result


def _summary(ranges: Ranges, exit_: Location, names: Iterable[Expr]) -> Expr:
    if exit_ not in ranges.essa.at or not ranges.reaches(exit_):
        return build.FALSE
    allowed = frozenset(names)
    usable = (each for term, each in formulas(ranges, exit_) if allowed.issuperset(mentioned(term)))
    elements = (each for x, each in _elements(ranges, exit_) if x in allowed)
    return build.conjunction((*usable, *elements))
