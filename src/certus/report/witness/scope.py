"""Which variables can be named at a place of the source, and how places are told."""

from __future__ import annotations

from certus.core.diagnostic import Span
from certus.core.program import Program
from certus.core.terms import Expr
from certus.core.witness import Place
from certus.report.content import function_name


def place_at(span: Span, procedure: str) -> Place:
    """The first character of a stretch; procedures that are ours have no name."""
    name = function_name(procedure)
    return Place(span.file, span.line, span.column, None if "$" in name else name)


def names_at(program: Program, place: Span, *, in_loop: bool = False) -> dict[Expr, str]:
    """The variables whose names mean them at the start of `place`: those in whose scope it is, unless one of
    the same name is declared in between. A variable that lives in memory is given by the one that holds its
    address. What a `for` declares has a name in its loop (`in_loop`), but not before the statement."""
    at = (place.line, place.column)
    found: dict[str, tuple[tuple[int, int], Expr]] = {}
    named = [(x, program.source_names.get(x), scope) for x, scope in program.scopes.items()]
    named += [(x, each.name, each.scope) for x, each in program.objects.items()]
    for variable, name, scope in named:
        if name is None or scope.file != place.file:
            continue
        start = (scope.line, scope.column)
        inside = start < at or (start == at and in_loop)
        if inside and at < (scope.end_line, scope.end_column) and found.get(name, (start,))[0] <= start:
            found[name] = (start, variable)
    return {variable: name for name, (_, variable) in found.items()}
