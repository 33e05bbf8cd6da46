"""Program states restricted to live variables, and formulas that describe sets of them.

A state is a location, the calls that led there, and the values of the live variables, those of suspended
activations included. A program that uses memory keeps its whole state, and has no formulas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from certus.analysis.ranges.control import Effects, flows
from certus.core import build
from certus.core.effects import uses_memory
from certus.core.evidence import Inductive, Point, in_frame
from certus.core.program import Call, Location
from certus.core.terms import Expr
from certus.interpreter.compile import Compiled, Link
from certus.interpreter.interpreter import Snapshot

Place = tuple[Location, tuple[Link, ...]]
State = tuple[Place, Any]  # where, and the values of the live variables
_GLOBALS: Final = -1


class States:
    """The states of one program."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        program = compiled.program
        self.scalar: Final = not uses_memory(program)  # whether variables are the whole state
        self._flows = flows(program, Effects(program)) if self.scalar else {}
        self._columns: dict[Place, tuple[tuple[Expr, int, int], ...]] = {}

    def of(self, snapshot: Snapshot) -> State:
        """Return the state that a snapshot is in."""
        location, shared, frame, frames, calls, _ = snapshot
        place = (location, calls)
        if not self.scalar:
            return place, snapshot
        columns = self._columns.get(place)
        if columns is None:
            columns = self._columns[place] = tuple(self._live(place))
        held = (*frames, frame, shared)
        return place, tuple(held[number][slot] for _, number, slot in columns)

    def _live(self, place: Place) -> Iterable[tuple[Expr, int, int]]:
        """Yield the live variables as formulas name them, with the number of the activation, or `_GLOBALS`,
        and the slot."""
        location, calls = place
        shared: dict[Expr, int] = {}
        waiting = [(link.edge.source.procedure, link.edge.target, link.edge.op) for link in calls]
        for depth, (name, at, call) in enumerate((*waiting, (location.procedure, location, None))):
            flow, slots = self._flows[name], self._compiled.locals[name]
            assigned = call.targets if isinstance(call, Call) else ()
            for x in flow.members(flow.live.get(at, 0)):
                if x in slots:
                    if x not in assigned:
                        yield in_frame(x, depth), depth, slots[x]
                else:
                    shared[x] = self._compiled.globals[x]
        for x, slot in shared.items():
            yield x, _GLOBALS, slot

    def proof(self, states: Iterable[State]) -> Inductive:
        """Return the claim that there are no other states."""
        rows: defaultdict[Place, list[tuple[Any, ...]]] = defaultdict(list)
        for place, values in states:
            rows[place].append(values)
        return Inductive(
            {
                Point(place[0], tuple(link.edge.index for link in place[1])): formula_of(
                    [x for x, _, _ in self._columns[place]], values
                )
                for place, values in rows.items()
            }
        )


def formula_of(variables: Sequence[Expr], rows: Sequence[tuple[Any, ...]]) -> Expr:
    """Return the formula that exactly these values of the variables satisfy: a decision diagram over the
    variables, those with the fewest values first."""
    numbers = {n: len({row[n] for row in rows}) for n in range(len(variables))}
    order = sorted(numbers, key=numbers.__getitem__)
    formulas: dict[tuple[int, frozenset[tuple[Any, ...]]], Expr] = {}

    def formula(depth: int, rest: frozenset[tuple[Any, ...]]) -> Expr:
        if depth == len(order):
            return build.TRUE
        result = formulas.get((depth, rest))
        if result is None:
            x = variables[order[depth]]
            after: defaultdict[Any, set[tuple[Any, ...]]] = defaultdict(set)
            for row in sorted(rest):
                after[row[0]].add(row[1:])
            alike: defaultdict[frozenset[tuple[Any, ...]], list[Expr]] = defaultdict(list)
            for value, others in after.items():
                alike[frozenset(others)].append(build.eq(x, build.constant(value, x.sort)))
            result = formulas[depth, rest] = build.disjunction(
                build.and_(build.disjunction(values), formula(depth + 1, others))
                for others, values in alike.items()
            )
        return result

    return formula(0, frozenset(tuple(row[n] for n in order) for row in rows))
