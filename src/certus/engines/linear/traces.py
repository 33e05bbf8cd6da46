"""From a path edge at an error to an execution (the recorded provenance, read backwards).

The path edge gives an entry vector and a state; the step it came from gives a state before, in the path
edge it came from, and the inputs of the block; and so on to the entry of the procedure, through returns
into callees and back out of them, and from the entry to the call in the caller. Each choice is one
integer point of one relation, so the work is linear in the length of the execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.program import Edge
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Value
from certus.engines.linear.edges import Entered, PathEdge, Returned, Start, Stepped, lift
from certus.engines.linear.transitions import Frame, Path, Transitions, modelled

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _At:
    """Still to be explained: how control came to this state, in a frame with this entry vector.

    `inner`: only back to the entry of the procedure, since its caller is explained elsewhere."""

    edge: PathEdge
    entry: Vector
    state: Vector
    inner: bool


@dataclass(slots=True, eq=False)
class Reading:
    """Reads an execution off the provenance of a path edge."""

    transitions: Transitions
    budget: Budget
    events: list[tuple[Edge, tuple[Value, ...]]] = field(default_factory=list)  # from last to first
    initial: dict[Expr, Value] = field(default_factory=dict)

    def trace(self, error: PathEdge) -> Trace | None:
        """An execution to the error; None if some step allowed for more than the program does."""
        found = error.relation.pair()
        assert found is not None
        pending = [_At(error, *found, inner=False)]
        while pending:
            self.budget.check()
            before = self._before(pending.pop())
            if before is None:
                return None
            pending.extend(before)
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for edge, values in reversed(self.events):
            inputs.setdefault(edge.key, []).append(values)
        return Trace(error.vertex.name, self.initial, {k: tuple(v) for k, v in inputs.items()})

    def _before(self, at: _At) -> list[_At] | None:
        """What explains the state, to be treated from the last one on."""
        by = at.edge.by
        frame = self.transitions.frames[at.edge.vertex.procedure]
        if isinstance(by, Start):
            known = dict(zip(frame.entry, at.entry, strict=True))
            self.initial = {
                x: _value(x, known[x])
                for x in frame.entry
                if x in self.transitions.program.globals and x not in self.transitions.program.initial
            }
            return []
        if isinstance(by, Stepped):
            return self._stepped(at, by, frame)
        if isinstance(by, Entered):
            return [] if at.inner else self._entered(at, by)
        if isinstance(by, Returned):
            return self._returned(at, by, frame)
        return None

    def _stepped(self, at: _At, by: Stepped, frame: Frame) -> list[_At] | None:
        before = by.before.relation.fixing(_numbered(at.entry), {})
        for path in self.transitions.paths(by.edge):
            labelled = self.transitions.labelled(path, frame).fixing({}, _numbered(at.state))
            found = labelled.starting(before).pair()
            if found is not None:
                state, given = found[0][: len(frame.state)], found[0][len(frame.state) :]
                self._note(path, given)
                return [_At(by.before, at.entry, state, at.inner)]
        return None

    def _note(self, path: Path, given: Sequence[int]) -> None:
        """The inputs of a path, its last statement first."""
        rest = list(given)
        for edge, symbols in reversed(path.inputs):
            numbers = [rest.pop() if modelled(s.sort) else 0 for s in reversed(symbols)]
            self.events.append(
                (edge, tuple(_value(s, n) for s, n in zip(symbols, reversed(numbers), strict=True)))
            )

    def _entered(self, at: _At, by: Entered) -> list[_At] | None:
        """The state is at the entry of a procedure: the call it was entered by."""
        binding = self.transitions.binding(by.edge).fixing({}, _numbered(at.entry))
        found = by.before.relation.ending(binding).pair()
        return None if found is None else [_At(by.before, *found, inner=False)]

    def _returned(self, at: _At, by: Returned, frame: Frame) -> list[_At] | None:
        binding = self.transitions.binding(by.edge)
        callee = self.transitions.frames[by.ended.vertex.procedure]
        sigma = lift(by.ended.relation, callee)
        same = self.transitions.relations.identity(len(frame.state))
        back = self.transitions.returning(by.edge).fixing({}, _numbered(at.state))
        called = same.both(binding.then(sigma)).ending(back)
        found = called.starting(by.before.relation.fixing(_numbered(at.entry), {})).pair()
        if found is None:
            return None
        state, ended = found[0], found[1][len(frame.state) :]
        entry = binding.fixing(_numbered(state), {}).ending(sigma.fixing({}, _numbered(ended))).pair()
        assert entry is not None
        exit_columns = {callee.state.index(x): n for x, n in zip(callee.exit, ended, strict=True)}
        inside = by.ended.relation.fixing(_numbered(entry[1]), exit_columns).pair()
        assert inside is not None
        return [_At(by.before, at.entry, state, at.inner), _At(by.ended, *inside, inner=True)]


def _numbered(vector: Sequence[int]) -> Mapping[int, int]:
    return dict(enumerate(vector))


def _value(variable: Expr, number: int) -> Value:
    return bool(number) if variable.sort is BOOL else number
