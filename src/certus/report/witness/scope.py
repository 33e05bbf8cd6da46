"""Which variables can be named at a place of the source, and how places are told."""

from __future__ import annotations

from certus.core.diagnostic import Span
from certus.core.program import Program
from certus.core.terms import Expr
from certus.core.witness import Place


def place_at(span: Span, procedure: str) -> Place:
    """The first character of a stretch; procedures that are ours have no name."""
    function = None if "$" in procedure else procedure
    return Place(span.file, span.line, span.column, function)


def names_at(program: Program, procedure: str, place: Span) -> dict[Expr, str]:
    """The variables, of this procedure or global, whose names mean them at the start of `place`: those in
    whose scope it is, unless one of the same name is declared in between."""
    own = program.procedures[procedure].variables
    at = (place.line, place.column)
    found: dict[str, tuple[tuple[int, int], Expr]] = {}
    for variable in (*program.globals, *own):
        name, scope = program.source_names.get(variable), program.scopes.get(variable)
        if name is None or scope is None or scope.file != place.file:
            continue
        start = (scope.line, scope.column)
        if start <= at < (scope.end_line, scope.end_column) and (
            name not in found or found[name][0] <= start
        ):
            found[name] = (start, variable)
    return {variable: name for name, (_, variable) in found.items()}
