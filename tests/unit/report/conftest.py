"""Outcomes made by hand: a small program with a loop and a call, and every kind of answer about it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import (
    Assign,
    Assume,
    Call,
    Edge,
    ErrorSite,
    Havoc,
    Location,
    Procedure,
    Program,
    Return,
)
from certus.core.terms import INT

SOURCE = """\
int limit;
void main() {
  int x = *;
  while (x < limit) {
    x = step(x);
  }
  assert(x == limit);
}
int step(int x) {
  return x + 1;
}
"""


def span(line: int, column: int, end: int) -> Span:
    return Span("count.lp", line, column, line, end)


@pytest.fixture(scope="session")
def counting() -> SimpleNamespace:
    limit, x = build.var("limit", INT), build.var("main.x", INT)
    given, result = build.var("step.x", INT), build.var("step.$result", INT)
    start = Location(0, "main", span(3, 3, 12))
    head = Location(1, "main", span(4, 3, 20), loop=span(4, 3, 20))
    body, after, end, error = (Location(i, "main") for i in (2, 3, 4, 5))
    entry, leave = Location(6, "step"), Location(7, "step")
    below = build.lt(x, limit)
    edges = (
        Edge(0, start, Havoc((x,)), head, span(3, 3, 12), text="int x = *;"),
        Edge(1, head, Assume(below), body, span(4, 3, 20), branch=True, text="while (x < limit)"),
        Edge(2, body, Call("step", (x,), (x,)), head, span(5, 5, 17), text="x = step(x);"),
        Edge(
            3, head, Assume(build.not_(below)), after, span(4, 3, 20), branch=False, text="while (x < limit)"
        ),
        Edge(
            4, after, Assume(build.eq(x, limit)), end, span(7, 3, 22), branch=True, text="assert(x == limit);"
        ),
        Edge(
            5,
            after,
            Assume(build.ne(x, limit)),
            error,
            span(7, 3, 22),
            branch=False,
            text="assert(x == limit);",
        ),
        Edge(
            6,
            entry,
            Return((build.add(given, build.integer(1)),)),
            leave,
            span(10, 3, 16),
            text="return x + 1;",
        ),
        Edge(7, end, Assign((), ()), end),
        Edge(8, end, Havoc((build.var("main.$1", INT),)), end, span(3, 3, 12), text="$1 = *;"),
    )
    program = Program(
        procedures={
            "main": Procedure("main", (), (), (x,), start, end, edges[:6] + edges[7:]),
            "step": Procedure(
                "step", (given,), (result,), (given, result), entry, leave, edges[6:7], span(9, 1, 17)
            ),
        },
        main="main",
        globals=(limit,),
        errors=(ErrorSite(error, "assertion", span(7, 3, 22), "x == limit"),),
        source_names={limit: "limit", x: "x", given: "x"},
        source=SOURCE,
        file="count.lp",
    )
    return SimpleNamespace(
        program=program, limit=limit, x=x, given=given, result=result, head=head, entry=entry
    )
