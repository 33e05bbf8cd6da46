"""The graph of a function once it is lowered, without steps that nobody needs."""

from __future__ import annotations

from certus.core import build
from certus.core.program import Assign, Assume, Havoc
from certus.core.terms import Expr
from certus.frontend.c.lower.liveness import Liveness, writes
from certus.frontend.c.model.body import Body
from certus.frontend.graph import Draft, DraftEdge, Settled


def tidied(body: Body) -> Settled:
    """Drop the inputs of declarations that are never read; make inputs of what is read without a value."""
    settled = body.draft.settle()
    if body.function is None:
        return settled
    bound = {*body.parameters}
    slots = [s for s in body.births.slots.values() if s.variable is not None and s.variable not in bound]
    candidates = [s.variable for s in slots if s.variable is not None]
    live = Liveness(settled, candidates)
    ours = {v for v in candidates if v not in body.unit.source_names}
    dropped = {
        edge
        for edge in settled.edges
        if ((edge.declares and isinstance(edge.op, Havoc)) or _sets_only(edge, ours))
        and not any(live.is_live(v, edge.target) for v in writes(edge.op))
    }
    unwritten = live.at(settled.entry)
    if unwritten:
        entry = body.draft.stands_for.pop(Draft.ENTRY, settled.entry)
        named = [body.unit.source_names[v] for v in unwritten if v in body.unit.source_names]
        text = f"{', '.join(named)} without a value" if named else ""
        body.draft.edge(
            Draft.ENTRY,
            Havoc(unwritten),
            entry,
            body.draft.span,
            text,
            declares=True,
            order=(-1, 0),
        )
    if dropped:
        starts = body.draft.starts
        for edge in settled.edges:
            if edge in dropped and edge.source in starts and edge.target not in body.draft.loops:
                starts.setdefault(edge.target, starts[edge.source])
        body.draft.drop(dropped)
    booleans = {s.variable for s in slots if s.boolean}
    declared = [edge for edge in body.draft.edges if edge.declares]
    for edge in declared:
        _within_type(body, edge, booleans)
    return body.draft.settle() if dropped or declared else settled


def _sets_only(edge: DraftEdge, variables: set[Expr]) -> bool:
    """Whether a step does nothing but give values to some of these variables."""
    return isinstance(edge.op, Assign) and all(v in variables for v in edge.op.targets)


def _within_type(body: Body, declared: DraftEdge, booleans: set[Expr | None]) -> None:
    """A pointer without a value is some address nevertheless, and a `_Bool` is 0 or 1."""
    assert isinstance(declared.op, Havoc)
    targets = declared.op.targets
    small = [build.le(v, build.constant(1, v.sort)) for v in targets if v in booleans]
    proper = build.conjunction((body.are_addresses(targets), *small))
    if proper is not build.TRUE:
        after, declared.target = declared.target, body.draft.node()
        place = (declared.order[0], declared.order[1] + 1)
        body.draft.edge(declared.target, Assume(proper), after, declared.span, declared.text, order=place)
