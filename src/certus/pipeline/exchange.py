"""Facts pass from engine to engine: what one process has found, those that start later need not find again.

They travel as text through the parent, which does not look into it. Locations go by their names: passes are
deterministic, so that engines that get the same passes see the same program; formulas at places that a
program does not have, or over variables that are not in scope there, are left out. Ranges were checked by who
sent them, on the same program; what an engine found on the way is checked by who receives it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Point
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.core.wire import decode_terms, encode_terms
from certus.pipeline.facts import are_inductive, checked_facts

RANGES: Final = {True: "ranges", False: "ranges of procedures"}  # by whether calls were inlined


@dataclass(frozen=True, slots=True)
class Exchange:
    """`known` is what others have sent, by who found it; `send` is how something gets to them. `inlined`:
    whether calls are, in the program at hand."""

    known: Mapping[str, bytes] = field(default_factory=dict)
    send: Callable[[bytes], None] | None = None
    inlined: bool = True

    def ranges(self, program: Program, budget: Budget, statistics: Statistics) -> Mapping[Point, Expr]:
        """The checked ranges at loop heads, strengthened by what engines have found."""
        same = RANGES[self.inlined]
        if same in self.known:
            found: Mapping[Point, Expr] = decode_facts(self.known[same], program)
            statistics.count("facts.received", len(found))
        else:
            found = checked_facts(program, budget, statistics)
            self.tell(same, found)
        for who, data in self.known.items():
            if who not in RANGES.values():
                found = _strengthened(program, found, decode_facts(data, program), budget, statistics)
        return found

    def tell(self, who: str, found: Mapping[Point, Expr]) -> None:
        if self.send is not None:
            self.send(encode_facts(who, found))


def _strengthened(
    program: Program,
    found: Mapping[Point, Expr],
    more: Mapping[Point, Expr],
    budget: Budget,
    statistics: Statistics,
) -> Mapping[Point, Expr]:
    """Both, if together they are inductive."""
    points = dict.fromkeys((*found, *more))
    both = {p: build.and_(found.get(p, build.TRUE), more.get(p, build.TRUE)) for p in points}
    try:
        if more and are_inductive(program, both, budget, statistics):
            statistics.count("facts.received", len(more))
            return both
    except BudgetExceeded:
        pass
    return found


def encode_facts(who: str, found: Mapping[Point, Expr]) -> bytes:
    places = [point.location.name for point in found]
    return json.dumps({"who": who, "places": places, "terms": encode_terms(list(found.values()))}).encode()


def sender(data: bytes) -> str:
    """Who has found the facts."""
    who = json.loads(data)["who"]
    assert isinstance(who, str)
    return who


def decode_facts(data: bytes, program: Program) -> dict[Point, Expr]:
    """The facts that this program has a place for."""
    return dict(_fitting(data, program))


def _fitting(data: bytes, program: Program) -> Iterator[tuple[Point, Expr]]:
    message = json.loads(data)
    for name, formula in zip(message["places"], decode_terms(message["terms"]), strict=True):
        location = program.location.get(name)
        if location is not None:
            procedure = program.procedures[location.procedure]
            if all(x in program.globals or x in procedure.variables for x in variables(formula)):
                yield Point(location), formula
