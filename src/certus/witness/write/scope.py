"""Find the variables that can be named at a place of the source, and describe places for a witness."""

from __future__ import annotations

from certus.core.diagnostic import Span
from certus.core.program import Program
from certus.core.terms import Expr
from certus.core.witness import Place
from certus.report.outcome_view import function_name


def place_at(span: Span, procedure: str) -> Place:
    """Return the place of the first character of a span, with the function's name unless it is internal."""
    name = function_name(procedure)
    return Place(span.file, span.line, span.column, None if "$" in name else name)


def names_at(program: Program, place: Span, *, in_loop: bool = False) -> dict[Expr, str]:
    """Return the variables in scope at the start of `place` that no inner declaration of the same name hides.
    A variable in memory is represented by the one that holds its address. A variable that a `for` declares is
    in scope in its loop (`in_loop`), but not before the statement."""
    at = (place.line, place.column)
    innermost: dict[str, tuple[tuple[int, int], Expr]] = {}
    named = [(x, program.source_names.get(x), scope) for x, scope in program.scopes.items()]
    named += [(x, each.name, each.scope) for x, each in program.objects.items()]
    for variable, name, scope in named:
        if name is None or scope.file != place.file:
            continue
        start = (scope.line, scope.column)
        inside = start < at or (start == at and in_loop)
        if inside and at < (scope.end_line, scope.end_column) and innermost.get(name, (start,))[0] <= start:
            innermost[name] = (start, variable)
    return {
        variable: name for name, (_, variable) in innermost.items() if variable not in program.formats
    }  # formulas are about the bits of floating-point numbers, C expressions are not
