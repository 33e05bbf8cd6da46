"""Ranges as formulas: facts for other engines, and a proof where they rule out every error.

Facts are about single procedures that may be entered with any values (`Scope.alone`) and say nothing of
arrays, so that the formulas at loop heads are inductive by themselves, without summaries and quantifiers.
A proof of a whole program has formulas at entries, too, and summaries of all procedures. Both rest on ranges
of all executions: those of bounded ones (`BoundedRanges`) have no formulas here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from certus.analysis.ranges.control import mentioned
from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.result import Ranges, Solver, analyse
from certus.core import build
from certus.core.budget import Budget
from certus.core.evidence import Inductive, Point
from certus.core.loops import loop_forest
from certus.core.program import Location, Program
from certus.core.sorts import BOOL, INT, MachineSort
from certus.core.terms import Expr
from certus.logic.intervals import Interval


def range_formula(term: Expr, found: Interval) -> Expr:
    """That a term is in a range; true of what has no numbers."""
    sort = term.sort
    if sort is BOOL:
        if found.low != found.high:
            return build.TRUE
        return term if found.low else build.not_(term)
    if not (sort is INT or isinstance(sort, MachineSort)):
        return build.TRUE
    if found.low is not None and found.low == found.high:
        return build.eq(term, build.constant(found.low, sort))
    parts = []
    if found.low is not None:
        parts.append(build.le(build.constant(found.low, sort), term))
    if found.high is not None:
        parts.append(build.le(term, build.constant(found.high, sort)))
    return build.conjunction(parts)


def facts(program: Program, *, budget: Budget | None = None) -> Mapping[Point, Expr]:
    """What the ranges say at the loop heads of a program, where they say anything."""
    found = analyse(program, Scope(elements=False, alone=True), budget=budget)
    formulas = {Point(at): formula(found, at) for at in heads(found.program)}
    return {point: each for point, each in formulas.items() if each is not build.TRUE}


def heads(program: Program) -> list[Location]:
    return [at for procedure in program.procedures.values() for at in loop_forest(procedure).heads]


def formula(found: Ranges, location: Location) -> Expr:
    """The ranges at a location; false if control never comes there."""
    if location not in found.version.at or not found.reaches(location):
        return build.FALSE
    return build.conjunction(range_formula(x, each) for x, each in found.at(location).items())


def proof(
    program: Program, *, budget: Budget | None = None, solver: Solver = "strategy"
) -> Inductive | Ranges:
    """An inductive proof that no error is reached; or the ranges, which do not rule it out."""
    found = analyse(program, Scope(elements=False), budget=budget, solver=solver)
    program = found.program
    if any(site.location in found.version.at and found.reaches(site.location) for site in program.errors):
        return found
    called = [p for name, p in program.procedures.items() if name != program.main]
    points = [*heads(program), *(p.entry for p in called)]
    summaries = {p.name: _summary(found, p.exit, (*program.globals, *p.results)) for p in called}
    return Inductive({Point(at): formula(found, at) for at in points}, summaries)


def _summary(found: Ranges, exit_: Location, names: Iterable[Expr]) -> Expr:
    if exit_ not in found.version.at or not found.reaches(exit_):
        return build.FALSE
    wanted, known = frozenset(names), found.at(exit_).items()
    told = ((term, each) for term, each in known if wanted.issuperset(mentioned(term)))
    return build.conjunction(range_formula(term, each) for term, each in told)
