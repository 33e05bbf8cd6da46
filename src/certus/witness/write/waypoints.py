"""Write a counterexample as waypoints of a violation witness: the inputs in the order in which the program
reads them, then the violation. A nondeterministic value that is no input (an uninitialised variable) becomes
an assumption before the next statement. These values determine the execution, so branches are left out."""

from __future__ import annotations

from collections.abc import Iterator

from certus.core.diagnostic import Span
from certus.core.evidence import Trace
from certus.core.float_text import exact_literal
from certus.core.floats import FORMATS, to_fraction
from certus.core.outcome import Replay, Step, violated_site
from certus.core.program import ErrorSite, Havoc, Location, Program
from certus.core.terms import Expr, MachineSort, Value
from certus.core.vocabulary import LEAK, NOT_FREED
from certus.core.witness import ACSL_EXPRESSION, C_EXPRESSION, Waypoint
from certus.witness.write.c_expression import number as c_number
from certus.witness.write.scope import names_at, place_at


def segments(program: Program, trace: Trace, replay: Replay) -> tuple[tuple[Waypoint, ...], ...] | None:
    """Return segments of one waypoint each; None if the violation is in a header."""
    target = _target(program, violated_site(program, replay))
    if target is None:
        return None
    waypoints = [*_globals(program, trace)]
    for step in replay.kept:
        waypoints.extend(_inputs(program, step))
    return tuple((waypoint,) for waypoint in (*waypoints, target))


def _target(program: Program, site: ErrorSite) -> Waypoint | None:
    at_end = site.kind in (LEAK, NOT_FREED)  # of the program, not at a statement
    for span in (site.span, site.statement) if at_end else (site.statement, site.span):
        if span is not None and span.file in program.texts:
            return Waypoint("target", place_at(span, site.location.procedure))
    return None


def _inputs(program: Program, step: Step) -> Iterator[Waypoint]:
    edge = program.edge[step.edge]
    if not isinstance(edge.op, Havoc):
        return
    if edge.call is None:
        yield from _assumptions(program, edge.target, step.changes)
    elif edge.call.file in program.texts and len(step.changes) == 1:
        ((variable, value),) = step.changes
        if isinstance(variable.sort, MachineSort):
            last = Span(
                edge.call.file,
                edge.call.end_line,
                max(edge.call.end_column - 1, 1),
                edge.call.end_line,
                edge.call.end_column,
            )
            place = place_at(last, edge.source.procedure)
            number = _literal(program, variable, int(value))
            if number is not None:
                constraint = f"\\result == {number}"
                yield Waypoint("function_return", place, constraint=constraint, format=ACSL_EXPRESSION)


def _literal(program: Program, variable: Expr, value: int) -> str | None:
    """Return a value as a constant of C; None for infinities and NaN, which have none."""
    if variable not in program.formats:
        return str(value)
    format = FORMATS[program.formats[variable]]
    return None if to_fraction(format, value) is None else exact_literal(format, value)


def _assumptions(
    program: Program, location: Location, values: tuple[tuple[Expr, Value], ...]
) -> Iterator[Waypoint]:
    """Yield the assumption that variables have these values before the statement at a location."""
    span = location.statement
    if span is None or span.file not in program.texts:
        return
    names = names_at(program, span)
    equations = [
        f"{names[variable]} == {c_number(int(value)).operand}"
        for variable, value in values
        if variable in names and isinstance(variable.sort, MachineSort)
    ]
    if equations:
        place = place_at(span, location.procedure)
        yield Waypoint("assumption", place, constraint=" && ".join(equations), format=C_EXPRESSION)


def _globals(program: Program, trace: Trace) -> Iterator[Waypoint]:
    """Yield the values of uninitialised globals at the start of `main`."""
    values = tuple((x, v) for x, v in trace.initial.items() if not isinstance(v, bool) and isinstance(v, int))
    if values and "main" in program.procedures:
        yield from _assumptions(program, program.procedures["main"].entry, values)
