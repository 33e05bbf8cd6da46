"""Horn clauses in the form that searches for interpolants expect."""

from __future__ import annotations

from certus.core import build
from certus.core.horn import Clause, clause_of
from certus.core.terms import Expr, Kind


def with_variables_in_body(clause: Clause) -> Clause:
    """The clause whose body atoms have distinct variables as arguments; equations say what they are."""
    taken: set[Expr] = set()
    equations: list[Expr] = []
    body: list[Expr] = []
    for number, atom in enumerate(clause.body):
        arguments: list[Expr] = []
        for place, argument in enumerate(atom.args):
            own = argument
            if argument.kind is not Kind.VAR or argument in taken:
                own = build.var(f"@{number}.{place}", argument.sort)
                equations.append(build.eq(own, argument))
            taken.add(own)
            arguments.append(own)
        body.append(build.apply(atom.function, arguments))
    if not equations:
        return clause
    return clause_of(body, build.and_(clause.constraint, *equations), clause.head)
